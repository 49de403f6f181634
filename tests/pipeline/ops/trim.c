// SPDX-License-Identifier: Apache-2.0
/* trim in plans: what follows gets the same picture as if it had come without its border, image by
 * image of a batch with different cuts, in the trunk and in branches; what the new size does not
 * allow fails alone.
 * covers: pipeline/run_find.c */
#include "pipeline/registry.h"
#include "pipeline/run.h"
#include "tests/pipeline/ops/pictures.h"
#include "tests/pipeline/plan_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 4, PARTS = 3 };

/* The last one is border alone. */
static const struct {
    uint32_t width, height;
    struct cut cut;
} pictures[COUNT] = { { 60, 50, { 7, 3, 11, 2 } },
                      { 41, 33, { 0, 0, 0, 0 } },
                      { 90, 31, { 40, 1, 2, 3 } },
                      { 17, 23, { 0, 0, 0, 0 } } };

static struct lane *lane;
static uint64_t pixels_max; /* of picture 0 */
static bool with_masks;     /* in place 0 of carve's further images */

static int open_lane(void **state) {
    (void)state;
    const struct lane_options options = { .staging_bytes = 4096 };
    return device_cpu.open(0, &options, &lane, NULL) != STATUS_OK;
}

static int close_lane(void **state) {
    (void)state;
    device_cpu.close(lane);
    return 0;
}

/* Noise from level 100 on, in a frame of level 50 where the picture is FRAMED. */
static void draw(const struct image *image, int k, bool framed) {
    const struct cut none = { 0 }, *cut = framed ? &pictures[k].cut : &none;
    const uint32_t end = image->width - cut->right, bottom = image->height - cut->bottom;
    uint32_t state = 99u + (uint32_t)k;
    for (uint32_t y = 0; y < image->height; y++)
        memset(image_row(image, y), 50, image_row_bytes(image));
    if (k == 3) return;
    for (uint32_t y = cut->top; y < bottom; y++)
        for (uint32_t i = cut->left * image->channels; i < end * image->channels; i++) {
            noise_next(&state);
            image_row(image, y)[i] = (uint8_t)(100 + (state >> 16) % 156);
        }
}

struct scene {
    struct plan_tree plans;
    struct run_tree tree;
    struct run_item items[PARTS][COUNT];
    uint8_t *out[PARTS][COUNT]; /* copies of results and values */
    size_t length[PARTS][COUNT];
};

static void append(struct scene *scene, int p, int k, const void *bytes, size_t length) {
    uint8_t **out = &scene->out[p][k];
    *out = realloc(*out, scene->length[p][k] + length + 1);
    if (length) memcpy(*out + scene->length[p][k], bytes, length);
    scene->length[p][k] += length;
}

/* Rows of the result, then the values but those of the first SKIPPED steps of the trunk. */
static void copy_out(struct scene *scene, int skipped) {
    for (int p = 0; p < scene->tree.part_count; p++)
        for (int k = 0; k < COUNT; k++) {
            const struct run_item *item = &scene->items[p][k];
            const uint32_t sides[2] = { item->out.width, item->out.height };
            append(scene, p, k, sides, sizeof sides);
            for (uint32_t y = 0; item->out.pixels && y < item->out.height; y++)
                append(scene, p, k, image_row(&item->out, y), image_row_bytes(&item->out));
            for (int s = p ? 0 : skipped; s < scene->plans.parts[p].count; s++)
                append(scene, p, k, item->values[s].numbers, values_bytes(&item->values[s].shape));
        }
}

/* Runs TEXT on the pictures, framed or as if they had come without a frame. */
static enum status run(struct scene *scene, const char *text, bool framed, unsigned channels,
                       struct failure *failure) {
    memset(scene, 0, sizeof *scene);
    if (plan_tree_read(&scene->plans, text, failure)) return failure->status;
    scene->tree = (struct run_tree){ .count = COUNT, .part_count = scene->plans.count };
    for (int p = 0; p < scene->plans.count; p++) {
        const struct plan *plan = &scene->plans.parts[p];
        scene->tree.parts[p] = (struct run_part){ .plan = plan, .items = scene->items[p] };
        for (int k = 0; k < COUNT; k++)
            if (run_last_maker(plan) < 0 && p) scene->items[p][k].want = RUN_NOTHING;
    }
    for (int k = 0; k < COUNT; k++) {
        struct image in = image_shape(pictures[k].width, pictures[k].height, channels, 8);
        const struct image left = cut_shape(&in, &pictures[k].cut);
        scene->items[0][k].in = framed ? in : left;
        if (with_masks)
            scene->items[0][k].aux[0] = image_shape(left.width + (k == 1), left.height, 1, 8);
    }
    scene->items[0][0].own_pixels_max = pixels_max;
    enum status status = run_reserve_tree(lane, &scene->tree, 1 << 20, failure);
    for (int k = 0; k < COUNT && !status; k++) {
        const struct image *mask = &scene->items[0][k].aux[0];
        draw(&scene->items[0][k].in, k, framed);
        if (mask->width) memset(mask->pixels, 0, image_bytes(mask));
    }
    return status ? status : run_batch_tree(lane, &scene->tree, failure);
}

static void release(struct scene *scene) {
    for (int p = 0; p < PARTS; p++)
        for (int k = 0; k < COUNT; k++) free(scene->out[p][k]);
}

/* FRAMED on the pictures gives what BARE, without its first step, gives without their frames.
 * False: BARE is refused. */
static bool compare(const char *with, int skipped, const char *without, unsigned channels) {
    static struct scene framed, bare;
    struct failure failure = { 0 };
    if (run(&bare, without, false, channels, &failure)) return false;
    copy_out(&bare, 0);
    if (run(&framed, with, true, channels, &failure)) fail_msg("%s: %s", with, failure.message);
    copy_out(&framed, skipped);
    for (int p = 0; p < bare.tree.part_count; p++)
        for (int k = 0; k < COUNT; k++) {
            assert_int_equal(framed.items[p][k].failure.status, STATUS_OK);
            if (framed.length[p][k] != bare.length[p][k] ||
                memcmp(framed.out[p][k], bare.out[p][k], bare.length[p][k]) != 0)
                fail_msg("%s, picture %d, part %d, %u channels: not what %s makes", with, k, p,
                         channels, without);
        }
    release(&bare);
    release(&framed);
    return true;
}

static void every_operator_behind_trim(void **state) {
    (void)state;
    int compared = 0;
    for (int o = 0; o < registry_count(); o++) {
        const struct op *op = registry_at(o);
        struct plan plan = { .count = 1, .steps = { { .op = op } } };
        char with[256] = "trim;", *without = with + 5;
        params_init(&plan.steps[0].params, op->params);
        for (int i = 0; op->params[i].type; i++) {
            if (!op->params[i].example) continue;
            plan.steps[0].params.number[i] = op->params[i].example;
        }
        if (op->by_profile ||
            plan_print(&plan, without, sizeof with - 5, NULL)) /* srgb is the first step of all */
            continue;
        for (unsigned channels = 1; channels <= 3; channels += 2)
            compared += compare(with, 1, without, channels);
    }
    assert_true(compared > registry_count());
}

static void in_longer_plans(void **state) {
    (void)state;
    assert_true(compare("trim;resize:width=300", 1, "resize:width=300", 3));
    assert_true(compare("trim;zoom:times=9;mean", 1, "zoom:times=9;mean", 1));
    assert_true(compare("mean;flop;flop;trim;flip;histogram", 4, "flip;histogram", 3));
    assert_true(compare("histogram;trim;trim;mean;trim", 2, "trim;mean;trim", 1));
    assert_true(compare("trim|resize:width=99|thumbhash", 1, "|resize:width=99|thumbhash", 3));
    assert_true(compare("flip;trim;flip|mean;flop|rotate:angle=90;blurhash", 3,
                        "|mean;flop|rotate:angle=90;blurhash", 3));
}

/* Each branch looks for its own border. */
static void in_branches(void **state) {
    (void)state;
    static struct scene scene;
    assert_int_equal(run(&scene, "flip|extract:left=1,width=16,height=20;trim|trim;resize:width=50",
                         true, 1, NULL),
                     STATUS_OK);
    for (int k = 0; k < COUNT; k++) {
        const struct cut *cut = &pictures[k].cut, *is = &scene.items[2][k].cuts[0];
        assert_int_equal(is->left, cut->left);
        assert_int_equal(is->top, cut->bottom);
        assert_int_equal(is->bottom, cut->top);
        assert_memory_equal(scene.items[2][k].values[0].numbers, is, sizeof *is);
        assert_int_equal(scene.items[2][k].out.width, 50);
        assert_int_equal(scene.items[0][k].out.width, pictures[k].width);
    }
    assert_int_equal(scene.items[1][0].out.width, 10);
    assert_int_equal(scene.items[1][0].out.height, 18);
    assert_int_equal(scene.items[1][3].out.height, 20);
}

static void check_failed(const struct scene *scene, int failed, enum status status,
                         const char *message) {
    const struct run_item *items = scene->items[0];
    for (int k = 0; k < COUNT; k++)
        assert_int_equal(items[k].failure.status, k == failed ? status : STATUS_OK);
    assert_non_null(strstr(items[failed].failure.message, message));
}

/* All are cut to 17 x 22 first; of picture 0 only 10 x 19 are left then, of the others all. */
static void what_does_not_fit_fails_alone(void **state) {
    (void)state;
    static struct scene scene;
    static const char *const texts[] = {
        "extract:width=17,height=22;trim;extract:width=11,height=20",
        "extract:width=17,height=22;trim|extract:width=11,height=20",
        "extract:width=17,height=22|trim;extract:width=11,height=20",
    };
    for (int t = 0; t < 3; t++) {
        assert_int_equal(run(&scene, texts[t], true, 3, NULL), STATUS_OK);
        check_failed(&scene, 0, STATUS_BAD_PARAM, "left + width must be at most 10, not 11");
        for (int k = 1; k < COUNT; k++) {
            const struct image *out = &scene.items[scene.tree.part_count - 1][k].out;
            assert_int_equal(out->width, 11);
            assert_int_equal(image_row(out, 19)[32] == 50, k > 1);
        }
    }
}

/* 42 x 45 are left of picture 0: as wide as before it has more pixels. */
static void what_grows_too_large_fails_alone(void **state) {
    (void)state;
    static struct scene scene;
    for (pixels_max = 60 * 64; pixels_max >= 60 * 63; pixels_max -= 60) {
        assert_int_equal(run(&scene, "trim;resize:width=60,enlarge=true", true, 1, NULL),
                         STATUS_OK);
        if (pixels_max == 60 * 64) assert_int_equal(scene.items[0][0].out.height, 64);
        if (pixels_max == 60 * 63)
            check_failed(&scene, 0, STATUS_TOO_LARGE, "is 3840 pixels, more than the 3780");
    }
    pixels_max = 0;
}

/* A mask is as large as what is left; that of picture 1 is not. */
static void masks_fit_what_is_left(void **state) {
    (void)state;
    static struct scene scene;
    struct failure failure = { 0 };
    if (!registry_find("carve")) return;
    with_masks = true;
    for (int branch = 0; branch < 2; branch++) {
        const char *text = branch ? "trim|carve:dx=-2" : "trim;carve:dx=-2";
        if (run(&scene, text, true, 3, &failure)) fail_msg("%s", failure.message);
        check_failed(&scene, 1, STATUS_MISMATCH, "they must be the same size");
        assert_int_equal(scene.items[branch][0].out.width, 40);
    }
    with_masks = false;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_behind_trim),
        cmocka_unit_test(in_longer_plans),
        cmocka_unit_test(in_branches),
        cmocka_unit_test(what_does_not_fit_fails_alone),
        cmocka_unit_test(what_grows_too_large_fails_alone),
        cmocka_unit_test(masks_fit_what_is_left),
    };
    return cmocka_run_group_tests(tests, open_lane, close_lane);
}
