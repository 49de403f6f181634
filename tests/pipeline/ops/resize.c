// SPDX-License-Identifier: Apache-2.0
/* resize against values computed by hand, and what must hold at every size; whole pictures against
 * Pillow and numpy are tests/reference/test_resize.py's, sizes resize_frame.c's.
 * covers: pipeline/ops/resize/scale.c */
#include "pipeline/ops/resize/scale.h"
#include "pipeline/registry.h"
#include "tests/pipeline/ops/pictures.h"
#include "tests/pipeline/ops/table.h"

#include <stdio.h>

/* ---- by hand */

/* Pixel floor((2 i + 1) n / (2 m)): of 5 for 3, floor of 5/6, 15/6, 25/6; of 2 for 5, of 2/10,
 * 6/10, 10/10, 14/10, 18/10. */
static void nearest(void **state) {
    (void)state;
    const uint8_t in[] = { 10, 20, 30, 40, 50 }, fewer[] = { 10, 30, 50 };
    const uint8_t two[] = { 1, 2, 3, 4 };
    const uint8_t more[] = { 1, 2, 1, 2, 3, 4, 3, 4, 3, 4 };
    check_8("resize:width=3,height=1,fit=fill,kernel=nearest", 5, 1, 1, in, 1, fewer);
    check_8("resize:width=1,height=3,fit=fill,kernel=nearest", 1, 5, 1, in, 1, fewer);
    check_8("resize:width=5,height=1,fit=fill,kernel=nearest", 2, 1, 2, two, 2, more);
}

/* A box of two pixels is their mean, half up. */
static void box(void **state) {
    (void)state;
    const uint8_t in[] = { 10, 20, 5, 6, 255, 254, 0, 1 }, out[] = { 15, 6, 255, 1 };
    check_8("resize:width=4,height=1,fit=fill,kernel=box", 8, 1, 1, in, 1, out);
    const uint16_t deep[] = { 60000, 60001, 7, 9 }, deeper[] = { 60001, 8 };
    check_16("resize:width=2,height=1,fit=fill,kernel=box", 4, 1, 1, deep, 1, deeper);
}

/* 200 opaque and 100 of alpha 51: (200 * 255 + 100 * 51) / 306 = 183.3, alpha (255 + 51) / 2 = 153.
 * The second pair is clear: its colours are gone. */
static void alpha_weighs(void **state) {
    (void)state;
    const uint8_t in[] = { 200, 255, 100, 51, 90, 0, 30, 0 }, out[] = { 183, 153, 0, 0 };
    check_8("resize:width=2,height=1,fit=fill,kernel=box", 4, 1, 2, in, 2, out);
    /* (40000 * 65535 + 1000 * 13107) / 78642 = 33500 exactly; 78642 / 2 = 39321 */
    const uint16_t deep[] = { 40000, 65535, 1000, 13107 }, deeper[] = { 33500, 39321 };
    check_16("resize:width=1,height=1,fit=fill,kernel=box", 2, 1, 2, deep, 2, deeper);
    /* nothing is weighed where pixels are moved, or stay as many */
    const uint8_t clear[] = { 90, 0, 30, 7 };
    check_8("resize:width=2,height=1", 2, 1, 2, clear, 2, clear);
    check_8("resize:width=2,height=1,linear=true", 2, 1, 2, clear, 2, clear);
    const uint8_t doubled[] = { 90, 0, 90, 0, 30, 7, 30, 7 };
    check_8("resize:width=4,height=1,fit=fill,kernel=nearest,linear=true", 2, 1, 2, clear, 2,
            doubled);
}

/* Half of black and white in linear light is 0.5, as a sample 188 (1.055 * 0.5^(1/2.4) - 0.055 =
 * 0.7354); of 16 bits 48192 or so: 0.735357 * 65535 = 48191.6, light being 32768 / 65535. */
static void linear_light(void **state) {
    (void)state;
    const uint8_t in[] = { 0, 255 }, out[] = { 188 };
    check_8("resize:width=1,height=1,fit=fill,kernel=box,linear=true", 2, 1, 1, in, 1, out);
    const uint16_t deep[] = { 0, 65535 }, deeper[] = { 48192 };
    check_16("resize:width=1,height=1,fit=fill,kernel=box,linear=true", 2, 1, 1, deep, 1, deeper);
    /* alpha is no light: the mean of 0 and 255 is 127.5 * 257, which is 128 of 8 bits; the colour
     * is that of the opaque pixel */
    const uint8_t half[] = { 0, 0, 0, 0, 10, 200, 30, 255 }, seen[] = { 10, 200, 30, 128 };
    check_8("resize:width=1,height=1,fit=fill,kernel=box,linear=true", 2, 1, 4, half, 4, seen);
}

static void canvas(void **state) {
    (void)state;
    const uint8_t gray[] = { 7, 8 };
    const uint8_t white[] = { 255, 255, 7, 8, 255, 255 };
    check_8("resize:width=2,height=3,fit=contain", 2, 1, 1, gray, 1, white);
    const uint8_t red[] = { 7, 7, 7, 8, 8, 8, 255, 0, 1, 255, 0, 1 };
    check_8("resize:width=2,height=2,fit=contain,position=north,background=ff0001", 2, 1, 1, gray,
            3, red);
    const uint8_t clear[] = { 1, 2, 3, 128, 7, 7, 7, 255, 8, 8, 8, 255, 1, 2, 3, 128 };
    check_8("resize:width=4,height=1,fit=contain,background=01020380", 2, 1, 1, gray, 4, clear);
    const uint16_t deep[] = { 1000, 2000 }, around[] = { 0x8080, 0x4040, 1000, 2000 };
    check_16("resize:width=1,height=2,fit=contain,position=south,background=80808040", 1, 1, 2,
             deep, 2, around);
    /* widened where pixels are weighed: (10 + 20) / 2 */
    const uint8_t weighed[] = { 15, 15, 15, 0, 0, 9 }, four[] = { 10, 20, 20, 10 };
    check_8("resize:width=1,height=2,fit=contain,kernel=box,position=north,background=000009", 2, 2,
            1, four, 3, weighed);
}

/* numpy.pad(in, ((0, 0), (2, 4)), "symmetric") and such: the edge itself is repeated, and past the
 * far side the picture begins again. */
static void a_picture_goes_on_around_itself(void **state) {
    (void)state;
    const uint8_t gray[] = { 7, 8 }, deep[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    const uint8_t edge[] = { 7, 7, 7, 7, 8, 7, 7, 7, 7, 8, 7, 7, 7, 7, 8 };
    check_8("resize:width=5,height=3,fit=contain,around=edge,enlarge=false,position=east", 2, 1, 1,
            gray, 1, edge);
    const uint8_t mirror[] = { 8, 7, 7, 8, 8, 7, 7, 8 };
    check_8("resize:width=8,height=1,fit=contain,around=mirror,enlarge=false,x=400", 2, 1, 1, gray,
            1, mirror);
    const uint8_t down[] = { 3, 4, 1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2 };
    check_8(
        "resize:width=1,height=7,fit=contain,around=mirror,enlarge=false,y=400,background=ff0001",
        1, 2, 2, deep, 2, down);
    const uint16_t wide[] = { 1, 2, 3, 40000, 50000, 60000 };
    const uint16_t wider[] = { 1, 2, 3, 1, 2, 3, 40000, 50000, 60000, 40000, 50000, 60000 };
    check_16("resize:width=4,height=1,fit=contain,around=edge,enlarge=false", 2, 1, 3, wide, 3,
             wider);
}

/* The window of a point at 0.75 * 4 = 3 begins at 2.5, rounded down. */
static void a_part_is_that_part_of_the_whole(void **state) {
    (void)state;
    const uint8_t in[] = { 1, 2, 3, 4, 5, 6, 7, 8 }, west[] = { 1, 2 }, east[] = { 7, 8 };
    const uint8_t middle[] = { 4, 5 };
    check_8("resize:width=2,height=1,position=west,enlarge=false", 8, 1, 1, in, 1, west);
    check_8("resize:width=2,height=1,position=east", 8, 1, 1, in, 1, east);
    check_8("resize:width=2,height=1", 8, 1, 1, in, 1, middle);
    check_8("resize:width=1,height=2,x=750", 4, 2, 1, (const uint8_t[8]){ [2] = 9, [6] = 3 }, 1,
            (const uint8_t[]){ 9, 3 });
}

/* The gradient is 0 but at the step from 0 to 200, in column 5: of windows of 3 on 10 columns those
 * from 3, 4 and 5 on have it, and 4 and 3 are as near to the middle: 3.5. */
static void smart_keeps_where_most_happens(void **state) {
    (void)state;
    uint8_t in[40];
    for (int i = 0; i < 40; i++) in[i] = i % 10 < 6 ? (uint8_t)(0) : 200;
    const uint8_t kept[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    check_8("resize:width=3,height=4,position=smart", 10, 4, 1, in, 1, kept);
}

/* ---- at every size */

struct shape {
    uint32_t width, height;
};

static struct image filled(struct image shape, enum picture picture) {
    shape.pixels = calloc(1, image_bytes(&shape));
    assert_non_null(shape.pixels);
    picture_draw(&shape, picture, 5);
    return shape;
}

/* Runs TEXT on IN; the caller frees the result's pixels. */
static struct image run(const char *text, const struct image *in) {
    struct plan plan;
    struct failure failure = { 0 };
    struct image out;
    assert_int_equal(plan_parse(&plan, text, &failure), STATUS_OK);
    const struct step *step = &plan.steps[0];
    if (step->op->size(&step->params, in, &out, &failure))
        fail_msg("%s: %s", text, failure.message);
    out.pixels = calloc(1, image_bytes(&out));
    struct op_call call = {
        .op = step->op, .params = &step->params, .in = *in, .out = out, .failure = &failure
    };
    call.scratch = aligned_alloc(256, (step->op->scratch(&call) + 511) / 256 * 256);
    assert_non_null(call.scratch);
    assert_int_equal(step->op->run(&call), STATUS_OK);
    free(call.scratch);
    return out;
}

/* A third of it is 0. */
static uint32_t alpha_noise(uint32_t y, size_t i, unsigned depth) {
    const uint32_t noise = (y * 7919 + (uint32_t)i) * 2654435761u;
    return noise % 3 ? noise >> (32 - depth) : 0;
}

/* White, black and any other colour stay what they are, opaque, under any alpha, and in light. */
static void one_colour_stays(void **state) {
    (void)state;
    static const char *const kernels[] = { "lanczos3", "cubic", "linear", "box", "nearest" };
    static const struct shape from[] = { { 1, 1 }, { 13, 42 }, { 97, 31 } };
    static const struct shape to[] = { { 1, 1 }, { 7, 99 }, { 40, 13 }, { 96, 32 } };
    static const uint32_t levels[] = { 0, 65535, 0x6437 };
    char text[128];
    for (int n = 0; n < 5 * 2 * 3 * 4 * 3; n++) {
        const char *kernel = kernels[n % 5];
        const struct shape source = from[n / 10 % 3], goal = to[n / 30 % 4];
        const uint32_t level = levels[n / 120];
        for (unsigned channels = 1; channels <= 4; channels++)
            for (unsigned depth = 8; depth <= 16; depth += 8) {
                struct image in = image_shape(source.width, source.height, channels, depth);
                in = filled(in, PICTURE_BLACK);
                const bool alpha = channels % 2 == 0, opaque = n / 7 % 2;
                for (uint32_t y = 0; y < in.height; y++)
                    for (size_t i = 0; i < (size_t)in.width * channels; i++)
                        sample_put(image_row(&in, y), i, depth,
                                   !alpha || i % channels < channels - 1 ? level >> (16 - depth)
                                   : opaque                              ? image_max(&in)
                                            : alpha_noise(y, i, depth));
                /* 16 bits of light do not distinguish all dark samples of 16 bits */
                const bool linear = n / 5 % 2 && (depth == 8 || level != levels[2]);
                snprintf(text, sizeof text,
                         "resize:width=%u,height=%u,fit=fill,kernel=%s,linear=%d", goal.width,
                         goal.height, kernel, linear);
                struct image out = run(text, &in);
                for (uint32_t y = 0; y < out.height; y++)
                    for (size_t i = 0; i < (size_t)out.width * channels; i++)
                        if (sample_get(image_row(&out, y), i, depth) !=
                                sample_get(in.pixels, i % channels, depth) &&
                            (!alpha || opaque ||
                             (i % channels < channels - 1 &&
                              sample_get(image_row(&out, y), i / channels * channels + channels - 1,
                                         depth))))
                            fail_msg("%s, %u channels of %u bits: %u became %u", text, channels,
                                     depth, sample_get(in.pixels, i % channels, depth),
                                     sample_get(image_row(&out, y), i, depth));
                free(in.pixels);
                free(out.pixels);
            }
    }
}

static void assert_same(const struct image *a, const struct image *b, const char *what) {
    if (!image_same_shape(a, b) || image_digest(a) != image_digest(b)) fail_msg("%s", what);
}

/* A cut is a part of the picture that is scaled as a whole. */
static void a_cut_is_a_part_of_outside(void **state) {
    (void)state;
    for (unsigned channels = 1; channels <= 4; channels++) {
        const struct image in = filled(image_shape(83, 57, channels, 8), PICTURE_NOISE);
        struct image whole = run("resize:width=40,height=44,fit=outside", &in);
        struct image part = run("resize:width=40,height=44,x=700", &in);
        /* 83 * 44 / 57 = 64.07; 0.7 * 64 - 20 = 24.8 */
        assert_int_equal(whole.width, 64);
        const struct image expected = { .pixels = whole.pixels + 24 * channels,
                                        .stride = whole.stride,
                                        .width = 40,
                                        .height = 44,
                                        .channels = whole.channels,
                                        .depth = 8 };
        assert_same(&part, &expected, "a cut differs");
        free(whole.pixels);
        free(part.pixels);
        free(in.pixels);
    }
}

/* The same through carve itself, and cut. */
static void carving_is_carve(void **state) {
    (void)state;
    if (!registry_find("carve")) return;
    const struct image in = filled(image_shape(90, 60, 3, 8), PICTURE_NOISE);
    struct image whole = run("resize:width=40,height=40,fit=outside", &in); /* 60 x 40 */
    struct image carved = run("carve:width=50", &whole);
    struct image got = run("resize:width=40,height=40,fit=carve,share=50,position=west", &in);
    const struct image west = { .pixels = carved.pixels, carved.stride, 40, 40, 3, 8 };
    assert_same(&got, &west, "half by seams, half cut");
    free(got.pixels);
    free(carved.pixels);
    carved = run("carve:width=40", &whole);
    got = run("resize:width=40,height=40,fit=carve", &in);
    assert_same(&got, &carved, "all by seams");
    free(got.pixels);
    got = run("resize:width=40,height=40,fit=carve,share=0", &in);
    struct image cover = run("resize:width=40,height=40", &in);
    assert_same(&got, &cover, "none by seams");
    free(got.pixels);
    free(cover.pixels);
    free(carved.pixels);
    free(whole.pixels);
    free(in.pixels);
}

/* The most extreme pictures there may be want little memory beside themselves. */
static void scratch_is_bounded(void **state) {
    (void)state;
    static const struct {
        uint32_t width, height;
        const char *text;
    } cases[] = { { 1000, 65535, "resize:width=65535,height=1000,fit=fill" },
                  { 1000, 65535, "resize:width=65535,height=1,fit=fill" },
                  { 65535, 1000, "resize:width=1000,height=65535,fit=fill" },
                  { 65535, 1, "resize:width=1,height=65535" },
                  { 8192, 8192, "resize:width=8191,height=8191,fit=fill" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan plan;
        struct failure failure = { 0 };
        assert_int_equal(plan_parse(&plan, cases[i].text, &failure), STATUS_OK);
        const struct step *step = &plan.steps[0];
        struct op_call call = { .op = step->op,
                                .params = &step->params,
                                .in = image_shape(cases[i].width, cases[i].height, 4, 16) };
        assert_int_equal(step->op->size(&step->params, &call.in, &call.out, &failure), STATUS_OK);
        if (step->op->scratch(&call) > 128 << 20)
            fail_msg("%s of %u x %u: %zu bytes", cases[i].text, cases[i].width, cases[i].height,
                     step->op->scratch(&call));
    }
}

/* A picture so high that it is made in strips has equal samples in one channel and widened to 3. */
static void widened_in_strips(void **state) {
    (void)state;
    const struct image in = filled(image_shape(3, 60000, 1, 16), PICTURE_NOISE);
    struct image plain = run("resize:width=220,height=2,fit=fill", &in);
    struct scale job = { .in = in,
                         .out = filled(image_shape(220, 2, 3, 16), PICTURE_BLACK),
                         .x = { 3, 220, 0, 220, RESAMPLE_LANCZOS3 },
                         .y = { 60000, 2, 0, 2, RESAMPLE_LANCZOS3 } };
    job.scratch = aligned_alloc(64, (scale_bytes(&job) + 63) / 64 * 64);
    assert_int_equal(scale_run(&job), STATUS_OK);
    for (uint32_t y = 0; y < 2; y++)
        for (size_t i = 0; i < 3 * 220; i++)
            assert_int_equal(sample_get(image_row(&job.out, y), i, 16),
                             sample_get(image_row(&plain, y), i / 3, 16));
    free(job.scratch);
    free(job.out.pixels);
    free(plain.pixels);
    free(in.pixels);
}

/* A job's predicted work grows with what there is to do. */
static void passes_grow_with_the_work(void **state) {
    (void)state;
    static const char *const less_to_more[] = { "width=200,height=200,fit=fill,kernel=nearest",
                                                "width=200,height=200,fit=fill,kernel=box",
                                                "width=200,height=200,fit=fill",
                                                "width=200,height=200,fit=carve,share=50",
                                                "width=200,height=200,fit=carve" };
    const struct image in = image_shape(1920, 1080, 3, 8), alpha = image_shape(1920, 1080, 4, 8);
    uint32_t before = 0;
    for (size_t i = 0; i < sizeof less_to_more / sizeof *less_to_more; i++) {
        char text[128];
        struct plan plan;
        snprintf(text, sizeof text, "resize:%s", less_to_more[i]);
        assert_int_equal(plan_parse(&plan, text, NULL), STATUS_OK);
        const uint32_t passes = plan.steps[0].op->passes(&plan.steps[0].params, &in);
        if (passes <= before) fail_msg("%s: %u passes, before it %u", text, passes, before);
        before = passes;
        const uint32_t with_alpha = plan.steps[0].op->passes(&plan.steps[0].params, &alpha);
        assert_true(i != 2 || with_alpha > passes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest),
        cmocka_unit_test(box),
        cmocka_unit_test(alpha_weighs),
        cmocka_unit_test(linear_light),
        cmocka_unit_test(canvas),
        cmocka_unit_test(a_picture_goes_on_around_itself),
        cmocka_unit_test(a_part_is_that_part_of_the_whole),
        cmocka_unit_test(smart_keeps_where_most_happens),
        cmocka_unit_test(one_colour_stays),
        cmocka_unit_test(a_cut_is_a_part_of_outside),
        cmocka_unit_test(carving_is_carve),
        cmocka_unit_test(scratch_is_bounded),
        cmocka_unit_test(widened_in_strips),
        cmocka_unit_test(passes_grow_with_the_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
