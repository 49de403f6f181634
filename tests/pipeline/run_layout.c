// SPDX-License-Identifier: Apache-2.0
/* Items that come as files and as pixels, and leave as files, pixels or nothing, each for itself in
 * one batch: results and values are those of the same images as pixels alone. Where plans part,
 * each branch gives what all its steps give for the image alone, also where branches share work.
 *
 * How it works. The device is tests/twin_device.h: host memory apart from its own, everything
 * filled with 0xa5 beforehand.
 */
#include "pipeline/run_layout.h"

#include "pipeline/registry.h"
#include "tests/pipeline/codecs/made_files.h"
#include "tests/twin_device.h"

enum { ITEMS_MAX = 9, FILE_ROOM = 64 << 10 };

static const char *const plans[] = {
    "",
    "mean",
    "brightness:shift=10",
    "histogram;minimum",
    "grayscale;brightness:shift=3;mean;threshold:level=99",
    "minimum;grayscale;brightness:shift=3;brightness:shift=4;mean",
};
enum { PLANS = sizeof plans / sizeof *plans };

/* Some branches that begin with carve and differ only in width share their seams. */
static const char *const carvings[] = {
    "carve:width=20",
    "carve:width=31",
    "carve:width=1",
    "carve:width=47;brightness:shift=9;mean",
    "carve:width=38;carve:width=30",
    "carve:width=60",
    "carve:width=22,energy=sobel3",
    "carve:width=24,height=9",
    "carve:width=90,show=energy",
    "mean;carve:width=20",
    "grayscale",
};
enum { CARVINGS = sizeof carvings / sizeof *carvings };

struct picture {
    struct bytes file;
    struct image pixels; /* what the CPU decodes */
    struct probe probe;
    struct jpeg_baseline jpeg;
    uint8_t made[FILE_ROOM];
};

static struct lane *twin, *cpu;

static void make_picture(struct picture *picture, uint32_t *seed) {
    struct image image = new_waves(1 + next_random(seed) % 60, 1 + next_random(seed) % 60, 3);
    const struct jpeg_recipe recipe = { .image = &image, .orientation = next_random(seed) % 9 };
    struct metadata metadata = { 0 };
    picture->file = make_jpeg(&recipe);
    picture->pixels = must_decode(&picture->file, &metadata, NULL);
    metadata_release(&metadata);
    assert_int_equal(probe_image(picture->file.data, picture->file.length,
                                 &codec_limits_default.probe, &picture->probe, NULL),
                     STATUS_OK);
    assert_true(jpeg_baseline_read_header(picture->file.data, picture->file.length, &picture->probe,
                                          &codec_limits_default, &picture->jpeg));
    free(image.pixels);
}

static void copy_rows(const struct image *from, const struct image *to) {
    for (uint32_t y = 0; y < from->height; y++)
        memcpy(image_row(to, y), image_row(from, y), image_row_bytes(from));
}

static void run_items(struct lane *lane, const struct plan *plan, struct picture *pictures,
                      struct run_item *items, int count) {
    struct failure failure = { 0 };
    if (run_reserve(lane, plan, items, count, 1 << 20, &failure)) fail_msg("%s", failure.message);
    for (int i = 0; i < count; i++) {
        assert_true(!items[i].jpeg == (items[i].in.pixels != NULL));
        if (!items[i].jpeg) copy_rows(&pictures[i].pixels, &items[i].in);
    }
    if (run_batch(lane, plan, items, count, &failure)) fail_msg("%s", failure.message);
}

static void wish(struct run_item *item, struct picture *picture, const struct plan *plan,
                 uint32_t *seed) {
    struct image shapes[PLAN_STEPS_MAX + 1];
    *item = (struct run_item){ .in = picture->probe.shape };
    item->want = (enum run_result)(next_random(seed) % 4);
    if (next_random(seed) % 2) item->jpeg = &picture->jpeg;
    assert_int_equal(plan_shapes(plan, &item->in, 1 << 20, shapes, NULL), STATUS_OK);
    item->file = (struct lane_encoding){
        .image = shapes[plan->count], .quality = 85, .bytes = picture->made, .capacity = FILE_ROOM
    };
    if (item->jpeg) item->decode_bytes = twin_codec.decode_bytes(item->jpeg);
    if (run_wants_file(item)) item->encode_bytes = twin_codec.encode_bytes(&item->file);
}

static void compare(const struct plan *plan, const struct run_item *item,
                    const struct run_item *expected, const struct picture *picture) {
    static uint8_t file[FILE_ROOM];
    size_t length;
    uint32_t notes = 0;
    assert_false(item->refused);
    assert_int_equal(item->failure.status, STATUS_OK);
    for (int s = 0; s < plan->count; s++) {
        const size_t bytes = values_bytes(&item->values[s].shape);
        assert_int_equal(bytes, values_bytes(&expected->values[s].shape));
        if (bytes) assert_memory_equal(item->values[s].numbers, expected->values[s].numbers, bytes);
    }
    if (run_wants_pixels(item)) assert_same(&item->out, &expected->out);
    if (!run_wants_pixels(item)) assert_null(item->out.pixels);
    if (!run_wants_file(item)) return;
    assert_int_equal(codec_encode(&expected->out, NULL, &encode_options_default, NULL, file,
                                  FILE_ROOM, &length, &notes, NULL),
                     STATUS_OK);
    assert_int_equal(item->file.length, length);
    assert_memory_equal(picture->made, file, length);
}

static void try_mix(const char *text, uint32_t seed) {
    static struct picture pictures[ITEMS_MAX];
    struct run_item items[ITEMS_MAX], expected[ITEMS_MAX];
    struct plan plan;
    const int count = 1 + (int)(next_random(&seed) % ITEMS_MAX);
    assert_int_equal(plan_parse(&plan, text, NULL), STATUS_OK);
    for (int i = 0; i < count; i++) {
        make_picture(&pictures[i], &seed);
        wish(&items[i], &pictures[i], &plan, &seed);
        expected[i] = (struct run_item){ .in = pictures[i].probe.shape };
    }
    run_items(cpu, &plan, pictures, expected, count);
    run_items(twin, &plan, pictures, items, count);
    for (int i = 0; i < count; i++) {
        compare(&plan, &items[i], &expected[i], &pictures[i]);
        free(pictures[i].file.data);
        free(pictures[i].pixels.pixels);
    }
}

static void files_and_pixels_mix(void **state) {
    (void)state;
    for (uint32_t seed = 0; seed < 60; seed++) try_mix(plans[seed % PLANS], seed);
}

/* ---- plans that part */

enum { BRANCHES_MAX = 4 };

/* Steps of each part, and their items. */
struct scene {
    int count, part_count;
    const char *texts[1 + BRANCHES_MAX];
    struct plan plans[1 + BRANCHES_MAX];
    struct picture *pictures[1 + BRANCHES_MAX]; /* the trunk's; of a branch, room for its files */
    struct run_item items[1 + BRANCHES_MAX][ITEMS_MAX];
};

/* Nothing is wanted of the trunk by chance alone: mostly it is the branches that ask. */
static void wish_part(struct scene *scene, int p, uint32_t *seed) {
    struct image shapes[PLAN_STEPS_MAX + 1];
    assert_int_equal(plan_parse(&scene->plans[p], scene->texts[p], NULL), STATUS_OK);
    for (int i = 0; i < scene->count; i++) {
        struct run_item *item = &scene->items[p][i];
        if (!p) {
            wish(item, &scene->pictures[0][i], &scene->plans[0], seed);
            continue;
        }
        const struct image *in = &scene->pictures[0][i].probe.shape;
        assert_int_equal(plan_shapes(&scene->plans[0], in, 1 << 20, shapes, NULL), STATUS_OK);
        const struct image middle = shapes[scene->plans[0].count];
        assert_int_equal(plan_shapes(&scene->plans[p], &middle, 1 << 20, shapes, NULL), STATUS_OK);
        *item = (struct run_item){ .want = (enum run_result)(next_random(seed) % 4) };
        if (run_last_maker(&scene->plans[p]) < 0) item->want = RUN_NOTHING;
        item->file = (struct lane_encoding){ .image = shapes[scene->plans[p].count],
                                             .quality = 85,
                                             .bytes = scene->pictures[p][i].made,
                                             .capacity = FILE_ROOM };
        if (run_wants_file(item)) item->encode_bytes = twin_codec.encode_bytes(&item->file);
    }
}

static void run_scene(struct scene *scene) {
    struct failure failure = { 0 };
    struct run_tree tree = { .count = scene->count, .part_count = scene->part_count };
    for (int p = 0; p < scene->part_count; p++)
        tree.parts[p] = (struct run_part){ .plan = &scene->plans[p], .items = scene->items[p] };
    if (run_reserve_tree(twin, &tree, 1 << 20, &failure)) fail_msg("%s", failure.message);
    for (int i = 0; i < scene->count; i++)
        if (!scene->items[0][i].jpeg)
            copy_rows(&scene->pictures[0][i].pixels, &scene->items[0][i].in);
    if (run_batch_tree(twin, &tree, &failure)) fail_msg("%s", failure.message);
    /* A carving has five spans, other steps have two at most. */
    int spans = 0;
    for (int p = 0; p < scene->part_count; p++)
        for (int s = 0; s < scene->plans[p].count; s++)
            spans += scene->plans[p].steps[s].op->common ? 5 : 2;
    if (run_common_count(&tree)) spans += 5;
    for (int p = 0; p < scene->part_count; p++)
        assert_true(tree.parts[p].compute_ms >= 0 || scene->count * spans > TIMING_SPANS_MAX);
}

/* By the CPU, the trunk's steps and the part's as one plan. */
static void compare_part(struct scene *scene, int p) {
    struct run_item expected[ITEMS_MAX];
    struct plan whole;
    char text[PLAN_TEXT_MAX];
    const bool joined = p && *scene->texts[0] && *scene->texts[p];
    snprintf(text, sizeof text, "%s%s%s", scene->texts[0], joined ? ";" : "",
             p ? scene->texts[p] : "");
    assert_int_equal(plan_parse(&whole, text, NULL), STATUS_OK);
    for (int i = 0; i < scene->count; i++)
        expected[i] = (struct run_item){ .in = scene->pictures[0][i].probe.shape };
    run_items(cpu, &whole, scene->pictures[0], expected, scene->count);
    const int before = p ? scene->plans[0].count : 0;
    for (int i = 0; i < scene->count; i++) {
        memmove(expected[i].values, expected[i].values + before,
                (size_t)scene->plans[p].count * sizeof *expected[i].values);
        compare(&scene->plans[p], &scene->items[p][i], &expected[i], &scene->pictures[p][i]);
    }
}

/* Whether branches had something in common. */
static bool try_tree(uint32_t seed, const char *const *branches, uint32_t branch_count) {
    struct scene scene;
    bool shares = false;
    scene.part_count = 1 + (int)(next_random(&seed) % (1 + BRANCHES_MAX));
    scene.count = 1 + (int)(next_random(&seed) % ITEMS_MAX);
    for (int p = 0; p < scene.part_count; p++) {
        scene.texts[p] =
            p ? branches[next_random(&seed) % branch_count] : plans[next_random(&seed) % PLANS];
        scene.pictures[p] = malloc((size_t)scene.count * sizeof(struct picture));
        for (int i = 0; !p && i < scene.count; i++) make_picture(&scene.pictures[0][i], &seed);
        wish_part(&scene, p, &seed);
    }
    run_scene(&scene);
    for (int p = 0; p < scene.part_count; p++) compare_part(&scene, p);
    for (int i = 0; i < scene.count; i++) {
        shares |= scene.items[0][i].shared.branches != 0;
        free(scene.pictures[0][i].file.data);
        free(scene.pictures[0][i].pixels.pixels);
    }
    for (int p = 0; p < scene.part_count; p++) free(scene.pictures[p]);
    return shares;
}

static void every_way_is_as_if_alone(void **state) {
    (void)state;
    for (uint32_t seed = 0; seed < 120; seed++) assert_false(try_tree(seed, plans, PLANS));
}

static void what_is_common_changes_nothing(void **state) {
    (void)state;
    int shared = 0;
    if (!registry_find("carve")) skip(); /* not in this build */
    for (uint32_t seed = 0; seed < 200; seed++) shared += try_tree(seed, carvings, CARVINGS);
    assert_true(shared > 50);
}

/* From 60 columns: branches to 40 and 50 share 20 seams; a branch that grows shares up to half the
 * width; a change of height, another energy, no change, a picture of the seams or another operator
 * shares none. */
static void who_is_served(void **state) {
    (void)state;
    static const struct {
        const char *branches[4];
        uint32_t served;
        const char *map;
    } rows[] = {
        { { "carve:width=40", "carve:width=50", "edge", "" }, 3, "carve:dx=-20,show=map" },
        { { "carve:width=90", "carve:dx=-3", "carve:width=91", "edge" },
          3,
          "carve:dx=-30,show=map" },
        { { "edge", "carve:dx=-2,energy=sobel5", "carve:dx=-9", "carve:dx=5,energy=sobel5" },
          10,
          "carve:dx=-5,energy=sobel5,show=map" },
        { { "carve:dx=-2,height=9", "carve:dx=-2", "carve:dx=-2;edge", "carve:height=48,width=9" },
          14,
          "carve:dx=-51,show=map" },
        { { "carve:dx=-2", "carve:width=60", "carve:dx=-3,show=seams", "edge" }, 0, NULL },
        { { "carve:dx=-2", "mean;carve:dx=-3", "edge;carve:dx=-2", "" }, 0, NULL },
        { { "carve:dx=-60", "carve:dx=-3", "", "" }, 0, NULL },
        { { "resize:width=20", "resize:width=30", "", "" }, 0, NULL },
    };
    const struct image in = image_shape(60, 48, 3, 8);
    if (!registry_find("carve")) skip();
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct plan branches[4], map = { .count = 1 };
        const struct plan *list[4];
        struct plan_common common;
        char text[PLAN_TEXT_MAX];
        for (int b = 0; b < 4; b++) {
            assert_int_equal(plan_parse(&branches[b], rows[r].branches[b], NULL), STATUS_OK);
            list[b] = &branches[b];
        }
        plan_common_find(&common, list, 4, &in, 0);
        assert_int_equal(common.branches, rows[r].served);
        if (!rows[r].map) continue;
        struct plan_common other;
        plan_common_find(&other, list, 4, &in, 1u << 0); /* mask */
        assert_int_equal(other.branches, rows[r].served);
        plan_common_find(&other, list, 4, &in, 1u << 1); /* rmask, which is removed before growth */
        assert_int_equal(other.branches, 0);
        map.steps[0] = (struct step){ .op = common.op, .params = common.params };
        assert_int_equal(plan_print(&map, text, sizeof text, NULL), STATUS_OK);
        assert_string_equal(text, rows[r].map);
        assert_int_equal(common.image.width, 60);
        assert_int_equal(common.image.height, 48);
    }
}

int main(void) {
    struct failure failure = { 0 };
    const struct lane_options options = { .staging_bytes = 1 << 20 };
    if (device_cpu.open(0, &options, &cpu, &failure) ||
        device_cpu.open(0, &options, &twin, &failure))
        return 1;
    twin_device_take(twin);
    const struct CMUnitTest tests[] = { cmocka_unit_test(files_and_pixels_mix),
                                        cmocka_unit_test(every_way_is_as_if_alone),
                                        cmocka_unit_test(what_is_common_changes_nothing),
                                        cmocka_unit_test(who_is_served) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    device_cpu.close(cpu);
    device_cpu.close(twin);
    twin_device_release();
    return failed;
}
