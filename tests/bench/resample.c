// SPDX-License-Identifier: Apache-2.0
/* resample [REPEATS] - both passes of resampling on one core, by each set of instructions.
 *
 * How it works. A case is done once by each way, what comes out must be equal, and then REPEATS
 * times, the ways in turns. Printed are median and least times in milliseconds of the thread's own
 * clock, the making of weights in them, one line of JSON a case; resample_peers.py reads them. The
 * picture is waves with noise. */
#include "pipeline/rows/resample.h"

#include "pipeline/rows/simd.h"
#include "pipeline/sample.h"
#include "tests/bench/burin-bench/measurement.h"
#include "tests/noise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 15, REPEATS_MAX = 1000, WAYS = 3 };

static const char *const kernel_names[] = { "lanczos3", "cubic", "linear", "box" };

static const struct {
    uint32_t from[2], to[2];
    unsigned channels, depth;
    enum resample_kernel kernel;
    bool alpha;
} cases[] = {
    { { 3840, 2160 }, { 320, 180 }, 3, 8, RESAMPLE_LANCZOS3, false },
    { { 1920, 1080 }, { 320, 180 }, 3, 8, RESAMPLE_LANCZOS3, false },
    { { 1920, 1080 }, { 960, 540 }, 3, 8, RESAMPLE_LANCZOS3, false },
    { { 4000, 3000 }, { 1024, 768 }, 3, 8, RESAMPLE_LANCZOS3, false },
    { { 8192, 8192 }, { 1024, 1024 }, 3, 8, RESAMPLE_LANCZOS3, false },
    { { 3840, 2160 }, { 320, 180 }, 4, 8, RESAMPLE_LANCZOS3, false },
    { { 1920, 1080 }, { 320, 180 }, 4, 8, RESAMPLE_LANCZOS3, false },
    { { 1920, 1080 }, { 960, 540 }, 4, 8, RESAMPLE_LANCZOS3, false },
    { { 3840, 2160 }, { 320, 180 }, 4, 8, RESAMPLE_LANCZOS3, true },
    { { 1920, 1080 }, { 320, 180 }, 4, 8, RESAMPLE_LANCZOS3, true },
    { { 1920, 1080 }, { 960, 540 }, 4, 8, RESAMPLE_LANCZOS3, true },
    { { 1920, 1080 }, { 960, 540 }, 4, 16, RESAMPLE_LANCZOS3, true },
    { { 3840, 2160 }, { 320, 180 }, 1, 8, RESAMPLE_LANCZOS3, false },
    { { 1920, 1080 }, { 960, 540 }, 1, 8, RESAMPLE_LANCZOS3, false },
    { { 1920, 1080 }, { 960, 540 }, 3, 16, RESAMPLE_LANCZOS3, false },
    { { 1920, 1080 }, { 960, 540 }, 3, 8, RESAMPLE_CUBIC, false },
    { { 1920, 1080 }, { 960, 540 }, 3, 8, RESAMPLE_LINEAR, false },
    { { 1920, 1080 }, { 960, 540 }, 3, 8, RESAMPLE_BOX, false },
    { { 960, 540 }, { 1920, 1080 }, 3, 8, RESAMPLE_LANCZOS3, false },
    { { 1920, 1080 }, { 1280, 1080 }, 3, 8, RESAMPLE_LANCZOS3, false },
    { { 1920, 1080 }, { 1920, 720 }, 3, 8, RESAMPLE_LANCZOS3, false },
    { { 200, 150 }, { 100, 75 }, 3, 8, RESAMPLE_LANCZOS3, false },
};
enum { CASES = sizeof cases / sizeof *cases };

static void *take(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!memory) exit(1);
    return memory;
}

static struct image image_new(const uint32_t sides[2], unsigned channels, unsigned depth) {
    struct image image = image_shape(sides[0], sides[1], channels, depth);
    image.pixels = take(image_bytes(&image));
    memset(image.pixels, 0, image_bytes(&image));
    return image;
}

static void draw(const struct image *image) {
    uint32_t state = 1;
    for (uint32_t y = 0; y < image->height; y++)
        for (size_t i = 0; i < (size_t)image->width * image->channels; i++) {
            const double x = (double)i / image->channels;
            const double wave = 0.5 + 0.3 * sin(x / 19) + 0.15 * cos(y / 17.0);
            const uint32_t noise = (noise_next(&state) >> 24) * image_max(image) / 255 / 20;
            sample_put(image_row(image, y), i, image->depth,
                       (uint32_t)(wave * 0.9 * image_max(image)) + noise);
        }
}

static double thread_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double once_ms(const struct resample *job, int way) {
    simd_limit((enum simd)way);
    const double start = thread_ms();
    if (resample_run(job)) exit(1);
    return thread_ms() - start;
}

/* All ways of JOB in turns. */
static void measure(const struct resample *job, int repeats, double medians[WAYS],
                    double least[WAYS]) {
    static double ms[WAYS][REPEATS_MAX];
    uint64_t digests[WAYS];
    for (int way = 0; way < WAYS; way++) {
        once_ms(job, way);
        digests[way] = image_digest(&job->out);
        if (digests[way] != digests[0]) {
            fprintf(stderr, "resample: way %d differs from plain C\n", way);
            exit(1);
        }
    }
    for (int i = 0; i < repeats; i++)
        for (int way = 0; way < WAYS; way++) ms[way][i] = once_ms(job, way);
    for (int way = 0; way < WAYS; way++) {
        medians[way] = measurement_median(ms[way], repeats);
        least[way] = ms[way][0]; /* the median has sorted them */
    }
}

static void measure_case(int number, int repeats) {
    const struct image in =
        image_new(cases[number].from, cases[number].channels, cases[number].depth);
    const uint32_t *from = cases[number].from, *to = cases[number].to;
    const enum resample_kernel kernel = cases[number].kernel;
    struct resample job = { .in = in,
                            .out = image_new(to, in.channels, in.depth),
                            .x = { from[0], to[0], 0, to[0], kernel },
                            .y = { from[1], to[1], 0, to[1], kernel },
                            .depth = in.depth,
                            .alpha = cases[number].alpha };
    double ms[WAYS], least[WAYS];
    job.scratch = take(resample_bytes(&job));
    draw(&in);
    measure(&job, repeats, ms, least);
    printf("{\"from\": [%u, %u], \"to\": [%u, %u], \"channels\": %u, \"alpha\": %s, \"depth\": %u, "
           "\"kernel\": \"%s\", \"plain_ms\": [%.3f, %.3f], \"avx2_ms\": [%.3f, %.3f], "
           "\"best_ms\": [%.3f, %.3f]}\n",
           from[0], from[1], to[0], to[1], in.channels, cases[number].alpha ? "true" : "false",
           in.depth, kernel_names[kernel], ms[0], least[0], ms[1], least[1], ms[2], least[2]);
    fflush(stdout);
    free(job.scratch);
    free(job.out.pixels);
    free(in.pixels);
}

int main(int argc, char **argv) {
    const int asked = argc > 1 ? atoi(argv[1]) : REPEATS;
    const int repeats = asked < 1 ? 1 : asked > REPEATS_MAX ? REPEATS_MAX : asked;
    for (int number = 0; number < CASES; number++) measure_case(number, repeats);
    return 0;
}
