// SPDX-License-Identifier: Apache-2.0
/* What a row of the seam programme costs a warp, by columns a lane and rows between shuffles: one
 * block, a warp for each scheduler, energies in shared memory as 16-bit pairs. Cycles a row. Before
 * that a few rows are compared, as long as the ends of the warp have not spoiled the middle. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

enum { ROWS = 64, ROUNDS = 8, MARGIN = 16, COMPARED = 16 };

/* Row FROM of extended columns, R on either side, each row one column less. */
template <int C, int R>
static __device__ __forceinline__ void some_rows(uint32_t (&cost)[C], const uint16_t *from,
                                                 uint32_t pitch) {
    uint32_t wide[C + 2 * R];
#pragma unroll
    for (int k = 0; k < R; k++) {
        wide[k] = __shfl_up_sync(~0u, cost[C - R + k], 1);
        wide[C + R + k] = __shfl_down_sync(~0u, cost[k], 1);
    }
#pragma unroll
    for (int k = 0; k < C; k++) wide[R + k] = cost[k];
#pragma unroll
    for (int r = 0; r < R; r++) {
        const uint32_t *words = (const uint32_t *)(from + r * pitch);
        uint32_t next[C + 2 * R];
#pragma unroll
        for (int k = r + 1; k < C + 2 * R - r - 1; k++) {
            const int x = k - R; /* the pair is at x rounded down to even */
            const uint32_t pair = words[(x - (x & 1)) / 2];
            next[k] = __dp2a_lo(pair, x & 1 ? 0x100u : 1u,
                                __vimin3_u32(wide[k - 1], wide[k], wide[k + 1]));
        }
#pragma unroll
        for (int k = r + 1; k < C + 2 * R - r - 1; k++) wide[k] = next[k];
    }
#pragma unroll
    for (int k = 0; k < C; k++) cost[k] = wide[R + k];
}

template <int C, int R, int COUNT, int TIMES>
static __global__ void measure(uint32_t *sums, uint32_t *cycles) {
    extern __shared__ __align__(16) uint16_t energies[];
    const uint32_t pitch = 32 * C + 2 * MARGIN, lane = threadIdx.x % 32;
    for (uint32_t i = threadIdx.x; i < ROWS * pitch; i += blockDim.x)
        energies[i] = (uint16_t)(i * 2654435761u >> 23);
    __syncthreads();
    uint32_t cost[C] = {};
    const uint32_t begin = clock();
    for (int round = 0; round < TIMES; round++) {
#pragma unroll 16
        for (int r = 0; r < COUNT; r += R)
            some_rows<C, R>(cost, energies + r * pitch + MARGIN + lane * C, pitch);
    }
    const uint32_t end = clock();
    uint32_t sum = 0;
    for (int k = 0; k < C; k++) sum += lane >= 8 && lane < 24 ? cost[k] : 0;
    for (int k = 16; k; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
    if (threadIdx.x == 0) *sums = sum, *cycles = end - begin;
}

template <int C, int R, int COUNT, int TIMES>
static void run(uint32_t *words, int warps, uint32_t (&got)[2]) {
    const int bytes = ROWS * (32 * C + 2 * MARGIN) * 2;
    const auto kernel = measure<C, R, COUNT, TIMES>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    for (int i = 0; i < 2; i++) kernel<<<1, 32 * warps, bytes>>>(words, words + 1);
    if (cudaMemcpy(got, words, sizeof got, cudaMemcpyDeviceToHost) != cudaSuccess) exit(1);
}

template <int C, int R> static void tell(uint32_t *words) {
    uint32_t plain[2], got[2];
    run<C, 1, COMPARED, 1>(words, 1, plain);
    run<C, R, COMPARED, 1>(words, 1, got);
    if (plain[0] != got[0]) {
        printf("columns a lane %d, rows between shuffles %d: wrong\n", C, R);
        exit(1);
    }
    for (int warps = 1; warps <= 8; warps *= 2) {
        run<C, R, ROWS, ROUNDS>(words, warps, got);
        printf("columns a lane %d, rows between shuffles %d, warps %d: %6.2f cycles a row\n", C, R,
               warps, got[1] / (double)(ROWS * ROUNDS));
    }
}

int main() {
    uint32_t *words;
    if (cudaMalloc((void **)&words, 8) != cudaSuccess) return puts("no GPU here"), 77;
    tell<4, 1>(words), tell<4, 2>(words), tell<4, 4>(words);
    tell<6, 2>(words);
    tell<8, 1>(words), tell<8, 2>(words), tell<8, 4>(words);
    return 0;
}
