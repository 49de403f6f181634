// SPDX-License-Identifier: Apache-2.0
/* Each sample in 8 or in 16 bits: for operators that take one depth alone. */
#include "pipeline/ops/depth.h"

#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/sample.h"

static const struct param params[] = {
    [DEPTH_BITS] = { .name = "bits",
                     .summary = "Bits of a sample: from 16 to 8 they are rounded",
                     .type = PARAM_CHOICE,
                     .choices = { "8", "16" } },
    { .name = NULL },
};

static enum status depth_size(const struct params *values, const struct image *in,
                              struct image *out, struct failure *failure) {
    (void)failure;
    const unsigned depth = values->number[DEPTH_BITS] ? 16 : 8;
    *out = image_shape(in->width, in->height, in->channels, depth);
    return STATUS_OK;
}

static inline void convert_row(const uint8_t *in, uint8_t *out, size_t samples, unsigned from,
                               unsigned to) {
    for (size_t i = 0; i < samples; i++)
        sample_put(out, i, to, depth_convert(sample_get(in, i, from), from, to));
}

static void convert_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct image *in = &call->in, *out = &call->out;
    const struct band band = band_of(in->height, index, pool_threads(call->pool));
    const size_t samples = (size_t)in->width * in->channels;
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++) {
        const uint8_t *from = image_row(in, y);
        uint8_t *to = image_row(out, y);
        if (in->depth == out->depth)
            memcpy(to, from, image_row_bytes(in));
        else if (in->depth == 8)
            convert_row(from, to, samples, 8, 16);
        else
            convert_row(from, to, samples, 16, 8);
    }
}

static enum status depth_run(struct op_call *call) {
    pool_run(call->pool, convert_band, call, pool_threads(call->pool));
    return progress_check(call->progress);
}

const struct op op_depth = {
    .name = "depth",
    .title = "Bits a sample",
    .group = OP_TONE,
    .summary = "Samples of 8 or of 16 bits, alpha too: for operators that take one of them alone",
    .params = params,
    .size = depth_size,
    .run = depth_run,
};
