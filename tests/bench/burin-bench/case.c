// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/burin-bench/case.h"

#include <stdio.h>
#include <stdlib.h>

/* The result by straightforward C, on the heap; NULL: no memory. */
static uint8_t *plain_pixels(const struct bench_case *one) {
    struct image in = one->in, out = one->out;
    in.pixels = malloc(image_bytes(&in));
    out.pixels = malloc(image_bytes(&out));
    if (in.pixels && out.pixels) one->draw(&in, one->context);
    if (!in.pixels || !out.pixels || !one->plain(&in, &out)) {
        free(out.pixels);
        out.pixels = NULL;
    }
    free(in.pixels);
    return out.pixels;
}

/* On one lane. EXPECTED without pixels: nothing to compare with yet. */
static bool measure(const struct bench_case *one, const char *program,
                    const struct bench_lane *lane, const struct image *expected,
                    struct measurement *times) {
    struct plan plan;
    struct failure failure = { 0 };
    if (plan_parse(&plan, one->plan, &failure) == STATUS_OK &&
        measurement_take(times, lane->lane, &plan, one->in, one->draw, one->context, one->repeats,
                         &failure) == STATUS_OK &&
        measurement_check(lane->lane, expected, &failure) == STATUS_OK)
        return true;
    fprintf(stderr, "%s: %s of %s on %s: %s\n", program, one->plan, one->name, lane->name,
            failure.message);
    return false;
}

bool case_measure(const struct bench_case *one, const struct bench_options *options,
                  const struct lanes *lanes, case_report report, void *context) {
    const bool mixed = lanes_mixed(lanes);
    uint8_t *plain = mixed ? NULL : plain_pixels(one);
    struct image expected = one->out;
    struct measurement core, times, *base = NULL;
    bool complete = true;
    expected.pixels = plain;
    if (!mixed && !plain) {
        fprintf(stderr, "%s: no memory to check %s\n", options->program, one->name);
        return false;
    }
    for (const struct bench_lane *lane = lanes->all; lane < lanes->all + lanes->count; lane++) {
        const bool first = lane == lanes->all;
        const bool right = measure(one, options->program, lane, &expected, &times);
        complete &= right;
        if (!right && first && mixed) break; /* nothing to compare the others with */
        if (!right) continue;
        if (first && !lane->gpu) core = times, base = &core;
        if (first && mixed) expected.pixels = lane->lane->host_out;
        report(context, lane, &times, base);
    }
    free(plain);
    return complete;
}
