// SPDX-License-Identifier: Apache-2.0
/* Items that come as files and as pixels, and leave as files, pixels or nothing, each for itself in
 * one batch: results and values are those of the same images as pixels alone.
 *
 * How it works. The device is tests/twin_device.h: host memory apart from its own, everything
 * filled with 0xa5 beforehand.
 */
#include "pipeline/run_layout.h"

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
    struct metadata metadata;
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
    item->want = (enum run_result)(next_random(seed) % 3);
    if (next_random(seed) % 2) item->jpeg = &picture->jpeg;
    assert_int_equal(plan_shapes(plan, &item->in, 1 << 20, shapes, NULL), STATUS_OK);
    item->file = (struct lane_encoding){
        .image = shapes[plan->count], .quality = 85, .bytes = picture->made, .capacity = FILE_ROOM
    };
    if (item->jpeg) item->decode_bytes = twin_codec.decode_bytes(item->jpeg);
    if (item->want == RUN_FILE) item->encode_bytes = twin_codec.encode_bytes(&item->file);
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
    if (item->want == RUN_PIXELS) assert_same(&item->out, &expected->out);
    if (item->want != RUN_PIXELS) assert_null(item->out.pixels);
    if (item->want != RUN_FILE) return;
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

int main(void) {
    struct failure failure = { 0 };
    const struct lane_options options = { .staging_bytes = 1 << 20 };
    if (device_cpu.open(0, &options, &cpu, &failure) ||
        device_cpu.open(0, &options, &twin, &failure))
        return 1;
    twin_device_take(twin);
    const struct CMUnitTest tests[] = { cmocka_unit_test(files_and_pixels_mix) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    device_cpu.close(cpu);
    device_cpu.close(twin);
    twin_device_release();
    return failed;
}
