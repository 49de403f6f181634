// SPDX-License-Identifier: Apache-2.0
/* The GPU's way to divide gives what the specification's division gives. Needs no GPU.
 * covers: cuda/ops/histeq/fixed_point.h
 */
#include "cuda/ops/histeq/fixed_point.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void check_8(uint32_t sample, uint32_t value, uint32_t level, int bits) {
    const uint32_t product =
        histeq_product(sample, histeq_ratio(value, level, bits), histeq_addend(value, level, bits));
    const uint32_t shifted = product >> bits, got = shifted < 255 ? shifted : 255;
    if (got != level_scaled(sample, value, level, 255))
        fail_msg("c %u, V %u, V' %u, %d bits: %u", sample, value, level, bits, got);
}

/* c may not exceed V. */
static void test_every_value(void **state) {
    (void)state;
    for (uint32_t value = 0; value < 256; value++)
        for (uint32_t level = 0; level < 256; level++)
            for (uint32_t sample = 0; sample <= value; sample++)
                check_8(sample, value, level, HISTEQ_VALUE_BITS);
}

/* A sample is largest beside its pixel's luma when it is the only blue one. */
static void test_every_luma(void **state) {
    (void)state;
    for (uint32_t value = 0; value < 256; value++)
        for (uint32_t level = 0; level < 256; level++)
            for (uint32_t sample = 0; sample < 256 && luma(0, 0, sample) <= value; sample++)
                check_8(sample, value, level, HISTEQ_LUMA_BITS);
}

static void check_16(uint32_t sample, uint32_t value, uint32_t level) {
    const uint32_t got = histeq_scaled16(sample, value, level);
    if (got != level_scaled(sample, value, level, 65535))
        fail_msg("c %u, V %u, V' %u: %u", sample, value, level, got);
}

static void test_16_bit(void **state) {
    (void)state;
    static const uint32_t edges[] = { 0, 1, 2, 3, 254, 255, 32767, 32768, 65533, 65534, 65535 };
    enum { EDGES = sizeof edges / sizeof *edges };
    for (int i = 0; i < EDGES * EDGES * EDGES; i++)
        check_16(edges[i % EDGES], edges[i / EDGES % EDGES], edges[i / EDGES / EDGES]);
    uint64_t random = 1;
    for (int i = 0; i < 20000000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        check_16((uint32_t)(random >> 48), (uint32_t)(random >> 32) & 65535,
                 (uint32_t)(random >> 16) & 65535);
    }
}

static void check_quantile(uint32_t sum, uint32_t first, uint32_t pixels, uint32_t max, int scale) {
    const uint32_t got = histeq_quantile_fixed(sum, first, pixels, max, scale);
    if (got != histeq_quantile(sum, first, pixels, max, scale))
        fail_msg("sum %u, first %u, pixels %u, max %u: %u", sum, first, pixels, max, got);
}

/* Images of every size, and sums at and beside every rounding edge. */
static void test_quantiles(void **state) {
    (void)state;
    uint64_t random = 1;
    for (int i = 0; i < 4000000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const uint32_t pixels = (uint32_t)(random >> 32) >> (i % 31) | 1;
        const uint32_t first = (uint32_t)((random & 65535) * (uint64_t)pixels >> (16 + i % 7));
        const uint32_t max = i & 32 ? 255 : 65535, whole = pixels - first;
        const uint64_t edge = (uint64_t)whole * (2 * ((random >> 16) % max) + 1) / (2 * max);
        for (uint64_t sum = first + (edge > 1 ? edge - 1 : 0); sum < first + edge + 2; sum++)
            if (whole && sum <= pixels)
                check_quantile((uint32_t)sum, first, pixels, max, HISTEQ_MINMAX);
        check_quantile((uint32_t)(random >> 8) % pixels, 0, pixels, max, HISTEQ_MAXABS);
        check_quantile(pixels, 0, pixels, max, HISTEQ_MAXABS);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_value),
        cmocka_unit_test(test_every_luma),
        cmocka_unit_test(test_16_bit),
        cmocka_unit_test(test_quantiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
