// SPDX-License-Identifier: Apache-2.0
/* user_twin.h - the twin of every operator that a user wrote: its kernels are compiled while the
 * program runs.
 *
 * Used by:  op_registry.cu.
 * Owns:     kernels, which stay as long as the process.
 * Fails:    STATUS_INTERNAL where a kernel does not compile, with the compiler's first message;
 *           STATUS_BAD_PARAM where there is no libnvrtc; else as cuda_op.h says.
 * Threads:  any; while one compiles a kernel, the others wait.
 */
#ifndef BURIN_USER_TWIN_H
#define BURIN_USER_TWIN_H

#include "cuda/cuda_op.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct cuda_op user_twin;

#ifdef __cplusplus
}
#endif
#endif
