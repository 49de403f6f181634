// SPDX-License-Identifier: Apache-2.0
/* scan.cuh - sums over the threads of a warp or of a block.
 *
 * Used by:  table8.cuh, table16.cuh, fused8.cuh.
 */
#ifndef BURIN_CLAHE_SCAN_CUH
#define BURIN_CLAHE_SCAN_CUH

#include <cuda_runtime.h>

#include <stdint.h>

/* Sum over the lanes up to this one. */
static __device__ __forceinline__ uint32_t warp_scan(uint32_t own) {
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
        const uint32_t left = __shfl_up_sync(~0u, own, step);
        if (threadIdx.x % 32 >= step) own += left;
    }
    return own;
}

/* Sum over all lanes. */
static __device__ __forceinline__ uint32_t warp_sum(uint32_t own) {
#pragma unroll
    for (unsigned step = 16; step; step /= 2) own += __shfl_xor_sync(~0u, own, step);
    return own;
}

struct block_sums {
    uint32_t upto; /* over the threads up to this one */
    uint32_t all;
};

/* Called by every thread of the block; TOTALS has a word a warp. */
template <int THREADS>
static __device__ __forceinline__ struct block_sums block_scan(uint32_t own, uint32_t *totals) {
    constexpr unsigned WARPS = THREADS / 32;
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t upto = warp_scan(own);
    __syncthreads(); /* all have read the totals of the scan before */
    if (lane == 31) totals[warp] = upto;
    __syncthreads();
    uint32_t before = 0, all = 0;
#pragma unroll
    for (unsigned w = 0; w < WARPS; w++) {
        const uint32_t total = totals[w];
        if (w < warp) before += total;
        all += total;
    }
    return { before + upto, all };
}

#endif
