// SPDX-License-Identifier: Apache-2.0
/* Sizes and places of resize against a table computed by hand; what is refused, and by which words.
 * covers: pipeline/ops/resize/frame.c
 */
#include "pipeline/ops/resize/frame.h"

#include "pipeline/ops/resize/definition.h"
#include "pipeline/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* TEXT behind "resize:". */
static enum status make(const char *text, struct image in, struct frame *frame,
                        struct failure *failure) {
    char step[160];
    struct plan plan;
    snprintf(step, sizeof step, "resize:%s", text);
    *failure = (struct failure){ 0 };
    if (plan_parse(&plan, step, failure)) fail_msg("%s: %s", text, failure->message);
    return frame_make(frame, &plan.steps[0].params, &in, failure);
}

/* For each axis: the side of the scaled picture (to); the first pixel kept and their number; where
 * they lie in the result (at); the result's side (out). */
static const struct {
    uint32_t width, height;
    const char *text;
    uint32_t x_to, y_to, x_first, y_first, x_count, y_count, x_at, y_at, x_out, y_out;
} table[] = {
    /* 1080 * 320 / 1920 = 180; 1920 * 100 / 1080 = 177.8 */
    { 1920, 1080, "width=320", 320, 180, 0, 0, 320, 180, 0, 0, 320, 180 },
    { 1920, 1080, "height=100", 178, 100, 0, 0, 178, 100, 0, 0, 178, 100 },
    { 1920, 1080, "height=100,fit=fill", 178, 100, 0, 0, 178, 100, 0, 0, 178, 100 },
    { 1920, 1080, "width=320,fit=contain", 320, 180, 0, 0, 320, 180, 0, 0, 320, 180 },
    { 1920, 1080, "width=320,fit=outside", 320, 180, 0, 0, 320, 180, 0, 0, 320, 180 },
    { 1920, 1080, "width=320,fit=carve", 320, 180, 0, 0, 320, 180, 0, 0, 320, 180 },
    /* 1920 * 300 / 1080 = 533.3, of which 233 are over */
    { 1920, 1080, "width=300,height=300", 533, 300, 116, 0, 300, 300, 0, 0, 300, 300 },
    { 1920, 1080, "width=300,height=300,position=north", 533, 300, 116, 0, 300, 300, 0, 0, 300,
      300 },
    { 1920, 1080, "width=300,height=300,position=west", 533, 300, 0, 0, 300, 300, 0, 0, 300, 300 },
    { 1920, 1080, "width=300,height=300,position=northeast", 533, 300, 233, 0, 300, 300, 0, 0, 300,
      300 },
    { 1080, 1920, "width=300,height=300,position=southwest", 300, 533, 0, 233, 300, 300, 0, 0, 300,
      300 },
    { 1080, 1920, "width=300,height=300,position=north", 300, 533, 0, 0, 300, 300, 0, 0, 300, 300 },
    /* a point: 0.6 * 533 - 150 = 169.8; 0.25 * 533 < 150; the last window begins at 233 */
    { 1920, 1080, "width=300,height=300,x=600", 533, 300, 169, 0, 300, 300, 0, 0, 300, 300 },
    { 1920, 1080, "width=300,height=300,x=500", 533, 300, 116, 0, 300, 300, 0, 0, 300, 300 },
    { 1920, 1080, "width=300,height=300,x=250,y=0", 533, 300, 0, 0, 300, 300, 0, 0, 300, 300 },
    { 1920, 1080, "width=300,height=300,x=1000", 533, 300, 233, 0, 300, 300, 0, 0, 300, 300 },
    { 1920, 1080, "width=300,height=300,y=1000", 533, 300, 116, 0, 300, 300, 0, 0, 300, 300 },
    /* 1080 * 300 / 1920 = 168.75; 131 rows are missing */
    { 1920, 1080, "width=300,height=300,fit=inside", 300, 169, 0, 0, 300, 169, 0, 0, 300, 169 },
    { 1920, 1080, "width=300,height=300,fit=outside", 533, 300, 0, 0, 533, 300, 0, 0, 533, 300 },
    { 1920, 1080, "width=300,height=300,fit=fill", 300, 300, 0, 0, 300, 300, 0, 0, 300, 300 },
    { 1920, 1080, "width=300,height=300,fit=contain", 300, 169, 0, 0, 300, 169, 0, 65, 300, 300 },
    { 1920, 1080, "width=300,height=300,fit=contain,position=southeast", 300, 169, 0, 0, 300, 169,
      0, 131, 300, 300 },
    { 1920, 1080, "width=300,height=300,fit=contain,position=north", 300, 169, 0, 0, 300, 169, 0, 0,
      300, 300 },
    { 1920, 1080, "width=300,height=300,fit=contain,position=smart", 300, 169, 0, 0, 300, 169, 0,
      65, 300, 300 },
    /* 131 / 4 = 32.75 */
    { 1920, 1080, "width=300,height=300,fit=contain,y=250", 300, 169, 0, 0, 300, 169, 0, 32, 300,
      300 },
    { 1080, 1920, "width=300,height=300,fit=contain", 169, 300, 0, 0, 169, 300, 65, 0, 300, 300 },
    /* the same shape: all alike */
    { 1920, 1080, "width=960,height=540", 960, 540, 0, 0, 960, 540, 0, 0, 960, 540 },
    { 1920, 1080, "width=960,height=540,fit=contain", 960, 540, 0, 0, 960, 540, 0, 0, 960, 540 },
    { 1920, 1080, "width=960,height=540,fit=outside", 960, 540, 0, 0, 960, 540, 0, 0, 960, 540 },
    { 1920, 1080, "width=1920,height=1080", 1920, 1080, 0, 0, 1920, 1080, 0, 0, 1920, 1080 },
    /* halves go up, and a side is at least 1 */
    { 4, 3, "width=2", 2, 2, 0, 0, 2, 2, 0, 0, 2, 2 },
    { 4, 1, "width=2", 2, 1, 0, 0, 2, 1, 0, 0, 2, 1 },
    { 65535, 1, "width=1", 1, 1, 0, 0, 1, 1, 0, 0, 1, 1 },
    { 1, 65535, "height=1", 1, 1, 0, 0, 1, 1, 0, 0, 1, 1 },
    { 1, 1, "width=65535,height=65535", 65535, 65535, 0, 0, 65535, 65535, 0, 0, 65535, 65535 },
    /* 65535 * 65535 columns, of which one is ever made */
    { 65535, 1, "width=1,height=65535", 4294836225, 65535, 2147418112, 0, 1, 65535, 0, 0, 1,
      65535 },
    { 1, 65535, "width=65535,height=1,position=south", 65535, 4294836225, 0, 4294836224, 65535, 1,
      0, 0, 65535, 1 },
    /* nothing is scaled up: 80 x 200 would make 400 x 200 of 100 x 50 */
    { 100, 50, "width=200,height=200,enlarge=false", 100, 50, 0, 0, 100, 50, 0, 0, 100, 50 },
    { 100, 50, "width=80,height=200,enlarge=false", 100, 50, 10, 0, 80, 50, 0, 0, 80, 50 },
    { 100, 50, "width=80,height=200,enlarge=false,x=0", 100, 50, 0, 0, 80, 50, 0, 0, 80, 50 },
    { 100, 50, "width=80,height=200,enlarge=false,fit=fill", 80, 50, 0, 0, 80, 50, 0, 0, 80, 50 },
    { 100, 50, "width=200,height=20,enlarge=false,fit=fill", 100, 20, 0, 0, 100, 20, 0, 0, 100,
      20 },
    { 100, 50, "width=200,height=200,enlarge=false,fit=inside", 100, 50, 0, 0, 100, 50, 0, 0, 100,
      50 },
    { 100, 50, "width=80,height=200,enlarge=false,fit=inside", 80, 40, 0, 0, 80, 40, 0, 0, 80, 40 },
    { 100, 50, "width=80,height=200,enlarge=false,fit=outside", 100, 50, 0, 0, 100, 50, 0, 0, 100,
      50 },
    { 100, 50, "width=60,height=20,enlarge=false,fit=outside", 60, 30, 0, 0, 60, 30, 0, 0, 60, 30 },
    { 100, 50, "width=200,enlarge=false", 100, 50, 0, 0, 100, 50, 0, 0, 100, 50 },
    { 100, 50, "width=200,enlarge=false,fit=fill", 100, 50, 0, 0, 100, 50, 0, 0, 100, 50 },
    { 100, 50, "width=200,height=200,enlarge=false,fit=contain", 100, 50, 0, 0, 100, 50, 50, 75,
      200, 200 },
    { 100, 50, "width=100,height=100,enlarge=true", 200, 100, 50, 0, 100, 100, 0, 0, 100, 100 },
};

static void check_side(const char *text, const char *axis, const struct frame_side *side,
                       const uint32_t expected[5]) {
    if (side->to != expected[0] || side->first != expected[1] || side->count != expected[2] ||
        side->at != expected[3] || side->out != expected[4])
        fail_msg("%s, %s: %u, of which %u from %u on lie at %u of %u; should be %u, %u, %u, %u, %u",
                 text, axis, side->to, side->count, side->first, side->at, side->out, expected[0],
                 expected[2], expected[1], expected[3], expected[4]);
}

static void sizes_and_places(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct frame frame;
        struct failure failure;
        const struct image in = image_shape(table[i].width, table[i].height, 3, 8);
        if (make(table[i].text, in, &frame, &failure))
            fail_msg("%s: %s", table[i].text, failure.message);
        const uint32_t x[] = { table[i].x_to, table[i].x_first, table[i].x_count, table[i].x_at,
                               table[i].x_out };
        const uint32_t y[] = { table[i].y_to, table[i].y_first, table[i].y_count, table[i].y_at,
                               table[i].y_out };
        check_side(table[i].text, "x", &frame.x, x);
        check_side(table[i].text, "y", &frame.y, y);
        assert_int_equal(frame.x.from, table[i].width);
        assert_int_equal(frame.y.from, table[i].height);
        assert_int_equal(frame.x.seams + frame.y.seams, 0);
        assert_false(frame.smart || frame.whole);
        assert_int_equal(frame.channels, 3);
    }
}

/* Seams remove SHARE percent of the 233 surplus columns, rounded half up; a cut takes the rest. */
static void seams(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t seams, first;
        bool smart;
    } cases[] = {
        { "width=300,height=300,fit=carve", 233, 0, false },
        { "width=300,height=300,fit=carve,share=50", 117, 58, false }, /* 416 - 300 = 116 */
        { "width=300,height=300,fit=carve,share=50,position=east", 117, 116, false },
        { "width=300,height=300,fit=carve,share=0", 0, 116, false },
        { "width=300,height=300,fit=carve,share=1", 2, 115, false }, /* 2.33 */
        { "width=300,height=300,fit=carve,position=smart", 233, 0, false },
        { "width=300,height=300,fit=carve,share=99,position=smart", 231, 0, true }, /* 230.67 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct frame frame;
        struct failure failure;
        assert_int_equal(make(cases[i].text, image_shape(1920, 1080, 1, 8), &frame, &failure),
                         STATUS_OK);
        assert_int_equal(frame.x.seams, cases[i].seams);
        assert_int_equal(frame.y.seams, 0);
        assert_int_equal(frame.x.to, 533);
        assert_int_equal(frame.x.out, 300);
        assert_int_equal(frame.smart, cases[i].smart);
        assert_int_equal(frame.whole, cases[i].seams > 0);
        if (!frame.smart) assert_int_equal(frame.x.first, cases[i].first);
    }
}

/* The picture need not be seen where nothing is cut. */
static void smart_only_where_there_is_a_choice(void **state) {
    (void)state;
    struct frame frame;
    struct failure failure;
    const struct image in = image_shape(1920, 1080, 1, 8);
    make("width=300,height=300,position=smart", in, &frame, &failure);
    assert_true(frame.smart && frame.whole);
    make("width=320,height=180,position=smart", in, &frame, &failure);
    assert_false(frame.smart || frame.whole);
    make("width=320,position=smart", in, &frame, &failure);
    assert_false(frame.smart || frame.whole);
    make("width=300,height=300,fit=fill,position=smart", in, &frame, &failure);
    assert_false(frame.smart || frame.whole);
}

static void channels(void **state) {
    (void)state;
    static const struct {
        const char *text;
        unsigned of[4]; /* of gray, gray and alpha, colour, colour and alpha */
    } cases[] = {
        { "fit=contain,width=9,height=5", { 1, 2, 3, 4 } },
        { "fit=contain,width=9,height=5,background=808080", { 1, 2, 3, 4 } },
        { "fit=contain,width=9,height=5,background=00000000", { 2, 2, 4, 4 } },
        { "fit=contain,width=9,height=5,background=ff0000", { 3, 4, 3, 4 } },
        { "fit=contain,width=9,height=5,background=0000fffe", { 4, 4, 4, 4 } },
        { "fit=contain,width=9,background=0000fffe", { 1, 2, 3, 4 } },
        { "fit=cover,width=9,height=5,background=0000fffe", { 1, 2, 3, 4 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned c = 1; c <= 4; c++) {
            struct frame frame;
            struct failure failure;
            assert_int_equal(make(cases[i].text, image_shape(9, 5, c, 16), &frame, &failure),
                             STATUS_OK);
            assert_int_equal(frame.channels, cases[i].of[c - 1]);
        }
}

static void refused(void **state) {
    (void)state;
    static const struct {
        uint32_t width, height;
        const char *text;
        enum status status;
        const char *words[3];
    } cases[] = {
        { 9, 9, "fit=cover", STATUS_BAD_PARAM, { "width", "height", "1..65535" } },
        { 9, 9, "width=3,x=5,position=north", STATUS_BAD_PARAM, { "position", "x and y" } },
        { 9, 9, "width=3,y=5,position=smart", STATUS_BAD_PARAM, { "position", "x and y" } },
        { 10000,
          100,
          "width=100,height=1000,position=smart",
          STATUS_TOO_LARGE,
          { "smart", "100000 x 1000", "65535" } },
        /* 90 million, over four times 3000 x 3000 */
        { 1000,
          100,
          "width=3000,height=3000,fit=carve",
          STATUS_TOO_LARGE,
          { "carve", "30000 x 3000", "36000000" } },
        { 65535,
          1,
          "width=1,height=65535,position=smart",
          STATUS_TOO_LARGE,
          { "4294836225 x 65535", "width", "height" } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct frame frame;
        struct failure failure;
        const struct image in = image_shape(cases[i].width, cases[i].height, 3, 8);
        assert_int_equal(make(cases[i].text, in, &frame, &failure), cases[i].status);
        for (int w = 0; w < 3 && cases[i].words[w]; w++)
            if (!strstr(failure.message, cases[i].words[w]))
                fail_msg("%s: \"%s\" does not say %s", cases[i].text, failure.message,
                         cases[i].words[w]);
    }
}

/* 6667 x 2000 are fewer than 2^24. */
static void a_whole_picture_may_be_larger_than_both(void **state) {
    (void)state;
    struct frame frame;
    struct failure failure;
    assert_int_equal(make("width=2000,height=2000,position=smart", image_shape(1000, 300, 3, 8),
                          &frame, &failure),
                     STATUS_OK);
    assert_int_equal(frame.x.to, 6667);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_places),
        cmocka_unit_test(seams),
        cmocka_unit_test(smart_only_where_there_is_a_choice),
        cmocka_unit_test(channels),
        cmocka_unit_test(refused),
        cmocka_unit_test(a_whole_picture_may_be_larger_than_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
