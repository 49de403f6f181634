// SPDX-License-Identifier: Apache-2.0
/* launch_kernel.cuh - kernels of carving are launched here: each takes one struct by value.
 *
 * Used by:  every file of carving that has a kernel.
 * Fails:    as check.cuh says.
 */
#ifndef BURIN_CARVE_LAUNCH_KERNEL_CUH
#define BURIN_CARVE_LAUNCH_KERNEL_CUH

#include "cuda/check.cuh"

template <class ARGS>
static enum status launch(void (*kernel)(ARGS), dim3 blocks, dim3 threads, cudaStream_t stream,
                          const ARGS &args, struct failure *failure) {
    kernel<<<blocks, threads, 0, stream>>>(args);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

/* All blocks at once, so that they may wait for one another. */
template <class ARGS>
static enum status launch_together(void (*kernel)(ARGS), unsigned blocks, unsigned threads,
                                   cudaStream_t stream, ARGS &args, struct failure *failure) {
    void *arguments[] = { &args };
    CUDA_TRY(failure, cudaLaunchCooperativeKernel((const void *)kernel, blocks, threads, arguments,
                                                  0, stream));
    return STATUS_OK;
}

#endif
