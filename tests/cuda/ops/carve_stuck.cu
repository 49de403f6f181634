// SPDX-License-Identifier: Apache-2.0
/* Waits of carving for words that nobody writes: each ends with a failed launch, none hangs. Every
 * wait has a process of its own, since a trap spoils the context.
 * covers: cuda/spin_limit.cuh cuda/ops/carve/tagged_words.cuh
 */
#define SPIN_LIMIT (1u << 12)

#include "cuda/ops/carve/any_gpu/any_gpu.cuh"
#include "cuda/ops/carve/fast_one_axis/args.cuh"
#include "cuda/ops/carve/fast_one_axis/band.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NO_GPU = 77, LIMIT_S = 20, BYTES = 1 << 20 };

/* ---- the waits, each by one warp, on memory of which all bytes are FILL */

/* 200 lines: four bands from the start, three from the end. */
static __device__ struct cell_plane some_plane() {
    return { NULL, 128, 128, 200, false };
}

static __device__ struct axis_memory some_memory(uint8_t *memory) {
    return { (uint64_t *)memory, (uint32_t *)memory, (uint64_t *)memory, (uint32_t *)memory, 128 };
}

static __global__ void wait_for_edge(uint8_t *memory, uint32_t *out) {
    uint32_t costs[LANE_COLUMNS];
    wait_edge(costs, some_memory(memory), 0, window_at(0, 128), 1);
    out[threadIdx.x] = costs[0];
}

static __global__ void wait_for_wide_edge(uint8_t *memory, uint32_t *out) {
    uint64_t costs[LANE_COLUMNS];
    wait_edge(costs, some_memory(memory), 0, window_at(0, 128), 1);
    out[threadIdx.x] = (uint32_t)costs[0];
}

static __global__ void wait_for_cost(uint8_t *memory, uint32_t *out) {
    out[threadIdx.x] = cost_at<uint32_t>(some_memory(memory), 0, 3, 1);
}

static __global__ void wait_for_map(uint8_t *memory, uint32_t *out) {
    out[threadIdx.x] = jump_bands<uint32_t>(some_plane(), some_memory(memory), FROM_START, 0, 5, 1);
}

static __global__ void wait_for_best(uint8_t *memory, uint32_t *out) {
    out[threadIdx.x] = wait_best<uint32_t>(some_plane(), some_memory(memory), 1).column;
}

static __global__ void wait_for_path(uint8_t *memory, uint32_t *out) {
    struct removal removal = {};
    int cuts[CUTS];
    removal.height = 100, removal.path = (const uint32_t *)memory, removal.tag = 1;
    wait_cuts(cuts, removal, 50);
    out[threadIdx.x] = (uint32_t)cuts[0];
}

static __global__ void wait_for_blocks(uint8_t *memory, uint32_t *out) {
    __shared__ struct any_gpu_shared shared;
    struct any_gpu_args args = {};
    struct any_gpu_state state = {};
    args.barrier = (uint64_t *)memory;
    state.round = 1; /* the second meeting; at the first nobody was */
    out[threadIdx.x] = grid_barrier(args, state, false, shared);
}

static __global__ void wait_for_entry(uint8_t *memory, uint32_t *out) {
    struct axis_args args = {};
    struct band band = {};
    args.entries = (uint32_t *)memory;
    out[threadIdx.x] = band_entry(args, band, 0);
}

static __global__ void wait_for_verdict(uint8_t *memory, uint32_t *out) {
    struct axis_args args = {};
    args.both.verdicts = (uint32_t *)memory;
    out[threadIdx.x] = wait_verdict(args, 0);
}

static __global__ void wait_for_nobody(uint8_t *, uint32_t *out) {
    out[threadIdx.x] = 1;
}

static const struct wait_case {
    const char *name;
    void (*kernel)(uint8_t *memory, uint32_t *out);
    bool ends; /* without a trap */
} cases[] = {
    { "nobody", wait_for_nobody, true },
    { "edge", wait_for_edge },
    { "edge of 64 bits", wait_for_wide_edge },
    { "cost", wait_for_cost },
    { "map", wait_for_map },
    { "best", wait_for_best },
    { "path", wait_for_path },
    { "blocks", wait_for_blocks },
    { "entry", wait_for_entry },
    { "verdict", wait_for_verdict },
};

/* ---- a process each */

/* 0 where the launch ends as it should. A hang ends with the alarm. */
static int run_case(const struct wait_case &one) {
    uint8_t *memory;
    uint32_t *out;
    int gpus = 0;
    alarm(LIMIT_S);
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) return NO_GPU;
    if (cudaMalloc((void **)&memory, BYTES) || cudaMalloc((void **)&out, 128)) return 2;
    if (cudaMemset(memory, 0, BYTES)) return 2;
    one.kernel<<<1, 32, 4096>>>(memory, out);
    const cudaError_t error = cudaDeviceSynchronize();
    if (one.ends == (error == cudaSuccess)) return 0;
    fprintf(stderr, "%s: %s\n", one.name, cudaGetErrorString(error));
    return 1;
}

int main() {
    int bad = 0;
    for (const struct wait_case &one : cases) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) _exit(run_case(one));
        if (child < 0 || waitpid(child, &status, 0) != child) return 1;
        if (WIFEXITED(status) && WEXITSTATUS(status) == NO_GPU) {
            puts("no GPU here: nothing to wait for");
            return NO_GPU;
        }
        const bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        printf("%s: %s\n", one.name, good ? "ended" : WIFSIGNALED(status) ? "hung" : "wrong");
        bad |= !good;
    }
    return bad;
}
