// SPDX-License-Identifier: Apache-2.0
/* smooth.cuh - a batch of images through the weights of gaussian.h, the twin of pipeline/smooth.c.
 *
 * Used by:  cuda/ops/blur.cu, cuda/ops/sharpen.cu.
 * Fails:    as check.cuh and batch.cuh say.
 * Threads:  the lane's.
 * Limits:   scratch of 96 MiB, for images of any size.
 */
#ifndef BURIN_SMOOTH_CUH
#define BURIN_SMOOTH_CUH

#include "cuda/cuda_op.h"
#include "pipeline/gaussian.h"
#include "pipeline/ops/sharpen.h"

/* SIGMA is in thousandths. */
size_t smooth_scratch_cuda(const struct op_call *calls, int count, long sigma);

/* SHARPEN: the rule applied to the blurred samples; NULL: they are the result. */
enum status smooth_run_cuda(const struct cuda_context *context, struct op_call *calls, int count,
                            long sigma, const struct sharpen_rule *sharpen, const char *name);

#endif
