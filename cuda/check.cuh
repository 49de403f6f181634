// SPDX-License-Identifier: Apache-2.0
/* check.cuh - a CUDA error becomes a status and a sentence; nothing is logged here.
 *
 * Used by:  every file of cuda/ that calls the CUDA runtime.
 * Fails:    STATUS_NO_MEMORY when memory cannot be allocated, STATUS_INTERNAL when a call is
 *           refused and nothing has run: the context is unharmed. STATUS_DEVICE for all other
 *           errors: most of them spoil the context, and the process should end.
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

/* Errors that a call returns at once, having done nothing. An error that is not listed may come
 * from a kernel that ran before, and the context is lost then. The first four occur where other
 * processes share the GPU (MPS, MIG) and a launch is larger than this process's part. */
static inline bool is_harmless(cudaError_t error) {
    switch (error) {
    case cudaErrorCooperativeLaunchTooLarge:
    case cudaErrorLaunchOutOfResources:
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidClusterSize:
    case cudaErrorNotSupported:
    case cudaErrorNotPermitted:
    case cudaErrorInvalidValue:
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidMemcpyDirection:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorInvalidKernelImage:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorSymbolNotFound:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorHostMemoryAlreadyRegistered:
    case cudaErrorHostMemoryNotRegistered: return true;
    default: return false;
    }
}

static inline enum status cuda_status(cudaError_t error) {
    if (error == cudaErrorMemoryAllocation) return STATUS_NO_MEMORY;
    return is_harmless(error) ? STATUS_INTERNAL : STATUS_DEVICE;
}

static inline enum status cuda_fail(struct failure *failure, cudaError_t error, const char *call,
                                    const char *file, int line) {
    cudaGetLastError(); /* clears the error, which is dealt with, for the next check */
    if (is_kernel_failure(error))
        return fail(failure, STATUS_DEVICE,
                    "a kernel on the GPU stopped with a fault, or because it waited too long for "
                    "another of its blocks (seen at %.60s:%d): %s (%d)",
                    file, line, cudaGetErrorString(error), (int)error);
    return fail(failure, cuda_status(error), "%.90s at %.60s:%d: %s (%d)", call, file, line,
                cudaGetErrorString(error), (int)error);
}

#endif
