// SPDX-License-Identifier: Apache-2.0
/* kernel_source.h - the CUDA source of one kernel of a user's operator.
 *
 * The skeleton, names that C has, exact_math.h, the user's text with its lines' numbers kept, and
 * behind it the kernel KERNEL_NAME. It includes <stdint.h> and <cuda_runtime.h> and nothing else.
 *
 * Used by:  user_twin.cu.
 * Owns:     the caller frees the text.
 * Fails:    NULL without memory.
 * Threads:  any; no state.
 */
#ifndef BURIN_KERNEL_SOURCE_H
#define BURIN_KERNEL_SOURCE_H

#include "pipeline/skeletons/user_op.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KERNEL_NAME "burin_kernel"

/* For images of DEPTH bits and so many channels; a P2P's is the same for any number of them. */
char *kernel_source(const struct user_op *op, int depth, int channels);

#ifdef __cplusplus
}
#endif
#endif
