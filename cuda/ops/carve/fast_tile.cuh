// SPDX-License-Identifier: Apache-2.0
/* fast_tile.cuh - costs and parents of up to 16 rows of a tile, by one warp, nothing exchanged.
 *
 * A lane has 4 columns, a tile 128, of which 16 on either side are only there to be used up: a row
 * spoils one more column at each end. Costs are kept times 4 with the neighbour's number in the low
 * bits while the least is taken, so that one comparison finds cost and parent, and the smallest
 * column wins a tie.
 * Outside the image costs only have to be larger than at the border: a path that leaves the image
 * is dearer than one that stays on the border column for as long, since FAST_OUTSIDE is more than
 * any pixel's energy. So neither costs nor parents inside ever come from there.
 */
#ifndef BURIN_CARVE_FAST_TILE_CUH
#define BURIN_CARVE_FAST_TILE_CUH

#include "cuda/ops/carve/fast_job.cuh"

enum { TILE_OWN = 96, TILE_HALO = 16 };

/* A lane's part. parents: 2 bits a row, the first row lowest: 0 left, 1 same, 2 right. */
struct tile {
    uint32_t cost[4], parents[4]; /* cost times 4 */
};

static __device__ __forceinline__ int tile_column(uint32_t number) {
    return (int)(number * TILE_OWN) - TILE_HALO + 4 * (int)(threadIdx.x % 32);
}

/* Energies of a tile's rows, before anybody knows the costs that they are to be added to. */
static __device__ __forceinline__ void tile_energies(uint2 (&energies)[FAST_STEP],
                                                     const struct fast_job &job, int half,
                                                     uint32_t step, int x) {
    const uint32_t rows = step_rows(job.halves[half], step);
#pragma unroll
    for (uint32_t r = 0; r < FAST_STEP; r++)
        if (r < rows)
            energies[r] =
                *(const uint2 *)(energy_row(job, fast_row(job, half, step * FAST_STEP + r)) + x);
}

/* Costs of the row before the step, waited for. */
static __device__ __forceinline__ void tile_costs(struct tile &tile, const struct fast_job &job,
                                                  int half, uint32_t step, uint32_t seam, int x) {
    const int width = (int)(job.width - seam);
    const bool inside = x >= 0 && x < width;
    if (step == 0) {
#pragma unroll
        for (int k = 0; k < 4; k++) tile.cost[k] = x + k >= 0 && x + k < width ? 0 : 4 * FAST_FAR;
        return;
    }
    const uint32_t *from = cost_row(job, half, step) + x, tag = fast_tag(seam);
    uint4 words = make_uint4(FAST_FAR, FAST_FAR, FAST_FAR, FAST_FAR);
    bool here = !inside;
    for (uint32_t spins = 0; !__all_sync(~0u, here); spins++) {
        if (!here) words = load_words(from);
        here = !inside || tagged(words, tag);
        if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_COSTS);
    }
    tile.cost[0] = words.x << 2, tile.cost[1] = words.y << 2;
    tile.cost[2] = words.z << 2, tile.cost[3] = words.w << 2;
}

/* One row: the least of three with its number, into parents; energy added. */
static __device__ __forceinline__ void tile_row(struct tile &tile, uint2 energies) {
    const uint32_t left = __shfl_up_sync(~0u, tile.cost[3], 1);
    const uint32_t right = __shfl_down_sync(~0u, tile.cost[0], 1);
    const uint32_t least[] = { __vimin3_u32(left, tile.cost[0] + 1, tile.cost[1] + 2),
                               __vimin3_u32(tile.cost[0], tile.cost[1] + 1, tile.cost[2] + 2),
                               __vimin3_u32(tile.cost[1], tile.cost[2] + 1, tile.cost[3] + 2),
                               __vimin3_u32(tile.cost[2], tile.cost[3] + 1, right + 2) };
#pragma unroll
    for (int k = 0; k < 4; k++) {
        tile.parents[k] = __funnelshift_r(tile.parents[k], least[k], 2);
        /* The low or the high half of the pair times 4. */
        tile.cost[k] =
            __dp2a_lo(k < 2 ? energies.x : energies.y, k % 2 ? 0x400u : 4u, least[k] & ~3u);
    }
}

static __device__ __forceinline__ void
tile_rows(struct tile &tile, const uint2 (&energies)[FAST_STEP], uint32_t rows) {
#pragma unroll
    for (uint32_t r = 0; r < FAST_STEP; r++)
        if (r < rows) tile_row(tile, energies[r]);
#pragma unroll
    for (int k = 0; k < 4; k++)
        tile.parents[k] = rows ? tile.parents[k] >> (2 * (FAST_STEP - rows)) : 0;
}

/* The lanes whose columns are right in the end. */
static __device__ __forceinline__ bool tile_owns() {
    const uint32_t lane = threadIdx.x % 32;
    return lane >= TILE_HALO / 4 && lane < 32 - TILE_HALO / 4;
}

/* From columns AT in the step's last row to the row before its first. PARENTS: of this step. */
template <int COUNT>
static __device__ __forceinline__ void walk_step(uint32_t (&at)[COUNT], const uint32_t *parents,
                                                 uint32_t rows, uint32_t step) {
    const int first = step == 0; /* the image's first row has no parents */
#pragma unroll 4
    for (int r = (int)rows - 1; r >= first; r--) {
#pragma unroll
        for (int k = 0; k < COUNT; k++) at[k] += (parents[at[k]] >> (2 * r) & 3) - 1;
    }
}

#endif
