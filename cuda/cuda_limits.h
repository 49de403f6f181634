// SPDX-License-Identifier: Apache-2.0
/* cuda_limits.h - the limit that kernels are compiled for, by nvcc and at run time.
 *
 * Used by:  cuda_op.h; tiles.cuh; kernel_source.c, which has no CUDA headers.
 */
#ifndef BURIN_CUDA_LIMITS_H
#define BURIN_CUDA_LIMITS_H

enum { CUDA_BATCH_MAX = 64 /* images of one call, RUN_BATCH_MAX of run.h */ };

#endif
