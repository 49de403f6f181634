// SPDX-License-Identifier: Apache-2.0
#include "pipeline/ops/blur.h"

#include "pipeline/smooth.h"

static const struct param params[] = {
    [BLUR_SIGMA] = { .name = "sigma",
                     .summary = "Standard deviation of the Gaussian",
                     .unit = "pixels",
                     .type = PARAM_DECIMAL,
                     .min = GAUSSIAN_SIGMA_MIN,
                     .max = GAUSSIAN_SIGMA_MAX,
                     .def = 1000 },
    { .name = NULL },
};

static struct gaussian gaussian_of(const struct op_call *call) {
    struct gaussian gaussian;
    gaussian_make(&gaussian, call->params->number[BLUR_SIGMA], call->in.depth);
    return gaussian;
}

static uint32_t blur_passes(const struct params *values, const struct image *in) {
    return smooth_passes(in, values->number[BLUR_SIGMA]);
}

static size_t blur_scratch(const struct op_call *call) {
    const struct gaussian gaussian = gaussian_of(call);
    return smooth_scratch(&call->in, &gaussian);
}

static enum status blur_run(struct op_call *call) {
    const struct gaussian gaussian = gaussian_of(call);
    return smooth_run(call, &gaussian, NULL);
}

const struct op op_blur = {
    .name = "blur",
    .title = "Blur",
    .group = OP_DETAIL,
    .summary = "Gaussian blur in exact integers, borders reflected; alpha is blurred too",
    .params = params,
    .passes = blur_passes,
    .scratch = blur_scratch,
    .run = blur_run,
};
