// SPDX-License-Identifier: Apache-2.0
/* The heap that an animation holds while a group of frames is run, against what was reserved. */
#include "pipeline/animation.h"

#include "pipeline/animation_file.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SIDE = 1024, FRAMES = 3, CAPACITY = 1 << 20, SPARE = 1 << 20 /* for small things */ };

static struct device_driver driver; /* the CPU's, which also looks */
static struct {
    size_t before, reserved, held; /* bytes of heap: at the start, promised, the most taken */
} heap;

static size_t heap_bytes(void) {
    const struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

static enum status look_at_need(struct lane *lane, const struct lane_need *need,
                                struct failure *failure) {
    heap.reserved = need->codec;
    return device_cpu.reserve(lane, need, failure);
}

static enum status look_at_heap(struct lane *lane, const struct op *op, struct op_call *calls,
                                int count) {
    const size_t held = heap_bytes() - heap.before;
    if (held > heap.held) heap.held = held;
    return device_cpu.run(lane, op, calls, count);
}

/* FRAMES canvases of different grays, all transparent in a corner. */
static size_t make_file(enum format format, uint8_t *bytes) {
    struct image canvas = image_shape(SIDE, SIDE, 4, 8);
    struct encode_options options = encode_options_default;
    const struct format_record *record = format_record(format);
    uint8_t *frame = malloc(4 * SIDE * SIDE);
    size_t length;
    uint32_t notes = 0;
    canvas.pixels = malloc(image_bytes(&canvas));
    options.format = format;
    options.lossless = true;
    struct animation_file file = { .canvas = &canvas,
                                   .options = &options,
                                   .notes = &notes,
                                   .bytes = bytes,
                                   .capacity = CAPACITY };
    assert_true(record->begin_animation(&file));
    for (int i = 0; i < FRAMES; i++) {
        memset(canvas.pixels, 255 - i, image_bytes(&canvas));
        for (size_t p = 0; p < SIDE * SIDE; p++) canvas.pixels[4 * p + 3] = p ? 255 : 0;
        assert_int_equal(codec_encode(&canvas, NULL, &options, NULL, frame, 4 * SIDE * SIDE,
                                      &length, &notes, NULL),
                         STATUS_OK);
        assert_true(record->add_frame(&file, frame, length, 100));
    }
    assert_true(record->end_animation(&file));
    free(frame);
    free(canvas.pixels);
    return file.length;
}

/* The results are small, so that the canvases are nearly all that is held. */
static void shrink(enum format format, struct lane *lane) {
    static uint8_t bytes[CAPACITY], result[CAPACITY];
    const size_t length = make_file(format, bytes);
    struct probe probe;
    struct plan plan;
    struct timing timing = { .span_count = 0 };
    struct encode_options options = encode_options_default;
    options.format = format;
    assert_int_equal(probe_image(bytes, length, &codec_limits_default.probe, &probe, NULL),
                     STATUS_OK);
    assert_int_equal(probe_frames(bytes, length, FRAMES, &codec_limits_default.probe, &probe, NULL),
                     STATUS_OK);
    assert_int_equal(plan_parse(&plan, "resize:width=8", NULL), STATUS_OK);
    struct animation animation = { .file = bytes,
                                   .length = length,
                                   .probe = &probe,
                                   .limits = &codec_limits_default,
                                   .plan = &plan,
                                   .encode = &options,
                                   .bytes = result,
                                   .capacity = sizeof result,
                                   .timing = &timing };
    heap.held = 0;
    heap.before = heap_bytes();
    assert_int_equal(animation_run(lane, &animation, NULL), STATUS_OK);
}

/* mallinfo2 does not count a sanitizer's heap. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { HEAP_IS_COUNTED = 0 };
#else
enum { HEAP_IS_COUNTED = 1 };
#endif

static void what_is_held_was_reserved(void **state) {
    static const struct {
        enum format format;
        int canvases;
    } rows[] = { { FORMAT_GIF, 2 }, { FORMAT_WEBP, 1 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        shrink(rows[i].format, *state);
        if (!HEAP_IS_COUNTED) continue;
        assert_in_range(heap.held, (size_t)rows[i].canvases * 4 * SIDE * SIDE,
                        heap.reserved + SPARE);
    }
}

static int open_lane(void **state) {
    const struct lane_options options = { .staging_bytes = 1 << 20 };
    struct lane *lane;
    driver = device_cpu;
    driver.reserve = look_at_need;
    driver.run = look_at_heap;
    if (device_cpu.open(0, &options, &lane, NULL)) return 1;
    lane->driver = &driver;
    *state = lane;
    return 0;
}

static int close_lane(void **state) {
    device_cpu.close(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_held_was_reserved) };
    return cmocka_run_group_tests(tests, open_lane, close_lane);
}
