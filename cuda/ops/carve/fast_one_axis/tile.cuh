// SPDX-License-Identifier: Apache-2.0
/* tile.cuh - costs and parents of up to 16 rows of a tile, by one warp, without any exchange.
 *
 * Used by:  band.cuh; the ladder of tests/bench/kernels.
 * Limits:   costs of half an image below TILE_COST_MAX, with masks below KEY_CAP.
 *
 * How it works: a lane has 4 columns, a tile 128; the 16 outermost on either side are spoilt, since
 * each row spoils one more column at each end. While the minimum is taken, costs are kept times 16
 * with the neighbour's number in the low bits, so that one comparison finds cost and parent, and
 * the smallest column wins a tie. Outside the image costs only have to be larger than at the
 * border: a path that leaves the image costs more than one that stays on the border column for as
 * long, since energy_outside() is more than any pixel's energy. So no cost or parent inside ever
 * comes from there.
 */
#ifndef BURIN_CARVE_FAST_ONE_AXIS_TILE_CUH
#define BURIN_CARVE_FAST_ONE_AXIS_TILE_CUH

#include "cuda/ops/carve/fast_one_axis/args.cuh"

enum { TILE_OWN = 96, TILE_HALO = 16, TILE_COLUMNS = TILE_OWN + 2 * TILE_HALO };

/* More than any path's cost in a search that is accepted; times 16, with 16 rows outside the image
 * added, it stays below 2^32. */
static const uint32_t TILE_FAR = (1u << 28) - (1u << 21);
/* Limit of the costs of half an image. */
static const uint32_t TILE_COST_MAX = TILE_FAR - (1u << 21);

/* A lane's part. parents: 4 bits for two rows, the first two lowest: the second row's parent (0
 * left, 1 same, 2 right) in the upper two bits, that parent's own parent in the lower two. */
struct tile {
    uint32_t cost[4], parents[4]; /* cost times 16 */
};

/* With masks: costs are keys times 4, since more bits are not free, and `parents` has two bits for
 * each row, of the column itself. */
struct key_tile : tile {
    uint32_t weights;
    uint32_t cap; /* 4 KEY_CAP + 1; left of the image more, so that no cost comes from there */
};

DEVICE struct tile tile_make(const struct axis_args &, int) {
    return {};
}

DEVICE struct key_tile tile_make(const struct masked_args &args, int x) {
    return { {}, args.weights, 4 * (KEY_CAP + (x < 0)) + 1 };
}

DEVICE int tile_column(uint32_t number) {
    return (int)(number * TILE_OWN) - TILE_HALO + 4 * (int)(thread_index() % 32);
}

/* Rows of a step are counted so that the last row is odd; if their number is odd there is no row
 * 0. */
DEVICE uint32_t odd_of(uint32_t rows) {
    return rows & 1;
}

/* Energies of a tile's rows, loaded before their costs are known. Missing ones are 0, since
 * registers that are written only at times count as in use throughout the loops around; to fetch
 * any row in their place is slower (2 to 29 % of a seam). */
DEVICE void tile_energies(uint2 (&energies)[STEP_ROWS], const struct axis_args &args, int half,
                          uint32_t step, int x) {
    const uint32_t rows = step_rows(args.halves[half], step), odd = odd_of(rows);
    const uint16_t *row = half_energies(args, half, step * STEP_ROWS) + x;
#pragma unroll
    for (uint32_t v = 0; v < STEP_ROWS; v++) {
        energies[v] = make_uint2(0, 0);
        if (v >= odd && v < rows + odd) {
            energies[v] = *(const uint2 *)row;
            row += args.energy_stride;
        }
    }
}

template <class ARGS>
DEVICE void tile_costs(struct tile &tile, const ARGS &args, int half, uint32_t step, uint32_t seam,
                       int x) {
    const int width = (int)(args.width - seam);
    const uint32_t far = ARGS::masked ? ~0u : COST_FAR;
    const bool inside = x >= 0 && x < width;
    if (step == 0) {
#pragma unroll
        for (int k = 0; k < 4; k++)
            tile.cost[k] = x + k >= 0 && x + k < width ? 0 : ARGS::masked ? 4 * far : 4 * COST_FAR;
        return;
    }
    const uint32_t *from = cost_row(args, half, step) + x, tag = seam_tag(seam);
    uint4 words = make_uint4(far, far, far, far);
    bool here = !inside;
    for (uint32_t spins = 0; !__all_sync(~0u, here); spins++) {
        if (!here) words = load_relaxed4(from);
        here = !inside || have_tag(words, tag);
        if (spins == SPIN_LIMIT) SPIN_STUCK(STUCK_COSTS);
    }
    if constexpr (ARGS::masked) { /* the tag leaves at the top */
        tile.cost[0] = 4 * words.x, tile.cost[1] = 4 * words.y;
        tile.cost[2] = 4 * words.z, tile.cost[3] = 4 * words.w;
        return;
    }
    const uint32_t mask = (1u << 30) - 1;
    tile.cost[0] = 16 * min(words.x & mask, TILE_FAR);
    tile.cost[1] = 16 * min(words.y & mask, TILE_FAR);
    tile.cost[2] = 16 * min(words.z & mask, TILE_FAR);
    tile.cost[3] = 16 * min(words.w & mask, TILE_FAR);
}

/* One row: the minimum of three, in which multiples of MARK distinguish the neighbours, plus the
 * energy. With MARK 4, the second of two rows, the marks of both are saved as parents and
 * removed. */
template <uint32_t MARK> DEVICE void tile_row(struct tile &tile, uint2 energies) {
    const uint32_t left = __shfl_up_sync(~0u, tile.cost[3], 1);
    const uint32_t right = __shfl_down_sync(~0u, tile.cost[0], 1);
    const uint32_t beside[] = {
        left, tile.cost[0], tile.cost[1], tile.cost[2], tile.cost[3], right
    };
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const uint32_t pair = k < 2 ? energies.x : energies.y;
        uint32_t least = __viaddmin_u32(beside[k + 1], MARK, beside[k]);
        least = __viaddmin_u32(beside[k + 2], 2 * MARK, least);
        if (MARK == 4) {
            tile.parents[k] = __funnelshift_r(tile.parents[k], least, 4);
            least &= ~15u;
        }
        /* The low or the high half of the pair, times 16. */
        tile.cost[k] = __dp2a_lo(pair, k % 2 ? 0x1000u : 0x10u, least);
    }
}

/* With masks every row is alike. */
template <uint32_t MARK> DEVICE void tile_row(struct key_tile &tile, uint2 energies) {
    const uint32_t left = __shfl_up_sync(~0u, tile.cost[3], 1);
    const uint32_t right = __shfl_down_sync(~0u, tile.cost[0], 1);
    const uint32_t beside[] = {
        left, tile.cost[0], tile.cost[1], tile.cost[2], tile.cost[3], right
    };
    const uint2 two = key_pair(energies.x, tile.weights), more = key_pair(energies.y, tile.weights);
    const uint32_t keys[] = { two.x, two.y, more.x, more.y };
#pragma unroll
    for (int k = 0; k < 4; k++) {
        uint32_t least = __viaddmin_u32(beside[k + 1], 1, beside[k]);
        least = __viaddmin_u32(beside[k + 2], 2, least);
        least = min(least, tile.cap - 4 * keys[k]);
        tile.parents[k] = __funnelshift_r(tile.parents[k], least, 2);
        tile.cost[k] = 4 * keys[k] + (least & ~3u);
    }
}

template <class TILE>
DEVICE void tile_rows(TILE &tile, const uint2 (&energies)[STEP_ROWS], uint32_t rows) {
    const uint32_t odd = odd_of(rows);
#pragma unroll
    for (uint32_t v = 0; v < STEP_ROWS; v += 2) {
        if (v >= rows + odd) break;
        if (v || !odd) tile_row<1>(tile, energies[v]);
        tile_row<4>(tile, energies[v + 1]);
    }
#pragma unroll
    for (int k = 0; k < 4; k++) tile.parents[k] >>= 4 * ((STEP_ROWS - rows) / 2);
}

DEVICE bool tile_owns() {
    const uint32_t lane = thread_index() % 32;
    return lane >= TILE_HALO / 4 && lane < 32 - TILE_HALO / 4;
}

/* The lower part of PAIR, which is that of column AT or, without masks, of the one below it. */
template <bool MASKED>
DEVICE uint32_t lower_parent(uint32_t pair, const uint32_t *parents, uint32_t at, int n) {
    return (MASKED ? parents[at] >> (4 * n) : pair) & 3;
}

/* From columns AT in the step's last row to the row before its first. PARENTS: of this step. The
 * image's first row has no parents. */
template <bool MASKED = false, int COUNT>
DEVICE void walk_step(uint32_t (&at)[COUNT], const uint32_t *parents, uint32_t rows,
                      uint32_t step) {
    const uint32_t odd = odd_of(rows), in_first = 2 - odd - (step == 0);
#pragma unroll 1
    for (int n = (int)(rows + odd) / 2 - 1; n > 0; n--) {
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            const uint32_t pair = parents[at[k]] >> (4 * n);
            const uint32_t above = (pair >> 2 & 3) - 1;
            at[k] += (pair >> 2 & 3) + lower_parent<MASKED>(pair, parents, at[k] + above, n) - 2;
        }
    }
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        const uint32_t pair = parents[at[k]];
        if (in_first >= 1) at[k] += (pair >> 2 & 3) - 1;
        if (in_first == 2) at[k] += lower_parent<MASKED>(pair, parents, at[k], 0) - 1;
    }
}

/* The columns of all rows of a step, in the order of its rows, from that of the last one. */
template <bool MASKED = false, class Column>
DEVICE void walk_rows(uint32_t x, const uint32_t *parents, uint32_t rows, Column *columns) {
    const int odd = (int)odd_of(rows);
#pragma unroll 1
    for (int n = ((int)rows + odd) / 2 - 1; n >= 0; n--) {
        const uint32_t pair = parents[x] >> (4 * n), above = x + (pair >> 2 & 3) - 1;
        columns[2 * n + 1 - odd] = (Column)x;
        if (2 * n - odd >= 0) columns[2 * n - odd] = (Column)above;
        x = above + lower_parent<MASKED>(pair, parents, above, n) - 1;
    }
}

#endif
