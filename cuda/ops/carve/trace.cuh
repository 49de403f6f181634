// SPDX-License-Identifier: Apache-2.0
/* trace.cuh - from the costs to the seam: the roles of warps in one step, and the way back.
 *
 * Leaders run the bands from both ends to the middle and note nothing but edges, so that the chain
 * of bands is as short as it can be. Mappers run the same bands behind them and note for every
 * column at a band's far edge where it comes from at its near edge. Then the least total at the
 * middle is known, a seam jumps from band to band through the maps, and every band of it is run
 * once more around its column alone, all at the same time, to know each line's pixel.
 */
#ifndef BURIN_CARVE_TRACE_CUH
#define BURIN_CARVE_TRACE_CUH

#include "cuda/ops/carve/bands.cuh"

enum { MAPPERS = 2 }; /* warps that share the maps of a strip's half */

static __device__ __forceinline__ uint32_t strips_of(const struct field &field) {
    return (field.columns + STRIP - 1) / STRIP;
}

static __device__ __forceinline__ struct window strip_window(const struct field &field,
                                                             uint32_t strip) {
    return window_at((int)(strip * STRIP) - BAND, field.columns);
}

/* The lane's columns belong to the strip itself, not to what its neighbours know better. */
static __device__ __forceinline__ bool own_columns(const struct window &window) {
    const unsigned lane = threadIdx.x % 32;
    return lane >= BAND / HELD && lane < (BAND + STRIP) / HELD && window.used;
}

static __device__ __forceinline__ void load_words(band_words &words, const struct field &field,
                                                  const struct stretch &stretch,
                                                  const struct window &window) {
    if (field.turned)
        load_turned(words, field, stretch, window);
    else
        load_rows(words, field, stretch, window);
}

static __device__ __forceinline__ void tell_map(const uint32_t (&sources)[HELD],
                                                const struct way &way, uint32_t slot, int column,
                                                uint32_t tag) {
    uint32_t entry[HELD];
#pragma unroll
    for (int i = 0; i < HELD; i++) entry[i] = tag << 8 | sources[i];
    put_pair((uint64_t *)(way.maps + (size_t)slot * way.stride + column),
             (uint64_t)entry[1] << 32 | entry[0], (uint64_t)entry[3] << 32 | entry[2]);
}

/* Band I of a half, by a leader (COSTS) or a mapper (SOURCES) of STRIP. */
template <class COST, int NOTES>
static __device__ __forceinline__ void run_band(const struct field &field, const struct way &way,
                                                int half, uint32_t i, uint32_t strip,
                                                uint32_t tag) {
    const struct stretch stretch = stretch_of(field.lines, half, i);
    const struct window window = strip_window(field, strip);
    band_words words;
    COST costs[HELD];
    uint32_t sources[HELD];
    load_words(words, field, stretch, window);
    costs_before(costs, way, stretch, window, tag);
#pragma unroll
    for (int k = 0; k < HELD; k++) sources[k] = HELD * (threadIdx.x % 32) + k;
    sweep<COST, NOTES>(costs, sources, words, stretch, window);
    if (!own_columns(window)) return;
    if (NOTES == SOURCES)
        tell_map(sources, way, stretch.slot, window.column, tag);
    else
        tell_edge(costs, way, stretch.slot, window.column, tag);
}

/* ---- the least total at the middle */

template <class COST> struct choice {
    COST total;
    uint32_t column;
};

template <class COST>
static __device__ __forceinline__ void take_better(struct choice<COST> &choice, COST total,
                                                   uint32_t column) {
    if (total > choice.total || (total == choice.total && column >= choice.column)) return;
    choice.total = total;
    choice.column = column;
}

/* The warp's best, leftmost of equals, in every lane. */
template <class COST>
static __device__ __forceinline__ void take_best(struct choice<COST> &choice) {
#pragma unroll
    for (int step = 16; step; step /= 2) {
        const COST total = __shfl_xor_sync(~0u, choice.total, step);
        const uint32_t column = __shfl_xor_sync(~0u, choice.column, step);
        take_better(choice, total, column);
    }
}

/* Slot of the last band from the end, whose edge is the line behind the middle. */
static __device__ __forceinline__ uint32_t last_slot(uint32_t lines, int half) {
    return stretch_of(lines, half, bands_of(lines, half) - 1).slot;
}

/* Waits for both halves of STRIP and tells its least total. */
template <class COST>
static __device__ __forceinline__ void tell_best(const struct field &field, const struct way &way,
                                                 uint32_t strip, uint32_t tag) {
    const struct window window = strip_window(field, strip);
    COST start[HELD], end[HELD + 2] = {}, costs[HELD] = {};
    wait_edge(start, way, (int)last_slot(field.lines, FROM_START), window, tag);
    if (bands_of(field.lines, FROM_END)) {
        wait_edge(costs, way, (int)last_slot(field.lines, FROM_END), window, tag);
#pragma unroll
        for (int i = 0; i < HELD; i++) end[i + 1] = window.outside[i] ? ~(COST)0 : costs[i];
        end[0] = __shfl_up_sync(~0u, end[HELD], 1);
        end[HELD + 1] = __shfl_down_sync(~0u, end[1], 1);
    }
    struct choice<COST> choice = {
        ~(COST)0, UINT32_MAX
    };
#pragma unroll
    for (int i = 0; i < HELD; i++)
        if (own_columns(window) && !window.outside[i])
            take_better(choice, start[i] + least(end[i], end[i + 1], end[i + 2]),
                        (uint32_t)window.column + i);
    take_best(choice);
    if (threadIdx.x % 32) return;
    uint64_t *const best = way.best + 4 * (size_t)strip;
    put_pair(best, tagged((uint32_t)choice.total, tag),
             tagged((uint32_t)((uint64_t)choice.total >> 32), tag));
    put_pair(best + 2, tagged(choice.column, tag), 0);
}

/* The best of all strips, in every lane of the warp that asks. */
template <class COST>
static __device__ __forceinline__ struct choice<COST>
wait_best(const struct field &field, const struct way &way, uint32_t tag) {
    struct choice<COST> choice = {
        ~(COST)0, UINT32_MAX
    };
    for (uint32_t strip = threadIdx.x % 32; strip < strips_of(field); strip += 32) {
        const uint64_t *const best = way.best + 4 * (size_t)strip;
        ulonglong2 total, column;
        for (;; nap(20)) {
            total = get_pair(best);
            column = get_pair(best + 2);
            if (total.x >> 32 == tag && total.y >> 32 == tag && column.x >> 32 == tag) break;
        }
        take_better(choice, (COST)(total.y << 32 | (uint32_t)total.x), (uint32_t)column.x);
    }
    __syncwarp();
    take_best(choice);
    return choice;
}

/* ---- the way back */

/* Where the seam that crosses the middle in COLUMN crosses the far edge of band I. */
template <class COST>
static __device__ __forceinline__ uint32_t jump(const struct field &field, const struct way &way,
                                                int half, uint32_t i, uint32_t column,
                                                uint32_t tag) {
    uint32_t band = bands_of(field.lines, half) - 1;
    if (half == FROM_END) { /* the first step is from line to line */
        const uint32_t slot = last_slot(field.lines, half), middle = column;
        COST cheapest = cost_at<COST>(way, slot, (int)middle, tag);
        if (middle + 1 < field.columns) {
            const COST right = cost_at<COST>(way, slot, (int)middle + 1, tag);
            if (right < cheapest) cheapest = right, column = middle + 1;
        }
        if (middle && cost_at<COST>(way, slot, (int)middle - 1, tag) <= cheapest)
            column = middle - 1;
    }
    for (; band > i; band--) {
        const uint32_t slot = stretch_of(field.lines, half, band).slot;
        const uint32_t *const entry = way.maps + (size_t)slot * way.stride + column;
        uint32_t source;
        do source = get_word(entry);
        while (source >> 8 != tag);
        column = column / STRIP * STRIP + (source & 0xff) - BAND;
    }
    return column;
}

/* Lane k's return is the seam's column at step k of a band whose far edge it crosses in COLUMN. */
template <class COST>
static __device__ __forceinline__ uint32_t walk(const struct field &field, const struct way &way,
                                                const struct stretch &stretch, uint32_t column,
                                                uint32_t tag) {
    const int start = (int)(column / HELD * HELD) - WINDOW / 2;
    const struct window window = window_at(start, field.columns);
    band_words words;
    COST costs[HELD];
    uint32_t turns[BAND / 4] = {}, own = 0;
    load_words(words, field, stretch, window);
    costs_before(costs, way, stretch, window, tag);
    sweep<COST, TURNS>(costs, turns, words, stretch, window);
#pragma unroll
    for (int k = BAND - 1; k >= 0; k--) {
        if (k < stretch.first || k >= stretch.last) continue;
        if (threadIdx.x % 32 == k) own = column;
        const uint32_t of_four = __shfl_sync(~0u, turns[k / 4], ((int)column - start) / HELD);
        column += (of_four >> (8 * (k % 4) + 2 * (column % HELD)) & 3) - 1;
    }
    return own;
}

/* Follows the seam through band I of a half and tells its path there; TO[line] too, if given. */
template <class COST>
static __device__ __forceinline__ void trace(const struct field &field, const struct way &way,
                                             int half, uint32_t i, uint32_t column, uint16_t *to,
                                             uint32_t tag) {
    const struct stretch stretch = stretch_of(field.lines, half, i);
    const int lane = threadIdx.x % 32;
    column = jump<COST>(field, way, half, i, column, tag);
    const uint32_t own = walk<COST>(field, way, stretch, column, tag);
    if (lane < stretch.first || lane >= stretch.last) return;
    const uint32_t line = stretch.line + lane * stretch.step;
    put_word(way.path + line, tag << 16 | own);
    if (to) to[line] = (uint16_t)own;
}

#endif
