// SPDX-License-Identifier: Apache-2.0
#include "pipeline/ops/reduction.h"

static void minimum_band(void *argument, int index) {
    reduction_band(argument, index, UINT64_MAX, reduce_minimum);
}

static enum status minimum_run(struct op_call *call) {
    const int bands = reduction_bands(call);
    uint32_t *numbers = call->values;
    pool_run(call->pool, minimum_band, call, bands);
    for (unsigned c = 0; c < image_colours(&call->in); c++) {
        numbers[c] = UINT32_MAX;
        for (int b = 0; b < bands; b++) {
            const uint32_t least = (uint32_t)reduction_result(call, b)[c];
            if (least < numbers[c]) numbers[c] = least;
        }
    }
    reduction_fall_back(call, bands, numbers);
    return progress_check(call->progress);
}

const struct op op_minimum = {
    .name = "minimum",
    .title = "Darkest value",
    .group = OP_VALUES,
    .summary = "The least sample of each colour channel; passes the image on",
    .params = reduction_params,
    .values = reduction_values,
    .scratch = reduction_scratch,
    .run = minimum_run,
};
