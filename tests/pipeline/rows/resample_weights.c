// SPDX-License-Identifier: Apache-2.0
/* Windows and weights: by hand where that can be done, and digests of 2,000 tables of each kernel,
 * which tests/reference/resample.py makes of the definition in numpy. */
#include "pipeline/rows/resample_weights.h"

#include "pipeline/rows/simd.h"
#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct resample_weights weights_of(uint32_t from, uint32_t to, uint32_t first,
                                          uint32_t count, enum resample_kernel kernel) {
    const struct resample_axis axis = { from, to, first, count, kernel };
    return resample_weights_make(malloc(resample_weights_bytes(&axis)), &axis);
}

static void check(const struct resample_weights *weights, uint32_t i, uint32_t first,
                  uint32_t count, const int32_t *expected) {
    assert_int_equal(weights->windows[i].first, first);
    assert_int_equal(weights->windows[i].count, count);
    for (uint32_t k = 0; k < weights->pitch; k++)
        assert_int_equal(weights->weights[i * weights->pitch + k], k < count ? expected[k] : 0);
}

/* Six pixels to three: centres at 1, 3, 5. */
static void halves_by_hand(void **state) {
    (void)state;
    struct resample_weights weights = weights_of(6, 3, 0, 3, RESAMPLE_BOX);
    const int32_t equal[] = { 2097152, 2097152 };
    for (uint32_t i = 0; i < 3; i++) check(&weights, i, 2 * i, 2, equal);
    free(weights.windows);

    weights = weights_of(6, 3, 0, 3, RESAMPLE_LINEAR); /* 1/4, 3/4, 3/4, 1/4, cut and divided */
    check(&weights, 0, 0, 3, (const int32_t[]){ 1797559, 1797559, 599186 });
    check(&weights, 1, 1, 4, (const int32_t[]){ 524288, 1572864, 1572864, 524288 });
    check(&weights, 2, 3, 3, (const int32_t[]){ 599186, 1797559, 1797559 });
    free(weights.windows);
}

/* Two pixels to four: centres at 0.25, 0.75, 1.25, 1.75. */
static void doubles_by_hand(void **state) {
    (void)state;
    struct resample_weights weights = weights_of(2, 4, 0, 4, RESAMPLE_LINEAR);
    check(&weights, 0, 0, 1, (const int32_t[]){ 4194304 });
    check(&weights, 1, 0, 2, (const int32_t[]){ 3145728, 1048576 });
    check(&weights, 2, 0, 2, (const int32_t[]){ 1048576, 3145728 });
    check(&weights, 3, 1, 1, (const int32_t[]){ 4194304 });
    free(weights.windows);

    /* At distances 0.25 and 0.75: 111/128 and 29/128 of 140/128. */
    weights = weights_of(2, 4, 1, 1, RESAMPLE_CUBIC);
    assert_int_equal(weights.count, 1);
    check(&weights, 0, 0, 2, (const int32_t[]){ 3325484, 868820 });
    free(weights.windows);
}

/* Eight to four: the second centre is 3, and 1.75 .. 0.25 away, halved, a cubic weighs -3, -9, 29
 * and 111 of 128; together -9 + 29 + 111 + 111 + 29 - 9 - 3 = 259. Minus are rounded like plus. */
static void signs_by_hand(void **state) {
    (void)state;
    struct resample_weights weights = weights_of(8, 4, 1, 1, RESAMPLE_CUBIC);
    check(&weights, 0, 0, 7,
          (const int32_t[]){ -145748, 469632, 1797559, 1797559, 469632, -145748, -48583 });
    free(weights.windows);

    weights = weights_of(3, 1, 0, 1, RESAMPLE_BOX);
    check(&weights, 0, 0, 3, (const int32_t[]){ 1398101, 1398101, 1398101 });
    free(weights.windows);
}

/* A part of an axis has the same windows and weights as in the whole. */
static void parts_are_of_the_whole(void **state) {
    (void)state;
    struct resample_weights whole = weights_of(777, 332, 0, 332, RESAMPLE_LANCZOS3);
    struct resample_weights part = weights_of(777, 332, 100, 50, RESAMPLE_LANCZOS3);
    const struct resample_axis axis = { 777, 332, 100, 50, RESAMPLE_LANCZOS3 };
    const struct resample_window span = resample_span(&axis);
    assert_int_equal(part.pitch, whole.pitch);
    assert_memory_equal(part.windows, whole.windows + 100, 50 * sizeof *part.windows);
    assert_memory_equal(part.weights, whole.weights + 100 * whole.pitch,
                        50 * part.pitch * sizeof *part.weights);
    assert_int_equal(span.first, whole.windows[100].first);
    assert_int_equal(span.first + span.count, whole.windows[149].first + whole.windows[149].count);
    free(part.windows);
    free(whole.windows);
}

/* Every window lies in the source and in its pitch; every sum stays where 32 bits hold it. */
static void bounds_hold(void **state) {
    (void)state;
    static const uint32_t sides[][2] = {
        { 65535, 1 },           { 1, 65535 },       { 65535, 65534 },
        { 65534, 65535 },       { 65535, 2 },       { 2, 4000000000u },
        { 65535, 4294836225u }, { 1, 4294967295u }, { 3, 2 }
    };
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++)
        for (int kernel = RESAMPLE_LANCZOS3; kernel <= RESAMPLE_BOX; kernel++) {
            const uint32_t from = sides[s][0], to = sides[s][1], count = to < 50 ? to : 50;
            const struct resample_weights weights =
                weights_of(from, to, to - count, count, (enum resample_kernel)kernel);
            for (uint32_t i = 0; i < count; i++) {
                const struct resample_window window = weights.windows[i];
                int64_t sum = 0, size = 0;
                assert_true(window.count >= 1 && window.count <= weights.pitch);
                assert_true((uint64_t)window.first + window.count <= from);
                for (uint32_t k = 0; k < weights.pitch; k++) {
                    const int32_t weight = weights.weights[(size_t)i * weights.pitch + k];
                    sum += weight;
                    size += abs(weight);
                }
                assert_in_range(sum - (1 << 22) + 100000, 0, 200000);
                assert_true(255 * size + (1 << 21) <= INT32_MAX);
            }
            free(weights.windows);
        }
}

static void results_by_hand(void **state) {
    (void)state;
    assert_int_equal(resample_result(0, 255), 0);
    assert_int_equal(resample_result((1 << 21) - 1, 255), 0);
    assert_int_equal(resample_result(1 << 21, 255), 1);
    assert_int_equal(resample_result(-(1 << 21) - 1, 255), 0);
    assert_int_equal(resample_result(INT64_C(300) << 22, 255), 255);
    assert_int_equal(resample_result(INT64_C(300) << 22, 65535), 300);
    assert_int_equal(resample_result(INT64_C(70000) << 22, 65535), 65535);
}

/* ---- 2,000 tables */

static uint32_t seed;

static uint32_t noise(void) {
    return noise_next(&seed) >> 16;
}

/* C leaves it open which operand is evaluated first. */
static uint32_t side(void) {
    const uint32_t number = noise(), bits = 2 + noise() % 12;
    return 1 + number % (UINT32_C(1) << bits);
}

static uint64_t mixed(uint32_t word, uint64_t place) {
    const uint64_t value =
        (word + place * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    return value ^ value >> 29;
}

static uint64_t digest(enum resample_kernel kernel) {
    uint64_t total = 0, place = 0;
    seed = 1;
    for (int pair = 0; pair < 2000; pair++) {
        const uint32_t from = side(), to = side();
        const struct resample_weights weights = weights_of(from, to, 0, to, kernel);
        for (uint32_t i = 0; i < to; i++) {
            total += mixed(weights.windows[i].first, place++);
            total += mixed(weights.windows[i].count, place++);
            for (uint32_t k = 0; k < weights.windows[i].count; k++)
                total += mixed((uint32_t)weights.weights[(size_t)i * weights.pitch + k], place++);
        }
        free(weights.windows);
    }
    return total;
}

static void tables_are_numpys(void **state) {
    (void)state;
    for (int limit = SIMD_NONE; limit <= SIMD_BEST; limit++) {
        simd_limit((enum simd)limit);
        assert_true(digest(RESAMPLE_LANCZOS3) == UINT64_C(0xc36603d8adc20876));
        assert_true(digest(RESAMPLE_CUBIC) == UINT64_C(0x3be8be7b5602b16a));
        assert_true(digest(RESAMPLE_LINEAR) == UINT64_C(0xe484ae3716c56494));
        assert_true(digest(RESAMPLE_BOX) == UINT64_C(0xcea808c12b301c84));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_by_hand),    cmocka_unit_test(doubles_by_hand),
        cmocka_unit_test(signs_by_hand),     cmocka_unit_test(parts_are_of_the_whole),
        cmocka_unit_test(bounds_hold),       cmocka_unit_test(results_by_hand),
        cmocka_unit_test(tables_are_numpys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
