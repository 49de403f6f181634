// SPDX-License-Identifier: Apache-2.0
/* bands.cuh - the dynamic programme by one warp: a window of columns through a band of lines.
 *
 * Used by:  any_gpu/traceback.cuh.
 * Limits:   sides below 2^16.
 *
 * How it works: a line is a row for vertical seams, a column for horizontal ones. Bands are BAND
 * lines and start at multiples of it. A warp holds WINDOW columns, four a lane. At the band's far
 * edge the BAND outermost columns on either side are spoilt by unknown neighbours, and the
 * WINDOW_OWN in the middle are right (a trapezoid): the warp's tile. So within a band no warp waits
 * for another, and between two bands only for its neighbours, whose edges are tagged words.
 */
#ifndef BURIN_CARVE_ANY_GPU_BANDS_CUH
#define BURIN_CARVE_ANY_GPU_BANDS_CUH

#include "cuda/ops/carve/tagged_words.cuh"
#include "pipeline/ops/carve/definition.h"

enum { BAND = 32, LANE_COLUMNS = 4, WINDOW = 32 * LANE_COLUMNS, WINDOW_OWN = WINDOW - 2 * BAND };
enum { FROM_START, FROM_END };

/* A pixel's word: energy in the lower 14 bits, above it what its key is made of. */
enum { CELL_ENERGY = 0x3fff, CELL_STAYS = 1 << 14, CELL_KEEP = 1 << 15 };

/* The image as seams of one direction see it. */
struct cell_plane {
    const uint16_t *cells;
    uint32_t stride; /* elements of a row of the image, a multiple of BAND */
    uint32_t columns, lines;
    bool turned; /* lines are the image's columns */
};

/* Memory of one direction; all its words are tagged. Cleared before the first step. */
struct axis_memory {
    uint64_t *edges; /* [slot][half of the cost][column] */
    uint32_t *maps;  /* [slot][column]: tag << 8 | column of the window at the near edge */
    uint64_t *best;  /* [tile][4]: lower and upper half of the total, column */
    uint32_t *path;  /* [line]: tag << 16 | column */
    uint32_t stride; /* columns of a slot, a multiple of WINDOW_OWN */
};

/* One band of one half. One row of slots serves both halves: those of the first half come first,
 * and the middle band has one of each. */
struct band_range {
    uint32_t slot;
    int near;        /* slot of the band before, or -1 */
    uint32_t line;   /* of the band's step 0 */
    int step;        /* lines from a step to the next: 1 or -1 */
    int first, last; /* the band's existing steps, of BAND: first..last-1 */
};

DEVICE uint32_t middle_line(uint32_t lines) {
    return (lines - 1) / 2;
}

DEVICE uint32_t bands_of(uint32_t lines, int half) {
    const uint32_t middle = middle_line(lines);
    if (half == FROM_START) return middle / BAND + 1;
    return middle + 1 < lines ? (lines + BAND - 1) / BAND - (middle + 1) / BAND : 0;
}

/* Band I of a half, counted from the half's start. */
DEVICE struct band_range range_of(uint32_t lines, int half, uint32_t i) {
    const uint32_t middle = middle_line(lines), all = (lines + BAND - 1) / BAND;
    if (half == FROM_START)
        return { i, (int)i - 1, BAND * i, 1, 0, (int)min((uint32_t)BAND, middle + 1 - BAND * i) };
    const uint32_t band = all - 1 - i, begin = BAND * band, end = begin + BAND;
    return { band + 1, i ? (int)band + 2 : -1,       end - 1,
             -1,       (int)(end - min(end, lines)), (int)(end - max(begin, middle + 1)) };
}

/* ---- energies of a band, in registers */

/* A lane's columns; columns 0 to columns - 1 exist. */
struct window {
    int column;
    bool used; /* the first of them exists */
    bool outside[LANE_COLUMNS];
};

DEVICE struct window window_at(int start, uint32_t columns) {
    struct window window;
    window.column = start + LANE_COLUMNS * (int)(threadIdx.x % 32);
    window.used = window.column >= 0 && window.column < (int)columns;
#pragma unroll
    for (int i = 0; i < LANE_COLUMNS; i++)
        window.outside[i] = window.column + i < 0 || window.column + i >= (int)columns;
    return window;
}

/* Step K's four words of this lane, two in each half. */
typedef uint2 band_cells[BAND];

DEVICE void load_rows(band_cells &cells, const struct cell_plane &plane,
                      const struct band_range &range, const struct window &window) {
    const uint16_t *from = plane.cells + (size_t)range.line * plane.stride + window.column;
    const ptrdiff_t step = range.step * (ptrdiff_t)plane.stride;
#pragma unroll
    for (int k = 0; k < BAND; k++) {
        cells[k] = make_uint2(0, 0);
        if (window.used && k >= range.first && k < range.last)
            cells[k] = __ldcg((const uint2 *)(from + k * step));
    }
}

DEVICE uint32_t part_of(const uint4 &vector, int part) {
    return part == 0 ? vector.x : part == 1 ? vector.y : part == 2 ? vector.z : vector.w;
}

/* Lines are the image's columns: a lane reads BAND pixels of each of its four rows and turns them
 * two by two. Backwards, vectors, words and halves change places. */
DEVICE void load_turned(band_cells &cells, const struct cell_plane &plane,
                        const struct band_range &range, const struct window &window) {
    const bool back = range.step < 0;
    const uint32_t begin = back ? range.line + 1 - BAND : range.line;
    const unsigned even = back ? 0x7632 : 0x5410, odd = back ? 0x5410 : 0x7632;
    const uint16_t *from = plane.cells + (ptrdiff_t)window.column * plane.stride + begin;
#pragma unroll
    for (int q = 0; q < BAND / 8; q++) {
        uint4 row[LANE_COLUMNS];
#pragma unroll
        for (int i = 0; i < LANE_COLUMNS; i++) {
            const uint4 *at = (const uint4 *)(from + (ptrdiff_t)i * plane.stride);
            row[i] = make_uint4(0, 0, 0, 0);
            if (!window.outside[i]) row[i] = __ldcg(at + (back ? BAND / 8 - 1 - q : q));
        }
#pragma unroll
        for (int p = 0; p < 4; p++) {
            uint32_t pair[LANE_COLUMNS];
#pragma unroll
            for (int i = 0; i < LANE_COLUMNS; i++)
                pair[i] = back ? part_of(row[i], 3 - p) : part_of(row[i], p);
            const int k = 8 * q + 2 * p;
            cells[k] = make_uint2(__byte_perm(pair[0], pair[1], even),
                                  __byte_perm(pair[2], pair[3], even));
            cells[k + 1] =
                make_uint2(__byte_perm(pair[0], pair[1], odd), __byte_perm(pair[2], pair[3], odd));
        }
    }
}

DEVICE uint32_t cell_of(const uint2 &cells, int i) {
    const uint32_t pair = i < 2 ? cells.x : cells.y;
    return i % 2 ? pair >> 16 : pair & 0xffff;
}

/* ---- edges: costs of the last line of a band */

DEVICE uint64_t *edge_at(const struct axis_memory &memory, uint32_t slot, uint32_t parts,
                         uint32_t part, int column) {
    return memory.edges + (size_t)(slot * parts + part) * memory.stride + column;
}

/* Four words of PART, once they have arrived. Called by the whole warp. */
DEVICE void wait_part(uint32_t (&halves)[LANE_COLUMNS], const uint64_t *from, bool used,
                      uint32_t tag) {
    ulonglong2 low = {}, high = {};
    spin_until(STUCK_EDGE, [&] {
        if (used) low = load_relaxed_pair(from), high = load_relaxed_pair(from + 2);
        return __all_sync(~0u, !used || (low.x >> 32 == tag && low.y >> 32 == tag &&
                                         high.x >> 32 == tag && high.y >> 32 == tag));
    });
    halves[0] = (uint32_t)low.x, halves[1] = (uint32_t)low.y;
    halves[2] = (uint32_t)high.x, halves[3] = (uint32_t)high.y;
}

DEVICE void wait_edge(uint32_t (&costs)[LANE_COLUMNS], const struct axis_memory &memory, int slot,
                      const struct window &window, uint32_t tag) {
    wait_part(costs, edge_at(memory, slot, 1, 0, window.column), window.used, tag);
}

DEVICE void wait_edge(uint64_t (&costs)[LANE_COLUMNS], const struct axis_memory &memory, int slot,
                      const struct window &window, uint32_t tag) {
    uint32_t low[LANE_COLUMNS], high[LANE_COLUMNS];
    wait_part(low, edge_at(memory, slot, 2, 0, window.column), window.used, tag);
    wait_part(high, edge_at(memory, slot, 2, 1, window.column), window.used, tag);
#pragma unroll
    for (int i = 0; i < LANE_COLUMNS; i++) costs[i] = (uint64_t)high[i] << 32 | low[i];
}

template <class COST>
DEVICE void costs_before(COST (&costs)[LANE_COLUMNS], const struct axis_memory &memory,
                         const struct band_range &range, const struct window &window,
                         uint32_t tag) {
#pragma unroll
    for (int i = 0; i < LANE_COLUMNS; i++) costs[i] = 0;
    if (range.near >= 0) wait_edge(costs, memory, range.near, window, tag);
#pragma unroll
    for (int i = 0; i < LANE_COLUMNS; i++)
        if (window.outside[i]) costs[i] = ~(COST)0;
}

DEVICE void publish_part(uint64_t *to, const uint32_t (&halves)[LANE_COLUMNS], uint32_t tag) {
    store_relaxed_pair(to, tagged(halves[0], tag), tagged(halves[1], tag));
    store_relaxed_pair(to + 2, tagged(halves[2], tag), tagged(halves[3], tag));
}

template <class COST>
DEVICE void publish_edge(const COST (&costs)[LANE_COLUMNS], const struct axis_memory &memory,
                         uint32_t slot, int column, uint32_t tag) {
    constexpr int PARTS = sizeof(COST) / 4;
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        uint32_t halves[LANE_COLUMNS];
#pragma unroll
        for (int i = 0; i < LANE_COLUMNS; i++)
            halves[i] = (uint32_t)((uint64_t)costs[i] >> 32 * part);
        publish_part(edge_at(memory, slot, PARTS, part, column), halves, tag);
    }
}

/* Returns the cost, which may have to arrive first. */
template <class COST>
DEVICE COST cost_at(const struct axis_memory &memory, uint32_t slot, int column, uint32_t tag) {
    constexpr int PARTS = sizeof(COST) / 4;
    COST cost = 0;
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        const uint64_t *at = edge_at(memory, slot, PARTS, part, column & ~1);
        uint64_t word;
        spin_until(STUCK_EDGE, [&] {
            const ulonglong2 pair = load_relaxed_pair(at);
            word = column % 2 ? pair.y : pair.x;
            return word >> 32 == tag;
        });
        cost |= (COST)(uint32_t)word << (16 * part) << (16 * part);
    }
    return cost;
}

/* ---- the sweep */

/* Records of a sweep: nothing; for every column its source at the near edge; or for every pixel
 * the neighbour it comes from, two bits each, a byte a step. */
enum { COSTS, SOURCES, TURNS };

template <class COST> DEVICE COST least(COST a, COST b, COST c) {
    return min(min(a, b), c);
}

template <class COST, int NOTES, int NOTED>
DEVICE void sweep_line(COST (&costs)[LANE_COLUMNS], uint32_t (&notes)[NOTED], const uint2 &cells,
                       int k, const struct window &window) {
    const COST before = __shfl_up_sync(~0u, costs[LANE_COLUMNS - 1], 1);
    const COST behind = __shfl_down_sync(~0u, costs[0], 1);
    uint32_t source[LANE_COLUMNS + 2], turns = 0;
    if (NOTES == SOURCES) {
        source[0] = __shfl_up_sync(~0u, notes[LANE_COLUMNS - 1], 1);
        source[LANE_COLUMNS + 1] = __shfl_down_sync(~0u, notes[0], 1);
#pragma unroll
        for (int i = 0; i < LANE_COLUMNS; i++) source[i + 1] = notes[i];
    }
    COST old[LANE_COLUMNS + 2] = { before, costs[0], costs[1], costs[2], costs[3], behind };
#pragma unroll
    for (int i = 0; i < LANE_COLUMNS; i++) {
        const COST cheapest = least(old[i], old[i + 1], old[i + 2]);
        const uint32_t cell = cell_of(cells, i);
        COST own = cell; /* an energy, or with masks a key */
        if (sizeof(COST) > 4)
            own = (COST)((uint64_t)((cell & CELL_KEEP) << 1 | (cell & CELL_STAYS) >> 14) << 32 |
                         (cell & CELL_ENERGY));
        costs[i] = window.outside[i] ? ~(COST)0 : cheapest + own;
        const int turn = old[i] == cheapest ? 0 : old[i + 1] == cheapest ? 1 : 2;
        if (NOTES == SOURCES)
            notes[i] = turn == 0 ? source[i] : turn == 1 ? source[i + 1] : source[i + 2];
        turns |= (uint32_t)turn << 2 * i;
    }
    if (NOTES == TURNS) notes[k / 4] |= turns << 8 * (k % 4);
}

/* SOURCES: notes[i] is column i's source, and keeps its value where none is found. TURNS: steps
 * 4j..4j+3 in notes[j]. Sweepers, the part that all others wait for, take whole bands without a
 * test for each line. */
template <class COST, int NOTES, int NOTED>
DEVICE void sweep_band(COST (&costs)[LANE_COLUMNS], uint32_t (&notes)[NOTED],
                       const band_cells &cells, const struct band_range &range,
                       const struct window &window) {
    if (NOTES == COSTS && range.last - range.first == BAND) {
#pragma unroll
        for (int k = 0; k < BAND; k++) sweep_line<COST, NOTES>(costs, notes, cells[k], k, window);
        return;
    }
#pragma unroll
    for (int k = 0; k < BAND; k++)
        if (k >= range.first && k < range.last)
            sweep_line<COST, NOTES>(costs, notes, cells[k], k, window);
}

#endif
