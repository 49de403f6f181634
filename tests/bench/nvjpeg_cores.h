// SPDX-License-Identifier: Apache-2.0
/* nvjpeg_cores.h - how many photos a second the cores of this machine decode or encode, a thread
 * each: what nvJPEG is measured against.
 *
 * Method: a thread works through the photos in turn, beginning with its own, until the time is
 *         over; the threads' rates are summed, so that none waits for the others' last photo.
 */
#ifndef BURIN_NVJPEG_CORES_H
#define BURIN_NVJPEG_CORES_H

#include "pipeline/timing.h"
#include "tests/bench/nvjpeg_photo.h"

#include <pthread.h>
#include <sched.h>

enum { THREADS_MAX = 256, ROUNDS_MAX = 101 };

struct core {
    const struct photo *photos;
    int count, first;
    bool encodes;
    double seconds, rate; /* rate: photos a second, set by the thread */
};

static int core_count(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    return CPU_COUNT(&set) < THREADS_MAX ? CPU_COUNT(&set) : THREADS_MAX;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}

static size_t encode_here(const struct image *image, uint8_t *bytes, size_t capacity) {
    struct failure failure;
    uint32_t notes = 0;
    size_t length = 0;
    if (codec_encode(image, NULL, &encode_options_default, NULL, bytes, capacity, &length, &notes,
                     &failure))
        die("encode", failure.message);
    return length;
}

/* Bytes that hold any of the photos, as pixels or as a JPEG of them. */
static size_t largest_result(const struct core *core) {
    size_t largest = 0;
    for (int i = 0; i < core->count; i++) {
        const struct image *image = &core->photos[i].pixels;
        const size_t size =
            core->encodes ? codec_encode_bound(image, NULL, FORMAT_JPEG) : image_bytes(image);
        if (size > largest) largest = size;
    }
    return largest;
}

static void *work(void *argument) {
    struct core *core = argument;
    const size_t capacity = largest_result(core);
    uint8_t *memory = take(capacity);
    const int64_t start = clock_ns(), end = start + (int64_t)(core->seconds * 1e9);
    int done = 0;
    for (; clock_ns() < end || !done; done++) {
        const struct photo *photo = &core->photos[(core->first + done) % core->count];
        struct image image = photo->pixels;
        if (core->encodes) {
            encode_here(&image, memory, capacity);
        } else {
            image.pixels = memory;
            decode_into(photo->bytes, photo->length, &photo->probe, &image);
        }
    }
    core->rate = done / (ns_to_ms(clock_ns() - start) / 1e3);
    free(memory);
    return NULL;
}

/* Median over ROUNDS of the photos a second that THREADS do together. */
static double cores_rate(const struct core *job, int threads, int rounds) {
    double rates[ROUNDS_MAX] = { 0 };
    for (int round = 0; round < rounds; round++) {
        pthread_t thread[THREADS_MAX];
        struct core core[THREADS_MAX];
        for (int t = 0; t < threads; t++) {
            core[t] = *job;
            core[t].first = t % job->count;
            if (pthread_create(&thread[t], NULL, work, &core[t])) die("threads", "cannot start");
        }
        for (int t = 0; t < threads; t++) {
            pthread_join(thread[t], NULL);
            rates[round] += core[t].rate;
        }
    }
    return median(rates, rounds);
}

#endif
