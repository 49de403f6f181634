// SPDX-License-Identifier: Apache-2.0
/* carve_rungs.cuh - the way to fast_one_axis: what came before it, rung by rung.
 *
 * 1 rows       a launch a row, all costs in memory, the way back row by row on one thread, all
 *              energies anew
 * 2 tiles      16 rows a launch in tiles with halos, parents kept; a jump over 16 rows at a time;
 *              energies only around the seam
 * 3 one launch the same, all seams in one launch, with grid barriers in place of launches
 * 4 is carve_cluster.cuh, 5 is cuda/ops/carve/fast_one_axis/fast_one_axis.cuh. Each launch of 1
 * and 2 is a function on the device, with which carve_weigh.cuh climbs the same ladder for both
 * directions.
 */
#ifndef BURIN_CARVE_RUNGS_CUH
#define BURIN_CARVE_RUNGS_CUH

#include "cuda/ops/carve/method.cuh"
#include "cuda/ops/carve/ptx.cuh"
#include "tests/bench/kernels/measure.cuh"

#include <cooperative_groups.h>

/* Functions that are given a seam's number take it off the arguments' width. */
struct rung_memory {
    struct axis_args args; /* bands of one step, everything in device memory */
    uint32_t *costs;       /* all rows, rung 1 */
    uint32_t *parents;     /* a row of parent_stride for each step of both halves */
    uint32_t parent_stride;
    uint32_t *cost;    /* what the seam costs */
    uint64_t *meeting; /* blocks that have come to meetings so far, in one launch */
    uint8_t *scratch;  /* where the arguments' planes lie */
    int blocks;
    cudaStream_t stream;
};

/* The heights that the functions below can hold, of those that fast_one_axis takes. */
static bool rungs_fit(uint32_t height) {
    return height <= 2 * STEP_ROWS * BANDS_MAX;
}

static void rung_memory_make(struct rung_memory &memory, const struct cuda_context &context,
                             const struct seam_search &search) {
    struct one_axis_plan plan = {};
    struct axis_args &args = plan.args;
    args.width = search.width, args.height = search.height;
    args.energy = search.energy, args.reach = carve_reach(search.energy);
    args.luma = search.luma, args.luma_stride = search.luma_stride;
    args.seam_columns = search.seams;
    plan_sweep_columns(&args, args.width);
    plan_sweepers(&args, plan_cluster(args.sweepers, 2));
    plan_bands(&args, 1);
    args.direct_bands = args.halves[0].bands;
    struct arena arena = {};
    one_axis_layout(&plan, &arena);
    TRY(cudaMalloc((void **)&memory.scratch, plan.bytes));
    arena = { memory.scratch, 0 };
    one_axis_layout(&plan, &arena);
    memory.args = args;
    memory.parent_stride = band_plane(args.width);
    memory.blocks = context.multiprocessors;
    memory.stream = context.stream;
    const size_t steps = args.halves[0].steps + args.halves[1].steps;
    TRY(cudaMalloc((void **)&memory.parents, 4 * steps * memory.parent_stride));
    TRY(cudaMalloc((void **)&memory.costs, 4ull * args.height * args.cost_stride));
    TRY(cudaMalloc((void **)&memory.cost, 4));
    TRY(cudaMalloc((void **)&memory.meeting, 8));
}

static void rung_memory_free(struct rung_memory &memory) {
    TRY(cudaFree(memory.scratch));
    TRY(cudaFree(memory.parents));
    TRY(cudaFree(memory.costs));
    TRY(cudaFree(memory.cost));
    TRY(cudaFree(memory.meeting));
}

/* Blocks that do something together, and which of them this one is. */
struct block_group {
    uint32_t block, blocks;
};

DEVICE struct block_group everyone() {
    return { blockIdx.x, gridDim.x };
}

/* ---- 1: a launch a row */

DEVICE uint32_t fast_row(const struct axis_args &args, int half, uint32_t i) {
    return half == 0 ? i : args.height - 1 - i;
}

/* Row I of a half, a thread a column. */
static __device__ void row_costs(const struct axis_args &args, uint32_t *costs, uint32_t width,
                                 int half, uint32_t i) {
    const uint32_t x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width || i >= args.halves[half].rows) return;
    const uint32_t y = fast_row(args, half, i);
    uint32_t least = 0;
    if (i) {
        const uint32_t *row = costs + (uint64_t)fast_row(args, half, i - 1) * args.cost_stride;
        least = row[x];
        if (x) least = min(least, row[x - 1]);
        if (x + 1 < width) least = min(least, row[x + 1]);
    }
    costs[(uint64_t)y * args.cost_stride + x] = least + energy_row(args, y)[x];
}

static __device__ uint32_t row_least(const struct axis_args &args, const uint32_t *costs,
                                     uint32_t width, uint32_t x, uint32_t y) {
    const uint32_t *row = costs + (uint64_t)y * args.cost_stride;
    uint32_t best = x ? x - 1 : 0;
    for (uint32_t k = best + 1; k <= x + 1 && k < width; k++)
        if (row[k] < row[best]) best = k;
    return best;
}

/* One block finds the meeting point, one thread the axis; *COST: the seam's. */
static __device__ void row_trace(const struct axis_args &args, const uint32_t *costs,
                                 uint32_t width, uint16_t *columns, uint32_t *cost) {
    __shared__ unsigned long long least;
    const uint32_t middle = (args.height - 1) / 2;
    if (threadIdx.x == 0) least = ~0ull;
    __syncthreads();
    for (uint32_t x = threadIdx.x; x < width; x += blockDim.x) {
        const uint32_t below = row_least(args, costs, width, x, middle + 1);
        const uint64_t sum = costs[(uint64_t)middle * args.cost_stride + x] +
                             costs[(uint64_t)(middle + 1) * args.cost_stride + below];
        atomicMin(&least, (unsigned long long)(sum << 16 | x));
    }
    __syncthreads();
    if (threadIdx.x) return;
    *cost = (uint32_t)(least >> 16);
    columns[middle] = (uint16_t)least;
    for (uint32_t y = middle, x = columns[middle]; y-- > 0;)
        columns[y] = (uint16_t)(x = row_least(args, costs, width, x, y));
    for (uint32_t y = middle + 1, x = columns[middle]; y < args.height; y++)
        columns[y] = (uint16_t)(x = row_least(args, costs, width, x, y));
}

static __global__ void row_costs_kernel(struct axis_args args, uint32_t *costs, uint32_t i) {
    row_costs(args, costs, args.width, (int)blockIdx.y, i);
}
static __global__ void row_trace_kernel(struct axis_args args, const uint32_t *costs,
                                        uint16_t *columns, uint32_t *cost) {
    row_trace(args, costs, args.width, columns, cost);
}
static __global__ void row_remove(struct axis_args args, const uint16_t *columns) {
    close_own_gap(args.luma + (uint64_t)blockIdx.x * args.luma_stride, columns[blockIdx.x],
                  args.width, args.luma_stride, 8);
}

[[maybe_unused]] static void rung_rows(const struct rung_memory &memory, uint32_t seams) {
    struct axis_args args = memory.args;
    for (uint32_t s = 0; s < seams; s++, args.width--) {
        uint16_t *columns = args.seam_columns + (uint64_t)s * args.height;
        const dim3 grid((args.width + 255) / 256, 2);
        energy_plane_kernel<<<memory.blocks * 8, 256, 0, memory.stream>>>(args);
        for (uint32_t i = 0; i < args.halves[0].rows; i++)
            row_costs_kernel<<<grid, 256, 0, memory.stream>>>(args, memory.costs, i);
        row_trace_kernel<<<1, 1024, 0, memory.stream>>>(args, memory.costs, columns, memory.cost);
        row_remove<<<args.height, 32, 0, memory.stream>>>(args, columns);
    }
}

/* ---- 2: tiles; each function below is a launch there, and a stretch between barriers in 3 */

static __device__ uint32_t *step_parents(const struct rung_memory &memory, int half,
                                         uint32_t step) {
    const uint32_t row = half ? memory.args.halves[0].steps + step : step;
    return memory.parents + (uint64_t)row * memory.parent_stride;
}

static __device__ void tiles_step(const struct rung_memory &memory, struct block_group block_group,
                                  uint32_t step, uint32_t seam) {
    const struct axis_args &args = memory.args;
    const uint32_t tiles = (args.width - seam + TILE_OWN - 1) / TILE_OWN;
    const uint32_t warps = blockDim.x / 32 * block_group.blocks;
    /* Neighbouring warps on different blocks: they are few. */
    for (uint32_t i = threadIdx.x / 32 * block_group.blocks + block_group.block; i < 2 * tiles;
         i += warps) {
        const int half = i >= tiles, x = tile_column(half ? i - tiles : i);
        if (step >= args.halves[half].steps) continue;
        uint2 energies[STEP_ROWS];
        struct tile tile = {};
        tile_energies(energies, args, half, step, x);
        tile_costs(tile, args, half, step, seam, x);
        tile_rows(tile, energies, step_rows(args.halves[half], step));
        if (!tile_owns()) continue;
        *(uint4 *)(step_parents(memory, half, step) + x) =
            make_uint4(tile.parents[0], tile.parents[1], tile.parents[2], tile.parents[3]);
        const uint32_t tag = seam_tag(seam) << 30;
        if (x < (int)(args.width - seam))
            store_relaxed4(cost_row(args, half, step + 1) + x,
                           make_uint4(tile.cost[0] >> 4 | tag, tile.cost[1] >> 4 | tag,
                                      tile.cost[2] >> 4 | tag, tile.cost[3] >> 4 | tag));
    }
}

static __device__ void tiles_jumps(const struct rung_memory &memory, struct block_group block_group,
                                   uint32_t seam) {
    const struct axis_args &args = memory.args;
    const uint32_t bands = args.halves[0].bands + args.halves[1].bands, head = (seam + 1) << 16;
    for (uint32_t band = block_group.block; band < bands; band += block_group.blocks) {
        const int half = band >= args.halves[0].bands;
        const uint32_t step = band - args.halves[half].first_band;
        const uint32_t rows = step_rows(args.halves[half], step);
        for (uint32_t x = threadIdx.x; x < args.width - seam; x += blockDim.x) {
            uint32_t at[1] = { x };
            walk_step(at, step_parents(memory, half, step), rows, step);
            args.jumps[(uint64_t)band * args.jump_stride + x] = head | at[0];
        }
    }
}

static __device__ void tiles_resolve(const struct rung_memory &memory,
                                     struct block_group block_group, uint32_t seam) {
    __shared__ struct trace_memory shared;
    const int half = (int)block_group.block;
    if (half > 1) return;
    if (threadIdx.x == 0) trace_init(&shared);
    __syncthreads();
    if (threadIdx.x / 32 < meet_warps(memory.args)) {
        const uint32_t cost = trace_meet(memory.args, half, &shared, seam);
        if (cost != ~0u && threadIdx.x % 32 == 0) *memory.cost = cost;
    }
    __syncthreads();
    if (threadIdx.x < 32)
        trace_store_entries(memory.args, memory.args.halves[half], &shared,
                            trace_met(&shared, seam), seam);
}

static __device__ void tiles_remove(const struct rung_memory &memory,
                                    struct block_group block_group, uint32_t seam) {
    const struct axis_args &args = memory.args;
    const uint32_t bands = args.halves[0].bands + args.halves[1].bands, width = args.width - seam;
    __shared__ uint32_t columns[STEP_ROWS];
    for (uint32_t band = block_group.block; band < bands; band += block_group.blocks) {
        const int half = band >= args.halves[0].bands;
        const uint32_t step = band - args.halves[half].first_band;
        const uint32_t rows = step_rows(args.halves[half], step);
        if (threadIdx.x == 0)
            walk_rows(args.entries[band] & 0x7fff, step_parents(memory, half, step), rows, columns);
        __syncthreads();
        if (threadIdx.x < rows) {
            const uint32_t y = fast_row(args, half, step * STEP_ROWS + threadIdx.x);
            args.crossings[y] = columns[threadIdx.x];
            args.seam_columns[(uint64_t)seam * args.height + y] = (uint16_t)columns[threadIdx.x];
        }
        for (uint32_t task = threadIdx.x / 32; task < 2 * rows; task += blockDim.x / 32) {
            const uint32_t r = task / 2, y = fast_row(args, half, step * STEP_ROWS + r);
            if (task % 2)
                close_own_gap(args.luma + (uint64_t)y * args.luma_stride, columns[r], width,
                              args.luma_stride, 8);
            else
                close_own_gap((uint8_t *)(energy_row(args, y) - ENERGY_PAD),
                              2 * (columns[r] + ENERGY_PAD), 2 * (width + ENERGY_PAD),
                              2 * args.energy_stride, 16);
        }
        __syncthreads();
    }
}

static __device__ void tiles_renew(const struct rung_memory &memory, struct block_group block_group,
                                   uint32_t seam) {
    const struct axis_args &args = memory.args;
    const int width = (int)(args.width - seam) - 1, spread = 2 * args.reach;
    const struct luma_plane luma = { args.luma, args.luma_stride, width, (int)args.height };
    for (uint32_t i = block_group.block * blockDim.x + threadIdx.x; i < 16 * args.height;
         i += block_group.blocks * blockDim.x) {
        const int y = (int)(i / 16), x = (int)args.crossings[y] + (int)(i % 16) - spread;
        if ((int)(i % 16) <= 2 * spread && x >= 0 && x < width)
            energy_row(args, (uint32_t)y)[x] = (uint16_t)energy_at(luma, args.energy, x, y);
    }
}

static __global__ void __launch_bounds__(BLOCK_THREADS)
    step_kernel(struct rung_memory memory, uint32_t step, uint32_t seam) {
    tiles_step(memory, everyone(), step, seam);
}
static __global__ void __launch_bounds__(BLOCK_THREADS)
    jumps_kernel(struct rung_memory memory, uint32_t seam) {
    tiles_jumps(memory, everyone(), seam);
}
static __global__ void __launch_bounds__(BLOCK_THREADS)
    resolve_kernel(struct rung_memory memory, uint32_t seam) {
    tiles_resolve(memory, everyone(), seam);
}
static __global__ void __launch_bounds__(BLOCK_THREADS)
    remove_kernel(struct rung_memory memory, uint32_t seam) {
    tiles_remove(memory, everyone(), seam);
}
static __global__ void renew_kernel(struct rung_memory memory, uint32_t seam) {
    tiles_renew(memory, everyone(), seam);
}

[[maybe_unused]] static void rung_tiles(const struct rung_memory &memory, uint32_t seams) {
    const int blocks = memory.blocks;
    const cudaStream_t stream = memory.stream;
    energy_plane_kernel<<<blocks * 8, 256, 0, stream>>>(memory.args);
    for (uint32_t s = 0; s < seams; s++) {
        for (uint32_t step = 0; step < memory.args.halves[0].steps; step++)
            step_kernel<<<blocks, BLOCK_THREADS, 0, stream>>>(memory, step, s);
        jumps_kernel<<<2 * blocks, BLOCK_THREADS, 0, stream>>>(memory, s);
        resolve_kernel<<<2, BLOCK_THREADS, 0, stream>>>(memory, s);
        remove_kernel<<<2 * blocks, BLOCK_THREADS, 0, stream>>>(memory, s);
        renew_kernel<<<2 * blocks, 256, 0, stream>>>(memory, s);
    }
}

/* ---- 3: one launch */

static __global__ void __launch_bounds__(BLOCK_THREADS, 1)
    whole_kernel(const __grid_constant__ struct rung_memory memory, uint32_t seams) {
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    for (uint32_t s = 0; s < seams; s++) {
        for (uint32_t step = 0; step < memory.args.halves[0].steps; step++, grid.sync())
            tiles_step(memory, everyone(), step, s);
        tiles_jumps(memory, everyone(), s);
        grid.sync();
        tiles_resolve(memory, everyone(), s);
        grid.sync();
        tiles_remove(memory, everyone(), s);
        grid.sync();
        tiles_renew(memory, everyone(), s);
        grid.sync();
    }
}

[[maybe_unused]] static void rung_whole(const struct rung_memory &memory, uint32_t seams) {
    struct rung_memory copy = memory;
    void *arguments[] = { &copy, &seams };
    energy_plane_kernel<<<memory.blocks * 8, 256, 0, memory.stream>>>(memory.args);
    cudaLaunchCooperativeKernel((const void *)whole_kernel, dim3((unsigned)memory.blocks),
                                dim3(BLOCK_THREADS), arguments, 0, memory.stream);
}

#endif
