// SPDX-License-Identifier: Apache-2.0
/* table16.cuh - the kernel that turns counts of 16-bit samples into new levels.
 *
 * Used by:  launch16.cuh.
 */
#ifndef BURIN_HISTEQ_TABLE16_CUH
#define BURIN_HISTEQ_TABLE16_CUH

#include "cuda/ops/histeq/layout16.cuh"

/* The block's sum of SUM and minimum of LEAST, in every thread. */
static __device__ __forceinline__ uint2 block_sum_min(uint32_t sum, uint32_t least) {
    __shared__ uint32_t sums[32], leasts[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int step = 16; step; step /= 2) {
        sum += __shfl_xor_sync(~0u, sum, step);
        least = min(least, __shfl_xor_sync(~0u, least, step));
    }
    if (lane == 0) sums[warp] = sum, leasts[warp] = least;
    __syncthreads();
    sum = sums[lane], least = leasts[lane];
    for (int step = 16; step; step /= 2) {
        sum += __shfl_xor_sync(~0u, sum, step);
        least = min(least, __shfl_xor_sync(~0u, least, step));
    }
    return make_uint2(sum, least);
}

/* Inclusive sum over the block's threads. */
static __device__ __forceinline__ uint32_t block_scan(uint32_t own) {
    __shared__ uint32_t totals[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t left = __shfl_up_sync(~0u, own, step);
        if (lane >= step) own += left;
    }
    if (lane == 31) totals[warp] = own;
    __syncthreads();
    uint32_t before = lane < warp ? totals[lane] : 0;
    for (int step = 16; step; step /= 2) before += __shfl_xor_sync(~0u, before, step);
    return own + before;
}

static __global__ void __launch_bounds__(THREADS16)
    table16_kernel(const __grid_constant__ struct batch batch,
                   const __grid_constant__ struct histeq16_args args) {
    const uint32_t base = blockIdx.x * THREADS16, bin = base + threadIdx.x;
    const uint32_t *counts = args.counts + blockIdx.y * args.pitch;
    const uint32_t pixels = batch.images[blockIdx.y / args.tables].pixels;
    uint32_t sum = 0, least = UINT32_MAX;
#pragma unroll 8
    for (uint32_t i = 4 * threadIdx.x; i < base; i += 4 * THREADS16) {
        const uint4 four = *(const uint4 *)(counts + i);
        sum += four.x + four.y + four.z + four.w;
        const uint32_t place = four.x ? 0 : four.y ? 1 : four.z ? 2 : four.w ? 3 : UINT32_MAX - i;
        least = min(least, i + place);
    }
    const uint32_t own = bin < args.bins ? counts[bin] : 0;
    if (own) least = min(least, bin);
    const uint2 before = block_sum_min(sum, least);
    const uint32_t upto = before.x + block_scan(own);
    if (before.y == UINT32_MAX) return;
    const uint32_t first = counts[before.y];
    const bool identity = args.scale == HISTEQ_MINMAX && first == pixels;
    if (bin == before.y) args.identity[blockIdx.y] = identity;
    if (bin < args.bins && !identity)
        args.levels[blockIdx.y * args.pitch + bin] =
            (uint16_t)histeq_quantile_fixed(upto, first, pixels, 65535, args.scale);
}

#endif
