// SPDX-License-Identifier: Apache-2.0
/* Samples are summed exactly, as integers, and divided once, so the order in which threads or
 * devices add has no effect. */
#include "pipeline/ops/reduction.h"

static struct values_shape mean_values(const struct op *op, const struct params *values,
                                       const struct image *in) {
    (void)op, (void)values;
    return (struct values_shape){ VALUE_DOUBLE, image_colours(in), 1, false, 0 };
}

static void mean_band(void *argument, int index) {
    reduction_band(argument, index, 0, reduce_sum);
}

static enum status mean_run(struct op_call *call) {
    const int bands = reduction_bands(call);
    double *numbers = call->values;
    pool_run(call->pool, mean_band, call, bands);
    const uint64_t pixels = reduction_pixels(call, bands);
    const struct background background = reduction_background(call);
    for (unsigned c = 0; c < image_colours(&call->in); c++) {
        uint64_t sum = 0;
        for (int b = 0; b < bands; b++) sum += reduction_result(call, b)[c];
        numbers[c] = pixels ? (double)sum / (double)pixels : background.sample[c];
    }
    return progress_check(call->progress);
}

const struct op op_mean = {
    .name = "mean",
    .title = "Average value",
    .group = OP_VALUES,
    .summary = "The mean sample of each colour channel; passes the image on",
    .params = reduction_params,
    .values = mean_values,
    .scratch = reduction_scratch,
    .run = mean_run,
};
