// SPDX-License-Identifier: Apache-2.0
/* overlap.cuh - a kernel that begins while the one before it ends, on GPUs that can.
 *
 * Used by:  across.cuh, down.cuh; weigh.cuh launches accordingly.
 * Limits:   compute capability 9.0; before that both do nothing, and kernels follow one another.
 */
#ifndef BURIN_RESIZE_OVERLAP_CUH
#define BURIN_RESIZE_OVERLAP_CUH

enum { OVERLAP_CAPABILITY = 90 };

/* Once all blocks are here, the next kernel's may begin where there is room. */
static __device__ __forceinline__ void overlap_begin(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/* Nothing that the kernel before has written is read above this. */
static __device__ __forceinline__ void overlap_wait(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#endif
