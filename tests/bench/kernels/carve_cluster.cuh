// SPDX-License-Identifier: Apache-2.0
/* carve_cluster.cuh - rung 4: one persistent launch, costs handed on inside one cluster.
 *
 * One cluster of blocks goes through all rows of the image, first down to the middle, then up to
 * it: the halves follow one another, which is what rung 5 changes. A block has a band of columns, a
 * warp a tile of them for 16 rows; then what the neighbours' tiles need of the last row is pushed
 * into their shared memory, and a barrier of the cluster takes the place of rung 3's barrier of the
 * grid. The block's other warps follow a step behind: they keep the parents and make the jumps, so
 * that these cost no time of their own. The other clusters help to take the pixels out.
 *
 * Needs compute capability 9.0. The widest that fits: CLUSTER_TILES tiles a block.
 */
#ifndef BURIN_CARVE_CLUSTER_CUH
#define BURIN_CARVE_CLUSTER_CUH

#include "tests/bench/kernels/carve_rungs.cuh"

enum {
    SOLO_TILES = BLOCK_THREADS / 32 / 2, /* of a block: a warp goes ahead, one follows */
    SOLO_COLUMNS = SOLO_TILES * TILE_OWN,
};

/* All in turn, by the number of the step. */
struct __align__(16) solo_memory {
    uint32_t costs[2][TILE_HALO + SOLO_COLUMNS + TILE_HALO]; /* before the step */
    uint32_t parents[2][SOLO_TILES][TILE_COLUMNS];           /* as struct tile has them */
};

/* A warp's part of a search. Steps are counted through both halves. */
struct solo_part {
    struct block_group block_group; /* the cluster */
    uint32_t seam, width, steps;
    uint32_t columns;   /* a block's own */
    uint32_t warp, all; /* of the block's tiles; tiles of a row */
    uint32_t number;    /* the tile, of the row's */
    bool ahead;
};

DEVICE struct solo_part part_of(const struct axis_args &args, struct block_group block_group,
                                uint32_t seam) {
    const uint32_t width = args.width - seam, all = (width + TILE_OWN - 1) / TILE_OWN;
    const uint32_t each = (all + block_group.blocks - 1) / block_group.blocks,
                   warp = thread_index() / 32;
    struct solo_part part = { block_group, seam, width,
                              args.halves[0].steps + args.halves[1].steps };
    part.columns = each * TILE_OWN;
    part.ahead = warp < SOLO_TILES;
    part.warp = part.ahead ? warp : warp - SOLO_TILES;
    part.number = block_group.block * each + part.warp;
    part.all = part.warp < each ? all : 0; /* warps beyond the block's tiles have none */
    return part;
}

DEVICE int half_of(const struct axis_args &args, uint32_t n) {
    return n >= args.halves[0].steps;
}

DEVICE uint32_t step_of(const struct axis_args &args, uint32_t n) {
    return half_of(args, n) ? n - args.halves[0].steps : n;
}

/* ---- ahead: costs */

/* Costs of the row before the step, out of the block's own memory. COSTS: those of its column 0. */
DEVICE void part_costs(struct tile &tile, const struct solo_part &part, const uint32_t *costs,
                       int x) {
    uint4 words = make_uint4(COST_FAR, COST_FAR, COST_FAR, COST_FAR);
    if (x >= 0 && x < (int)part.width)
        words = *(const uint4 *)(costs + x - (int)(part.block_group.block * part.columns));
    tile.cost[0] = 16 * min(words.x, TILE_FAR);
    tile.cost[1] = 16 * min(words.y, TILE_FAR);
    tile.cost[2] = 16 * min(words.z, TILE_FAR);
    tile.cost[3] = 16 * min(words.w, TILE_FAR);
}

/* WORDS of the columns from X on, for the block itself and as the halo of the one beside it, which
 * lies as far from that one's own columns as from these. */
DEVICE void part_tell(const struct solo_part &part, uint32_t *costs, int x, uint4 words) {
    const int at = x - (int)(part.block_group.block * part.columns), end = (int)part.columns;
    *(uint4 *)(costs + at) = words;
    if (at < TILE_HALO && part.block_group.block > 0)
        store_cluster4(
            cluster_address(shared_address(costs + at + end), part.block_group.block - 1), words);
    if (at >= end - TILE_HALO && part.block_group.block + 1 < part.block_group.blocks)
        store_cluster4(
            cluster_address(shared_address(costs + at - end), part.block_group.block + 1), words);
}

/* The rows of step N. The last row of a half goes where the halves meet. */
DEVICE void part_rows(const struct rung_memory &memory, const struct solo_part &part,
                      struct solo_memory &shared, uint32_t n, const uint2 (&energies)[STEP_ROWS]) {
    const struct axis_args &args = memory.args;
    const int half = half_of(args, n), x = tile_column(part.number);
    const uint32_t step = step_of(args, n), lane = thread_index() % 32;
    struct tile tile = {};
    if (step == 0)
        tile_costs(tile, args, half, 0, part.seam, x);
    else
        part_costs(tile, part, shared.costs[n % 2] + TILE_HALO, x);
    tile_rows(tile, energies, step_rows(args.halves[half], step));
    *(uint4 *)(shared.parents[n % 2][part.warp] + 4 * lane) =
        make_uint4(tile.parents[0], tile.parents[1], tile.parents[2], tile.parents[3]);
    if (!tile_owns()) return;
    const uint32_t tag = seam_tag(part.seam) << 30;
    const uint4 words =
        make_uint4(tile.cost[0] >> 4, tile.cost[1] >> 4, tile.cost[2] >> 4, tile.cost[3] >> 4);
    part_tell(part, shared.costs[(n + 1) % 2] + TILE_HALO, x, words);
    if (step + 1 == args.halves[half].steps && x < (int)part.width)
        store_relaxed4(cost_row(args, half, step + 1) + x,
                       make_uint4(words.x | tag, words.y | tag, words.z | tag, words.w | tag));
}

/* Whole warps, the blocks of a cluster: what any of them wrote before is there for all. */
DEVICE void solo_meet() {
    __syncwarp(); /* the barrier's instruction is the whole warp's */
    cluster_barrier();
}

/* Energies of a step are fetched before the barrier that it waits for. */
DEVICE void part_lead(const struct rung_memory &memory, const struct solo_part &part,
                      struct solo_memory &shared) {
    const struct axis_args &args = memory.args;
    const bool works = part.number < part.all;
    uint2 energies[STEP_ROWS];
#pragma unroll 1
    for (uint32_t n = 0; n <= part.steps; n++) {
        if (works && n) part_rows(memory, part, shared, n - 1, energies);
        if (works && n < part.steps)
            tile_energies(energies, args, half_of(args, n), step_of(args, n),
                          tile_column(part.number));
        solo_meet();
    }
}

/* ---- behind: parents and jumps */

/* A tile's parents are enough for its own columns: a path of 16 rows stays within the halo. */
DEVICE void part_jumps(const struct rung_memory &memory, const struct solo_part &part,
                       const uint32_t *parents, uint32_t n) {
    const struct axis_args &args = memory.args;
    const int half = half_of(args, n);
    const uint32_t step = step_of(args, n), band = args.halves[half].first_band + step;
    const uint32_t lane = thread_index() % 32, first = part.number * TILE_OWN;
    if (tile_owns())
        *(uint4 *)(step_parents(memory, half, step) + tile_column(part.number)) =
            *(const uint4 *)(parents + 4 * lane);
    uint32_t at[TILE_OWN / 32];
    for (uint32_t k = 0; k < TILE_OWN / 32; k++) at[k] = TILE_HALO + 32 * k + lane;
    walk_step(at, parents, step_rows(args.halves[half], step), step);
    for (uint32_t k = 0; k < TILE_OWN / 32; k++) {
        const uint32_t x = first + 32 * k + lane;
        if (x < part.width)
            args.jumps[(uint64_t)band * args.jump_stride + x] =
                (part.seam + 1) << 16 | (first + at[k] - TILE_HALO);
    }
}

DEVICE void part_follow(const struct rung_memory &memory, const struct solo_part &part,
                        struct solo_memory &shared) {
    const bool works = part.number < part.all;
#pragma unroll 1
    for (uint32_t n = 0; n <= part.steps; n++) {
        if (works && n > 1) part_jumps(memory, part, shared.parents[n % 2][part.warp], n - 2);
        solo_meet();
    }
    if (works)
        part_jumps(memory, part, shared.parents[(part.steps - 1) % 2][part.warp], part.steps - 1);
}

/* ---- the rung */

/* CREW, a cluster: from the energies to the seam's column at every 16th row. */
static __device__ void solo_search(const struct rung_memory &memory, struct block_group block_group,
                                   uint32_t seam) {
    __shared__ struct solo_memory shared;
    const struct solo_part part = part_of(memory.args, block_group, seam);
    if (part.ahead)
        part_lead(memory, part, shared);
    else
        part_follow(memory, part, shared);
    solo_meet();
    tiles_resolve(memory, block_group, seam);
}

/* Everyone: all blocks have come to the meeting that is ROUND's. */
static __device__ void grid_meet(uint64_t *meeting, uint32_t &round) {
    round++;
    __syncthreads();
    if (threadIdx.x == 0) {
        add_release(meeting, 1);
        while (load_acquire(meeting) < (uint64_t)round * gridDim.x) __nanosleep(20);
    }
    __syncthreads();
}

static __global__ void __launch_bounds__(BLOCK_THREADS, 1)
    solo_kernel(const __grid_constant__ struct rung_memory memory, uint32_t cluster,
                uint32_t seams) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    uint32_t round = 0;
    for (uint32_t s = 0; s < seams; s++) {
        if (blockIdx.x < cluster) solo_search(memory, { blockIdx.x, cluster }, s);
        grid_meet(memory.meeting, round);
        tiles_remove(memory, everyone(), s);
        grid_meet(memory.meeting, round);
        tiles_renew(memory, everyone(), s);
        grid_meet(memory.meeting, round);
    }
#endif
}

/* ---- host */

struct solo_shape {
    uint32_t blocks, clusters; /* of a cluster; that run at once */
};

static cudaLaunchConfig_t solo_launch(const struct solo_shape &shape,
                                      cudaLaunchAttribute (&attributes)[2], cudaStream_t stream) {
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(shape.blocks * shape.clusters);
    config.blockDim = dim3(BLOCK_THREADS);
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = 2;
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim.x = shape.blocks;
    attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
    attributes[1].id = cudaLaunchAttributeCooperative;
    attributes[1].val.cooperative = 1;
    return config;
}

/* The largest clusters of KERNEL of which the present device runs CLUSTERS at once; false where
 * none of them holds a row of WIDEST columns. Each half has a traceback block: two blocks at
 * least. */
static bool solo_shape_make(struct solo_shape &shape, const void *kernel, uint32_t clusters,
                            uint32_t widest) {
    struct cudaFuncAttributes facts;
    /* Made from the code of an older generation the kernel is empty. */
    if (cudaFuncGetAttributes(&facts, kernel) != cudaSuccess || facts.ptxVersion < 90) return false;
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1))
        return false;
    for (uint32_t blocks = CLUSTER_BLOCKS_MAX; blocks > 1; blocks /= 2) {
        cudaLaunchAttribute attributes[2];
        int most = 0;
        shape = { blocks, 1 };
        cudaLaunchConfig_t config = solo_launch(shape, attributes, 0);
        config.numAttrs = 1;
        if (cudaOccupancyMaxActiveClusters(&most, kernel, &config) != cudaSuccess) most = 0;
        cudaGetLastError(); /* a size that the device does not know */
        shape.clusters = (uint32_t)most;
        if (shape.clusters >= clusters) return blocks * SOLO_COLUMNS >= widest;
    }
    return false;
}

[[maybe_unused]] static bool rung_cluster_fits(const struct rung_memory &memory) {
    struct solo_shape shape;
    return solo_shape_make(shape, (const void *)solo_kernel, 1, memory.args.width);
}

[[maybe_unused]] static void rung_cluster(const struct rung_memory &memory, uint32_t seams) {
    struct solo_shape shape;
    cudaLaunchAttribute attributes[2];
    if (!solo_shape_make(shape, (const void *)solo_kernel, 1, memory.args.width)) exit(1);
    const cudaLaunchConfig_t config = solo_launch(shape, attributes, memory.stream);
    TRY(cudaMemsetAsync(memory.meeting, 0, 8, memory.stream));
    energy_plane_kernel<<<memory.blocks * 8, 256, 0, memory.stream>>>(memory.args);
    TRY(cudaLaunchKernelEx(&config, solo_kernel, memory, shape.blocks, seams));
}

#endif
