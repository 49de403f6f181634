// SPDX-License-Identifier: Apache-2.0
/* HEICs decoded by the video engines, against libde265: each file of the corpus, and damaged ones,
 * sample for sample. An engine may refuse a damaged file, but has no other samples for it than the
 * CPU. Several threads have lanes of their own at the end.
 * covers: cuda/codecs/hevc_decode.cu cuda/codecs/hevc_decode_none.cu */
#include "pipeline/codecs/heic/library.h"
#include "server/jobs/codec_choice.h"
#include "tests/noise.h"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILES_MAX = 64, FILE_MAX = 1 << 16, THREADS = 6, ROUNDS = 2 };
static const char folder[] = "tests/fuzz/corpus/heic_still";
static int damaged_files = 1000; /* or the first argument */

static struct file {
    char name[64];
    uint8_t bytes[FILE_MAX];
    size_t length;
    struct probe probe;
} files[FILES_MAX];
static int count;

static void load(const char *name) {
    struct file *file = &files[count++];
    char path[256];
    assert_true(count < FILES_MAX);
    snprintf(file->name, sizeof file->name, "%.60s", name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    file->length = fread(file->bytes, 1, FILE_MAX, in);
    fclose(in);
    assert_int_equal(
        probe_image(file->bytes, file->length, &codec_limits_default.probe, &file->probe, NULL),
        STATUS_OK);
}

static int load_all(void **state) {
    (void)state;
    DIR *all = opendir(folder);
    for (const struct dirent *entry; all && (entry = readdir(all));)
        if (entry->d_name[0] != '.') load(entry->d_name);
    if (all) closedir(all);
    return count > 20 ? 0 : -1;
}

/* The digest of the pixels; 0: refused. */
static uint64_t by_cpu(const struct file *file) {
    struct image image = file->probe.shape;
    struct failure failure;
    uint32_t notes = 0;
    image.pixels = malloc(image_bytes(&image));
    const enum status status =
        codec_decode(file->bytes, file->length, &file->probe, &codec_limits_default, NULL, &image,
                     NULL, &notes, &failure);
    const uint64_t digest = status ? 0 : image_digest(&image);
    free(image.pixels);
    return digest;
}

static struct lane *open_lane(void) {
    const struct lane_options options = { .staging_bytes = 8 << 20, .arena_bytes = 32 << 20 };
    struct lane *lane;
    struct failure failure;
    if (device_cuda.open(0, &options, &lane, &failure)) fail_msg("%s", failure.message);
    return lane;
}

/* The same by an engine. */
static uint64_t by_engine(struct lane *lane, const struct file *file) {
    const struct plan plan = { .count = 0 };
    const struct codec_request request = { .bytes = file->bytes,
                                           .length = file->length,
                                           .probe = &file->probe };
    struct codec_choice choice;
    struct failure failure = { 0 };
    struct timing timing = { .span_count = 0 };
    struct run_item *item = calloc(1, sizeof *item);
    uint64_t digest = 0;
    item->in = file->probe.shape;
    item->timing = &timing;
    codec_choose_decoder(device_cuda.codec, CODEC_NOBODY, &codec_limits_default, &request, &choice,
                         item);
    item->want = RUN_PIXELS;
    if (item->heic) {
        if (run_reserve(lane, &plan, item, 1, UINT64_MAX, &failure) ||
            run_batch(lane, &plan, item, 1, &failure))
            fail_msg("%s: %s", file->name, failure.message);
        if (!item->refused) digest = image_digest(&item->out);
        assert_true(timing.span_count >= 2);
        assert_string_equal(timing.spans[0].name, "engine");
        assert_string_equal(timing.spans[1].name, "pixels");
    }
    metadata_release(&choice.metadata);
    free(item);
    return digest;
}

static bool is_there(void) {
    struct device_info info;
    return !heic_reading_missing() && device_cuda.count() &&
           !device_cuda.describe(0, &info, NULL) && info.engines > 0;
}

/* Sizes of other files keep the engines for a second. */
static void await_engine(struct lane *lane, const struct file *file) {
    for (int tries = 0; tries < 30 && !by_engine(lane, file); tries++) usleep(100000);
}

static void test_each_file(void **state) {
    (void)state;
    if (!is_there()) skip();
    struct lane *lane = open_lane();
    for (int i = 0; i < count; i++) {
        await_engine(lane, &files[i]);
        if (by_engine(lane, &files[i]) != by_cpu(&files[i])) fail_msg("%s", files[i].name);
    }
    device_cuda.close(lane);
}

/* Bytes are changed, exchanged or cut off: of the coded part, which is at the end, or ANYWHERE
 * behind the first boxes. */
static void damage(struct file *file, bool anywhere, uint32_t *noise) {
    const size_t from = anywhere ? 100 : file->length / 2, most = file->length - from;
    const unsigned kind = noise_next(noise) >> 8;
    for (unsigned i = 0; i <= kind % 3; i++) {
        uint8_t *at = &file->bytes[from + (noise_next(noise) >> 4) % most];
        *at = kind & 64 ? (uint8_t)(*at ^ 1 << (kind >> 3) % 8) : (uint8_t)(noise_next(noise) >> 8);
    }
    if (kind % 16 == 0) memset(&file->bytes[file->length - most / 4], 0, most / 4);
}

static void test_damaged_files(void **state) {
    (void)state;
    static struct file file;
    uint32_t noise = (uint32_t)damaged_files;
    int refused = 0, equal = 0;
    if (!is_there()) skip();
    struct lane *lane = open_lane();
    for (int i = 0; i < damaged_files; i++) {
        const struct file *sound = &files[(int64_t)i * count / damaged_files];
        if (strcmp(file.name, sound->name) != 0) await_engine(lane, sound);
        file = *sound;
        damage(&file, i % 3 == 0, &noise);
        if (probe_image(file.bytes, file.length, &codec_limits_default.probe, &file.probe, NULL))
            continue;
        const uint64_t engine = by_engine(lane, &file);
        if (engine && engine != by_cpu(&file)) fail_msg("%s, number %d", file.name, i);
        refused += !engine;
        equal += engine != 0;
    }
    print_message("%d refused, %d equal\n", refused, equal);
    assert_true(refused > damaged_files / 3);
    device_cuda.close(lane);
}

struct outcome {
    uint64_t expected[FILES_MAX];
    int taken, wrong; /* atomic */
};

/* Files of a third size are refused. */
static void *decode_often(void *argument) {
    struct outcome *outcome = argument;
    struct lane *lane = open_lane();
    for (int i = 0; i < ROUNDS * count; i++) {
        const uint64_t got = by_engine(lane, &files[i % count]);
        if (!got) continue;
        __atomic_fetch_add(&outcome->taken, 1, __ATOMIC_RELAXED);
        if (got != outcome->expected[i % count])
            __atomic_fetch_add(&outcome->wrong, 1, __ATOMIC_RELAXED);
    }
    device_cuda.close(lane);
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    static struct outcome outcome;
    if (!is_there()) skip();
    for (int i = 0; i < count; i++) outcome.expected[i] = by_cpu(&files[i]);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, decode_often, &outcome), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    print_message("%d taken\n", outcome.taken);
    assert_int_equal(outcome.wrong, 0);
    assert_true(outcome.taken > ROUNDS * THREADS);
}

int main(int argc, char **argv) {
    if (argc > 1) damaged_files = atoi(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_file),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, load_all, NULL);
}
