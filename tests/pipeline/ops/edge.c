// SPDX-License-Identifier: Apache-2.0
/* edge against values computed by hand, against a slow function in wide integers, the fast rows
 * against the plain ones, and every root that can occur.
 * covers: pipeline/rows/sobel.c pipeline/rows/window.h pipeline/band.h */
#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

#include "pipeline/ops/edge.h"
#include "pipeline/rows/simd.h"
#include "pipeline/rows/sobel.h"
#include "tests/noise.h"

/* A step from 10 to 50 between columns 1 and 2: gx = (1 + 2 + 1) 40 = 160 beside it, gy = 0. */
static void a_step_by_hand(void **state) {
    (void)state;
    const uint8_t in[] = { 10, 10, 50, 50, 10, 10, 50, 50, 10, 10, 50, 50 };
    const uint8_t out[] = { 0, 160, 160, 0, 0, 160, 160, 0, 0, 160, 160, 0 };
    const uint8_t zero[] = { 0, 0, 0, 0, 0, 160, 160, 0, 0, 0, 0, 0 };
    const uint8_t white[] = { 0, 255, 255, 0, 0, 255, 255, 0, 0, 255, 255, 0 };
    const uint8_t black[12] = { 0 };
    check_8("edge", 4, 3, 1, in, 1, out);
    check_8("edge:border=zero", 4, 3, 1, in, 1, zero);
    check_8("edge:threshold=159", 4, 3, 1, in, 1, out);
    check_8("edge:threshold=160", 4, 3, 1, in, 1, black);
    check_8("edge:binary=true", 4, 3, 1, in, 1, white);
    /* -30: levels 0 and 20, gx = 80; 215: 225 and 255, gx = 120 */
    const uint8_t dark[] = { 0, 80, 80, 0, 0, 80, 80, 0, 0, 80, 80, 0 };
    const uint8_t bright[] = { 0, 120, 120, 0, 0, 120, 120, 0, 0, 120, 120, 0 };
    check_8("edge:brightness=-30", 4, 3, 1, in, 1, dark);
    check_8("edge:brightness=215", 4, 3, 1, in, 1, bright);
}

/* One pixel of 30 in black. Beside it gx = 2 * 30, under it gy, at the corners gx = gy = 30:
 * floor(sqrt(1800)) = 42. In the middle both are 0. */
static void a_dot_by_hand(void **state) {
    (void)state;
    const uint8_t in[25] = { [12] = 30 };
    const uint8_t out[] = { 0,  0, 0, 0,  0,  0,  42, 60, 42, 0, 0, 60, 0,
                            60, 0, 0, 42, 60, 42, 0,  0,  0,  0, 0, 0 };
    check_8("edge", 5, 5, 1, in, 1, out);
    /* sobel5, rows (1 4 6 4 1) times (-1 -2 0 2 1): with a dot of 2, by distance dx, dy from it:
     * gx(1, 0) = 2 * 6 * 2 = 24; (2, 0) = 12; (1, 1): gx = gy = 2 * 4 * 2 = 16, floor(22.6) = 22;
     * (2, 1): gx = 2 * 4 = 8, gy = 2 * 2 = 4 (1 across, 2 along), floor(sqrt(80)) = 8; (2, 2): 2,
     * 2, floor(2.8) = 2. */
    const uint8_t two[25] = { [12] = 2 };
    const uint8_t five[] = { 2,  8,  12, 8,  2,  8,  22, 24, 22, 8,  12, 24, 0,
                             24, 12, 8,  22, 24, 22, 8,  2,  8,  12, 8,  2 };
    const uint8_t inner[25] = { 0 };
    check_8("edge:kernel=sobel5", 5, 5, 1, two, 1, five);
    check_8("edge:kernel=sobel5,border=zero", 5, 5, 1, two, 1, inner);
}

/* Luma of red 200 is (77 * 200 + 128) >> 8 = 60: 4 * 60 = 240. Alpha rides along. */
static void colour_and_alpha(void **state) {
    (void)state;
    const uint8_t rgb[] = { 0, 0, 0, 0, 0, 0, 200, 0, 0, 200, 0, 0 };
    const uint8_t out[] = { 0, 240, 240, 0 };
    check_8("edge", 4, 1, 3, rgb, 1, out);
    const uint8_t rgba[] = { 0, 0, 0, 255, 0, 0, 0, 255, 200, 0, 0, 255, 200, 0, 0, 255 };
    const uint8_t with_alpha[] = { 0, 255, 240, 255, 240, 255, 0, 255 };
    check_8("edge", 4, 1, 4, rgba, 2, with_alpha);
    const uint8_t gray[] = { 0, 255, 0, 255, 60, 255, 60, 255 };
    check_8("edge", 4, 1, 2, gray, 2, with_alpha);
    const uint8_t zero[] = { 0, 255, 0, 255, 0, 255, 0, 255 };
    check_8("edge:border=zero", 4, 1, 2, gray, 2, zero);
    /* Over white 0 with alpha 191 is 64: 4 (255 - 64) is clamped. Over 404040 it is 16. */
    const uint8_t clear[] = { 9, 0, 200, 0, 0, 191, 0, 191 };
    const uint8_t over_white[] = { 0, 0, 255, 0, 255, 191, 0, 191 };
    const uint8_t over_gray[] = { 0, 0, 192, 0, 192, 191, 0, 191 };
    check_8("edge", 4, 1, 2, clear, 2, over_white);
    check_8("edge:background=404040", 4, 1, 2, clear, 2, over_gray);
}

/* 4 * 1000; 4 * 20000 is clamped; the threshold 10 is 2570. */
static void sixteen_bit(void **state) {
    (void)state;
    const uint16_t in[] = { 0, 0, 1000, 1000, 21000, 21000 };
    const uint16_t out[] = { 0, 4000, 4000, 65535, 65535, 0 };
    check_16("edge", 6, 1, 1, in, 1, out);
    const uint16_t small[] = { 0, 0, 642, 642, 1285, 1285 };
    const uint16_t cut[] = { 0, 0, 0, 2572, 2572, 0 };
    check_16("edge:threshold=10", 6, 1, 1, small, 1, cut);
}

/* ---- a slow function */

static int64_t level(const struct image *in, const struct params *params, int64_t x, int64_t y) {
    const int64_t max = image_max(in);
    int64_t gray = against_laid(in, x, y, 0);
    if (in->channels > 2)
        gray =
            (77 * gray + 150 * against_laid(in, x, y, 1) + 29 * against_laid(in, x, y, 2) + 128) /
            256;
    gray += params->number[EDGE_BRIGHTNESS] * (max / 255);
    return gray < 0 ? 0 : gray > max ? max : gray;
}

static int64_t integer_root(int64_t n) {
    int64_t root = 0;
    for (int64_t bit = 1 << 24; bit; bit /= 2)
        if ((root + bit) * (root + bit) <= n) root += bit;
    return root;
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    static const int along[2][5] = { { -1, 0, 1 }, { -1, -2, 0, 2, 1 } };
    static const int across[2][5] = { { 1, 2, 1 }, { 1, 4, 6, 4, 1 } };
    const int large = params->number[EDGE_KERNEL] == EDGE_SOBEL5, reach = large ? 2 : 1;
    const int64_t max = image_max(in), w = in->width, h = in->height;
    if (c == 1) return (uint32_t)against_sample(in, x, y, in->channels - 1u);
    if (params->number[EDGE_BORDER] == EDGE_ZERO &&
        ((int64_t)x < reach || (int64_t)y < reach || x >= w - reach || y >= h - reach))
        return 0;
    int64_t gx = 0, gy = 0;
    for (int i = 0; i <= 2 * reach; i++)
        for (int j = 0; j <= 2 * reach; j++) {
            const int64_t v = level(in, params, (int64_t)x + j - reach, (int64_t)y + i - reach);
            gx += across[large][i] * along[large][j] * v;
            gy += along[large][i] * across[large][j] * v;
        }
    const int64_t root = integer_root(gx * gx + gy * gy), m = root < max ? root : max;
    if (m <= params->number[EDGE_THRESHOLD] * (max / 255)) return 0;
    return (uint32_t)(params->number[EDGE_BINARY] ? max : m);
}

static void every_shape(void **state) {
    (void)state;
    static const char *const texts[] = {
        "edge",
        "edge:kernel=sobel5",
        "edge:threshold=40,border=zero",
        "edge:kernel=sobel5,threshold=60,binary=true,border=zero",
        "edge:brightness=70,threshold=100,border=zero",
        "edge:kernel=sobel5,brightness=-100,threshold=30,binary=true,border=zero",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check_against(texts[i], expected);
}

/* ---- rows */

/* Every pair of gradients up to 510: 2 e + c and 2 s + c, where e is the pixel to the right, s the
 * one below and c the corner between them (both gradients are odd or both even). Three columns
 * each. */
static void every_root_of_bytes(void **state) {
    (void)state;
    enum { SIDE = 256, WIDTH = 3 * 2 * SIDE };
    static uint8_t rows[3][WIDTH + 4], out[WIDTH];
    const uint8_t *const window[] = { rows[0] + 2, rows[1] + 2, rows[2] + 2 };
    const struct sobel_rule rule = { .taps = 3 };
    for (int plain = 0; plain < 2; plain++) {
        simd_limit(plain ? SIMD_NONE : SIMD_BEST);
        for (int e = 0; e < SIDE; e++) {
            for (int s = 0; s < 2 * SIDE; s++) {
                rows[1][2 + 3 * s + 2] = (uint8_t)e;
                rows[2][2 + 3 * s + 1] = (uint8_t)(s / 2);
                rows[2][2 + 3 * s + 2] = s % 2;
            }
            sobel_bytes(window, out, WIDTH, &rule);
            for (int s = 0; s < 2 * SIDE; s++) {
                const int gx = 2 * e + s % 2, gy = 2 * (s / 2) + s % 2;
                const int64_t root = integer_root(gx * gx + gy * gy);
                assert_int_equal(out[3 * s + 1], root < 255 ? root : 255);
            }
        }
    }
    simd_limit(SIMD_BEST);
}

/* All sums of squares of 8-bit sobel3 one by one as the plain rows take their roots; then, since
 * conversion and root keep order, the two n on either side of every step of the root: k^2 - 1 and
 * k^2 (float for what is clamped at 255, double for 16 bit, the shared root for both). */
static void every_step_of_the_root(void **state) {
    (void)state;
    for (int64_t n = 0, root = 0; n <= 2 * 1020 * 1020; n++) {
        if ((root + 1) * (root + 1) <= n) root++;
        if ((int64_t)sqrtf((float)n) != root) fail_msg("float root of %lld", (long long)n);
        if (edge_root((uint64_t)n) != root) fail_msg("shared root of %lld", (long long)n);
    }
    for (int64_t k = 1; k <= 65536; k++) {
        const int64_t capped = k < 65535 ? k : 65535;
        assert_int_equal((int64_t)sqrt((double)(k * k)), k);
        assert_int_equal((int64_t)sqrt((double)(k * k - 1)), k - 1);
        assert_int_equal(edge_root((uint64_t)(k * k)), capped);
        assert_int_equal(edge_root((uint64_t)(k * k - 1)), k - 1);
    }
    assert_int_equal(edge_root(UINT64_C(2) * 3145680 * 3145680), 65535);
    assert_true(sqrtf(65536.0f) >= 256.0f);
}

/* Extremes of either depth, in which every sum is as large as it can be. */
static void fast_rows_are_plain_rows(void **state) {
    (void)state;
    enum { WIDTH = 2100 };
    static uint8_t bytes[5][WIDTH + 4], fast8[WIDTH], plain8[WIDTH];
    static uint16_t words[5][WIDTH + 4], fast16[WIDTH], plain16[WIDTH];
    const uint8_t *rows8[5];
    const uint16_t *rows16[5];
    uint32_t random = 1;
    for (int i = 0; i < 5; i++) rows8[i] = bytes[i] + 2, rows16[i] = words[i] + 2;
    for (int kind = 0; kind < 40; kind++) {
        for (int i = 0; i < 5 * (WIDTH + 4); i++) {
            const int row = i % 5, x = i / 5;
            noise_next(&random);
            const uint32_t level = kind % 2 ? random >> 16 : random >> 31 ? 65535 : 0;
            words[row][x] = (uint16_t)(kind % 4 == 3 ? level % 700 : level);
            bytes[row][x] = (uint8_t)(kind % 4 == 3 ? level % 40 : level);
        }
        const struct sobel_rule rule = { .taps = kind % 3 ? 3 : 5,
                                         .threshold = kind % 5 ? 0 : 99,
                                         .binary = kind % 7 == 0 };
        const size_t width = kind % 2 ? WIDTH : 1 + (size_t)kind * 40;
        sobel_bytes(rows8, fast8, width, &rule);
        sobel_words(rows16, fast16, width, &rule);
        simd_limit(SIMD_NONE);
        sobel_bytes(rows8, plain8, width, &rule);
        sobel_words(rows16, plain16, width, &rule);
        simd_limit(SIMD_BEST);
        assert_memory_equal(fast8, plain8, width);
        assert_memory_equal(fast16, plain16, 2 * width);
    }
}

/* Vectors may not reach past a row's end, wherever that is. */
static void rows_end_at_their_width(void **state) {
    (void)state;
    enum { WIDTH = 200, UNTOUCHED = 0xa5 };
    static uint8_t bytes[5][WIDTH + 4], fast[WIDTH], plain[WIDTH];
    const uint8_t *rows[5];
    uint32_t random = 3;
    for (int i = 0; i < 5; i++) {
        rows[i] = bytes[i] + 2;
        for (int x = 0; x < WIDTH + 4; x++) bytes[i][x] = (uint8_t)(noise_next(&random) >> 27);
    }
    for (size_t width = 1; width < WIDTH; width++)
        for (int taps = 3; taps <= 5; taps += 2) {
            const struct sobel_rule rule = { .taps = taps };
            memset(fast, UNTOUCHED, sizeof fast);
            memset(plain, UNTOUCHED, sizeof plain);
            sobel_bytes(rows, fast, width, &rule);
            simd_limit(SIMD_NONE);
            sobel_bytes(rows, plain, width, &rule);
            simd_limit(SIMD_BEST);
            assert_memory_equal(fast, plain, sizeof fast);
            assert_int_equal(fast[width], UNTOUCHED);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_by_hand),
        cmocka_unit_test(a_dot_by_hand),
        cmocka_unit_test(colour_and_alpha),
        cmocka_unit_test(sixteen_bit),
        cmocka_unit_test(every_shape),
        cmocka_unit_test(every_root_of_bytes),
        cmocka_unit_test(every_step_of_the_root),
        cmocka_unit_test(fast_rows_are_plain_rows),
        cmocka_unit_test(rows_end_at_their_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
