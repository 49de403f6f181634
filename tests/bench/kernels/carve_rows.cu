// SPDX-License-Identifier: Apache-2.0
/* A warp's cost of one row of the seam programme, by columns a lane, bits of a cost and rows
 * between shuffles: one block, up to two warps for each scheduler, energies in shared memory as
 * 16-bit pairs. Cycles a row. Before that a few rows are compared, up to where the warp's ends
 * spoil the middle. */
#include "cuda/ops/carve/fast_one_axis/sweep.cuh"

#include <cstdio>
#include <cstdlib>
#include <cstring>

enum { ROWS = 64, ROUNDS = 8, MARGIN = 16, COMPARED = 16 };

/* Row FROM of extended columns, R on either side, each row one column less. */
template <int C, int R>
DEVICE void some_rows(uint32_t (&cost)[C], const uint16_t *from, uint32_t pitch) {
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

/* ---- the forms: costs of a lane, R rows of them, and their sum */

template <int C, int R> struct words {
    enum { COLUMNS = C, BETWEEN = R };
    static constexpr const char *NAME = "32 bits";
    uint32_t cost[C];
    __device__ void begin() {
        for (int k = 0; k < C; k++) cost[k] = 0;
    }
    __device__ __forceinline__ void rows(const uint16_t *from, uint32_t pitch) {
        some_rows<C, R>(cost, from, pitch);
    }
    __device__ uint32_t sum() const {
        uint32_t sum = 0;
        for (int k = 0; k < C; k++) sum += cost[k];
        return sum;
    }
};

/* The shipped order: work that needs no neighbour comes first. */
template <int C> struct words_shipped {
    enum { COLUMNS = C, BETWEEN = 1 };
    static constexpr const char *NAME = "32 bits, neighbours last";
    struct sweep_costs<C> costs;
    __device__ void begin() {
        for (int k = 0; k < C; k++) costs.cost[k] = 0;
    }
    __device__ __forceinline__ void rows(const uint16_t *from, uint32_t) {
        sweep_row(costs, sweep_fetch<C>((const uint8_t *)from));
    }
    __device__ uint32_t sum() const {
        uint32_t sum = 0;
        for (int k = 0; k < C; k++) sum += costs.cost[k];
        return sum;
    }
};

static __device__ uint32_t pairs_sum(const uint32_t (&pair)[4]) {
    uint32_t sum = 0;
    for (int k = 0; k < 4; k++) sum += (pair[k] & 0xffff) + (pair[k] >> 16);
    return sum;
}

/* Nothing but pairs of 16 bits; R is 1 or even. Row by row, a column less on either side is
 * right. */
template <int R> struct pairs_plain {
    enum { COLUMNS = 8, BETWEEN = R, BESIDE = (R + 1) / 2, ALL = 4 + 2 * BESIDE };
    static constexpr const char *NAME = "16 bits";
    uint32_t pair[4];
    __device__ void begin() {
        for (int k = 0; k < 4; k++) pair[k] = 0;
    }
    __device__ __forceinline__ void rows(const uint16_t *from, uint32_t pitch) {
        uint32_t wide[ALL];
#pragma unroll
        for (int k = 0; k < BESIDE; k++) {
            wide[k] = __shfl_up_sync(~0u, pair[4 - BESIDE + k], 1);
            wide[4 + BESIDE + k] = __shfl_down_sync(~0u, pair[k], 1);
        }
#pragma unroll
        for (int k = 0; k < 4; k++) wide[BESIDE + k] = pair[k];
#pragma unroll
        for (int r = 0; r < R; r++) {
            const uint32_t *energy = (const uint32_t *)(from + r * pitch) - BESIDE;
            const int first = BESIDE - (R - r) / 2, end = ALL - first;
            uint32_t odd[ALL + 1]; /* the second column of the word before, the first of this */
#pragma unroll
            for (int k = 0; k <= ALL; k++)
                if (k >= first && k <= end)
                    odd[k] = k == 0     ? wide[0] << 16
                             : k == ALL ? wide[ALL - 1] >> 16
                                        : __byte_perm(wide[k - 1], wide[k % ALL], 0x5432);
#pragma unroll
            for (int k = 0; k < ALL; k++)
                if (k >= first && k < end)
                    wide[k] = __vimin3_u16x2(odd[k], wide[k], odd[k + 1]) + energy[k];
        }
#pragma unroll
        for (int k = 0; k < 4; k++) pair[k] = wide[BESIDE + k];
    }
    __device__ uint32_t sum() const {
        return pairs_sum(pair);
    }
};

/* ---- running them */

template <class Form, int COUNT, int TIMES>
static __global__ void measure(uint32_t *sums, uint32_t *cycles) {
    extern __shared__ __align__(16) uint16_t energies[];
    enum { C = Form::COLUMNS, R = Form::BETWEEN };
    const uint32_t pitch = 32 * C + 2 * MARGIN, lane = threadIdx.x % 32;
    for (uint32_t i = threadIdx.x; i < ROWS * pitch; i += blockDim.x)
        energies[i] = (uint16_t)(i * 2654435761u >> 23);
    __syncthreads();
    Form costs;
    costs.begin();
    const uint32_t begin = clock();
    for (int round = 0; round < TIMES; round++) {
#pragma unroll 16
        for (int r = 0; r < COUNT; r += R)
            costs.rows(energies + r * pitch + MARGIN + lane * C, pitch);
    }
    const uint32_t end = clock();
    uint32_t sum = lane >= 8 && lane < 24 ? costs.sum() : 0;
    for (int k = 16; k; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
    if (threadIdx.x == 0) *sums = sum, *cycles = end - begin;
}

template <class Form, int COUNT, int TIMES>
static void run(uint32_t *words, int warps, uint32_t (&got)[2]) {
    const int bytes = ROWS * (32 * Form::COLUMNS + 2 * MARGIN) * 2;
    const auto kernel = measure<Form, COUNT, TIMES>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    for (int i = 0; i < 2; i++) kernel<<<1, 32 * warps, bytes>>>(words, words + 1);
    if (cudaMemcpy(got, words, sizeof got, cudaMemcpyDeviceToHost) != cudaSuccess) exit(1);
}

template <class Form> static void time_form(uint32_t *memory) {
    enum { C = Form::COLUMNS, R = Form::BETWEEN };
    uint32_t plain[2], got[2];
    run<words<C, 1>, COMPARED, 1>(memory, 1, plain);
    run<Form, COMPARED, 1>(memory, 1, got);
    if (plain[0] != got[0]) {
        printf("%s, columns a lane %d, rows between shuffles %d: wrong\n", Form::NAME, C, R);
        exit(1);
    }
    for (int warps = 1; warps <= 8; warps *= 2) {
        run<Form, ROWS, ROUNDS>(memory, warps, got);
        printf("%s, columns a lane %d, rows between shuffles %d, warps %d: %6.2f cycles a row\n",
               Form::NAME, C, R, warps, got[1] / (double)(ROWS * ROUNDS));
    }
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "--help") == 0) {
        puts("usage: carve_rows\n\n"
             "Cycles that a row of the search for a seam costs a warp, by columns a lane, bits of\n"
             "a cost and rows between shuffles. A few rows of each are compared first.");
        return 0;
    }
    uint32_t *memory;
    if (cudaMalloc((void **)&memory, 8) != cudaSuccess) return puts("no GPU here"), 77;
    time_form<words<4, 1>>(memory), time_form<words<4, 2>>(memory), time_form<words<4, 4>>(memory);
    time_form<words<6, 2>>(memory);
    time_form<words<8, 1>>(memory), time_form<words<8, 2>>(memory), time_form<words<8, 4>>(memory);
    time_form<words_shipped<4>>(memory), time_form<words_shipped<6>>(memory);
    time_form<words_shipped<8>>(memory), time_form<pairs_plain<1>>(memory);
    time_form<pairs_plain<2>>(memory), time_form<pairs_plain<4>>(memory);
    return 0;
}
