// SPDX-License-Identifier: Apache-2.0
/* clahe_ways [REPEATS] - clahe on one core, by each set of instructions.
 *
 * How it works. A case is done once by each way, what comes out must be equal, and then REPEATS
 * times, the ways in turns. Printed are median and least times in milliseconds of the thread's own
 * clock, one line of JSON a case; peers.py reads them. The picture is noise, as the peer's is. */
#include "pipeline/plan.h"
#include "pipeline/rows/simd.h"
#include "pipeline/sample.h"
#include "tests/bench/burin-bench/measurement.h"
#include "tests/noise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 15, REPEATS_MAX = 1000, WAYS = 3 };

static const struct {
    uint32_t width, height;
    unsigned channels, depth;
    const char *plan;
} cases[] = {
    { 1920, 1080, 1, 8, "clahe" },          { 3840, 2160, 1, 8, "clahe" },
    { 7680, 4320, 1, 8, "clahe" },          { 1920, 1080, 3, 8, "clahe" },
    { 1920, 1080, 4, 8, "clahe" },          { 1920, 1080, 1, 16, "clahe" },
    { 1920, 1080, 1, 8, "clahe:tiles=64" }, { 1920, 1080, 3, 8, "clahe:channel=each" },
};
enum { CASES = sizeof cases / sizeof *cases };

static void *take(size_t bytes) {
    void *memory = aligned_alloc(256, (bytes + 511) / 256 * 256);
    if (!memory) exit(1);
    return memset(memory, 0, bytes);
}

static void draw(const struct image *image) {
    uint32_t state = 1;
    for (uint32_t y = 0; y < image->height; y++)
        for (size_t i = 0; i < (size_t)image->width * image->channels; i++)
            sample_put(image_row(image, y), i, image->depth,
                       noise_next(&state) >> (32 - image->depth));
}

static double thread_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double once_ms(struct op_call *call, int way) {
    simd_limit((enum simd)way);
    const double start = thread_ms();
    if (call->op->run(call)) exit(1);
    return thread_ms() - start;
}

/* All ways of CALL in turns. */
static void measure(struct op_call *call, int repeats, double medians[WAYS], double least[WAYS]) {
    static double ms[WAYS][REPEATS_MAX];
    uint64_t digests[WAYS];
    for (int way = 0; way < WAYS; way++) {
        once_ms(call, way);
        digests[way] = image_digest(&call->out);
        if (digests[way] != digests[0]) {
            fprintf(stderr, "clahe_ways: way %d differs from plain C\n", way);
            exit(1);
        }
    }
    for (int i = 0; i < repeats; i++)
        for (int way = 0; way < WAYS; way++) ms[way][i] = once_ms(call, way);
    for (int way = 0; way < WAYS; way++) {
        medians[way] = measurement_median(ms[way], repeats);
        least[way] = ms[way][0]; /* the median has sorted them */
    }
}

static void measure_case(int number, int repeats) {
    struct plan plan;
    struct failure failure = { 0 };
    struct image in = image_shape(cases[number].width, cases[number].height, cases[number].channels,
                                  cases[number].depth);
    if (plan_parse(&plan, cases[number].plan, &failure)) exit(1);
    struct op_call call = { .op = plan.steps[0].op,
                            .params = &plan.steps[0].params,
                            .in = in,
                            .out = in,
                            .failure = &failure };
    double ms[WAYS], least[WAYS];
    call.in.pixels = take(image_bytes(&in));
    call.out.pixels = take(image_bytes(&in));
    call.scratch = take(call.op->scratch(&call));
    draw(&call.in);
    measure(&call, repeats, ms, least);
    printf("{\"plan\": \"%s\", \"width\": %u, \"height\": %u, \"channels\": %u, \"depth\": %u, "
           "\"plain_ms\": [%.3f, %.3f], \"avx2_ms\": [%.3f, %.3f], \"best_ms\": [%.3f, %.3f]}\n",
           cases[number].plan, in.width, in.height, in.channels, in.depth, ms[0], least[0], ms[1],
           least[1], ms[2], least[2]);
    fflush(stdout);
    free(call.scratch);
    free(call.out.pixels);
    free(call.in.pixels);
}

int main(int argc, char **argv) {
    const int asked = argc > 1 ? atoi(argv[1]) : REPEATS;
    const int repeats = asked < 1 ? 1 : asked > REPEATS_MAX ? REPEATS_MAX : asked;
    for (int number = 0; number < CASES; number++) measure_case(number, repeats);
    return 0;
}
