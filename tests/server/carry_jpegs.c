// SPDX-License-Identifier: Apache-2.0
/* Batches of which a device decodes some files by itself: who decodes what, and that every job gets
 * the answer that it gets without. The device is the CPU, with a decoder put in. */
#include "server/jobs/carry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { JOBS = 6, WIDTH = 40, HEIGHT = 24, FILE_MAX = 32 << 10, STAGING = 1 << 20 };

static struct slots *slots;
static struct lane *lane;
static struct carrier carrier;
static int answers;

/* What the device's decoder was asked for, and whether it refuses. */
static struct {
    bool refuses;
    int calls, jpegs;
} decoder;

static size_t decode_work(struct lane *of, const struct device_jpeg *jpegs, int count) {
    (void)of, (void)jpegs;
    return (size_t)count * 1000;
}

static bool decode(struct lane *of, const struct device_jpeg *jpegs, int count) {
    decoder.calls++;
    if (decoder.refuses) return false;
    decoder.jpegs += count;
    for (int i = 0; i < count; i++) {
        struct probe probe;
        struct metadata metadata;
        struct failure failure;
        uint32_t notes = 0;
        assert_in_range((uintptr_t)(jpegs[i].into.pixels - of->in), 0, STAGING);
        probe_image(jpegs[i].bytes, jpegs[i].length, &carrier.limits.probe, &probe, &failure);
        assert_int_equal(codec_decode(jpegs[i].bytes, jpegs[i].length, &probe, &carrier.limits,
                                      NULL, &jpegs[i].into, &metadata, &notes, &failure),
                         STATUS_OK);
        metadata_release(&metadata);
    }
    return true;
}

static void note_answer(void *context, int slot) {
    (void)context, (void)slot;
    answers++;
}

/* ---- jobs */

/* A slope, other for every SEED, as FORMAT. */
static size_t make_file(enum format format, unsigned channels, unsigned seed, uint8_t *bytes) {
    static uint8_t pixels[WIDTH * HEIGHT * 3];
    struct image image = image_shape(WIDTH, HEIGHT, (uint8_t)channels, 8);
    struct encode_options options = encode_options_default;
    struct failure failure;
    uint32_t notes = 0;
    size_t length = 0;
    image.stride = WIDTH * channels;
    image.pixels = pixels;
    for (unsigned i = 0; i < WIDTH * HEIGHT * channels; i++)
        pixels[i] = (uint8_t)(i * 7 / channels % 200 + seed * 9);
    options.format = format;
    assert_int_equal(
        codec_encode(&image, NULL, &options, NULL, bytes, FILE_MAX, &length, &notes, &failure),
        STATUS_OK);
    return length;
}

static int publish(const char *plan, enum format format, unsigned channels, unsigned seed) {
    struct failure failure = { 0 };
    const int slot = slot_take(slots, FILE_MAX, &failure);
    assert_true(slot >= 0);
    struct job *job = slot_job(slots, slot);
    uint8_t *to = slot_bytes(slots, slot);
    job->image_length = job->body_length = make_file(format, channels, seed, to);
    job->type = FORMAT_PNM;
    job->quality = 85;
    snprintf(job->plan, sizeof job->plan, "%s", plan);
    assert_int_equal(
        probe_image(to, job->image_length, &carrier.limits.probe, &job->probe, &failure),
        STATUS_OK);
    return slot;
}

static const enum format formats[JOBS] = { FORMAT_JPEG, FORMAT_PNM,  FORMAT_JPEG,
                                           FORMAT_PNG,  FORMAT_JPEG, FORMAT_JPEG };

/* All JOBS in one batch; their answers one behind the other. */
static size_t carry_all(const char *plan, unsigned channels, uint8_t *answer_bytes) {
    int of[JOBS], all[JOBS];
    size_t length = 0;
    answers = decoder.calls = decoder.jpegs = 0;
    for (int i = 0; i < JOBS; i++)
        of[i] = all[i] = publish(plan, formats[i], channels, (unsigned)i);
    struct failure failure = { 0 };
    assert_int_equal(carry_batch(&carrier, lane, of, JOBS, &failure), 0);
    assert_int_equal(answers, JOBS);
    for (int i = 0; i < JOBS; i++) {
        const struct job *job = slot_job(slots, all[i]);
        if (job->failure.status) fail_msg("job %d: %s", i, job->failure.message);
        memcpy(answer_bytes + length, slot_bytes(slots, all[i]) + job->result_offset,
               job->result_length);
        length += job->result_length;
        slot_give(slots, all[i]);
    }
    return length;
}

/* ---- tests */

static void same_answers_whoever_decodes(void **state) {
    (void)state;
    static const char *const plans[] = { "brightness:shift=10", "histeq", "edge",
                                         "grayscale;histeq;threshold:level=90" };
    static uint8_t plain[JOBS * FILE_MAX], ours[JOBS * FILE_MAX];
    for (size_t p = 0; p < sizeof plans / sizeof *plans; p++)
        for (unsigned channels = 1; channels <= 3; channels += 2) {
            lane->jpegs = false;
            const size_t length = carry_all(plans[p], channels, plain);
            assert_int_equal(decoder.calls, 0);
            lane->jpegs = true;
            decoder.refuses = false;
            assert_int_equal(carry_all(plans[p], channels, ours), length);
            assert_int_equal(decoder.calls, 1);
            assert_int_equal(decoder.jpegs, 4);
            assert_memory_equal(plain, ours, length);
            decoder.refuses = true;
            assert_int_equal(carry_all(plans[p], channels, ours), length);
            assert_int_equal(decoder.calls, 1);
            assert_memory_equal(plain, ours, length);
        }
}

/* A file cut off goes to the cores, which refuse it; its neighbours are decoded by the device. */
static void broken_files_go_to_the_cores(void **state) {
    (void)state;
    int of[3], all[3];
    lane->jpegs = true;
    decoder.refuses = false;
    decoder.calls = decoder.jpegs = answers = 0;
    for (int i = 0; i < 3; i++)
        of[i] = all[i] = publish("brightness:shift=10", FORMAT_JPEG, 3, (unsigned)i);
    slot_job(slots, all[0])->image_length -= 40;
    struct failure failure = { 0 };
    assert_int_equal(carry_batch(&carrier, lane, of, 3, &failure), 0);
    assert_int_equal(answers, 3);
    assert_int_equal(decoder.jpegs, 2);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(slot_job(slots, all[i])->failure.status, i ? STATUS_OK : STATUS_CORRUPT);
        slot_give(slots, all[i]);
    }
}

static void cancelled_ones_are_told_so(void **state) {
    (void)state;
    int of[2], all[2];
    lane->jpegs = true;
    decoder.refuses = false;
    for (int i = 0; i < 2; i++)
        of[i] = all[i] = publish("brightness:shift=10", FORMAT_JPEG, 3, (unsigned)i);
    slot_job(slots, all[1])->progress.cancelled = 1;
    struct failure failure = { 0 };
    assert_int_equal(carry_batch(&carrier, lane, of, 2, &failure), 0);
    assert_int_equal(slot_job(slots, all[0])->failure.status, STATUS_OK);
    assert_int_equal(slot_job(slots, all[1])->failure.status, STATUS_CANCELLED);
    for (int i = 0; i < 2; i++) slot_give(slots, all[i]);
}

static int open_all(void **state) {
    (void)state;
    static struct device_driver driver;
    struct failure failure = { 0 };
    const struct slot_options options = {
        .classes = { { JOBS, 64 << 10 }, { 0, 0 }, { 0, 0 } },
        .span_bytes = 4 << 20,
    };
    const struct lane_options lanes = { .staging_bytes = STAGING };
    slots = slots_create(&options, &failure);
    if (!slots || device_cpu.open(0, &lanes, &lane, &failure)) return 1;
    driver = device_cpu;
    driver.decode_work = decode_work;
    driver.decode = decode;
    lane->driver = &driver;
    carrier = (struct carrier){ .slots = slots,
                                .limits = codec_limits_default,
                                .batch_bytes = STAGING,
                                .answer = note_answer };
    return 0;
}

static int close_all(void **state) {
    (void)state;
    device_cpu.close(lane);
    slots_destroy(slots);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_answers_whoever_decodes),
        cmocka_unit_test(broken_files_go_to_the_cores),
        cmocka_unit_test(cancelled_ones_are_told_so),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
