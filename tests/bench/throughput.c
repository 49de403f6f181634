// SPDX-License-Identifier: Apache-2.0
/* throughput - decode, histeq and encode of JPEGs in memory, one thread a core and nothing else:
 * what the codec and the operator allow a service on the same cores.
 *
 *     build/cpu/tests/bench/throughput --seconds 4 photo.jpg...
 */
#include "pipeline/codec.h"
#include "pipeline/run.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES_MAX = 64, THREADS_MAX = 64 };

struct file {
    uint8_t *bytes;
    size_t length;
};

static struct file files[FILES_MAX];
static int file_count;
static double seconds = 4;

static bool read_file(const char *path, struct file *file) {
    FILE *in = fopen(path, "rb");
    if (!in) return false;
    fseek(in, 0, SEEK_END);
    file->length = (size_t)ftell(in);
    rewind(in);
    file->bytes = malloc(file->length);
    const bool good = file->bytes && fread(file->bytes, 1, file->length, in) == file->length;
    fclose(in);
    return good;
}

static enum status process(struct lane *lane, const struct plan *plan, const struct file *file,
                           uint8_t *out, size_t capacity, struct failure *failure) {
    struct probe probe;
    struct run_item item = { 0 };
    struct metadata metadata = { 0 };
    struct encode_options options = encode_options_default;
    size_t length;
    uint32_t notes = 0;
    const struct codec_limits *limits = &codec_limits_default;
    enum status status = probe_image(file->bytes, file->length, &limits->probe, &probe, failure);
    item.in = probe.shape;
    options.format = probe.format;
    if (!status) status = run_reserve(lane, plan, &item, 1, UINT64_MAX, failure);
    if (!status)
        status = codec_decode(file->bytes, file->length, &probe, limits, NULL, &item.in, &metadata,
                              &notes, failure);
    if (!status) status = run_batch(lane, plan, &item, 1, failure);
    if (!status)
        status = codec_encode(&item.out, &metadata, &options, NULL, out, capacity, &length, &notes,
                              failure);
    metadata_release(&metadata);
    return status;
}

static void *work(void *argument) {
    long *done = argument;
    enum { CAPACITY = 64 << 20 };
    struct failure failure = { 0 };
    struct plan plan;
    struct lane *lane = NULL;
    const struct lane_options lane_options = { .staging_bytes = 64 << 20 };
    uint8_t *out = malloc(CAPACITY);
    plan_parse(&plan, "histeq", &failure);
    device_cpu.open(0, &lane_options, &lane, &failure);
    const int64_t end = clock_ns() + (int64_t)(seconds * 1e9);
    for (long i = 0; clock_ns() < end; i++, ++*done)
        if (process(lane, &plan, &files[i % file_count], out, CAPACITY, &failure)) {
            fprintf(stderr, "throughput: %s\n", failure.message);
            exit(1);
        }
    device_cpu.close(lane);
    free(out);
    return NULL;
}

static int usage(FILE *out, int code) {
    fputs("usage: throughput [--seconds 4] JPEG...\n\n"
          "Images a second that the CPU can decode, equalize (histeq) and encode, one thread on\n"
          "each core that this process may use, without HTTP. The files are taken in turn.\n\n"
          "  --seconds N  how long to run (default 4)\n",
          out);
    return code;
}

int main(int argc, char **argv) {
    int i = 1, threads;
    if (argc > 1 && strcmp(argv[1], "--help") == 0) return usage(stdout, 0);
    if (argc > 2 && strcmp(argv[1], "--seconds") == 0) seconds = atof(argv[2]), i = 3;
    for (; i < argc && file_count < FILES_MAX; i++)
        if (!read_file(argv[i], &files[file_count++])) file_count = 0, i = argc;
    if (!file_count) return usage(stderr, 2);
    cpu_set_t set;
    pthread_t thread[THREADS_MAX];
    long done[THREADS_MAX][16] = { 0 }, total = 0; /* apart, each in a cache line of its own */
    sched_getaffinity(0, sizeof set, &set);
    threads = CPU_COUNT(&set) < THREADS_MAX ? CPU_COUNT(&set) : THREADS_MAX;
    for (int t = 0; t < threads; t++) pthread_create(&thread[t], NULL, work, done[t]);
    for (int t = 0; t < threads; t++) pthread_join(thread[t], NULL), total += done[t][0];
    printf("%d threads: %.1f images a second\n", threads, (double)total / seconds);
    return 0;
}
