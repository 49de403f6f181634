// SPDX-License-Identifier: Apache-2.0
/* find_trim against pictures by hand, and against a slow function on framed pictures. */
#include "tests/pipeline/ops/reported_values.h"

static const struct values_shape four = { VALUE_UINT32, 1, 4, true, 0 };

static void check(const char *text, struct image in, const void *pixels, uint32_t left,
                  uint32_t top, uint32_t right, uint32_t bottom) {
    check_values(text, in, pixels, four, (const uint32_t[]){ left, top, right, bottom });
}

static void by_hand(void **state) {
    (void)state;
    const uint8_t gray[] = { 50, 60, 40, 50, 50, /* */
                             50, 50, 61, 50, 50, /* */
                             50, 39, 50, 50, 55 };
    check("find_trim", image_shape(5, 3, 1, 8), gray, 1, 1, 2, 0);
    check("find_trim:tolerance=11", image_shape(5, 3, 1, 8), gray, 5, 3, 0, 0);
    check("find_trim:tolerance=0", image_shape(5, 3, 1, 8), gray, 1, 0, 0, 0);
    check("find_trim:color=3d3d3d,tolerance=11", image_shape(5, 3, 1, 8), gray, 1, 0, 2, 0);
    const uint8_t rgb[] = { 1, 2, 3, 1, 2, 14, 1, 2, 3 };
    check("find_trim", image_shape(3, 1, 3, 8), rgb, 1, 0, 1, 0);
    check("find_trim", image_shape(1, 3, 3, 8), rgb, 0, 1, 0, 1);
    check("find_trim:color=01020d", image_shape(3, 1, 3, 8), rgb, 3, 1, 0, 0);
    const uint16_t wide[] = { 300, 300 + 2570, 300 + 2571, 65535, 300, 0 };
    check("find_trim", image_shape(6, 1, 1, 16), wide, 2, 0, 2, 0);
}

static void hidden_pixels_are_border(void **state) {
    (void)state;
    /* A border of one colour, then pixels that are not seen, then one that is; and one that is
     * seen less than the border. */
    const uint8_t rgba[] = { 9, 9, 9, 255, 200, 0, 0, 0, 9, 9, 9, 244, 0, 99, 0, 0, 9, 9, 9, 255 };
    check("find_trim", image_shape(5, 1, 4, 8), rgba, 2, 0, 2, 0);
    check("find_trim:tolerance=11", image_shape(5, 1, 4, 8), rgba, 5, 1, 0, 0);
    /* The first pixel is hidden: its colour decides nothing, only alpha does. */
    const uint8_t gray[] = { 7, 0, 200, 10, 7, 11, 0, 10, 90, 0 };
    check("find_trim", image_shape(5, 1, 2, 8), gray, 2, 0, 2, 0);
    check("find_trim:color=07070700", image_shape(5, 1, 2, 8), gray, 2, 0, 2, 0);
    check("find_trim:color=070707", image_shape(5, 1, 2, 8), gray, 1, 0, 1, 0);
    /* A picture without alpha has no pixel of a colour that is half seen. */
    check("find_trim:color=07070780", image_shape(2, 1, 1, 8), (const uint8_t[]){ 7, 7 }, 0, 0, 0,
          0);
}

/* ---- framed pictures */

static bool is_kept(const struct image *in, uint32_t x, uint32_t y, int tolerance) {
    const int scale = in->depth == 16 ? 257 : 1;
    const unsigned alpha = in->channels - 1u;
    const bool hides = in->channels % 2 == 0;
    const uint8_t *first = in->pixels, *row = image_row(in, y);
    const size_t at = (size_t)x * in->channels;
    if (hides && !sample_get(row, at + alpha, in->depth)) return false;
    for (unsigned c = 0; c < in->channels; c++) {
        const int a = (int)sample_get(first, c, in->depth),
                  b = (int)sample_get(row, at + c, in->depth);
        if (hides && c < alpha && !sample_get(first, alpha, in->depth)) continue;
        if (abs(a - b) > tolerance * scale) return true;
    }
    return false;
}

static void expect(const struct image *in, int tolerance, uint32_t cut[4]) {
    uint32_t left = in->width, top = in->height, right = 0, bottom = 0;
    for (uint32_t y = 0; y < in->height; y++)
        for (uint32_t x = 0; x < in->width; x++)
            if (is_kept(in, x, y, tolerance)) {
                left = x < left ? x : left;
                right = x + 1 > right ? x + 1 : right;
                top = y < top ? y : top;
                bottom = y + 1;
            }
    cut[0] = left, cut[1] = top;
    cut[2] = bottom ? in->width - right : 0, cut[3] = bottom ? in->height - bottom : 0;
}

/* Noise of AMPLITUDE levels around 100, with COUNT other pixels. Alpha is 255 or, of one pixel in
 * seven, 0. */
static void draw(const struct image *in, uint32_t amplitude, uint32_t count, uint32_t seed) {
    uint32_t state = seed * 2654435761u + 1;
    const uint32_t scale = in->depth == 16 ? 257 : 1;
    for (uint32_t y = 0; y < in->height; y++)
        for (uint32_t i = 0; i < in->width * in->channels; i++) {
            noise_next(&state);
            const bool alpha = in->channels % 2 == 0 && i % in->channels == in->channels - 1u;
            const uint32_t seen = (state >> 20) % 7 == 0 ? 0 : 255;
            sample_put(image_row(in, y), i, in->depth,
                       scale * (alpha ? seen : 100 + (state >> 16) % (amplitude + 1)));
        }
    for (; count; count--) {
        noise_next(&state);
        const uint32_t y = (state >> 8) % in->height;
        noise_next(&state);
        const uint32_t i = (state >> 8) % (in->width * in->channels);
        sample_put(image_row(in, y), i, in->depth, 255 * scale);
    }
}

static void framed(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = { { 1, 1 },    { 1, 17 },   { 19, 1 },
                                         { 200, 30 }, { 131, 66 }, { 64, 9 } };
    uint32_t cut[4], whole = 0, inner = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (unsigned kind = 0; kind < 8; kind++)
            for (uint32_t count = 0; count < 4; count++)
                for (int padding = 0; padding <= VALUES_PADDING; padding += VALUES_PADDING) {
                    struct image in =
                        image_shape(sizes[s][0], sizes[s][1], 1 + kind % 4, kind < 4 ? 8 : 16);
                    struct values_shape shape;
                    in.stride += (size_t)padding;
                    in.pixels = calloc(1, image_bytes(&in));
                    draw(&in, 10, count, (uint32_t)s + kind + 97 * count);
                    expect(&in, 10, cut);
                    uint32_t *values = values_of("find_trim", &in, NULL, &shape);
                    if (memcmp(values, cut, sizeof cut) != 0)
                        fail_msg("%ux%u, kind %u, %u others: %u %u %u %u, should be %u %u %u %u",
                                 in.width, in.height, kind, count, values[0], values[1], values[2],
                                 values[3], cut[0], cut[1], cut[2], cut[3]);
                    whole += cut[0] == in.width;
                    inner += cut[0] && cut[1] && cut[2] && cut[3];
                    free(values);
                    free(in.pixels);
                }
    assert_true(whole > 20);
    assert_true(inner > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(hidden_pixels_are_border),
        cmocka_unit_test(framed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
