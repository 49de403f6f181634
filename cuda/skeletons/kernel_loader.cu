// SPDX-License-Identifier: Apache-2.0
#include "cuda/skeletons/kernel_loader.h"

#include "cuda/check.cuh"

/* Refusals that leave the context unharmed. */
static bool is_refusal(cudaError_t error) {
    switch (error) {
    case cudaErrorInvalidKernelImage:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidPtx:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorInvalidSource:
    case cudaErrorSymbolNotFound: return true;
    default: return false;
    }
}

/* The runtime loads code at its first use: reading the attributes is one. */
static cudaError_t load(const void *code, const char *name, cudaLibrary_t *library,
                        cudaKernel_t *kernel) {
    cudaFuncAttributes attributes;
    cudaError_t error = cudaLibraryLoadData(library, code, NULL, NULL, 0, NULL, NULL, 0);
    if (error) {
        *library = NULL;
        return error;
    }
    error = cudaLibraryGetKernel(kernel, *library, name);
    return error ? error : cudaFuncGetAttributes(&attributes, (const void *)*kernel);
}

enum status kernel_loader_load(const void *code, size_t bytes, const char *name, void **kernel,
                               struct failure *failure) {
    cudaLibrary_t library = NULL;
    cudaKernel_t made = NULL;
    (void)bytes; /* the code contains its own length */
    const cudaError_t error = load(code, name, &library, &made);
    *kernel = (void *)made;
    if (!error) return STATUS_OK;
    if (library) cudaLibraryUnload(library);
    if (!is_refusal(error))
        return cuda_fail(failure, error, "loading a kernel", __FILE__, __LINE__);
    cudaGetLastError();
    return fail(failure, STATUS_INTERNAL,
                "the GPU's driver does not accept a compiled kernel: %s (%d): the driver may be "
                "older than the CUDA toolkit",
                cudaGetErrorString(error), (int)error);
}
