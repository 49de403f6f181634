// SPDX-License-Identifier: Apache-2.0
/* traceback.cuh - the any-GPU method: from the costs to the seam.
 *
 * Used by:  any_gpu.cuh.
 *
 * How it works: sweepers run the bands from both ends to the middle and record only edges, so that
 * the chain of bands is as short as it can be. Mappers run the same bands behind them and record
 * for every column at a band's far edge its source at the near edge. Then the least total at the
 * middle is known, a seam jumps from band to band through the maps, and every band is run again
 * around the seam's column alone, all bands at the same time, to find each line's pixel.
 */
#ifndef BURIN_CARVE_ANY_GPU_TRACEBACK_CUH
#define BURIN_CARVE_ANY_GPU_TRACEBACK_CUH

#include "cuda/ops/carve/any_gpu/bands.cuh"

enum { MAPPERS = 2 }; /* warps that share the maps of a tile's half */

DEVICE uint32_t tiles_of(const struct cell_plane &plane) {
    return (plane.columns + WINDOW_OWN - 1) / WINDOW_OWN;
}

DEVICE struct window tile_window(const struct cell_plane &plane, uint32_t tile) {
    return window_at((int)(tile * WINDOW_OWN) - BAND, plane.columns);
}

/* Whether the lane's columns belong to the tile, and not to its neighbours. */
DEVICE bool owns_columns(const struct window &window) {
    const unsigned lane = threadIdx.x % 32;
    return lane >= BAND / LANE_COLUMNS && lane < (BAND + WINDOW_OWN) / LANE_COLUMNS && window.used;
}

DEVICE void load_cells(band_cells &cells, const struct cell_plane &plane,
                       const struct band_range &range, const struct window &window) {
    if (plane.turned)
        load_turned(cells, plane, range, window);
    else
        load_rows(cells, plane, range, window);
}

/* Band I of a half, by a sweeper (COSTS) or a mapper (SOURCES) of TILE. */
template <class COST, int NOTES>
DEVICE void run_band(const struct cell_plane &plane, const struct axis_memory &memory, int half,
                     uint32_t i, uint32_t tile, uint32_t tag) {
    const struct band_range range = range_of(plane.lines, half, i);
    const struct window window = tile_window(plane, tile);
    band_cells cells;
    COST costs[LANE_COLUMNS];
    uint32_t sources[LANE_COLUMNS];
    load_cells(cells, plane, range, window);
    costs_before(costs, memory, range, window, tag);
#pragma unroll
    for (int k = 0; k < LANE_COLUMNS; k++) sources[k] = LANE_COLUMNS * (threadIdx.x % 32) + k;
    sweep_band<COST, NOTES>(costs, sources, cells, range, window);
    if (!owns_columns(window)) return;
    if (NOTES == COSTS) {
        publish_edge(costs, memory, range.slot, window.column, tag);
    } else {
        uint32_t entry[LANE_COLUMNS];
#pragma unroll
        for (int k = 0; k < LANE_COLUMNS; k++) entry[k] = tag << 8 | sources[k];
        const size_t at = (size_t)range.slot * memory.stride + window.column;
        store_relaxed_pair((uint64_t *)(memory.maps + at), (uint64_t)entry[1] << 32 | entry[0],
                           (uint64_t)entry[3] << 32 | entry[2]);
    }
}

/* ---- the least total at the middle */

template <class COST> struct candidate {
    COST total;
    uint32_t column;
};

template <class COST>
DEVICE void take_better(struct candidate<COST> &candidate, COST total, uint32_t column) {
    if (total > candidate.total || (total == candidate.total && column >= candidate.column)) return;
    candidate.total = total;
    candidate.column = column;
}

/* The warp's best, leftmost of equals, in every lane. */
template <class COST> DEVICE void take_best(struct candidate<COST> &candidate) {
#pragma unroll
    for (int step = 16; step; step /= 2) {
        const COST total = __shfl_xor_sync(~0u, candidate.total, step);
        const uint32_t column = __shfl_xor_sync(~0u, candidate.column, step);
        take_better(candidate, total, column);
    }
}

/* Slot of the last band from the end, whose edge is the line after the middle. */
DEVICE uint32_t last_slot(uint32_t lines, int half) {
    return range_of(lines, half, bands_of(lines, half) - 1).slot;
}

template <class COST>
DEVICE void publish_best(const struct cell_plane &plane, const struct axis_memory &memory,
                         uint32_t tile, uint32_t tag) {
    const struct window window = tile_window(plane, tile);
    COST start[LANE_COLUMNS], end[LANE_COLUMNS + 2] = {}, costs[LANE_COLUMNS] = {};
    wait_edge(start, memory, (int)last_slot(plane.lines, FROM_START), window, tag);
    if (bands_of(plane.lines, FROM_END)) {
        wait_edge(costs, memory, (int)last_slot(plane.lines, FROM_END), window, tag);
#pragma unroll
        for (int i = 0; i < LANE_COLUMNS; i++) end[i + 1] = window.outside[i] ? ~(COST)0 : costs[i];
        end[0] = __shfl_up_sync(~0u, end[LANE_COLUMNS], 1);
        end[LANE_COLUMNS + 1] = __shfl_down_sync(~0u, end[1], 1);
    }
    struct candidate<COST> candidate = {
        ~(COST)0, UINT32_MAX
    };
#pragma unroll
    for (int i = 0; i < LANE_COLUMNS; i++)
        if (owns_columns(window) && !window.outside[i])
            take_better(candidate, start[i] + least(end[i], end[i + 1], end[i + 2]),
                        (uint32_t)window.column + i);
    take_best(candidate);
    if (threadIdx.x % 32) return;
    uint64_t *const best = memory.best + 4 * (size_t)tile;
    store_relaxed_pair(best, tagged((uint32_t)candidate.total, tag),
                       tagged((uint32_t)((uint64_t)candidate.total >> 32), tag));
    store_relaxed_pair(best + 2, tagged(candidate.column, tag), 0);
}

/* The best of all tiles, in every lane of the calling warp. */
template <class COST>
DEVICE struct candidate<COST> wait_best(const struct cell_plane &plane,
                                        const struct axis_memory &memory, uint32_t tag) {
    struct candidate<COST> candidate = {
        ~(COST)0, UINT32_MAX
    };
    for (uint32_t tile = threadIdx.x % 32; tile < tiles_of(plane); tile += 32) {
        const uint64_t *const best = memory.best + 4 * (size_t)tile;
        ulonglong2 total, column;
        spin_until(STUCK_BEST, [&] {
            total = load_relaxed_pair(best);
            column = load_relaxed_pair(best + 2);
            if (total.x >> 32 == tag && total.y >> 32 == tag && column.x >> 32 == tag) return true;
            __nanosleep(20);
            return false;
        });
        take_better(candidate, (COST)(total.y << 32 | (uint32_t)total.x), (uint32_t)column.x);
    }
    __syncwarp();
    take_best(candidate);
    return candidate;
}

/* ---- the way back */

/* For the seam that crosses the middle in COLUMN: the column in which it crosses the far edge of
 * band I. */
template <class COST>
DEVICE uint32_t jump_bands(const struct cell_plane &plane, const struct axis_memory &memory,
                           int half, uint32_t i, uint32_t column, uint32_t tag) {
    uint32_t band = bands_of(plane.lines, half) - 1;
    if (half == FROM_END) { /* the first step is from line to line */
        const uint32_t slot = last_slot(plane.lines, half), middle = column;
        COST cheapest = cost_at<COST>(memory, slot, (int)middle, tag);
        if (middle + 1 < plane.columns) {
            const COST right = cost_at<COST>(memory, slot, (int)middle + 1, tag);
            if (right < cheapest) cheapest = right, column = middle + 1;
        }
        if (middle && cost_at<COST>(memory, slot, (int)middle - 1, tag) <= cheapest)
            column = middle - 1;
    }
    for (; band > i; band--) {
        const uint32_t slot = range_of(plane.lines, half, band).slot;
        const uint32_t *const entry = memory.maps + (size_t)slot * memory.stride + column;
        uint32_t source;
        spin_until(STUCK_MAP, [&] { return (source = load_relaxed(entry)) >> 8 == tag; });
        column = column / WINDOW_OWN * WINDOW_OWN + (source & 0xff) - BAND;
    }
    return column;
}

/* Returns in lane k the seam's column at step k of a band whose far edge it crosses in COLUMN. */
template <class COST>
DEVICE uint32_t walk_band(const struct cell_plane &plane, const struct axis_memory &memory,
                          const struct band_range &range, uint32_t column, uint32_t tag) {
    const int start = (int)(column / LANE_COLUMNS * LANE_COLUMNS) - WINDOW / 2;
    const struct window window = window_at(start, plane.columns);
    band_cells cells;
    COST costs[LANE_COLUMNS];
    uint32_t turns[BAND / 4] = {}, own = 0;
    load_cells(cells, plane, range, window);
    costs_before(costs, memory, range, window, tag);
    sweep_band<COST, TURNS>(costs, turns, cells, range, window);
#pragma unroll
    for (int k = BAND - 1; k >= 0; k--) {
        if (k < range.first || k >= range.last) continue;
        if (threadIdx.x % 32 == k) own = column;
        const uint32_t of_four =
            __shfl_sync(~0u, turns[k / 4], ((int)column - start) / LANE_COLUMNS);
        column += (of_four >> (8 * (k % 4) + 2 * (column % LANE_COLUMNS)) & 3) - 1;
    }
    return own;
}

/* Follows the seam through band I of a half and publishes its path there; TO[line] too, if not
 * NULL. */
template <class COST>
DEVICE void trace_band(const struct cell_plane &plane, const struct axis_memory &memory, int half,
                       uint32_t i, uint32_t column, uint16_t *to, uint32_t tag) {
    const struct band_range range = range_of(plane.lines, half, i);
    const int lane = threadIdx.x % 32;
    column = jump_bands<COST>(plane, memory, half, i, column, tag);
    const uint32_t own = walk_band<COST>(plane, memory, range, column, tag);
    if (lane < range.first || lane >= range.last) return;
    const uint32_t line = range.line + lane * range.step;
    store_relaxed(memory.path + line, tag << 16 | own);
    if (to) to[line] = (uint16_t)own;
}

#endif
