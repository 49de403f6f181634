// SPDX-License-Identifier: Apache-2.0
/* The window of smart: sums by hand, every window tried one by one, and the energy of a picture
 * pixel by pixel.
 * covers: pipeline/ops/resize/smart.c */
#include "pipeline/ops/resize/smart.h"

#include "pipeline/luma.h"
#include "pipeline/rows/simd.h"
#include "tests/pipeline/ops/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void by_hand(void **state) {
    (void)state;
    /* weights 1 2 3 3 2 1: 6 0 0 0 0 7 weigh 6 and 7 */
    assert_int_equal(smart_window((uint32_t[]){ 6, 0, 0, 0, 0, 7 }, 6, 1), 5);
    assert_int_equal(smart_window((uint32_t[]){ 7, 0, 1, 1, 0, 6 }, 6, 2), 0);
    assert_int_equal(smart_window((uint32_t[]){ 6, 0, 1, 1, 0, 6 }, 6, 2), 2);
    assert_int_equal(smart_window((uint32_t[]){ 6, 0, 1, 2, 0, 6 }, 6, 2), 2);
    /* all alike: the middle, and of two middles the first */
    assert_int_equal(smart_window((uint32_t[6]){ 0 }, 6, 2), 2);
    assert_int_equal(smart_window((uint32_t[6]){ 0 }, 6, 3), 1);
    /* both ends the same, nothing between: the first */
    assert_int_equal(smart_window((uint32_t[]){ 5, 0, 0, 0, 5 }, 5, 1), 0);
    assert_int_equal(smart_window((uint32_t[]){ 1, 2, 3 }, 3, 3), 0);
    assert_int_equal(smart_window((uint32_t[]){ 9 }, 1, 1), 0);
}

static uint32_t slow_window(const uint32_t *sums, uint32_t n, uint32_t count) {
    uint32_t best = 0;
    uint64_t best_sum = 0;
    double best_apart = 1e9;
    for (uint32_t first = 0; first + count <= n; first++) {
        uint64_t sum = 0;
        for (uint32_t i = first; i < first + count; i++)
            sum += (uint64_t)sums[i] * (i + 1 < n - i ? i + 1 : n - i);
        const double middle = (n - count) / 2.0;
        const double apart = first > middle ? first - middle : middle - first;
        if (first && (sum < best_sum || (sum == best_sum && apart >= best_apart))) continue;
        best = first, best_sum = sum, best_apart = apart;
    }
    return best;
}

static void every_window(void **state) {
    (void)state;
    uint32_t noise = 3, sums[40];
    for (int n = 0; n < 4000; n++) {
        const uint32_t length = 1 + (uint32_t)n % 40;
        for (uint32_t i = 0; i < length; i++) {
            noise_next(&noise);
            sums[i] = n % 3 ? noise >> 30 : noise >> 6; /* many equals; the largest there are */
        }
        for (uint32_t count = 1; count <= length; count++)
            assert_int_equal(smart_window(sums, length, count), slow_window(sums, length, count));
    }
}

/* Luma of 8 bits, the border continued. */
static int gray(const struct image *picture, uint32_t x, uint32_t y) {
    if (x >= picture->width) x = picture->width - 1;
    if (y >= picture->height) y = picture->height - 1;
    const uint8_t *row = image_row(picture, y);
    const size_t i = (size_t)x * picture->channels;
    const unsigned depth = picture->depth;
    const uint64_t max = image_max(picture);
    const uint64_t alpha =
        picture->channels % 2 ? max : sample_get(row, i + picture->channels - 1, depth);
    uint32_t over[3] = { 0 }; /* white */
    for (unsigned c = 0; c < image_colours(picture); c++)
        over[c] =
            (uint32_t)((2 * (sample_get(row, i + c, depth) * alpha + max * (max - alpha)) + max) /
                       (2 * max));
    const uint32_t value = picture->channels > 2 ? luma(over[0], over[1], over[2]) : over[0];
    return (int)(value >> (depth - 8));
}

static void energy_of_pictures(void **state) {
    (void)state;
    struct pool *pool = pool_create(3);
    for (int n = 0; n < AWKWARD_SIZES * 4 * 2 * 2; n++) {
        struct image picture =
            image_shape(awkward_sizes[n / 16].width, awkward_sizes[n / 16].height,
                        1 + (unsigned)n % 4, n / 4 % 2 ? 16 : 8);
        const bool columns = n / 8 % 2;
        const uint32_t length = columns ? picture.width : picture.height;
        const uint32_t count = 1 + length / 3;
        picture.pixels = calloc(1, image_bytes(&picture));
        picture_draw(&picture, PICTURE_NOISE, 5);
        uint32_t *sums = calloc(length, sizeof *sums);
        for (uint32_t y = 0; y < picture.height; y++)
            for (uint32_t x = 0; x < picture.width; x++) {
                const int here = gray(&picture, x, y), across = gray(&picture, x + 1, y + 1);
                sums[columns ? x : y] += (uint32_t)(abs(gray(&picture, x + 1, y) - here) +
                                                    abs(gray(&picture, x, y + 1) - here) +
                                                    (int)(46341LL * abs(across - here) / 65536));
            }
        void *scratch = aligned_alloc(64, (smart_bytes(&picture, columns) + 63) / 64 * 64);
        for (int most = SIMD_NONE; most <= SIMD_BEST; most++) {
            uint32_t alone, shared;
            simd_limit((enum simd)most);
            smart_find(&picture, 0xffffffff, columns, count, scratch, NULL, NULL, &alone);
            smart_find(&picture, 0xffffffff, columns, count, scratch, pool, NULL, &shared);
            assert_int_equal(alone, slow_window(sums, length, count));
            assert_int_equal(shared, alone);
        }
        free(scratch);
        free(sums);
        free(picture.pixels);
    }
    pool_destroy(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(every_window),
        cmocka_unit_test(energy_of_pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
