// SPDX-License-Identifier: Apache-2.0
/* Several widths of one image on the GPU: from a map of its seams, each is in every byte what the
 * reference carves alone, padding included, in a batch with others too; and so are the branches of
 * a tree, which make the map themselves, with masks, in batches, with steps before and behind.
 * `carve_widths small` leaves out what takes long under compute-sanitizer, `tiny` what takes
 * minutes.
 * covers: cuda/ops/carve/retarget.cuh cuda/ops/carve/row_copy.cuh
 */
#include "pipeline/ops/carve/definition.h"
#include "pipeline/registry.h"
#include "pipeline/run.h"
#include "tests/cuda/test_images.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* From the CUDA runtime, whose header gcc cannot read. */
extern int cudaMemset(void *memory, int value, size_t bytes);
extern int cudaDeviceSynchronize(void);

enum { PATTERN = 0xA5 };

static struct lane *lane;
static bool small, tiny;

static int open_lane(void **state) {
    (void)state;
    struct failure failure = { 0 };
    const struct lane_options options = { .staging_bytes = 1 << 20, .arena_bytes = 64 << 20 };
    if (device_cuda.open(0, &options, &lane, &failure) == STATUS_OK) return 0;
    print_error("%s\n", failure.message);
    return 1;
}

static int close_lane(void **state) {
    (void)state;
    device_cuda.close(lane);
    return 0;
}

static size_t place(struct image *images, int count, uint8_t *base) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++) {
        images[i].pixels = base + bytes;
        bytes += (image_bytes(&images[i]) + 255) / 256 * 256;
    }
    return bytes;
}

/* ---- calls with a map */

enum { CHANGES_MAX = 8, SCENES_MAX = 4 };

/* One image, its map, and the widths that come of it. */
struct scene {
    struct image in;
    struct image out[1 + CHANGES_MAX]; /* the map first */
    struct params params[1 + CHANGES_MAX];
    int count;      /* of `out` */
    unsigned alone; /* bit I: width I is made without the map */
};

static const struct op *carve(void) {
    return registry_find("carve");
}

static void set(struct params *params, const char *name, const char *value) {
    assert_int_equal(params_set(params, carve()->params, "carve", name, value, NULL), STATUS_OK);
}

static void add(struct scene *scene, long change, bool map, enum padding padding) {
    struct params *params = &scene->params[scene->count];
    struct image *out = &scene->out[scene->count++];
    char text[16];
    params_init(params, carve()->params);
    snprintf(text, sizeof text, "%ld", change);
    set(params, "dx", text);
    if (map) set(params, "show", "map");
    assert_int_equal(carve()->size(params, &scene->in, out, NULL), STATUS_OK);
    out->stride = padded(out, padding);
}

static long least(long a, long b) {
    return a < b ? a : b;
}

/* MOST: seams. */
static struct scene make_scene(struct image in, enum padding padding, long most) {
    struct scene scene = { .in = in };
    const long all = least((long)in.width - 1, most);
    const long half = least((long)carve_grow_most(in.width), most);
    scene.in.stride = padded(&in, padding);
    add(&scene, all >= half ? -all : half, true, padding);
    const long changes[] = { -all, -all / 2, -1, 0, 1, half / 2, half };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (labs(changes[i]) <= (changes[i] < 0 ? all : half))
            add(&scene, changes[i], false, padding);
    return scene;
}

static struct op_call call_of(const struct scene *scene, int i, struct failure *failure) {
    struct op_call call = { .op = carve(),
                            .params = &scene->params[i],
                            .in = scene->in,
                            .out = scene->out[i],
                            .failure = failure };
    const bool mapped = i && scene->out[i].width != scene->in.width && !(scene->alone >> i & 1);
    if (mapped) call.common = scene->out[0];
    return call;
}

static size_t most_scratch(const struct scene *scenes, int count) {
    size_t most = 0;
    for (int s = 0; s < count; s++)
        for (int i = 0; i < scenes[s].count; i++) {
            const struct op_call call = call_of(&scenes[s], i, NULL);
            const size_t bytes = device_cuda.scratch(lane, carve(), &call, 1);
            if (call.common.width) assert_int_equal(bytes, 0);
            if (bytes > most) most = bytes;
        }
    return most;
}

static size_t place_ins(struct scene *scenes, int count, uint8_t *base) {
    size_t bytes = 0;
    for (int s = 0; s < count; s++) bytes += place(&scenes[s].in, 1, base + bytes);
    return bytes;
}

static size_t place_outs(struct scene *scenes, int count, uint8_t *base) {
    size_t bytes = 0;
    for (int s = 0; s < count; s++) bytes += place(scenes[s].out, scenes[s].count, base + bytes);
    return bytes;
}

/* First the maps, then a width of every scene, then the next. TOGETHER: as one batch. */
static void queue_calls(struct scene *scenes, int count, size_t scratch_bytes, bool together) {
    struct failure failure = { 0 };
    struct op_call calls[SCENES_MAX * (1 + CHANGES_MAX)];
    int queued = 0;
    for (int i = 0; i <= CHANGES_MAX; i++)
        for (int s = 0; s < count; s++) {
            if (i >= scenes[s].count) continue;
            calls[queued] = call_of(&scenes[s], i, &failure);
            calls[queued].scratch = lane->work;
            calls[queued++].scratch_bytes = scratch_bytes;
        }
    for (int i = 0, step = 1; i < queued; i += step) {
        if (i == count && together) step = queued - count;
        if (device_cuda.run(lane, carve(), &calls[i], step)) fail_msg("%s", failure.message);
    }
}

static void make_on_gpu(struct scene *scenes, int count, size_t out_bytes, bool together) {
    struct failure failure = { 0 };
    struct lane_times times;
    const struct lane_need need = { .in = place_ins(scenes, count, NULL),
                                    .work = most_scratch(scenes, count),
                                    .out = out_bytes };
    if (device_cuda.reserve(lane, &need, &failure)) fail_msg("%s", failure.message);
    cudaMemset(lane->out, PATTERN, out_bytes);
    cudaDeviceSynchronize();
    place_ins(scenes, count, lane->host_in);
    for (int s = 0; s < count; s++) fill(&scenes[s].in, NOISE, 5 + (uint32_t)s);
    assert_int_equal(device_cuda.upload(lane, need.in, &failure), STATUS_OK);
    place_ins(scenes, count, lane->in);
    place_outs(scenes, count, lane->out);
    queue_calls(scenes, count, need.work, together);
    if (device_cuda.download(lane, out_bytes, &failure) ||
        device_cuda.finish(lane, &times, NULL, &failure))
        fail_msg("%s", failure.message);
    place_ins(scenes, count, lane->host_in);
}

/* Each alone, without a map. */
static void make_by_reference(struct scene *scene) {
    struct failure failure = { 0 };
    for (int i = 0; i < scene->count; i++) {
        struct op_call call = call_of(scene, i, &failure);
        call.common.width = 0;
        call.scratch = aligned_alloc(256, (carve()->scratch(&call) + 511) / 256 * 256);
        if (carve()->run(&call)) fail_msg("reference: %s", failure.message);
        free(call.scratch);
    }
}

/* Compares all bytes, between and after rows too. */
static void compare(const struct scene *scene, const uint8_t *expected, size_t out_bytes,
                    bool together) {
    const struct image *in = &scene->in;
    for (int i = 0; i < scene->count; i++) {
        const size_t offset = (size_t)(scene->out[i].pixels - expected);
        const size_t end =
            i + 1 < scene->count ? (size_t)(scene->out[i + 1].pixels - expected) : out_bytes;
        if (memcmp(expected + offset, lane->host_out + offset, end - offset) != 0)
            fail_msg("%ux%u, %u x %u bit, stride %zu, together %d: %u columns (%d) differ",
                     in->width, in->height, in->channels, in->depth, in->stride, together,
                     scene->out[i].width, i);
    }
}

static void check_scenes(struct scene *scenes, int count, bool together) {
    const size_t out_bytes = place_outs(scenes, count, NULL);
    uint8_t *expected = malloc(out_bytes);
    make_on_gpu(scenes, count, out_bytes, together);
    memset(expected, PATTERN, out_bytes);
    place_outs(scenes, count, expected);
    for (int s = 0; s < count; s++) {
        const bool last = s + 1 == count;
        make_by_reference(&scenes[s]);
        compare(&scenes[s], expected,
                last ? out_bytes : (size_t)(scenes[s + 1].out[0].pixels - expected), together);
    }
    free(expected);
}

static void check_size(uint32_t width, uint32_t height, long most) {
    for (unsigned channels = 1; channels <= 4; channels++)
        for (unsigned depth = 8; depth <= 16; depth += 8)
            for (int padding = small ? ODD : 0; padding < PADDINGS; padding++)
                for (int together = small; together < 2; together++) {
                    struct scene scene = make_scene(image_shape(width, height, channels, depth),
                                                    (enum padding)padding, most);
                    check_scenes(&scene, 1, together);
                }
}

static void every_width_is_the_carving(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = { { 1, 1 },    { 1, 17 },   { 19, 1 },   { 2, 2 },
                                         { 13, 42 },  { 123, 66 }, { 512, 3 },  { 513, 3 },
                                         { 1920, 3 }, { 1921, 2 }, { 2047, 2 }, { 2048, 3 },
                                         { 2049, 2 }, { 4097, 3 }, { 640, 30 } };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        if (!small || sizes[s][0] < 100) check_size(sizes[s][0], sizes[s][1], 60);
}

/* Down to a single column, and as far as it may grow. */
static void every_width_up_to_the_last(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = { { 37, 9 }, { 300, 7 }, { 1031, 4 }, { 1921, 2 } };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        if (!small || sizes[s][0] < 100) check_size(sizes[s][0], sizes[s][1], LONG_MAX);
}

/* Images of several sizes, each with a map of its own; every third width looks for seams itself. */
static void a_batch_mixes_maps_sizes_and_searches(void **state) {
    (void)state;
    if (tiny) skip();
    static const uint32_t sizes[SCENES_MAX][2] = {
        { 300, 7 }, { 13, 42 }, { 1921, 2 }, { 123, 66 }
    };
    for (unsigned channels = small ? 3 : 1; channels <= (small ? 3 : 4); channels++)
        for (unsigned depth = 8; depth <= 16; depth += 8)
            for (int count = 2; count <= (small ? 2 : SCENES_MAX); count++) {
                struct scene scenes[SCENES_MAX];
                for (int s = 0; s < count; s++) {
                    scenes[s] = make_scene(image_shape(sizes[s][0], sizes[s][1], channels, depth),
                                           (enum padding)((s + count) % PADDINGS), 60);
                    scenes[s].alone = 0x92u << s % 3;
                }
                check_scenes(scenes, count, true);
            }
}

/* No byte of the result's memory outside its pixels may be written, up to END. */
static void check_around(const struct image *out, const uint8_t *end) {
    const size_t row = image_row_bytes(out);
    for (size_t i = 0; i < (size_t)(end - out->pixels); i++) {
        const bool pixel = i / out->stride < out->height && i % out->stride < row;
        if (!pixel && out->pixels[i] != PATTERN) fail_msg("byte %zu is written over", i);
    }
}

/* A search that was broken off leaves a map without numbers; what is queued behind it runs. */
static void a_map_without_numbers_leaves_what_is_around(void **state) {
    (void)state;
    struct failure failure = { 0 };
    struct lane_times times;
    for (int padding = 0; padding < PADDINGS; padding++) {
        struct scene scene = { .in = image_shape(2100, 3, 3, 8) };
        scene.in.stride = padded(&scene.in, (enum padding)padding);
        add(&scene, -900, true, (enum padding)padding);
        add(&scene, -900, false, (enum padding)padding);
        add(&scene, 0, false, (enum padding)padding); /* nobody makes it */
        const size_t out_bytes = place(scene.out, scene.count, NULL);
        const struct lane_need need = { .in = place(&scene.in, 1, NULL),
                                        .work = 256,
                                        .out = out_bytes };
        if (device_cuda.reserve(lane, &need, &failure)) fail_msg("%s", failure.message);
        place(&scene.in, 1, lane->host_in);
        fill(&scene.in, NOISE, 5);
        assert_int_equal(device_cuda.upload(lane, need.in, &failure), STATUS_OK);
        place(&scene.in, 1, lane->in);
        place(scene.out, scene.count, lane->out);
        cudaMemset(lane->out, PATTERN, out_bytes);
        cudaMemset(scene.out[0].pixels, 0, image_bytes(&scene.out[0]));
        cudaDeviceSynchronize();
        struct op_call call = call_of(&scene, 1, &failure);
        if (device_cuda.run(lane, carve(), &call, 1) ||
            device_cuda.download(lane, out_bytes, &failure) ||
            device_cuda.finish(lane, &times, NULL, &failure))
            fail_msg("%s", failure.message);
        place(scene.out, scene.count, lane->host_out);
        check_around(&scene.out[1], lane->host_out + out_bytes);
    }
}

/* ---- trees */

enum { BRANCHES = 4, ITEMS = 3 };

static const struct {
    const char *parts[1 + BRANCHES];
    bool shared;
    int masks;
} trees[] = {
    { { "", "carve:width=40", "carve:width=70", "carve:width=63", "carve:width=1" }, true, 0 },
    { { "", "carve:width=40", "carve:width=70", "carve:width=63", "carve:width=88" }, true, 1 },
    { { "", "carve:width=40", "carve:width=70", "carve:width=63", "carve:width=88" }, false, 3 },
    { { "", "carve:width=50", "carve:width=70;histogram", "edge", "carve:dx=-3;blur:sigma=2" },
      true,
      1 },
    { { "grayscale", "carve:width=50", "carve:width=51", "carve:height=9", "carve:width=200" },
      true,
      0 },
    { { "blur:sigma=1", "carve:dx=-2,energy=sobel3", "carve:dx=-9,energy=sobel3", "carve:dx=-9",
        "mean" },
      false,
      2 },
    { { "", "carve:width=40", "carve:dy=-3", "edge", "carve:show=energy" }, false, 3 },
};

static void parse(struct plan *plan, const char *text) {
    struct failure failure = { 0 };
    if (plan_parse(plan, text, &failure)) fail_msg("%s: %s", text, failure.message);
}

static struct run_item item_of(int i, int masks) {
    struct run_item item = { .in = image_shape(64 + 5 * (uint32_t)i, 50 + (uint32_t)i, 3, 8) };
    for (int p = 0; p < 2; p++)
        if (masks >> p & 1) item.aux[p] = image_shape(item.in.width, item.in.height, 1, 8);
    return item;
}

/* Pixels to be removed lie within ten columns, so that enough is left. */
static void fill_item(const struct run_item *item, int i) {
    fill(&item->in, NOISE, 40u + (unsigned)i);
    for (int p = 0; p < 2; p++)
        if (item->aux[p].width) fill(&item->aux[p], NOISE, 60u + (unsigned)(2 * i + p));
    for (uint32_t y = 0; y < item->aux[CARVE_REMOVE].height; y++) {
        uint8_t *row = image_row(&item->aux[CARVE_REMOVE], y);
        memset(row, 0, 20);
        memset(row + 30, 0, item->in.width - 30);
    }
}

/* On the CPU, the trunk's steps and the part's as one plan. */
static uint64_t alone(struct lane *cpu, const char *trunk, const char *part, int i, int masks) {
    struct failure failure = { 0 };
    struct run_item item = item_of(i, masks);
    struct plan plan;
    char text[PLAN_TEXT_MAX];
    snprintf(text, sizeof text, "%s%s%s", trunk, *trunk ? ";" : "", part);
    parse(&plan, text);
    if (run_reserve(cpu, &plan, &item, 1, 1 << 20, &failure)) fail_msg("%s", failure.message);
    fill_item(&item, i);
    if (run_batch(cpu, &plan, &item, 1, &failure)) fail_msg("%s", failure.message);
    return image_digest(&item.out);
}

static void check_tree(struct lane *cpu, size_t t, int count) {
    static struct plan plans[1 + BRANCHES];
    static struct run_item items[1 + BRANCHES][ITEMS];
    struct failure failure = { 0 };
    struct run_tree tree = { .count = count, .part_count = 1 + BRANCHES };
    for (int p = 0; p <= BRANCHES; p++) {
        parse(&plans[p], trees[t].parts[p]);
        for (int i = 0; i < count; i++) {
            items[p][i] = p ? (struct run_item){ .want = RUN_PIXELS } : item_of(i, trees[t].masks);
            if (!p || run_last_maker(&plans[p]) < 0) items[p][i].want = RUN_NOTHING;
        }
        tree.parts[p] = (struct run_part){ .plan = &plans[p], .items = items[p] };
    }
    if (run_reserve_tree(lane, &tree, 1 << 20, &failure)) fail_msg("%s", failure.message);
    for (int i = 0; i < count; i++) fill_item(&items[0][i], i);
    for (int i = 0; i < count; i++)
        assert_int_equal(items[0][i].shared.branches != 0, trees[t].shared);
    if (run_batch_tree(lane, &tree, &failure)) fail_msg("%s", failure.message);
    for (int p = 1; p <= BRANCHES; p++)
        for (int i = 0; i < count; i++)
            if (items[p][i].want == RUN_PIXELS &&
                image_digest(&items[p][i].out) !=
                    alone(cpu, trees[t].parts[0], trees[t].parts[p], i, trees[t].masks))
                fail_msg("tree %zu, %s, image %d of %d", t, trees[t].parts[p], i, count);
}

static void branches_share_their_seams(void **state) {
    (void)state;
    if (tiny) skip();
    struct failure failure = { 0 };
    const struct lane_options options = { .staging_bytes = 1 << 20 };
    struct lane *cpu;
    assert_int_equal(device_cpu.open(0, &options, &cpu, &failure), STATUS_OK);
    for (size_t t = 0; t < sizeof trees / sizeof *trees; t++)
        for (int count = 1; count <= ITEMS; count++) check_tree(cpu, t, count);
    device_cpu.close(cpu);
}

int main(int count, char **arguments) {
    tiny = count > 1 && strcmp(arguments[1], "tiny") == 0;
    small = tiny || (count > 1 && strcmp(arguments[1], "small") == 0);
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to compare");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width_is_the_carving), cmocka_unit_test(every_width_up_to_the_last),
        cmocka_unit_test(a_batch_mixes_maps_sizes_and_searches),
        cmocka_unit_test(a_map_without_numbers_leaves_what_is_around),
        cmocka_unit_test(branches_share_their_seams)
    };
    return cmocka_run_group_tests(tests, open_lane, close_lane);
}
