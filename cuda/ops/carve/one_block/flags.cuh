// SPDX-License-Identifier: Apache-2.0
/* flags.cuh - masks in a search of one block: two bits a pixel, and what they cost.
 *
 * Used by:  sweep.cuh and trace.cuh add the costs; kernel.cuh judges seams; flag_plane.cuh fills.
 * Limits:   MASKED_ROWS_MAX rows.
 * Source:   pipeline/ops/carve/definition.h: a path's kept pixels count first, then those that are
 *           not to be removed, then energy.
 *
 * How it works: a lane's columns of a row are one word of flags, whose gap is closed like luma's.
 * Keys have 32 bits. With one mask a flagged pixel costs more than the energy of a whole path, so
 * that keys are exact: half a path stays under COST_WALL, and two halves under 2^32. With both, a
 * pixel that stays costs that, and a kept one COST_WALL, at which costs end. So keys under
 * COST_WALL are exact, and a path has more only if it crosses a kept pixel. Where every path does,
 * the search ends as SEARCH_WALLED, and another method carves the image.
 *
 * Columns outside the image have both flags, and so cost more than any inside or COST_WALL.
 */
#ifndef BURIN_CARVE_ONE_BLOCK_FLAGS_CUH
#define BURIN_CARVE_ONE_BLOCK_FLAGS_CUH

#include "cuda/ops/carve/one_block/layout.cuh"

enum pixel_flag { FLAG_KEPT = 1, FLAG_STAYS = 2, FLAG_BITS = 2 };

enum { OUTSIDE = 0x4000 }; /* what a column outside costs a row, more than it seems to */
enum : uint32_t { COST_WALL = 0x7f000000, SEARCH_WALLED = ~0u };

HOST_DEVICE constexpr uint32_t flag_cost(uint32_t rows) {
    return GRADIENT_MAX * rows + 1;
}
static_assert((MASKED_ROWS_MAX + 1) / 2 * (flag_cost(MASKED_ROWS_MAX) + GRADIENT_MAX) < COST_WALL,
              "half a path");
static_assert((uint64_t)MASKED_ROWS_MAX * (flag_cost(MASKED_ROWS_MAX) + GRADIENT_MAX) < ~0u,
              "a path");
static_assert(2ull * COST_WALL + flag_cost(MASKED_ROWS_MAX) + GRADIENT_MAX + OUTSIDE < ~0u,
              "a sum before it is cut");

struct flag_costs {
    uint32_t kept, stays;
};

/* MASKS: those that are given. Without rmask only columns outside have FLAG_STAYS. */
DEVICE struct flag_costs flag_costs_of(uint32_t rows, uint32_t masks) {
    const uint32_t cost = flag_cost(rows);
    return { masks == FLAG_KEPT ? cost : +COST_WALL,
             masks & FLAG_STAYS ? cost : (uint32_t)OUTSIDE };
}

/* Outside the image, or behind a wall: more than half a path has by energy. */
template <search_kind KIND> HOST_DEVICE constexpr uint32_t outside_cost() {
    return KIND == MASKED ? +COST_WALL : sobel_reach(KIND) ? 1u << 27 : 1u << 22;
}
constexpr uint32_t HALF_ROWS_MAX = ONE_BLOCK_ROWS_MAX / 2 + 1;
static_assert(HALF_ROWS_MAX * GRADIENT_MAX < outside_cost<PLAIN>() &&
                  HALF_ROWS_MAX * CARVE_ENERGY_MAX < outside_cost<SOBEL5>(),
              "costs of half a path");
static_assert((block_step(4, SOBEL3) + 2ull) * outside_cost<SOBEL3>() < ~0u &&
                  HALF_ROWS_MAX * (OUTSIDE + CARVE_ENERGY_MAX + 0ull) < ~0u,
              "sums outside, in a trace and in a sweep");
static_assert(OUTSIDE > +CARVE_ENERGY_MAX && OUTSIDE + CARVE_ENERGY_MAX < 1 << 16, "sobel5");

/* The number of the row's word that has column X: the first one has those left of the image. */
template <int WORDS> HOST_DEVICE int flag_word_of(int x) {
    constexpr int COLUMNS = 4 * WORDS;
    return (x + 4 * COLUMNS) / COLUMNS - 3;
}

/* Bytes from a row's first column to its first word of flags. */
HOST_DEVICE uint32_t flags_at(const struct block_shape &shape) {
    return shape.stride - PLANE_LEFT;
}

/* Adds the pixel's costs, whose flags begin at BIT. */
DEVICE uint32_t add_flags(uint32_t cost, uint32_t flags, int bit, const struct flag_costs &costs) {
    cost = add_where(cost, costs.kept, flags, (uint32_t)FLAG_KEPT << bit);
    return add_where(cost, costs.stays, flags, (uint32_t)FLAG_STAYS << bit);
}

/* Closes the gap in the lane's word: its columns from number GAP on, perhaps negative or beyond,
 * become those right of them. */
DEVICE uint32_t close_flags(uint32_t flags, uint32_t moved, int gap) {
    const uint32_t mask = shift_left(~0u, (uint32_t)max(FLAG_BITS * gap, 0));
    return (flags & ~mask) | (moved & mask);
}

/* The word with its columns one to the left; the last one comes from the next lane. */
template <int WORDS> DEVICE uint32_t flags_right_of(uint32_t flags) {
    const uint32_t next = __shfl_down_sync(~0u, flags, 1);
    if constexpr (WORDS == 4) return __funnelshift_r(flags, next, FLAG_BITS);
    return (flags & 0xffffff) >> FLAG_BITS | next << (4 * WORDS - 1) * FLAG_BITS;
}

/* Both flags for the columns outside; the lane's first one is X. */
DEVICE uint32_t flags_outside(int x, int width) {
    return shift_left(~0u, (uint32_t)(x < 0 ? 0 : FLAG_BITS * max(width - x, 0)));
}

#endif
