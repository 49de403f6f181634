// SPDX-License-Identifier: Apache-2.0
/* overlap.cuh - a kernel that begins while the one before it ends, on GPUs that can.
 *
 * Used by:  across.cuh, down.cuh; weigh.cuh launches accordingly.
 * Limits:   compute capability 9.0; before that both do nothing, and kernels run one by one.
 */
#ifndef BURIN_RESIZE_OVERLAP_CUH
#define BURIN_RESIZE_OVERLAP_CUH

#include <cuda_runtime.h>

enum { OVERLAP_CAPABILITY = 90 };

/* Once all blocks have called this, those of the next kernel may begin where there is room. */
static __device__ __forceinline__ void overlap_begin(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/* Results of the kernel before are read only after this. */
static __device__ __forceinline__ void overlap_wait(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Loads what no earlier kernel writes; volatile, so that it may come before overlap_wait(). */
static __device__ __forceinline__ uint2 overlap_load(const uint2 *from) {
    uint2 pair;
    asm volatile("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(pair.x), "=r"(pair.y) : "l"(from));
    return pair;
}

#endif
