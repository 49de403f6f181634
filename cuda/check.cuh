// SPDX-License-Identifier: Apache-2.0
/* check.cuh - a CUDA error becomes a status and a sentence; nothing is logged here.
 *
 * Used by:  every file of cuda/ that calls the CUDA runtime.
 * Fails:    STATUS_NO_MEMORY when memory cannot be allocated, STATUS_INTERNAL when the GPU refuses
 *           a launch for its shape, or the driver a call: the context is as before. STATUS_DEVICE
 *           for all other errors: most of them spoil the context, and the process should end.
 * Threads:  any.
 */
#ifndef BURIN_CHECK_CUH
#define BURIN_CHECK_CUH

#include "pipeline/status.h"

#include <cuda_runtime.h>
#include <stdbool.h>

/* Returns from the calling function when CALL fails. CUDA_LAUNCHED right after a <<<>>>. */
#define CUDA_TRY(failure, call)                                                                    \
    do {                                                                                           \
        const cudaError_t error_ = (call);                                                         \
        if (error_ != cudaSuccess) return cuda_fail(failure, error_, #call, __FILE__, __LINE__);   \
    } while (0)
#define CUDA_LAUNCHED(failure) CUDA_TRY(failure, cudaGetLastError())

/* A kernel that ran into its own trap (spin_limit.cuh) or into a fault. */
static inline bool is_kernel_failure(cudaError_t error) {
    return error == cudaErrorLaunchFailure || error == cudaErrorIllegalInstruction ||
           error == cudaErrorIllegalAddress;
}

static inline enum status cuda_status(cudaError_t error) {
    switch (error) {
    case cudaErrorMemoryAllocation: return STATUS_NO_MEMORY;
    case cudaErrorCooperativeLaunchTooLarge:
    case cudaErrorLaunchOutOfResources:
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidValue:
    case cudaErrorNotSupported:
    case cudaErrorHostMemoryAlreadyRegistered:
    case cudaErrorHostMemoryNotRegistered: return STATUS_INTERNAL;
    default: return STATUS_DEVICE;
    }
}

static inline enum status cuda_fail(struct failure *failure, cudaError_t error, const char *call,
                                    const char *file, int line) {
    cudaGetLastError(); /* so that the next check does not meet an error that is dealt with */
    if (is_kernel_failure(error))
        return fail(failure, STATUS_DEVICE,
                    "a kernel on the GPU stopped with a fault, or because it waited too long for "
                    "another of its blocks (seen at %.60s:%d): %s (%d)",
                    file, line, cudaGetErrorString(error), (int)error);
    return fail(failure, cuda_status(error), "%.90s at %.60s:%d: %s (%d)", call, file, line,
                cudaGetErrorString(error), (int)error);
}

#endif
