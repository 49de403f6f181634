// SPDX-License-Identifier: Apache-2.0
/* carve_weigh.cuh - the way to fast_both_axes.cuh, both directions weighed each step, rung by rung.
 *
 * 1 rows      a launch a row of both axes, the way back row by row on one thread
 * 2 tiles     16 rows a launch, a jump over 16 rows at a time
 * 4 clusters  one launch for all steps; a cluster looks for each axis's seam
 * The axes are the image and the image turned, in which horizontal seams are vertical: each has a
 * rung_memory of its own, and whatever carve_rungs.cuh and carve_cluster.cuh do for one direction
 * is done for both at once. What is simple here and costs the time: all pixels of both move to
 * another plane at every step, with the numbers that they had, and all energies are made anew.
 *
 * How large the image is depends on the verdicts, which only the device knows: the axes lie in
 * device memory, and one thread brings them up to date. Their jobs' widths are more than there is
 * by the step's number, which carve_rungs.cuh takes off again.
 */
#ifndef BURIN_CARVE_WEIGH_CUH
#define BURIN_CARVE_WEIGH_CUH

#include "tests/bench/kernels/carve_cluster.cuh"

/* In device memory. */
struct weigh_memory {
    struct rung_memory axes[2]; /* seam_columns: of the present step alone */
    uint32_t left[2];           /* seams that are still to go */
    uint32_t step;
    uint32_t across;    /* the verdict: the second axis's seam goes */
    uint8_t *luma[2];   /* the planes that the axes' luma was in before */
    uint32_t *numbers;  /* of the image's pixels, y * number_stride + x as it was at first */
    uint32_t *numbered; /* the plane that they were in before */
    uint32_t number_stride;
};

/* ---- what the rungs share: from two seams to the next step's energies */

/* One thread: the cheaper seam goes, the vertical one on a tie. The axes become as they are without
 * it: the loser's lines are one fewer. Its second half's energies stay where they were, behind room
 * for more of the first than there is. */
static __device__ void weigh_verdict(struct weigh_memory &weigh) {
    const uint32_t down = *weigh.axes[0].cost, across = *weigh.axes[1].cost;
    weigh.across = !weigh.left[0] || (weigh.left[1] && across < down);
    weigh.left[weigh.across]--;
    weigh.step++;
    struct axis_args &loser = weigh.axes[!weigh.across].args;
    loser.width++, loser.height--;
    for (int half = 0; half < 2; half++) halve(loser.halves[half], half, loser.height, 1);
    loser.halves[1].first_band = loser.halves[0].bands;
    for (int axis = 0; axis < 2; axis++) {
        uint8_t *before = weigh.axes[axis].args.luma;
        weigh.axes[axis].args.luma = weigh.luma[axis];
        weigh.luma[axis] = before;
    }
    uint32_t *before = weigh.numbers;
    weigh.numbers = weigh.numbered, weigh.numbered = before;
}

/* Behind the verdict: every pixel that is left, from the planes before to the present ones. */
static __device__ void weigh_take(const struct weigh_memory &weigh,
                                  struct block_group block_group) {
    const uint16_t *seam = weigh.axes[weigh.across].args.seam_columns;
    for (uint32_t axis = 0; axis < 2; axis++) {
        const struct axis_args &args = weigh.axes[axis].args;
        const bool own = axis == weigh.across; /* else the seam runs across this plane */
        const uint32_t width = args.width - weigh.step, height = args.height;
        for (uint32_t y = block_group.block; y < height; y += block_group.blocks)
            for (uint32_t x = threadIdx.x; x < width; x += blockDim.x) {
                const uint32_t u = x + (own && x >= seam[y]), v = y + (!own && y >= seam[x]);
                args.luma[(uint64_t)y * args.luma_stride + x] =
                    weigh.luma[axis][(uint64_t)v * args.luma_stride + u];
                if (axis == 0)
                    weigh.numbers[(uint64_t)y * weigh.number_stride + x] =
                        weigh.numbered[(uint64_t)v * weigh.number_stride + u];
            }
    }
}

/* Energies of both axes, and what stands beside them. */
static __device__ void weigh_energies(const struct weigh_memory &weigh,
                                      struct block_group block_group) {
    for (const struct rung_memory &memory : weigh.axes) {
        const struct axis_args &args = memory.args;
        const int width = (int)(args.width - weigh.step),
                  end = (int)args.energy_stride - ENERGY_PAD;
        const struct luma_plane luma = { args.luma, args.luma_stride, width, (int)args.height };
        for (uint32_t y = block_group.block; y < args.height; y += block_group.blocks)
            for (int x = (int)threadIdx.x - ENERGY_PAD; x < end; x += (int)blockDim.x)
                energy_row(args, y)[x] = x < 0 || x >= width
                                             ? (uint16_t)energy_outside(args.energy)
                                             : (uint16_t)energy_at(luma, args.energy, x, (int)y);
    }
}

/* Rungs that jump: the seam's columns, a thread for each 16 rows. */
static __device__ void weigh_walk(const struct rung_memory &memory, struct block_group block_group,
                                  uint32_t) {
    const struct axis_args &args = memory.args;
    const uint32_t bands = args.halves[0].bands + args.halves[1].bands;
    for (uint32_t band = threadIdx.x * block_group.blocks + block_group.block; band < bands;
         band += blockDim.x * block_group.blocks) {
        const int half = band >= args.halves[0].bands;
        const uint32_t step = band - args.halves[half].first_band;
        const uint32_t rows = step_rows(args.halves[half], step);
        uint16_t columns[STEP_ROWS];
        walk_rows(args.entries[band] & 0x7fff, step_parents(memory, half, step), rows, columns);
        for (uint32_t i = 0; i < rows; i++)
            args.seam_columns[fast_row(args, half, step * STEP_ROWS + i)] = columns[i];
    }
}

/* The image turned, the numbers, and the first energies. */
static __global__ void weigh_turn_kernel(struct weigh_memory *weigh) {
    const struct axis_args &args = weigh->axes[0].args, &turned = weigh->axes[1].args;
    for (uint32_t y = blockIdx.x; y < args.height; y += gridDim.x)
        for (uint32_t x = threadIdx.x; x < args.width; x += blockDim.x) {
            turned.luma[(uint64_t)x * turned.luma_stride + y] =
                args.luma[(uint64_t)y * args.luma_stride + x];
            weigh->numbers[(uint64_t)y * weigh->number_stride + x] = y * weigh->number_stride + x;
        }
}
static __global__ void weigh_verdict_kernel(struct weigh_memory *weigh) {
    weigh_verdict(*weigh);
}
static __global__ void weigh_take_kernel(struct weigh_memory *weigh) {
    weigh_take(*weigh, everyone());
}
static __global__ void weigh_energies_kernel(struct weigh_memory *weigh) {
    weigh_energies(*weigh, everyone());
}

/* Both axes at once, every other block: PART of the step, where the axis has seams left. */
typedef void (*weigh_part)(const struct rung_memory &memory, struct block_group block_group,
                           uint32_t seam);
template <weigh_part PART>
static __global__ void __launch_bounds__(BLOCK_THREADS) weigh_kernel(struct weigh_memory *weigh) {
    const uint32_t axis = blockIdx.x % 2;
    if (weigh->left[axis]) PART(weigh->axes[axis], { blockIdx.x / 2, gridDim.x / 2 }, weigh->step);
}

/* ---- host: the planes of both axes */

struct weigh {
    struct weigh_memory start; /* as before the first step */
    struct weigh_memory *memory;
    uint8_t *turned, *luma[2];    /* the image turned; planes in turn with the axes' own */
    uint32_t *origins, *numbered; /* in turn; the search's ones are to be right in the end */
    int blocks;
    cudaStream_t stream;
};

static void weigh_make(struct weigh &weigh, const struct cuda_context &context,
                       const struct seam_search &search) {
    struct seam_search axes[2] = { search, search };
    axes[1].width = search.height, axes[1].height = search.width;
    axes[1].luma_stride = (search.height + 15) / 16 * 16;
    weigh = {};
    TRY(cudaMalloc((void **)&weigh.turned, (size_t)axes[1].luma_stride * search.width));
    axes[1].luma = weigh.turned;
    for (int axis = 0; axis < 2; axis++) {
        TRY(cudaMalloc((void **)&axes[axis].seams, sizeof(uint16_t) * axes[axis].height));
        rung_memory_make(weigh.start.axes[axis], context, axes[axis]);
        TRY(cudaMalloc((void **)&weigh.luma[axis],
                       (size_t)axes[axis].luma_stride * axes[axis].height));
    }
    weigh.origins = search.origins;
    TRY(cudaMalloc((void **)&weigh.numbered,
                   sizeof(uint32_t) * (size_t)search.origin_stride * search.height));
    TRY(cudaMalloc((void **)&weigh.memory, sizeof *weigh.memory));
    weigh.start.number_stride = search.origin_stride;
    weigh.blocks = context.multiprocessors;
    weigh.stream = context.stream;
}

static void weigh_free(struct weigh &weigh) {
    for (int axis = 0; axis < 2; axis++) {
        TRY(cudaFree(weigh.start.axes[axis].args.seam_columns));
        rung_memory_free(weigh.start.axes[axis]);
        TRY(cudaFree(weigh.luma[axis]));
    }
    TRY(cudaFree(weigh.turned));
    TRY(cudaFree(weigh.numbered));
    TRY(cudaFree(weigh.memory));
}

/* Before the first step. Numbers change planes with every step. */
static void weigh_begin(struct weigh &weigh, uint32_t columns, uint32_t rows) {
    struct weigh_memory &start = weigh.start;
    const bool odd = (columns + rows) % 2;
    start.left[0] = columns, start.left[1] = rows;
    start.luma[0] = weigh.luma[0], start.luma[1] = weigh.luma[1];
    start.numbers = odd ? weigh.numbered : weigh.origins;
    start.numbered = odd ? weigh.origins : weigh.numbered;
    TRY(cudaMemcpyAsync(weigh.memory, &start, sizeof start, cudaMemcpyHostToDevice, weigh.stream));
    weigh_turn_kernel<<<weigh.blocks * 4, 256, 0, weigh.stream>>>(weigh.memory);
    weigh_energies_kernel<<<weigh.blocks * 4, 256, 0, weigh.stream>>>(weigh.memory);
}

/* The rest of a step, when both axes' seams are known. */
static void weigh_settle(const struct weigh &weigh) {
    weigh_verdict_kernel<<<1, 1, 0, weigh.stream>>>(weigh.memory);
    weigh_take_kernel<<<weigh.blocks * 4, 256, 0, weigh.stream>>>(weigh.memory);
    weigh_energies_kernel<<<weigh.blocks * 4, 256, 0, weigh.stream>>>(weigh.memory);
}

/* ---- 1: a launch a row */

static __global__ void weigh_row_kernel(struct weigh_memory *weigh, uint32_t i) {
    const uint32_t axis = blockIdx.y / 2;
    const struct rung_memory &memory = weigh->axes[axis];
    if (weigh->left[axis])
        row_costs(memory.args, memory.costs, memory.args.width - weigh->step, (int)blockIdx.y % 2,
                  i);
}

static __device__ void weigh_row_trace(const struct rung_memory &memory, struct block_group,
                                       uint32_t seam) {
    row_trace(memory.args, memory.costs, memory.args.width - seam, memory.args.seam_columns,
              memory.cost);
}

static void rung_weigh_rows(struct weigh &weigh, uint32_t columns, uint32_t rows) {
    const struct axis_args &down = weigh.start.axes[0].args, &across = weigh.start.axes[1].args;
    const dim3 grid((std::max(down.width, across.width) + 255) / 256, 4);
    const uint32_t most = std::max(down.halves[0].rows, across.halves[0].rows);
    weigh_begin(weigh, columns, rows);
    for (uint32_t s = 0; s < columns + rows; s++) {
        for (uint32_t i = 0; i < most; i++)
            weigh_row_kernel<<<grid, 256, 0, weigh.stream>>>(weigh.memory, i);
        weigh_kernel<weigh_row_trace><<<2, BLOCK_THREADS, 0, weigh.stream>>>(weigh.memory);
        weigh_settle(weigh);
    }
}

/* ---- 2: tiles */

static __global__ void __launch_bounds__(BLOCK_THREADS)
    weigh_step_kernel(struct weigh_memory *weigh, uint32_t step) {
    const uint32_t axis = blockIdx.x % 2;
    if (weigh->left[axis])
        tiles_step(weigh->axes[axis], { blockIdx.x / 2, gridDim.x / 2 }, step, weigh->step);
}

static void rung_weigh_tiles(struct weigh &weigh, uint32_t columns, uint32_t rows) {
    const struct rung_memory(&axes)[2] = weigh.start.axes;
    const uint32_t most = std::max(axes[0].args.halves[0].steps, axes[1].args.halves[0].steps);
    const int blocks = weigh.blocks / 2 * 2;
    weigh_begin(weigh, columns, rows);
    for (uint32_t s = 0; s < columns + rows; s++) {
        for (uint32_t step = 0; step < most; step++)
            weigh_step_kernel<<<blocks, BLOCK_THREADS, 0, weigh.stream>>>(weigh.memory, step);
        weigh_kernel<tiles_jumps><<<2 * blocks, BLOCK_THREADS, 0, weigh.stream>>>(weigh.memory);
        weigh_kernel<tiles_resolve><<<4, BLOCK_THREADS, 0, weigh.stream>>>(weigh.memory);
        weigh_kernel<weigh_walk><<<2, 128, 0, weigh.stream>>>(weigh.memory);
        weigh_settle(weigh);
    }
}

/* ---- 4: a cluster each axis */

static __global__ void __launch_bounds__(BLOCK_THREADS, 1)
    weigh_cluster_kernel(struct weigh_memory *weigh, uint32_t cluster, uint32_t steps) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const uint32_t axis = blockIdx.x / cluster;
    const struct block_group block_group = { blockIdx.x % cluster, cluster };
    uint64_t *const meeting = weigh->axes[0].meeting;
    uint32_t round = 0;
    for (uint32_t s = 0; s < steps; s++) {
        if (axis < 2 && weigh->left[axis]) {
            solo_search(weigh->axes[axis], block_group, s);
            solo_meet();
            weigh_walk(weigh->axes[axis], block_group, s);
        }
        grid_meet(meeting, round);
        if (blockIdx.x == 0 && threadIdx.x == 0) weigh_verdict(*weigh);
        grid_meet(meeting, round);
        weigh_take(*weigh, everyone());
        grid_meet(meeting, round);
        weigh_energies(*weigh, everyone());
        grid_meet(meeting, round);
    }
#endif
}

static bool weigh_cluster_shape(const struct weigh &weigh, struct solo_shape &shape) {
    const struct rung_memory(&axes)[2] = weigh.start.axes;
    return solo_shape_make(shape, (const void *)weigh_cluster_kernel, 2,
                           std::max(axes[0].args.width, axes[1].args.width));
}

static void rung_weigh_cluster(struct weigh &weigh, uint32_t columns, uint32_t rows) {
    struct solo_shape shape;
    cudaLaunchAttribute attributes[2];
    if (!weigh_cluster_shape(weigh, shape)) exit(1);
    const cudaLaunchConfig_t config = solo_launch(shape, attributes, weigh.stream);
    TRY(cudaMemsetAsync(weigh.start.axes[0].meeting, 0, 8, weigh.stream));
    weigh_begin(weigh, columns, rows);
    TRY(cudaLaunchKernelEx(&config, weigh_cluster_kernel, weigh.memory, shape.blocks,
                           columns + rows));
}

#endif
