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
    CLUSTER_TILES = FAST_THREADS / 32 / 2, /* of a block: a warp goes ahead, one follows */
    CLUSTER_COLUMNS = CLUSTER_TILES * TILE_OWN,
};

/* All in turn, by the number of the step. */
struct __align__(16) cluster_memory {
    uint32_t costs[2][TILE_HALO + CLUSTER_COLUMNS + TILE_HALO]; /* before the step */
    uint32_t parents[2][CLUSTER_TILES][TILE_COLUMNS];           /* as struct tile has them */
};

/* A warp's part of a search. Steps are counted through both halves. */
struct cluster_part {
    struct crew crew; /* the cluster */
    uint32_t seam, width, steps;
    uint32_t columns;   /* a block's own */
    uint32_t warp, all; /* of the block's tiles; tiles of a row */
    uint32_t number;    /* the tile, of the row's */
    bool ahead;
};

static __device__ __forceinline__ struct cluster_part part_of(const struct fast_job &job,
                                                              struct crew crew, uint32_t seam) {
    const uint32_t width = job.width - seam, all = (width + TILE_OWN - 1) / TILE_OWN;
    const uint32_t each = (all + crew.blocks - 1) / crew.blocks, warp = fast_thread() / 32;
    struct cluster_part part = { crew, seam, width, job.halves[0].steps + job.halves[1].steps };
    part.columns = each * TILE_OWN;
    part.ahead = warp < CLUSTER_TILES;
    part.warp = part.ahead ? warp : warp - CLUSTER_TILES;
    part.number = crew.block * each + part.warp;
    part.all = part.warp < each ? all : 0; /* warps beyond the block's tiles have none */
    return part;
}

static __device__ __forceinline__ int half_of(const struct fast_job &job, uint32_t n) {
    return n >= job.halves[0].steps;
}

static __device__ __forceinline__ uint32_t step_of(const struct fast_job &job, uint32_t n) {
    return half_of(job, n) ? n - job.halves[0].steps : n;
}

/* ---- ahead: costs */

/* Costs of the row before the step, out of the block's own memory. COSTS: those of its column 0. */
static __device__ __forceinline__ void
part_costs(struct tile &tile, const struct cluster_part &part, const uint32_t *costs, int x) {
    uint4 words = make_uint4(FAST_FAR, FAST_FAR, FAST_FAR, FAST_FAR);
    if (x >= 0 && x < (int)part.width)
        words = *(const uint4 *)(costs + x - (int)(part.crew.block * part.columns));
    tile.cost[0] = 16 * min(words.x, TILE_FAR);
    tile.cost[1] = 16 * min(words.y, TILE_FAR);
    tile.cost[2] = 16 * min(words.z, TILE_FAR);
    tile.cost[3] = 16 * min(words.w, TILE_FAR);
}

/* WORDS of the columns from X on, for the block itself and as the halo of the one beside it, which
 * lies as far from that one's own columns as from these. */
static __device__ __forceinline__ void part_tell(const struct cluster_part &part, uint32_t *costs,
                                                 int x, uint4 words) {
    const int at = x - (int)(part.crew.block * part.columns), end = (int)part.columns;
    *(uint4 *)(costs + at) = words;
    if (at < TILE_HALO && part.crew.block > 0)
        push_shared(address_there(shared_address(costs + at + end), part.crew.block - 1), words);
    if (at >= end - TILE_HALO && part.crew.block + 1 < part.crew.blocks)
        push_shared(address_there(shared_address(costs + at - end), part.crew.block + 1), words);
}

/* The rows of step N. The last row of a half goes where the halves meet. */
static __device__ __forceinline__ void part_rows(const struct rung_memory &memory,
                                                 const struct cluster_part &part,
                                                 struct cluster_memory &shared, uint32_t n,
                                                 const uint2 (&energies)[FAST_STEP]) {
    const struct fast_job &job = memory.job;
    const int half = half_of(job, n), x = tile_column(part.number);
    const uint32_t step = step_of(job, n), lane = fast_thread() % 32;
    struct tile tile = {};
    if (step == 0)
        tile_costs(tile, job, half, 0, part.seam, x);
    else
        part_costs(tile, part, shared.costs[n % 2] + TILE_HALO, x);
    tile_rows(tile, energies, step_rows(job.halves[half], step));
    *(uint4 *)(shared.parents[n % 2][part.warp] + 4 * lane) =
        make_uint4(tile.parents[0], tile.parents[1], tile.parents[2], tile.parents[3]);
    if (!tile_owns()) return;
    const uint32_t tag = fast_tag(part.seam) << 30;
    const uint4 words =
        make_uint4(tile.cost[0] >> 4, tile.cost[1] >> 4, tile.cost[2] >> 4, tile.cost[3] >> 4);
    part_tell(part, shared.costs[(n + 1) % 2] + TILE_HALO, x, words);
    if (step + 1 == job.halves[half].steps && x < (int)part.width)
        store_words(cost_row(job, half, step + 1) + x,
                    make_uint4(words.x | tag, words.y | tag, words.z | tag, words.w | tag));
}

/* Whole warps, the blocks of a cluster: what any of them wrote before is there for all. */
static __device__ __forceinline__ void cluster_meet() {
    __syncwarp(); /* the barrier's instruction is the whole warp's */
    cluster_barrier();
}

/* Energies of a step are fetched before the barrier that it waits for. */
static __device__ __forceinline__ void part_lead(const struct rung_memory &memory,
                                                 const struct cluster_part &part,
                                                 struct cluster_memory &shared) {
    const struct fast_job &job = memory.job;
    const bool works = part.number < part.all;
    uint2 energies[FAST_STEP];
#pragma unroll 1
    for (uint32_t n = 0; n <= part.steps; n++) {
        if (works && n) part_rows(memory, part, shared, n - 1, energies);
        if (works && n < part.steps)
            tile_energies(energies, job, half_of(job, n), step_of(job, n),
                          tile_column(part.number));
        cluster_meet();
    }
}

/* ---- behind: parents and jumps */

/* A tile's parents are enough for its own columns: a path of 16 rows stays within the halo. */
static __device__ __forceinline__ void part_jumps(const struct rung_memory &memory,
                                                  const struct cluster_part &part,
                                                  const uint32_t *parents, uint32_t n) {
    const struct fast_job &job = memory.job;
    const int half = half_of(job, n);
    const uint32_t step = step_of(job, n), band = job.halves[half].first_band + step;
    const uint32_t lane = fast_thread() % 32, first = part.number * TILE_OWN;
    if (tile_owns())
        *(uint4 *)(step_parents(memory, half, step) + tile_column(part.number)) =
            *(const uint4 *)(parents + 4 * lane);
    uint32_t at[TILE_OWN / 32];
    for (uint32_t k = 0; k < TILE_OWN / 32; k++) at[k] = TILE_HALO + 32 * k + lane;
    walk_step(at, parents, step_rows(job.halves[half], step), step);
    for (uint32_t k = 0; k < TILE_OWN / 32; k++) {
        const uint32_t x = first + 32 * k + lane;
        if (x < part.width)
            job.jumps[(uint64_t)band * job.jump_stride + x] =
                (part.seam + 1) << 16 | (first + at[k] - TILE_HALO);
    }
}

static __device__ __forceinline__ void part_follow(const struct rung_memory &memory,
                                                   const struct cluster_part &part,
                                                   struct cluster_memory &shared) {
    const bool works = part.number < part.all;
#pragma unroll 1
    for (uint32_t n = 0; n <= part.steps; n++) {
        if (works && n > 1) part_jumps(memory, part, shared.parents[n % 2][part.warp], n - 2);
        cluster_meet();
    }
    if (works)
        part_jumps(memory, part, shared.parents[(part.steps - 1) % 2][part.warp], part.steps - 1);
}

/* ---- the rung */

/* CREW, a cluster: from the energies to the seam's column at every 16th row. */
static __device__ void cluster_search(const struct rung_memory &memory, struct crew crew,
                                      uint32_t seam) {
    __shared__ struct cluster_memory shared;
    const struct cluster_part part = part_of(memory.job, crew, seam);
    if (part.ahead)
        part_lead(memory, part, shared);
    else
        part_follow(memory, part, shared);
    cluster_meet();
    tiles_resolve(memory, crew, seam);
}

/* Everyone: all blocks have come to the meeting that is ROUND's. */
static __device__ void grid_meet(uint64_t *meeting, uint32_t &round) {
    round++;
    __syncthreads();
    if (threadIdx.x == 0) {
        raise(meeting, 1);
        while (look(meeting) < (uint64_t)round * gridDim.x) nap(20);
    }
    __syncthreads();
}

static __global__ void __launch_bounds__(FAST_THREADS, 1)
    cluster_kernel(const __grid_constant__ struct rung_memory memory, uint32_t cluster,
                   uint32_t seams) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    uint32_t round = 0;
    for (uint32_t s = 0; s < seams; s++) {
        if (blockIdx.x < cluster) cluster_search(memory, { blockIdx.x, cluster }, s);
        grid_meet(memory.meeting, round);
        tiles_remove(memory, everyone(), s);
        grid_meet(memory.meeting, round);
        tiles_renew(memory, everyone(), s);
        grid_meet(memory.meeting, round);
    }
#endif
}

/* ---- host */

struct cluster_shape {
    uint32_t blocks, clusters; /* of a cluster; that run at once */
};

static cudaLaunchConfig_t cluster_launch(const struct cluster_shape &shape,
                                         cudaLaunchAttribute (&attributes)[2],
                                         cudaStream_t stream) {
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(shape.blocks * shape.clusters);
    config.blockDim = dim3(FAST_THREADS);
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

/* The largest clusters of KERNEL of which the present device runs so many at once; false where it
 * has none that hold a row of WIDEST columns. Each half has a resolver: two blocks at least. */
static bool cluster_shape_make(struct cluster_shape &shape, const void *kernel, uint32_t clusters,
                               uint32_t widest) {
    struct cudaFuncAttributes facts;
    /* Made from the code of an older generation the kernel is empty. */
    if (cudaFuncGetAttributes(&facts, kernel) != cudaSuccess || facts.ptxVersion < 90) return false;
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1))
        return false;
    for (uint32_t blocks = FAST_CLUSTER_MAX; blocks > 1; blocks /= 2) {
        cudaLaunchAttribute attributes[2];
        int most = 0;
        shape = { blocks, 1 };
        cudaLaunchConfig_t config = cluster_launch(shape, attributes, 0);
        config.numAttrs = 1;
        if (cudaOccupancyMaxActiveClusters(&most, kernel, &config) != cudaSuccess) most = 0;
        cudaGetLastError(); /* a size that the device does not know */
        shape.clusters = (uint32_t)most;
        if (shape.clusters >= clusters) return blocks * CLUSTER_COLUMNS >= widest;
    }
    return false;
}

[[maybe_unused]] static bool rung_cluster_fits(const struct rung_memory &memory) {
    struct cluster_shape shape;
    return cluster_shape_make(shape, (const void *)cluster_kernel, 1, memory.job.width);
}

[[maybe_unused]] static void rung_cluster(const struct rung_memory &memory, uint32_t seams) {
    struct cluster_shape shape;
    cudaLaunchAttribute attributes[2];
    if (!cluster_shape_make(shape, (const void *)cluster_kernel, 1, memory.job.width)) exit(1);
    const cudaLaunchConfig_t config = cluster_launch(shape, attributes, memory.stream);
    TRY(cudaMemsetAsync(memory.meeting, 0, 8, memory.stream));
    carve_fast_energy<<<memory.blocks * 8, 256, 0, memory.stream>>>(memory.job);
    TRY(cudaLaunchKernelEx(&config, cluster_kernel, memory, shape.blocks, seams));
}

#endif
