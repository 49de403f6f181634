// SPDX-License-Identifier: Apache-2.0
/* user_twin.h - the twin of every operator that a user wrote: its kernels are compiled at run time.
 *
 * Used by:  op_registry.cu; device_cuda.cu lets it make kernels before the first job.
 * Owns:     kernels, for the life of the process.
 * Fails:    as kernel_library.h and cuda_op.h say.
 * Threads:  any.
 */
#ifndef BURIN_USER_TWIN_H
#define BURIN_USER_TWIN_H

#include "cuda/cuda_op.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct cuda_op user_twin;

/* Makes the kernel that OP, a user's operator, needs for images of DEPTH bits and CHANNELS, and
 * runs nothing. STATUS_OK too where OP does not take such images. */
enum status user_twin_prepare(const struct cuda_context *context, const struct op *op, int depth,
                              int channels, struct failure *failure);

#ifdef __cplusplus
}
#endif
#endif
