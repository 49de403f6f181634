// SPDX-License-Identifier: Apache-2.0
/* case.h - one plan on one picture, measured and checked on every lane.
 *
 * Used by:  the benchmarks.
 * Owns:     the expected result while case_measure runs.
 * Fails:    case_measure prints a sentence for each lane that failed or was wrong.
 * Limits:   one picture in memory besides those of the lanes.
 */
#ifndef BURIN_BENCH_CASE_H
#define BURIN_BENCH_CASE_H

#include "tests/bench/burin-bench/lanes.h"
#include "tests/bench/burin-bench/measurement.h"
#include "tests/bench/burin-bench/options.h"

struct bench_case {
    const char *name; /* of the picture, for messages */
    const char *plan;
    struct image in, out; /* shapes, without pixels */
    int repeats;
    measurement_draw draw;
    const void *context; /* of DRAW */

    /* The plan in straightforward C (plain.h). False: no memory. */
    bool (*plain)(const struct image *in, const struct image *out);
};

/* A lane's times; CORE: those of the first lane of the CPU (LANE's own if it is that); NULL
 * where there are none. */
typedef void (*case_report)(void *context, const struct bench_lane *lane,
                            const struct measurement *times, const struct measurement *core);

/* Compares every lane with the first lane of the CPU where both the CPU and a GPU are measured,
 * else with PLAIN. Calls REPORT for each lane whose result is right. False if any failed or was
 * wrong. */
bool case_measure(const struct bench_case *one, const struct bench_options *options,
                  const struct lanes *lanes, case_report report, void *context);

#endif
