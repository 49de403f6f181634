// SPDX-License-Identifier: Apache-2.0
#include "pipeline/ops/reduction.h"

static void maximum_band(void *argument, int index) {
    reduction_band(argument, index, 0, reduce_maximum);
}

static enum status maximum_run(struct op_call *call) {
    const int bands = reduction_bands(call);
    uint32_t *numbers = call->values;
    pool_run(call->pool, maximum_band, call, bands);
    for (unsigned c = 0; c < image_colours(&call->in); c++) {
        numbers[c] = 0;
        for (int b = 0; b < bands; b++) {
            const uint32_t largest = (uint32_t)reduction_result(call, b)[c];
            if (largest > numbers[c]) numbers[c] = largest;
        }
    }
    reduction_fall_back(call, bands, numbers);
    return progress_check(call->progress);
}

const struct op op_maximum = {
    .name = "maximum",
    .title = "Brightest value",
    .group = OP_VALUES,
    .summary = "The largest sample of each colour channel; passes the image on",
    .params = reduction_params,
    .values = reduction_values,
    .scratch = reduction_scratch,
    .run = maximum_run,
};
