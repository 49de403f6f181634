// SPDX-License-Identifier: Apache-2.0
/* clahe against values by hand, and every way of vectors against plain C at every shape;
 * tests/reference has OpenCV.
 * covers: pipeline/ops/clahe/plane.c pipeline/ops/clahe/blend.c */
#include "pipeline/ops/clahe.h"

#include "pipeline/ops/histogram_level.h"
#include "pipeline/rows/simd.h"
#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

/* One tile and no limit is plain equalization by sums up to a level: 1, 2 and 4 of 4 pixels times
 * 63.75 are 63.75, 127.5 and 255; the half goes to the even 128. */
static void one_tile(void **state) {
    (void)state;
    const uint8_t in[] = { 10, 20, 30, 30 }, out[] = { 64, 128, 255, 255 };
    check_8("clahe:tiles=1,clip=0", 2, 2, 1, in, 1, out);
    /* 65535 / 3 = 21845 */
    const uint16_t wide[] = { 1000, 65535, 1001 }, wanted[] = { 21845, 65535, 43690 };
    check_16("clahe:tiles=1,clip=0", 3, 1, 1, wide, 1, wanted);
}

/* Tiles of 2 x 1 pixels: 10 20 | 20 30 over 10 10 | 30 40. A tile's first level becomes 128 (127.5)
 * where it is one of two, all from its second on 255. Across, samples stand at -0.5, 0, 0.5 and 1
 * tiles, down at -0.5 and 0.5. The third: (255 + 128) / 2 = 191.5, to the even 192. Below: 10 is
 * 128 above and 255 below, again 192; 30 is 255 and 255 above, 255 and 128 below, 223.25. */
static void between_tiles(void **state) {
    (void)state;
    const uint8_t in[] = { 10, 20, 20, 30, 10, 10, 30, 40 };
    const uint8_t out[] = { 128, 255, 192, 255, 192, 192, 223, 255 };
    check_8("clahe:tiles=2,clip=0", 4, 2, 1, in, 1, out);
}

/* 3 x 1 in two tiles is padded to 4 x 2, tiles of 2 x 1, by 20 behind 10 20 30: the tiles are
 * 10 20 and 30 20, and samples stand at -0.5, 0 and 0.5. 30 is 255 in both. Unpadded the second
 * tile would have no 20. 20 is 255 in the first, which alone counts there. */
static void reflected(void **state) {
    (void)state;
    const uint8_t in[] = { 10, 20, 30 }, out[] = { 128, 255, 255 };
    check_8("clahe:tiles=2,clip=0", 3, 1, 1, in, 1, out);
    /* 10 30 20 has tiles 10 30 and 20 30: 20 is 128 in both. Without the reflected 30 it would be
     * 255 in the second, and 192 between. */
    const uint8_t other[] = { 10, 30, 20 }, wanted[] = { 128, 255, 128 };
    check_8("clahe:tiles=2,clip=0", 3, 1, 1, other, 1, wanted);
}

/* A side that is not divisible pads the other one too: 4 x 1 in two tiles becomes 6 x 2, with tiles
 * 10 20 30 and 40 30 20, whose levels are 85, 170 and 255. The third sample stands at 1/6:
 * 255 x 5/6 + 170 / 6 = 240.8. */
static void both_sides_are_padded(void **state) {
    (void)state;
    const uint8_t in[] = { 10, 20, 30, 40 }, out[] = { 85, 170, 241, 255 };
    check_8("clahe:tiles=2,clip=0", 4, 1, 1, in, 1, out);
}

/* 256 pixels of 100: of the mean, 1, a bin may have 2, so 254 are taken, and the bins 0..253 get
 * one each: 101 + 2 up to 100, times 255 / 256 is 102.6. Without a limit all stand at 100: 255. */
static void clipped(void **state) {
    (void)state;
    uint8_t in[256], out[256];
    memset(in, 100, sizeof in);
    memset(out, 103, sizeof out);
    check_8("clahe:tiles=1,clip=2", 16, 16, 1, in, 1, out);
    check_8("clahe:tiles=1,clip=2.999", 16, 16, 1, in, 1, out);
    memset(out, 255, sizeof out);
    check_8("clahe:tiles=1,clip=0", 16, 16, 1, in, 1, out);
    /* Less than a pixel is one: 255 taken, for 0..254; 102 up to 100, times 255 / 256 is 101.6. */
    memset(out, 102, sizeof out);
    check_8("clahe:tiles=1,clip=0.001", 16, 16, 1, in, 1, out);
    /* 16 bit: one of 65536 bins may have one; bins 0..254 times 65536 / 255 = 257 get one more: 0
     * alone is at 0, 257, 514 and so on up to 65278. Up to 100 x 257 there are 101 + 1 of 256. */
    uint16_t wide[256], wanted[256];
    for (int i = 0; i < 256; i++) wide[i] = 25700, wanted[i] = 26112; /* 102 x 65535 / 256 */
    check_16("clahe:tiles=1,clip=2", 16, 16, 1, wide, 1, wanted);
}

/* 102 pixels of 100 and two each of 150..226: 100 are taken, and every second bin from 0 to 198
 * gets one. */
static void rest_is_spread(void **state) {
    (void)state;
    uint8_t in[256], out[256];
    for (int i = 0; i < 256; i++) {
        const int v = i < 102 ? 100 : 150 + (i - 102) / 2;
        const int given = v / 2 + 1 < 100 ? v / 2 + 1 : 100;
        const int upto = given + 2 + (v < 150 ? 0 : 2 * (v - 149));
        in[i] = (uint8_t)v;
        out[i] = (uint8_t)((2 * upto * 255 + 256) / 512); /* 128 of 256 alone is a half */
    }
    assert_int_equal(out[0], 53);   /* 51 + 2 */
    assert_int_equal(out[102], 80); /* 76 + 4 */
    check_8("clahe:tiles=1,clip=2", 16, 16, 1, in, 1, out);
}

/* V = 100 and 200 become 128 and 255: 50 x 1.28 = 64; 20 x 1.275 = 25.5 -> 26; 12.75 -> 13. */
static void colour(void **state) {
    (void)state;
    const uint8_t in[] = { 100, 50, 0, 7, 200, 20, 10, 8 };
    const uint8_t out[] = { 128, 64, 0, 7, 255, 26, 13, 8 };
    check_8("clahe:tiles=1,clip=0", 2, 1, 4, in, 4, out);
    /* Luma 60 and 0, which become 255 and 128: 200 x 255 / 60 = 850 is clamped. */
    const uint8_t red[] = { 200, 0, 0, 0, 0, 0 }, lifted[] = { 255, 0, 0, 128, 128, 128 };
    check_8("clahe:tiles=1,clip=0,channel=luma", 2, 1, 3, red, 3, lifted);
    /* Channels: 0 and 9, 5 twice, 9 and 0. */
    const uint8_t mixed[] = { 0, 5, 9, 9, 5, 0 }, apart[] = { 128, 255, 255, 255, 255, 128 };
    check_8("clahe:tiles=1,clip=0,channel=each", 2, 1, 3, mixed, 3, apart);
    const uint8_t gray[] = { 1, 200, 2, 100 }, kept[] = { 128, 200, 255, 100 };
    check_8("clahe:tiles=1,clip=0", 2, 1, 2, gray, 2, kept);
}

/* ---- every way of vectors */

static struct image shape_of(size_t size, unsigned channels, unsigned depth) {
    static const struct {
        uint32_t width, height;
    } more[] = { { 321, 200 }, { 640, 49 }, { 64, 64 } };
    const bool awkward = size < AWKWARD_SIZES;
    return image_shape(awkward ? awkward_sizes[size].width : more[size - AWKWARD_SIZES].width,
                       awkward ? awkward_sizes[size].height : more[size - AWKWARD_SIZES].height,
                       channels, depth);
}

static struct image equalized(const struct step *step, const struct image *in) {
    struct failure failure = { 0 };
    struct image out = against_padded(image_shape(in->width, in->height, in->channels, in->depth));
    struct op_call call = { .params = &step->params, .in = *in, .out = out, .failure = &failure };
    const size_t scratch = step->op->scratch(&call);
    call.scratch = aligned_alloc(256, (scratch + 511) / 256 * 256);
    assert_int_equal(step->op->run(&call), STATUS_OK);
    free(call.scratch);
    return out;
}

/* Vectors against plain C, rows' ends included: what lies behind them is zero on both sides. */
static void compare_ways(const char *text, struct image shape, enum picture picture) {
    struct plan plan;
    struct failure failure = { 0 };
    if (plan_parse(&plan, text, &failure)) fail_msg("%s: %s", text, failure.message);
    const struct image in = against_padded(shape);
    picture_draw(&in, picture, 5);
    simd_limit(SIMD_NONE);
    const struct image plain = equalized(&plan.steps[0], &in);
    for (enum simd most = SIMD_AVX2; most <= SIMD_BEST; most++) {
        simd_limit(most);
        const struct image out = equalized(&plan.steps[0], &in);
        if (memcmp(out.pixels, plain.pixels, image_bytes(&out)))
            fail_msg("%s on %ux%u, %u x %u bit: vectors give another result", text, shape.width,
                     shape.height, shape.channels, shape.depth);
        free(out.pixels);
    }
    free(plain.pixels);
    free(in.pixels);
}

/* In 8 bits each size is noise, and by turns one of the others. Tables of 16 bits are what takes
 * long: there each plan has one number of channels and one picture of each size, and each size has
 * all four. */
static void every_way(void **state) {
    (void)state;
    static const char *const plans[] = { "clahe", "clahe:channel=luma,tiles=3,clip=0",
                                         "clahe:channel=each,tiles=5,clip=11.5",
                                         "clahe:tiles=17,clip=1" };
    for (size_t p = 0; p < sizeof plans / sizeof *plans; p++)
        for (size_t size = 0; size < AWKWARD_SIZES + 3; size++)
            for (unsigned channels = 1; channels <= 4; channels++)
                for (unsigned depth = 8; depth <= 16; depth += 8)
                    for (int picture = 0; picture < PICTURES; picture++)
                        if (depth == 8 ? !picture || (size_t)picture ==
                                                         1 + (size + channels + p) % (PICTURES - 1)
                                       : (channels == 1 + (size + p) % 4 &&
                                          (size_t)picture == (size / 4 + p) % PICTURES))
                            compare_ways(plans[p], shape_of(size, channels, depth),
                                         (enum picture)picture);
}

/* ---- arithmetic */

/* A cell begins with the first sample whose place says so: every tile's width up to 300 and some
 * large ones, where rounding is worst, at every cell of 64 tiles. */
static void cells_begin_where_places_say(void **state) {
    (void)state;
    for (uint32_t tile = 1; tile <= 1024; tile += tile < 300 ? 1 : 17) {
        const struct clahe_side side = clahe_side_of(64 * tile, 64, tile);
        uint32_t at = 0;
        for (uint32_t cell = 0; cell <= 65; cell++) {
            while (at < side.length && clahe_place_of(at, side.inverse).cell < cell) at++;
            assert_int_equal(clahe_cell_start(&side, cell), at);
        }
        assert_int_equal(side.cells,
                         tile == 1 ? 64 : 65); /* the last sample of 1 is before the middle */
        assert_int_equal(side.tiles, 64);
    }
}

/* Every sample, V and V' of 8 bits, samples over V too, as luma has them. */
static void scaled_is_exact(void **state) {
    (void)state;
    for (int32_t value = 0; value < 256; value++) {
        const float reciprocal = 1.0f / (float)value;
        for (int32_t level = 0; level < 256; level++)
            for (int32_t sample = 0; sample < 256; sample++)
                if (clahe_scaled8(sample, value, level, reciprocal) !=
                    (int32_t)level_scaled((uint32_t)sample, (uint32_t)value, (uint32_t)level, 255))
                    fail_msg("c %d, V %d, V' %d", sample, value, level);
    }
}

/* ---- parameters */

static void refused(const char *text, const char *range) {
    struct plan plan;
    struct failure failure = { 0 };
    assert_int_equal(plan_parse(&plan, text, &failure), STATUS_BAD_PARAM);
    if (!strstr(failure.message, range)) fail_msg("%s: %s", text, failure.message);
}

static void out_of_range(void **state) {
    (void)state;
    refused("clahe:tiles=0", "1..64");
    refused("clahe:tiles=65", "1..64");
    refused("clahe:tiles=8.5", "1..64");
    refused("clahe:clip=-1", "0..100");
    refused("clahe:clip=100.001", "0..100");
    refused("clahe:clip=101", "0..100");
    refused("clahe:clip=nan", "0..100");
    refused("clahe:channel=red", "value");
}

/* Tables, not pixels, are what a small image of 16 bits in many tiles costs; and as many as are
 * looked at: of 64 x 64 tiles one for a single pixel. */
static void passes(void **state) {
    (void)state;
    struct plan plan;
    struct failure failure = { 0 };
    assert_int_equal(plan_parse(&plan, "clahe:tiles=64", &failure), STATUS_OK);
    const struct step *step = &plan.steps[0];
    const struct image one = image_shape(1, 1, 1, 16), small = image_shape(64, 64, 1, 16),
                       large = image_shape(1920, 1080, 1, 8);
    assert_int_equal(step->op->passes(&step->params, &one), 1 + 65536);
    assert_int_equal(step->op->passes(&step->params, &small), 1 + 65536);
    assert_int_equal(step->op->passes(&step->params, &large), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_tile),        cmocka_unit_test(between_tiles),
        cmocka_unit_test(reflected),       cmocka_unit_test(both_sides_are_padded),
        cmocka_unit_test(clipped),         cmocka_unit_test(rest_is_spread),
        cmocka_unit_test(colour),          cmocka_unit_test(every_way),
        cmocka_unit_test(out_of_range),    cmocka_unit_test(cells_begin_where_places_say),
        cmocka_unit_test(scaled_is_exact), cmocka_unit_test(passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
