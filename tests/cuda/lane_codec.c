// SPDX-License-Identifier: Apache-2.0
/* The whole way from slot to slot on a GPU, beside the same jobs on the CPU: every kind of file,
 * plan and wish, in one batch; slots that are pinned, not pinned, and pinned in part; all small
 * sizes with all samplings and qualities; damaged copies. Status and bytes must be equal.
 *
 * How it works. Jobs go through the executor, as in a worker, twice (file_jobs.h). At the end it
 * prints how long a lone 1080p JPEG takes with its stages and kernels, and how many a second full
 * batches do. The argument `small` makes it short, for compute-sanitizer; DAMAGED=100000 in the
 * environment makes it long.
 * covers: cuda/lane_codec.cu cuda/pinned_ranges.cu cuda/timeline.cu
 */
#include "tests/pipeline/codecs/jpeg/cases.h"
#include "tests/server/jobs/file_scenes.h"

enum { SPAN = 192 << 10, LARGE_SPAN = 16 << 20, LARGE_HOT = 4 << 20 };

static struct lane *lane;
static bool small;

/* ---- slots, pinned or not */

/* PIECE: bytes registered at a time, whole pages; 0: none. */
static void open_jobs(size_t hot, size_t span, size_t piece) {
    struct failure failure = { 0 };
    file_jobs_open(lane, hot, span);
    for (int i = 0; piece && i < slots_count(file_jobs.slots); i++)
        for (size_t at = 0; at < slot_hot(file_jobs.slots, i); at += piece)
            if (device_cuda.codec->pin(0, slot_bytes(file_jobs.slots, i) + at, piece, &failure))
                fail_msg("slot %d: %s", i, failure.message);
}

static void close_jobs(bool pinned) {
    for (int i = 0; pinned && i < slots_count(file_jobs.slots); i++)
        device_cuda.codec->unpin(0, slot_bytes(file_jobs.slots, i), slot_hot(file_jobs.slots, i));
    print_message("decoded by the GPU %d, by cores: format %d, kind %d, profile %d, refused %d, "
                  "failed %d\n",
                  file_jobs.decoded[CODEC_DEVICE], file_jobs.decoded[CODEC_FORMAT],
                  file_jobs.decoded[CODEC_KIND], file_jobs.decoded[CODEC_PROFILE],
                  file_jobs.decoded[CODEC_REFUSED], file_jobs.decoded[CODEC_FAILED]);
    print_message("encoded by the GPU %d, by cores: format %d, kind %d, profile %d, room %d, "
                  "refused %d, failed %d, not at all %d\n",
                  file_jobs.encoded[CODEC_DEVICE], file_jobs.encoded[CODEC_FORMAT],
                  file_jobs.encoded[CODEC_KIND], file_jobs.encoded[CODEC_PROFILE],
                  file_jobs.encoded[CODEC_ROOM], file_jobs.encoded[CODEC_REFUSED],
                  file_jobs.encoded[CODEC_FAILED], file_jobs.encoded[CODEC_NOBODY]);
    assert_int_equal(file_jobs.decoded[CODEC_FAILED] + file_jobs.encoded[CODEC_FAILED], 0);
    file_jobs_close();
}

static void all_scenes(size_t hot, size_t piece) {
    open_jobs(hot, SPAN, piece);
    run_any_files_to(FORMAT_NONE, 85, 21, 19);
    run_any_files_to(FORMAT_JPEG, 97, 64, 33);
    if (!small) {
        run_any_files_to(FORMAT_JPEG, 50, 121, 119);
        run_any_files_to(FORMAT_PNG, 85, 70, 3);
        run_any_files_to(FORMAT_PNM, 85, 5, 70); /* no plan refuses it */
    }
    run_mixed_wishes();
    run_files_alone();
    run_fitting();
    run_masks();
    assert_true(file_jobs.decoded[CODEC_DEVICE] > 100 && file_jobs.encoded[CODEC_DEVICE] > 100);
    assert_true(file_jobs.decoded[CODEC_REFUSED] > 0);
    close_jobs(piece > 0);
}

static void slots_that_are_pinned(void **state) {
    (void)state;
    all_scenes(64 << 10, 64 << 10);
}

static void slots_that_are_not(void **state) {
    (void)state;
    all_scenes(64 << 10, 0);
}

/* One page: most files lie across its end, or begin behind it. */
static void slots_that_are_pinned_in_part(void **state) {
    (void)state;
    all_scenes(SLOT_PAGE, SLOT_PAGE);
}

/* Files lie across the borders of adjacent pieces, as in a slot that has grown. */
static void slots_that_are_pinned_in_pieces(void **state) {
    (void)state;
    all_scenes(64 << 10, SLOT_PAGE);
}

/* The outputs that the device makes of one image lie one behind another in its slot. */
static void several_outputs(void **state) {
    (void)state;
    open_jobs(64 << 10, LARGE_SPAN, 64 << 10);
    run_several_outputs();
    assert_true(file_jobs.encoded[CODEC_DEVICE] > 0);
    close_jobs(true);
}

/* A failure to pin memory is reported and harms nothing else. */
static void memory_that_cannot_be_pinned(void **state) {
    (void)state;
    struct failure failure = { 0 };
    open_jobs(64 << 10, SPAN, 64 << 10);
    assert_true(device_cuda.codec->pin(0, slot_bytes(file_jobs.slots, 0), 64 << 10, &failure) !=
                STATUS_OK);
    print_message("pinned twice: %s\n", failure.message);
    assert_true(failure.status != STATUS_DEVICE);
    run_files_alone();
    close_jobs(true);
}

/* ---- sizes */

static struct bytes noisy_jpeg(uint32_t width, uint32_t height, unsigned sampling, int quality) {
    static const int samplings[][3] = { { 1, 1, 1 }, { 3, 1, 1 }, { 3, 2, 1 }, { 3, 2, 2 } };
    struct jpeg_case made = { 0 };
    made.width = width;
    made.height = height;
    made.channels = samplings[sampling][0];
    made.h = samplings[sampling][1];
    made.v = samplings[sampling][2];
    made.quality = quality;
    made.drawing = (enum jpeg_drawing)((width + height) % DRAWINGS);
    made.orientation = width % 9;
    made.interval = height % 4;
    const struct jpeg_file file = make_case(&made);
    return (struct bytes){ file.data, file.length };
}

static void sizes_and_qualities(void **state) {
    (void)state;
    static const int qualities[] = { 1, 50, 85, 95, 100 };
    const unsigned step = small ? 487 : 3;
    open_jobs(64 << 10, SPAN, 64 << 10);
    for (unsigned i = 0; i < 70 * 70 * 20; i += step) {
        const int quality = qualities[i / 4 % 5];
        add_and_free(noisy_jpeg(1 + i / 20 % 70, 1 + i / 20 / 70, i % 4, 90), i % 2 ? "" : "histeq",
                     &(struct wish){ .quality = quality, .margin = i % 37 });
        if (file_jobs.count == FILE_JOBS_MAX) run_file_jobs();
    }
    run_file_jobs();
    close_jobs(true);
}

/* Sizes from a few pixels to 1080p and wider in one batch. */
static void large_with_small(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = { { 1920, 1080 }, { 320, 240 }, { 7, 5 },
                                         { 3000, 17 },   { 17, 3000 }, { 1919, 1079 } };
    open_jobs(LARGE_HOT, LARGE_SPAN, 64 << 10); /* as a slot that has grown */
    for (unsigned i = 0; i < (small ? 6u : 48u); i++)
        add_and_free(noisy_jpeg(sizes[i % 6][0], sizes[i % 6][1], 1 + i % 3, 85),
                     "histeq;brightness:shift=3", &(struct wish){ .quality = 60 + (int)i % 41 });
    run_file_jobs();
    close_jobs(true);
}

/* ---- damage */

static unsigned damaged_copies(void) {
    const char *text = getenv("DAMAGED");
    return text ? (unsigned)atol(text) : small ? 120 : 4000;
}

/* Those whose headers the front refuses never become jobs. */
static bool is_probed(const struct bytes *file) {
    struct probe probe;
    struct failure failure;
    return probe_image(file->data, file->length, &codec_limits_default.probe, &probe, &failure) ==
           STATUS_OK;
}

static void damaged_files(void **state) {
    (void)state;
    open_jobs(64 << 10, SPAN, 64 << 10);
    for (unsigned i = 0; i < damaged_copies();) {
        struct bytes whole = noisy_jpeg(40 + i % 57, 33 + i % 31, 1 + i % 3, 80);
        const struct jpeg_file file = { whole.data, whole.length };
        for (unsigned k = 0; k < 20; k++, i++) {
            const struct jpeg_file copy = damaged_copy(&file, i);
            const struct bytes damaged = { copy.data, copy.length };
            const struct wish wish = { .accept_damage = i % 11 == 0 };
            if (is_probed(&damaged) && damaged.length < 32 << 10)
                add_file_job(&damaged, i % 2 ? "" : "grayscale", &wish);
            free(copy.data);
            if (file_jobs.count == FILE_JOBS_MAX) run_file_jobs();
        }
        free(whole.data);
    }
    run_file_jobs();
    assert_true(file_jobs.decoded[CODEC_REFUSED] > 10);
    close_jobs(true);
}

/* ---- times */

/* Waves with a little noise: a photograph's bytes, more or less. */
static struct bytes photo_like(uint32_t width, uint32_t height) {
    struct image image = new_waves(width, height, 3);
    uint32_t state = 1;
    for (size_t i = 0; i < image_bytes(&image); i++)
        image.pixels[i] = (uint8_t)(image.pixels[i] / 2 + next_random(&state) % 12);
    const struct jpeg_recipe recipe = { .image = &image, .h = 2, .v = 2 };
    struct bytes bytes = make_jpeg(&recipe);
    free(image.pixels);
    return bytes;
}

static void print_timing(const struct timing *timing) {
    for (int s = STAGE_DECODE; s < STAGE_WAIT; s++)
        print_message("  %s %.3f ms\n", stage_name((enum stage)s), timing->stage_ms[s]);
    for (int i = 0; i < timing->span_count; i++)
        print_message("    %s %.4f ms\n", timing->spans[i].name, timing->spans[i].ms);
}

static int by_value(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* COUNT jobs at once; the median of TIMES runs, in milliseconds. */
static double median_ms(int count, int times) {
    static int64_t ns[1000];
    for (int i = 0; i < times; i++) {
        const int64_t start = clock_ns();
        run_side(file_jobs.device, 1, true);
        ns[i] = clock_ns() - start;
    }
    qsort(ns, (size_t)times, sizeof *ns, by_value);
    const struct job *job = slot_job(file_jobs.slots, file_jobs.taken[1]);
    assert_int_equal(job->decoded_by, CODEC_DEVICE);
    assert_int_equal(job->outputs[0].encoded_by, CODEC_DEVICE);
    print_message("%d of %ux%u, %lu to %lu bytes: %.3f ms, %.0f a second on one lane\n", count,
                  job->probe.width, job->probe.height, job->image_length, job->outputs[0].length,
                  ns_to_ms(ns[times / 2]), count * 1e3 / ns_to_ms(ns[times / 2]));
    print_timing(&job->timing);
    return ns_to_ms(ns[times / 2]);
}

static void check_timing(const struct timing *timing) {
    int levels[SPAN_LEVELS] = { 0 };
    double decode_ms = 0;
    for (int i = 0; i < timing->span_count; i++) {
        levels[timing->spans[i].level]++;
        if (timing->spans[i].level == SPAN_DECODE) decode_ms += timing->spans[i].ms;
    }
    assert_int_equal(levels[SPAN_DECODE], 8);
    assert_int_equal(levels[SPAN_ENCODE], 1);
    assert_int_equal(levels[SPAN_OPERATOR], 1);
    for (int s = STAGE_DECODE; s < STAGE_WAIT; s++) assert_true(timing->stage_ms[s] > 0);
    assert_true(timing->stage_ms[STAGE_DECODE] >= 0.99 * decode_ms);
    assert_true(timing->stage_ms[STAGE_DECODE] <= 1.01 * decode_ms + 0.001);
}

/* No bound is asserted: how fast a machine is, is no mistake. */
static void times_are_printed(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = { { 1920, 1080 }, { 320, 240 } };
    for (int s = 0; s < 2; s++) {
        struct bytes file = photo_like(sizes[s][0], sizes[s][1]);
        open_jobs(LARGE_HOT, LARGE_SPAN, LARGE_HOT);
        add_file_job(&file, "histeq", &(struct wish){ .quality = 85 });
        median_ms(1, small ? 1 : 200);
        check_timing(&slot_job(file_jobs.slots, file_jobs.taken[1])->timing);
        for (int i = 1; i < 32; i++) add_file_job(&file, "histeq", &(struct wish){ .quality = 85 });
        median_ms(32, small ? 1 : 50);
        for (int i = 32; i < FILE_JOBS_MAX; i++)
            add_file_job(&file, "histeq", &(struct wish){ .quality = 85 });
        if (!small) median_ms(FILE_JOBS_MAX, 50);
        if (small) file_jobs.count = 2;
        run_file_jobs();
        close_jobs(true);
        free(file.data);
    }
}

int main(int arguments, char **argument) {
    struct failure failure = { 0 };
    const struct lane_options options = { .staging_bytes = 64 << 20, .arena_bytes = 1u << 30 };
    small = arguments > 1 && strcmp(argument[1], "small") == 0;
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to compare");
        return 77;
    }
    if (device_cuda.open(0, &options, &lane, &failure)) {
        puts(failure.message);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_that_are_pinned),
        cmocka_unit_test(slots_that_are_not),
        cmocka_unit_test(slots_that_are_pinned_in_part),
        cmocka_unit_test(slots_that_are_pinned_in_pieces),
        cmocka_unit_test(several_outputs),
        cmocka_unit_test(memory_that_cannot_be_pinned),
        cmocka_unit_test(sizes_and_qualities),
        cmocka_unit_test(large_with_small),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(times_are_printed),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    device_cuda.close(lane);
    return failed;
}
