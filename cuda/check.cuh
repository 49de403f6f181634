// SPDX-License-Identifier: Apache-2.0
/* check.cuh - a CUDA error becomes a status and a sentence; nothing is logged here.
 *
 * Fails: STATUS_NO_MEMORY when memory could not be had, which spoils nothing; STATUS_DEVICE for the
 *        rest, after which the process should end.
 */
#ifndef BURIN_CHECK_CUH
#define BURIN_CHECK_CUH

#include "pipeline/status.h"

#include <cuda_runtime.h>

/* Returns from the calling function when CALL fails. CUDA_LAUNCHED right after a <<<>>>. */
#define CUDA_TRY(failure, call)                                                                    \
    do {                                                                                           \
        const cudaError_t error_ = (call);                                                         \
        if (error_ != cudaSuccess) return cuda_fail(failure, error_, #call, __FILE__, __LINE__);   \
    } while (0)
#define CUDA_LAUNCHED(failure) CUDA_TRY(failure, cudaGetLastError())

static inline enum status cuda_fail(struct failure *failure, cudaError_t error, const char *call,
                                    const char *file, int line) {
    cudaGetLastError(); /* an error that can be lived with must not meet the next check */
    return fail(failure, error == cudaErrorMemoryAllocation ? STATUS_NO_MEMORY : STATUS_DEVICE,
                "%.90s at %.60s:%d: %s (%d)", call, file, line, cudaGetErrorString(error),
                (int)error);
}

#endif
