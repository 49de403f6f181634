// SPDX-License-Identifier: Apache-2.0
/* measurement.h - median times of one plan on one lane.
 *
 * Used by:  case.c; edge_ways.c and energy_ways.c of tests/bench.
 * Fails:    a status and its sentence; nothing is printed.
 * Limits:   MEASUREMENT_SPANS_MAX kernels of an operator; further ones are left out.
 */
#ifndef BURIN_BENCH_MEASUREMENT_H
#define BURIN_BENCH_MEASUREMENT_H

#include "pipeline/run.h"

enum { MEASUREMENT_SPANS_MAX = 8 };

/* Milliseconds, each the median of its own over all runs. */
struct measurement {
    double upload_ms, compute_ms, download_ms;
    int span_count;
    struct span spans[MEASUREMENT_SPANS_MAX]; /* kernels of the plan's first operator */
};

/* Fills the pixels of IMAGE. */
typedef void (*measurement_draw)(const struct image *image, const void *context);

/* Runs count from this time of clock_ns on: a tenth of a second from now, because a core that was
 * idle takes some time to reach its clock. One run alone is no time to rely on: it counts at
 * once. */
int64_t measurement_warm_until(int repeats);

/* Runs PLAN on a picture of SHAPE, filled by DRAW, until measurement_warm_until, and once at
 * least: these runs do not count. Then runs PLAN REPEATS times. The last result stays in LANE. */
enum status measurement_take(struct measurement *measurement, struct lane *lane,
                             const struct plan *plan, struct image shape, measurement_draw draw,
                             const void *context, int repeats, struct failure *failure);

/* STATUS_OK if LANE's last result is EXPECTED, or if EXPECTED has no pixels. The result of a plan
 * of one value step is a row: the bytes of its values. */
enum status measurement_check(const struct lane *lane, const struct image *expected,
                              struct failure *failure);

double measurement_total_ms(const struct measurement *measurement);

/* The middle one; VALUES are sorted in place. */
double measurement_median(double *values, int count);

#endif
