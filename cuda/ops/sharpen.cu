// SPDX-License-Identifier: Apache-2.0
/* The twin of pipeline/ops/sharpen.c: cuda/smooth.cu does the work. */
#include "pipeline/ops/sharpen.h"

#include "cuda/smooth.cuh"

static size_t scratch(const struct cuda_context *context, const struct op_call *calls, int count) {
    (void)context;
    return smooth_scratch_cuda(calls, count, calls[0].params->number[SHARPEN_SIGMA]);
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    const struct sharpen_rule rule = sharpen_rule_of(calls[0].params, calls[0].in.depth);
    const long sigma = calls[0].params->number[SHARPEN_SIGMA];
    return smooth_run_cuda(context, calls, count, sigma, &rule, "sharpen");
}

extern "C" const struct cuda_op cuda_op_sharpen = { scratch, run };
