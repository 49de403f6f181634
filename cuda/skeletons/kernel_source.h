// SPDX-License-Identifier: Apache-2.0
/* kernel_source.h - the CUDA source of one kernel, of one user's operator or of several in a row.
 *
 * It contains the skeleton, names that C has, exact_math.h, the operators' files with their line
 * numbers, each once and in a namespace of its own, and at the end the kernel KERNEL_NAME. It
 * includes only <stdint.h> and <cuda_runtime.h>.
 *
 * Used by:  user_twin.cu, kernel_chain.h.
 * Owns:     the caller frees the text.
 * Fails:    NULL without memory.
 * Threads:  any; no state.
 * Limits:   KERNEL_OPS_MAX operators: a kernel's parameters are 4096 bytes together.
 */
#ifndef BURIN_KERNEL_SOURCE_H
#define BURIN_KERNEL_SOURCE_H

#include "pipeline/skeletons/user_op.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KERNEL_NAME "burin_kernel"

enum { KERNEL_OPS_MAX = 5 };

/* The key of a kernel: each operator gets the result of the one before, converted to a sample. All
 * but the last are P2Ps; of several the last is a P2P or an N2P. Compared as bytes: unused ones are
 * 0, and there is no padding. */
struct kernel_form {
    const struct user_op *ops[KERNEL_OPS_MAX];
    int count, depth, channels; /* one channel where all are P2Ps: such a kernel takes any */
    int unused;
};

char *kernel_source(const struct kernel_form *form);

#ifdef __cplusplus
}
#endif
#endif
