// SPDX-License-Identifier: Apache-2.0
/* Jobs whose HEIC the device decodes, by the twin of its engines, against the same jobs on the CPU.
 * covers: server/jobs/codec_choice.c server/worker/batch.c server/worker/batch_gather.c
 * covers: server/worker/executor.c pipeline/run.c */
#include "server/jobs/codec_choice.h"

#include "pipeline/codecs/heic/library.h"
#include "tests/server/jobs/file_jobs.h"
#include "tests/twin_device.h"

enum { SPAN = 4 << 20, HEICS = 5 };

static const char *const names[HEICS] = { "one", "grid", "turned3", "one_ten", "alpha" };
static struct lane *lane;

static struct bytes heic_of(const char *folder, const char *name) {
    char path[128];
    struct bytes bytes = { malloc(1 << 16), 0 };
    snprintf(path, sizeof path, "tests/fuzz/corpus/%s/%s.heic", folder, name);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    bytes.length = fread(bytes.data, 1, 1 << 16, in);
    fclose(in);
    return bytes;
}

static struct bytes heic(const char *name) {
    return heic_of("heic_still", name);
}

static void clear(void) {
    twin_device.stills = twin_device.batches = twin_device.decoded = 0;
    twin_device.reserves = twin_device.encoded = 0;
    twin_device.queue_ms = 0;
    twin_device.refuses_stills = false;
    file_jobs.executor.limits.exposed = false;
    memset(file_jobs.decoded, 0, sizeof file_jobs.decoded);
}

/* Each HEIC is a batch; the others share theirs. */
static void in_any_mix(void **state) {
    (void)state;
    static const enum format types[] = { FORMAT_JPEG, FORMAT_PNG };
    clear();
    if (heic_reading_missing()) skip();
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < HEICS; i++) {
            const struct wish wish = { .type = types[t] };
            add_and_free(heic(names[i]), "histeq", &wish);
            add_and_free(jpeg_of(64, 50, 3, 2, 2, 0, NULL), "histeq", &wish);
            add_and_free(png_of(64, 50, PNG_COLOR_TYPE_RGB, 8, NULL), "histeq", &wish);
        }
    add_and_free(heic("grid"), "mean", &(struct wish){ .json_only = true });
    run_file_jobs();
    assert_int_equal(twin_device.stills, 2 * HEICS + 1);
    assert_int_equal(file_jobs.decoded[CODEC_DEVICE], 2 * HEICS + 1 + 2 * HEICS);
    assert_int_equal(file_jobs.decoded[CODEC_FORMAT], 2 * HEICS);
}

/* `burin run`: libde265 is in the same process. */
static void refused(void **state) {
    (void)state;
    struct bytes damaged = heic("grid");
    clear();
    if (heic_reading_missing()) skip();
    add_file_job(&damaged, "histeq", &(struct wish){ .type = FORMAT_PNG });
    memset(damaged.data + damaged.length - 300, 0, 200);
    add_and_free(damaged, "histeq", &(struct wish){ .type = FORMAT_PNG });
    run_file_jobs();
    assert_int_equal(file_jobs.decoded[CODEC_DEVICE], 1);
    assert_int_equal(file_jobs.decoded[CODEC_REFUSED], 1);
    twin_device.refuses_stills = true;
    add_and_free(heic("turned3"), "histeq", &(struct wish){ .type = FORMAT_JPEG });
    run_file_jobs();
    assert_int_equal(file_jobs.decoded[CODEC_REFUSED], 2);
}

/* The job of the device's side. */
static struct job *job_of(int number) {
    return slot_job(file_jobs.slots, file_jobs.taken[2 * number + 1]);
}

static void forget(void) {
    for (int i = 0; i < 2 * file_jobs.count; i++) slot_give(file_jobs.slots, file_jobs.taken[i]);
    file_jobs.count = 0;
}

static struct job *run_in_a_worker(struct bytes file) {
    clear();
    file_jobs.executor.limits.exposed = true;
    add_and_free(file, "histeq", &(struct wish){ .type = FORMAT_JPEG });
    struct job *job = job_of(0);
    job->decodes_apart = job->by_engine = true;
    job->run = RUN_ENGINE;
    run_side(file_jobs.device, 1, true);
    return job;
}

/* A worker of the daemon has no decoder but the engine: a cell has. A picture that the engine finds
 * damaged costs no further step, nor memory for the cores. */
static void in_a_worker(void **state) {
    (void)state;
    if (heic_reading_missing()) skip();
    const struct job *job = run_in_a_worker(heic("grid"));
    assert_int_equal(job->failure.status, STATUS_OK);
    assert_int_equal(job->decoded_by, CODEC_DEVICE);
    assert_int_equal(twin_device.encoded, 1);
    forget();
    struct bytes damaged = heic("grid");
    memset(damaged.data + damaged.length - 300, 0, 200);
    job = run_in_a_worker(damaged);
    assert_int_equal(job->failure.status, STATUS_INTERNAL);
    assert_int_equal(twin_device.stills, 1);
    assert_int_equal(twin_device.encoded, 0);
    assert_int_equal(twin_device.reserves, 1);
    forget();
    job = run_in_a_worker(heic_of("heic", "twelve_bits_444"));
    assert_int_equal(job->failure.status, STATUS_INTERNAL);
    assert_int_equal(twin_device.reserves, 0);
    forget();
}

static double time_in_queue(double engine_ms) {
    clear();
    twin_device.queue_ms = engine_ms;
    add_and_free(heic("one"), "flip", &(struct wish){ .type = FORMAT_PNG });
    job_of(0)->submitted_ns = clock_ns();
    run_side(file_jobs.device, 1, true);
    const double ms = job_of(0)->timing.stage_ms[STAGE_QUEUE];
    forget();
    return ms;
}

/* The wait for engines that others have. */
static void counts_as_queue(void **state) {
    (void)state;
    if (heic_reading_missing()) skip();
    const double without = time_in_queue(0), with = time_in_queue(1e6);
    assert_true(without < 5e5 && with >= 1e6);
}

/* The front asks before it admits a job. */
static void is_for_the_engine(void **state) {
    (void)state;
    static const struct {
        const char *folder, *name;
        bool taken;
    } files[] = { { "heic_still", "grid", true },
                  { "heic_still", "alpha_ten", true },
                  { "heic", "twelve_bits_444", false },
                  { "heic", "two_slices", false },
                  { "heic", "one", false } };
    if (heic_reading_missing()) skip();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct bytes file = heic_of(files[i].folder, files[i].name);
        struct job job = { .image_length = file.length, .decodes_apart = true };
        assert_int_equal(
            probe_image(file.data, file.length, &codec_limits_default.probe, &job.probe, NULL),
            STATUS_OK);
        job.pixels_offset = 4096;
        job.pixels_end = 4096 + job_pixels_bytes(&job.probe.shape);
        assert_int_equal(codec_engine_takes(&job, file.data, SIZE_MAX), files[i].taken);
        assert_false(codec_engine_takes(&job, file.data, 1));
        job.pixels_end++; /* a mask is decoded in a cell, too */
        assert_false(codec_engine_takes(&job, file.data, SIZE_MAX));
        free(file.data);
    }
}

/* Pixels that a cell has left are not decoded again. */
static void after_a_cell(void **state) {
    (void)state;
    clear();
    if (heic_reading_missing()) skip();
    add_and_free(heic("grid"), "flip", &(struct wish){ .type = FORMAT_PNG });
    struct job *job = job_of(0);
    uint8_t *bytes = slot_bytes(file_jobs.slots, file_jobs.taken[1]);
    struct image into = job->probe.shape;
    uint32_t notes = 0;
    job->decodes_apart = true;
    job->pixels_offset = slot_paged(job->body_length);
    into.pixels = bytes + job->pixels_offset;
    into.stride = image_row_bytes(&into);
    assert_int_equal(codec_decode(bytes + job->image_offset, job->image_length, &job->probe,
                                  &codec_limits_default, NULL, &into, NULL, &notes, NULL),
                     STATUS_OK);
    job->pixels_end = job->pixels_offset + job_pixels_bytes(&into);
    job->body_length = job->pixels_end;
    run_side(file_jobs.cpu, 0, false);
    run_side(file_jobs.device, 1, true);
    assert_int_equal(job->failure.status, STATUS_OK);
    assert_int_equal(twin_device.stills, 0);
    assert_int_equal(job->decoded_by, CODEC_FORMAT);
    const struct job *one = slot_job(file_jobs.slots, file_jobs.taken[0]);
    const uint8_t *from = slot_bytes(file_jobs.slots, file_jobs.taken[0]);
    compare_bytes(0, "the result", one, from + one->outputs[0].offset, one->outputs[0].length,
                  bytes + job->outputs[0].offset, job->outputs[0].length);
    forget();
}

/* Puts the pixels and the profile of FILE into slot SIDE of the first pair, as a cell does. */
static void be_cell(int side, const struct bytes *file, const struct bytes *profile) {
    struct job *job = slot_job(file_jobs.slots, file_jobs.taken[side]);
    uint8_t *bytes = slot_bytes(file_jobs.slots, file_jobs.taken[side]);
    struct image into = job->probe.shape;
    struct metadata metadata = { 0 };
    uint32_t notes = 0;
    job->decodes_apart = true;
    job->pixels_offset = slot_paged(job->body_length);
    memset(bytes + job->body_length, 0, job->pixels_offset - job->body_length);
    into.pixels = bytes + job->pixels_offset;
    into.stride = image_row_bytes(&into);
    assert_int_equal(codec_decode(file->data, file->length, &job->probe, &codec_limits_default,
                                  NULL, &into, &metadata, &notes, NULL),
                     STATUS_OK);
    job->pixels_end = job->profile_offset = job->pixels_offset + job_pixels_bytes(&into);
    job->profile_length = profile->length;
    memcpy(bytes + job->profile_offset, profile->data, profile->length);
    job->body_length = job->profile_offset + job->profile_length;
    metadata_release(&metadata);
}

/* The profile is there before the device encodes: so the device carries it, and no core encodes. */
static void after_a_cell_with_a_profile(void **state) {
    (void)state;
    struct bytes profile = new_profile(600, "RGB ");
    struct bytes file = png_of(70, 50, PNG_COLOR_TYPE_RGB, 8, &profile);
    clear();
    add_file_job(&file, "flip", &(struct wish){ .type = FORMAT_JPEG });
    for (int side = 0; side < 2; side++) be_cell(side, &file, &profile);
    const struct job_output *output = &job_of(0)->outputs[0];
    const uint8_t *bytes = slot_bytes(file_jobs.slots, file_jobs.taken[1]);
    run_side(file_jobs.cpu, 0, false);
    run_side(file_jobs.device, 1, true);
    compare_pair(0);
    assert_int_equal(output->encoded_by, CODEC_DEVICE);
    assert_non_null(memmem(bytes + output->offset, output->length, profile.data, profile.length));
    forget();
    free(file.data);
    free(profile.data);
}

static int open_all(void **state) {
    (void)state;
    const struct lane_options options = { .staging_bytes = 1 << 20 };
    if (device_cpu.open(0, &options, &lane, NULL)) return 1;
    twin_device_take(lane);
    file_jobs_open(lane, 64 << 10, SPAN);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    device_cpu.close(lane);
    file_jobs_close();
    twin_device_release();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_any_mix),
        cmocka_unit_test(refused),
        cmocka_unit_test(in_a_worker),
        cmocka_unit_test(counts_as_queue),
        cmocka_unit_test(is_for_the_engine),
        cmocka_unit_test(after_a_cell),
        cmocka_unit_test(after_a_cell_with_a_profile),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
