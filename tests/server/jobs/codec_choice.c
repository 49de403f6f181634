// SPDX-License-Identifier: Apache-2.0
/* Jobs whose files the device decodes and encodes, with the twins of the GPU's codec, against the
 * same jobs on the CPU: in any mix of a batch, answers have the same status and bytes.
 * covers: server/worker/batch.c server/worker/batch_gather.c server/worker/batch_answer.c
 *         pipeline/run_layout.c pipeline/run.c pipeline/run_fit.c
 */
#include "server/jobs/codec_choice.h"

#include "tests/server/jobs/file_scenes.h"
#include "tests/twin_device.h"

#include <lcms2.h>
#include <sys/mman.h>

static void files_of_their_own_type(void **state) {
    (void)state;
    run_any_files_to(FORMAT_NONE, 85, 21, 19);
}

static void files_to_jpeg(void **state) {
    (void)state;
    run_any_files_to(FORMAT_JPEG, 50, 21, 19);
    run_any_files_to(FORMAT_JPEG, 97, 21, 19);
}

static void files_to_png_and_pnm(void **state) {
    (void)state;
    run_any_files_to(FORMAT_PNG, 85, 21, 19);
    run_any_files_to(FORMAT_PNM, 85, 21, 19);
}

static void wishes_mix(void **state) {
    (void)state;
    run_mixed_wishes();
}

static void files_alone(void **state) {
    (void)state;
    run_files_alone();
}

static void masks_beside(void **state) {
    (void)state;
    run_masks();
}

static struct lane *lane;
enum { SPAN = 192 << 10, LARGE_SPAN = 4 * SPAN };

/* Each file of a slot may have a long profile. */
static void several_outputs(void **state) {
    (void)state;
    file_jobs_close();
    file_jobs_open(lane, 64 << 10, LARGE_SPAN);
    run_several_outputs();
    assert_true(file_jobs.encoded[CODEC_DEVICE] > file_jobs.encoded[CODEC_KIND]);
    assert_true(file_jobs.encoded[CODEC_KIND] > 0 && file_jobs.encoded[CODEC_FORMAT] > 0);
    file_jobs_close();
    file_jobs_open(lane, 64 << 10, SPAN);
}

static void clear(void);

/* The files have the CPU's bytes, after the same number of tries, and no pixels are downloaded. */
static void files_fit_max_bytes(void **state) {
    (void)state;
    clear();
    run_fitting();
    assert_int_equal(file_jobs.encoded[CODEC_REFUSED], 0);
    assert_true(file_jobs.encoded[CODEC_DEVICE] > 10 * file_jobs.encoded[CODEC_KIND]);
    assert_true(twin_device.encoded > 2 * file_jobs.encoded[CODEC_DEVICE]);
}

static int64_t stopped_at;

/* The client of one job disconnects after the first of its three rounds. */
static void cancel_one(void) {
    if (twin_device.batches == stopped_at)
        slot_job(file_jobs.slots, file_jobs.taken[1])->progress.cancelled = 1;
}

static void a_search_that_is_stopped(void **state) {
    (void)state;
    clear();
    for (int i = 0; i < 2; i++)
        add_and_free(jpeg_of(90, 70, 3, 2, 2, 0, NULL), "", &(struct wish){ .max_bytes = 1000 });
    run_side(file_jobs.cpu, 0, false);
    stopped_at = 2;
    twin_device.at_finish = cancel_one;
    run_side(file_jobs.device, 1, true);
    twin_device.at_finish = NULL;
    const struct job *stopped = slot_job(file_jobs.slots, file_jobs.taken[1]);
    assert_int_equal(stopped->failure.status, STATUS_CANCELLED);
    compare_pair(1);
    for (int i = 0; i < 4; i++) slot_give(file_jobs.slots, file_jobs.taken[i]);
    file_jobs.count = 0;
}

static void clear(void) {
    memset(file_jobs.decoded, 0, sizeof file_jobs.decoded);
    memset(file_jobs.encoded, 0, sizeof file_jobs.encoded);
    twin_device.batches = twin_device.decoded = twin_device.encoded = 0;
    twin_device.uploaded = twin_device.downloaded = 0;
    twin_device.reserves = twin_device.looked_at = 0;
    file_jobs.count = 0; /* an earlier test may have failed */
}

/* Pixels never leave a device that decodes and encodes. */
static void no_pixel_is_copied(void **state) {
    (void)state;
    clear();
    for (unsigned i = 0; i < 40; i++)
        add_and_free(jpeg_of(16 + i, 20, 3, 2, 2, 0, NULL), "histeq",
                     &(struct wish){ .quality = 85 });
    run_file_jobs();
    assert_int_equal(twin_device.batches, 1);
    assert_int_equal(twin_device.decoded, 40);
    assert_int_equal(twin_device.encoded, 40);
    assert_int_equal(twin_device.uploaded, 0);
    assert_int_equal(twin_device.downloaded, 0);
    assert_int_equal(file_jobs.decoded[CODEC_DEVICE], 40);
    assert_int_equal(file_jobs.encoded[CODEC_DEVICE], 40);
}

/* One of 20 is damaged: it alone runs again, and the others are decoded once. */
static void a_refused_file_runs_alone(void **state) {
    (void)state;
    clear();
    for (unsigned i = 0; i < 20; i++) {
        struct bytes file = jpeg_of(64, 64, 3, 2, 2, 0, NULL);
        if (i == 7) damage_jpeg(&file);
        add_and_free(file, "brightness:shift=1", &(struct wish){ .quality = 85 });
    }
    run_file_jobs();
    assert_int_equal(twin_device.decoded, 20);
    assert_int_equal(file_jobs.decoded[CODEC_DEVICE], 19);
    assert_int_equal(file_jobs.decoded[CODEC_REFUSED], 1);
}

/* The device takes a header that is odd where no pixel depends on it, with the CPU's notes. */
static void odd_headers(void **state) {
    (void)state;
    clear();
    for (unsigned i = 0; i < 12; i++) {
        const struct bytes file = jpeg_of(64, 48, 3, 2, 2, 0, NULL);
        struct bytes odd = insert_bytes(&file, 20, "spare", i % 3 ? 0 : 5); /* behind JFIF's */
        if (i % 3 == 1) odd.data[11] = 2;                                   /* JFIF 2.01 */
        if (i % 3 == 2) ((uint8_t *)memmem(odd.data, odd.length, "\xff\xda", 2))[11] = 1;
        free(file.data);
        add_and_free(odd, "histeq", &(struct wish){ .quality = 85 });
    }
    run_file_jobs();
    assert_int_equal(file_jobs.decoded[CODEC_DEVICE], 12);
}

/* Makes the first attempt look an hour long. */
static void pass_an_hour(void) {
    slot_job(file_jobs.slots, file_jobs.taken[1])->submitted_ns -= INT64_C(3600000000000);
}

/* The first attempt's time does not count as time in the queue. */
static void the_queue_is_told_once(void **state) {
    (void)state;
    struct bytes file = jpeg_of(64, 64, 3, 2, 2, 0, NULL);
    clear();
    damage_jpeg(&file);
    add_and_free(file, "mean", &(struct wish){ .accept_damage = true });
    struct job *job = slot_job(file_jobs.slots, file_jobs.taken[1]);
    job->submitted_ns = clock_ns();
    twin_device.at_finish = pass_an_hour;
    run_side(file_jobs.device, 1, true);
    twin_device.at_finish = NULL;
    assert_int_equal(job->decoded_by, CODEC_REFUSED);
    assert_true(job->timing.stage_ms[STAGE_QUEUE] < 3e6);
    file_jobs.count = 0;
}

/* A JPEG that the device decodes shares no batch with what cores decode, whichever came first. */
static void no_jpeg_waits_for_a_core(void **state) {
    (void)state;
    clear();
    for (unsigned i = 0; i < 6; i++)
        add_and_free(i % 2 ? jpeg_of(30, 30, 3, 2, 2, 0, NULL)
                           : png_of(30, 30, PNG_COLOR_TYPE_RGB, 8, NULL),
                     "histeq", &(struct wish){ .type = FORMAT_JPEG });
    run_file_jobs();
    assert_int_equal(twin_device.batches, 2);
    assert_int_equal(twin_device.decoded, 3);
    assert_int_equal(twin_device.encoded, 6);
}

/* A profile with sRGB's matrix and straight curves. */
static struct bytes straight_profile(void) {
    const cmsCIExyY white = { 0.3127, 0.3290, 1 };
    const cmsCIExyYTRIPLE primaries = { { 0.64, 0.33, 1 }, { 0.30, 0.60, 1 }, { 0.15, 0.06, 1 } };
    cmsToneCurve *curve = cmsBuildGamma(NULL, 1);
    cmsHPROFILE profile =
        cmsCreateRGBProfile(&white, &primaries, (cmsToneCurve *[]){ curve, curve, curve });
    cmsUInt32Number length = 0;
    assert_true(cmsSaveProfileToMem(profile, NULL, &length));
    struct bytes bytes = { .data = malloc(length), .length = length };
    assert_true(cmsSaveProfileToMem(profile, bytes.data, &length));
    cmsCloseProfile(profile);
    cmsFreeToneCurve(curve);
    return bytes;
}

/* Tables travel beside images that the device decodes, and beside others; some are void, and some
 * images have none. */
static void steps_by_profile(void **state) {
    (void)state;
    static const char *const by_profile[] = { "srgb", "srgb;mean", "srgb;flip;resize:width=9" };
    struct bytes good = straight_profile(), bad = new_profile(600, "RGB ");
    clear();
    for (int p = 0; p < 3; p++) {
        for (unsigned i = 0; i < 18; i++) {
            const struct bytes *profile = i % 3 == 2 ? NULL : i % 3 ? &bad : &good;
            struct bytes file = i % 4 ? jpeg_of(20 + i, 40, 3, 2, 2, i % 9, profile)
                                      : png_of(20 + i, 40, PNG_COLOR_TYPE_RGB, 8, profile);
            if (i % 7 == 6) damage_jpeg(&file);
            add_and_free(file, by_profile[p], &(struct wish){ .type = FORMAT_JPEG });
        }
        run_file_jobs();
    }
    assert_true(file_jobs.decoded[CODEC_DEVICE] > 30 && file_jobs.encoded[CODEC_DEVICE] > 30);
    free(good.data);
    free(bad.data);
}

/* The device has less room for its file than the slot. */
static void a_file_too_large_for_the_device(void **state) {
    (void)state;
    clear();
    twin_device.room = 1500;
    for (unsigned i = 0; i < 10; i++)
        add_and_free(jpeg_of(16 + 40 * (i % 2), 64, 3, 2, 2, 0, NULL), "",
                     &(struct wish){ .quality = 85 });
    run_file_jobs();
    twin_device.room = 0;
    assert_int_equal(file_jobs.encoded[CODEC_DEVICE], 5);
    assert_int_equal(file_jobs.encoded[CODEC_REFUSED], 5);
}

/* The slot has no room for it either: the CPU answers. */
static void a_file_too_large_for_its_slot(void **state) {
    (void)state;
    struct image noise = new_noise(300, 300, 3, 8, 5);
    const struct jpeg_recipe recipe = { .image = &noise };
    struct bytes file = make_jpeg(&recipe);
    clear();
    file_jobs.executor.limits = codec_limits_default;
    for (int i = 0; i < 3; i++)
        add_file_job(&file, "", &(struct wish){ .quality = i == 1 ? 100 : 30 });
    run_file_jobs();
    assert_int_equal(file_jobs.encoded[CODEC_REFUSED], 1);
    free(noise.pixels);
    free(file.data);
}

/* A launch that the device refuses: each job runs alone, and then without the device's codec. */
static void a_decoder_that_fails(void **state) {
    (void)state;
    clear();
    twin_device.decode_fails = STATUS_INTERNAL;
    for (unsigned i = 0; i < 5; i++)
        add_and_free(jpeg_of(16 + i, 64, 3, 2, 2, 0, NULL), "mean",
                     &(struct wish){ .quality = 85 });
    run_file_jobs();
    twin_device.decode_fails = STATUS_OK;
    assert_int_equal(file_jobs.decoded[CODEC_FAILED], 5);
}

static int lines_of(int file) {
    char text[1 << 16];
    int lines = 0;
    const ssize_t length = pread(file, text, sizeof text, 0);
    for (ssize_t i = 0; i < length; i++) lines += text[i] == '\n';
    return lines;
}

/* A client that can make the device fail cannot fill the log. */
static void a_failure_is_told_once_a_second(void **state) {
    (void)state;
    const int log = memfd_create("log", MFD_CLOEXEC), before = dup(STDERR_FILENO);
    const int64_t start = clock_ns();
    clear();
    dup2(log, STDERR_FILENO);
    twin_device.decode_fails = STATUS_NO_MEMORY;
    for (unsigned i = 0; i < 20; i++)
        add_and_free(jpeg_of(16 + i, 64, 3, 2, 2, 0, NULL), "mean", &(struct wish){ 0 });
    run_file_jobs();
    twin_device.decode_fails = STATUS_OK;
    dup2(before, STDERR_FILENO);
    assert_true(lines_of(log) <= 2 + (clock_ns() - start) / 1000000000);
    close(before);
    close(log);
}

/* The front has parsed every plan: a plan that is invalid here is not tried elsewhere. */
static void a_plan_that_is_none_runs_nowhere(void **state) {
    (void)state;
    clear();
    for (int i = 0; i < 2; i++)
        add_and_free(jpeg_of(64, 64, 3, 2, 2, 0, NULL), "mean", &(struct wish){ 0 });
    for (int i = 0; i < 4; i++)
        slot_job(file_jobs.slots, file_jobs.taken[i])->plan = plan_data_of("unheard_of");
    const struct job *first = slot_job(file_jobs.slots, file_jobs.taken[1]);
    run_side(file_jobs.device, 1, true);
    assert_int_equal(first->failure.status, STATUS_INTERNAL);
    assert_string_equal(first->device_name, ""); /* the executor's own, not "cpu" */
    for (int i = 0; i < 4; i++) slot_give(file_jobs.slots, file_jobs.taken[i]);
    file_jobs.count = 0;
}

/* An operator that the device cannot run: the CPU does, unless the client wants the device. */
static void an_operator_that_fails(void **state) {
    (void)state;
    clear();
    twin_device.run_fails = STATUS_INTERNAL;
    for (unsigned i = 0; i < 4; i++)
        add_and_free(jpeg_of(16 + i, 64, 3, 2, 2, 0, NULL), "histeq",
                     &(struct wish){ .type = i % 2 ? FORMAT_PNG : FORMAT_JPEG });
    const int first = file_jobs.taken[1];
    run_file_jobs();
    assert_string_equal(slot_job(file_jobs.slots, first)->device_name, "cpu");
    assert_int_equal(file_jobs.decoded[CODEC_FAILED], 4);
    add_and_free(jpeg_of(16, 64, 3, 2, 2, 0, NULL), "histeq", &(struct wish){ .quality = 85 });
    struct job *job = slot_job(file_jobs.slots, file_jobs.taken[1]);
    strcpy(job->device, "cuda");
    run_side(file_jobs.device, 1, true);
    assert_int_equal(job->failure.status, STATUS_INTERNAL);
    assert_non_null(strstr(job->failure.message, "launch was refused"));
    twin_device.run_fails = STATUS_OK;
    file_jobs.count = 0;
}

/* A job that is cancelled or expires while the device waits for memory is answered at once; the
 * others run without it. */
static void a_wait_for_memory_ends_with_the_job(void **state) {
    (void)state;
    for (int jobs = 1; jobs <= 2; jobs++) {
        clear();
        for (int i = 0; i < jobs; i++)
            add_and_free(jpeg_of(64, 64, 3, 2, 2, 0, NULL), "mean", &(struct wish){ 0 });
        const struct job *first = slot_job(file_jobs.slots, file_jobs.taken[1]);
        const struct job *last = slot_job(file_jobs.slots, file_jobs.taken[2 * jobs - 1]);
        slot_job(file_jobs.slots, file_jobs.taken[1])->progress.deadline_ns =
            clock_ns() + 500 * 1000000;
        twin_device.waits = 1;
        run_side(file_jobs.device, 1, true);
        assert_int_equal(first->failure.status, STATUS_DEADLINE);
        if (jobs == 2) assert_int_equal(last->failure.status, STATUS_OK);
        for (int i = 0; i < 2 * jobs; i++) slot_give(file_jobs.slots, file_jobs.taken[i]);
        file_jobs.count = 0;
    }
}

/* A job that has waited for memory in vain does not wait again: the CPU gets it at once. */
static void nobody_waits_for_memory_twice(void **state) {
    (void)state;
    clear();
    twin_device.reserve_fails = STATUS_NO_MEMORY;
    twin_device.wait_ms = 1100;
    add_and_free(jpeg_of(64, 64, 3, 2, 2, 0, NULL), "mean", &(struct wish){ 0 });
    const int slot = file_jobs.taken[1];
    run_file_jobs();
    twin_device.reserve_fails = STATUS_OK;
    assert_int_equal(twin_device.reserves, 1);
    assert_string_equal(slot_job(file_jobs.slots, slot)->device_name, "cpu");
}

/* Jobs that exceed the lane's memory run in several batches. */
static void memory_bounds_a_batch(void **state) {
    (void)state;
    const size_t arena = file_jobs.executor.arena_bytes;
    clear();
    file_jobs.executor.arena_bytes = 400 << 10;
    for (unsigned i = 0; i < 12; i++)
        add_and_free(jpeg_of(64, 64, 3, 2, 2, 0, NULL), "mean", &(struct wish){ .quality = 85 });
    run_file_jobs();
    file_jobs.executor.arena_bytes = arena;
    assert_true(twin_device.batches > 1 && twin_device.batches < 12);
    assert_int_equal(file_jobs.decoded[CODEC_DEVICE], 12);
}

/* Nor does each batch read the headers of all waiting jobs. */
static void a_full_lane_reads_no_more_headers(void **state) {
    (void)state;
    const size_t arena = file_jobs.executor.arena_bytes;
    clear();
    file_jobs.executor.arena_bytes = 400 << 10;
    for (unsigned i = 0; i < 40; i++)
        add_and_free(jpeg_of(64, 64, 3, 2, 2, 0, NULL), "mean", &(struct wish){ .quality = 85 });
    run_file_jobs();
    file_jobs.executor.arena_bytes = arena;
    assert_int_equal(file_jobs.decoded[CODEC_DEVICE], 40);
    assert_true(twin_device.looked_at <= 40 + 4 * twin_device.batches);
}

/* A job reports decode and encode times with kernels only if the device did them for it. */
static void times_are_told(void **state) {
    (void)state;
    struct bytes jpeg = jpeg_of(40, 40, 3, 2, 2, 0, NULL);
    struct bytes png = png_of(40, 40, PNG_COLOR_TYPE_RGB, 8, NULL);
    add_file_job(&jpeg, "histeq", &(struct wish){ .type = FORMAT_JPEG });
    add_file_job(&png, "histeq", &(struct wish){ .type = FORMAT_JPEG });
    add_file_job(&jpeg, "histeq", &(struct wish){ .type = FORMAT_PNG });
    run_side(file_jobs.device, 1, true);
    for (int i = 0; i < 3; i++) {
        const struct timing *timing =
            &slot_job(file_jobs.slots, file_jobs.taken[2 * i + 1])->timing;
        int decode = 0, encode = 0;
        for (int k = 0; k < timing->span_count; k++) {
            decode += timing->spans[k].level == SPAN_DECODE;
            encode += timing->spans[k].level == SPAN_ENCODE;
        }
        assert_int_equal(decode, i != 1);
        assert_int_equal(encode, i != 2);
        if (i != 1) assert_true(timing->stage_ms[STAGE_DECODE] == 0.25);
        if (i != 2) assert_true(timing->stage_ms[STAGE_ENCODE] == 0.5);
    }
    run_file_jobs();
    free(jpeg.data);
    free(png.data);
}

static int open_all(void **state) {
    (void)state;
    struct failure failure = { 0 };
    const struct lane_options options = { .staging_bytes = 1 << 20 };
    if (device_cpu.open(0, &options, &lane, &failure)) return 1;
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
        cmocka_unit_test(files_of_their_own_type),
        cmocka_unit_test(files_to_jpeg),
        cmocka_unit_test(files_to_png_and_pnm),
        cmocka_unit_test(wishes_mix),
        cmocka_unit_test(files_alone),
        cmocka_unit_test(files_fit_max_bytes),
        cmocka_unit_test(a_search_that_is_stopped),
        cmocka_unit_test(masks_beside),
        cmocka_unit_test(several_outputs),
        cmocka_unit_test(no_pixel_is_copied),
        cmocka_unit_test(a_refused_file_runs_alone),
        cmocka_unit_test(odd_headers),
        cmocka_unit_test(no_jpeg_waits_for_a_core),
        cmocka_unit_test(steps_by_profile),
        cmocka_unit_test(the_queue_is_told_once),
        cmocka_unit_test(a_file_too_large_for_the_device),
        cmocka_unit_test(a_file_too_large_for_its_slot),
        cmocka_unit_test(a_decoder_that_fails),
        cmocka_unit_test(a_failure_is_told_once_a_second),
        cmocka_unit_test(a_plan_that_is_none_runs_nowhere),
        cmocka_unit_test(an_operator_that_fails),
        cmocka_unit_test(a_wait_for_memory_ends_with_the_job),
        cmocka_unit_test(nobody_waits_for_memory_twice),
        cmocka_unit_test(memory_bounds_a_batch),
        cmocka_unit_test(a_full_lane_reads_no_more_headers),
        cmocka_unit_test(times_are_told),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
