// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/burin-bench/measurement.h"

#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double measurement_median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

double measurement_total_ms(const struct measurement *measurement) {
    return measurement->upload_ms + measurement->compute_ms + measurement->download_ms;
}

/* The median of the double at OFFSET bytes into each of RUNS. */
static double median_at(const struct timing *runs, int count, size_t offset) {
    double *values = malloc((size_t)count * sizeof *values);
    if (!values) return 0;
    for (int i = 0; i < count; i++)
        memcpy(&values[i], (const char *)&runs[i] + offset, sizeof *values);
    const double middle = measurement_median(values, count);
    free(values);
    return middle;
}

static double median_stage(const struct timing *runs, int count, enum stage stage) {
    return median_at(runs, count, offsetof(struct timing, stage_ms) + stage * sizeof(double));
}

static void take_medians(const struct timing *runs, int count, struct measurement *to) {
    to->upload_ms = median_stage(runs, count, STAGE_UPLOAD);
    to->compute_ms = median_stage(runs, count, STAGE_COMPUTE);
    to->download_ms = median_stage(runs, count, STAGE_DOWNLOAD);
    to->span_count = 0;
    for (int i = 0; i < runs->span_count && to->span_count < MEASUREMENT_SPANS_MAX; i++) {
        if (runs->spans[i].level == 0) continue;
        struct span *span = &to->spans[to->span_count++];
        *span = runs->spans[i];
        span->ms = median_at(runs, count,
                             offsetof(struct timing, spans) + (size_t)i * sizeof(struct span) +
                                 offsetof(struct span, ms));
    }
}

int64_t measurement_warm_until(int repeats) {
    enum { WARM_MS = 100 };
    return clock_ns() + (repeats > 1 ? WARM_MS * INT64_C(1000000) : 0);
}

static enum status warm_up(struct lane *lane, const struct plan *plan, struct run_item *item,
                           int repeats, struct failure *failure) {
    const int64_t until = measurement_warm_until(repeats);
    enum status status;
    item->timing = NULL;
    do status = run_batch(lane, plan, item, 1, failure);
    while (!status && clock_ns() < until);
    return status;
}

enum status measurement_take(struct measurement *measurement, struct lane *lane,
                             const struct plan *plan, struct image shape, measurement_draw draw,
                             const void *context, int repeats, struct failure *failure) {
    struct run_item item = { .in = shape };
    struct timing *runs = calloc((size_t)repeats, sizeof *runs);
    enum status status = runs ? run_reserve(lane, plan, &item, 1, UINT64_MAX, failure)
                              : fail(failure, STATUS_NO_MEMORY, "no memory for the measurements");
    if (!status) draw(&item.in, context);
    if (!status) status = warm_up(lane, plan, &item, repeats, failure);
    for (int i = 0; !status && i < repeats; i++) {
        item.timing = &runs[i];
        status = run_batch(lane, plan, &item, 1, failure);
    }
    if (!status) take_medians(runs, repeats, measurement);
    free(runs);
    return status;
}

enum status measurement_check(const struct lane *lane, const struct image *expected,
                              struct failure *failure) {
    struct image got = *expected;
    got.pixels = lane->host_out;
    for (uint32_t y = 0; expected->pixels && y < got.height; y++)
        if (memcmp(image_row(&got, y), image_row(expected, y), image_row_bytes(&got)) != 0)
            return fail(failure, STATUS_INTERNAL, "its result is wrong in row %u", y);
    return STATUS_OK;
}
