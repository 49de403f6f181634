// SPDX-License-Identifier: Apache-2.0
/* Brighter or darker by a constant. */
#include "pipeline/ops/brightness.h"

#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/ops/brightness_row.h"

static const struct param params[] = {
    [BRIGHTNESS_SHIFT] = { .name = "shift",
                           .summary = "Added to every colour sample, the sum clamped",
                           .unit = "levels of 255",
                           .type = PARAM_INT,
                           .min = -255,
                           .max = 255 },
    { .name = NULL },
};

static void shift_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct image *in = &call->in;
    const struct band band = band_of(in->height, index, pool_threads(call->pool));
    const struct brightness_rule rule =
        brightness_rule_of(call->params->number[BRIGHTNESS_SHIFT], in->depth);
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++)
        brightness_row(image_row(in, y), image_row(&call->out, y), image_row_bytes(in), rule,
                       in->channels, in->depth);
}

static enum status brightness_run(struct op_call *call) {
    pool_run(call->pool, shift_band, call, pool_threads(call->pool));
    return progress_check(call->progress);
}

const struct op op_brightness = {
    .name = "brightness",
    .title = "Brightness",
    .group = OP_TONE,
    .summary = "Brighter or darker by a constant; alpha is kept",
    .params = params,
    .run = brightness_run,
};
