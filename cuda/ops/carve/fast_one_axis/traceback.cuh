// SPDX-License-Identifier: Apache-2.0
/* traceback.cuh - the traceback blocks: find where the halves meet, and follow the seam outward.
 *
 * Used by:  fast_one_axis.cuh; fast_both_axes/blocks.cuh runs the same parts in another order.
 * Limits:   maps of as many bands as shared memory holds; plan_maps() handles the others.
 *
 * How it works: one block a half; both find the same meeting point. They gather jumps in shared
 * memory, as differences of one byte, or two where bands are high. While the sweepers are under
 * way, they gather whole bands; once the halves have met, only the columns that the seam can reach,
 * of the remaining bands. Some warps only look for the meeting point, so that the search for it
 * never waits behind a late band; afterwards they help the others. The first half's block also
 * reports progress, and it alone decides which seam is the last.
 */
#ifndef BURIN_CARVE_FAST_ONE_AXIS_TRACEBACK_CUH
#define BURIN_CARVE_FAST_ONE_AXIS_TRACEBACK_CUH

#include "cuda/ops/carve/fast_one_axis/args.cuh"

enum {
    MEET_BATCH = 3, /* groups of 4 columns, for a lane that looks for the meeting point */
    MEET_WARPS_MAX = 10,
};

/* With masks the search ends before the present seam: no pixel to be removed is left, or its key
 * has too few bits. */
enum { TRACE_ENDS = 1, TRACE_GIVES_UP = 2 };

struct __align__(16) trace_memory {
    struct span_clock clock;
    /* Over the warps that have looked: the least sum above its place; their number. */
    unsigned long long least;
    uint32_t looked;
    uint32_t last;
    uint32_t met;             /* the seam's number + 1, and the meeting point's column */
    uint32_t next;            /* the next band to be gathered */
    uint32_t maps[BANDS_MAX]; /* where column 0 of each band's map is or would be, in bytes */
    uint16_t entries[BANDS_MAX];
    uint32_t ends; /* with masks: TRACE_ENDS..., at the present seam */
};

static __host__ __device__ inline uint32_t trace_plane(uint32_t width) {
    return (width + 15) / 16 * 16;
}

/* Columns in the maps of the COUNT bands next to the middle, as far as the seam can reach: in the
 * nearest band 8 columns to either side of the meeting point, in the next ROWS more, and so on; up
 * to 12 for the point itself and for whole vectors. */
static __host__ __device__ inline uint32_t trace_windows(uint32_t count, uint32_t rows) {
    return count ? count * (count - 1) * rows + 32 * count : 0;
}

/* A difference is at most the height of the band. */
static __host__ __device__ inline uint32_t trace_jump_bytes(uint32_t rows) {
    return rows < 128 ? 1 : 2;
}

/* BANDS: with gathered jumps; ROWS: of a band. */
static __host__ __device__ inline uint64_t trace_bytes(uint32_t width, uint32_t bands,
                                                       uint32_t window_bands, uint32_t rows) {
    const uint32_t windows = window_bands < bands ? window_bands : bands;
    return sizeof(struct trace_memory) +
           trace_jump_bytes(rows) *
               (trace_windows(windows, rows) + (uint64_t)trace_plane(width) * (bands - windows));
}

DEVICE void trace_init(struct trace_memory *memory) {
    memory->least = ~0ull;
    memory->looked = memory->last = memory->met = memory->next = 0;
}

/* Called by a warp: returns the meeting point, as the column in the half's last row, or NOT_MET. */
DEVICE uint32_t trace_met(struct trace_memory *memory, uint32_t seam) {
    uint32_t word = 0;
    if (thread_index() % 32 == 0) word = atomicOr(&memory->met, 0u);
    word = __shfl_sync(~0u, word, 0);
    return word >> 16 == seam + 1 ? word & 0xffff : NOT_MET;
}

/* ---- jumps */

enum { GATHER_BATCH = 8, GATHER_SPAN = 4 * 32 };

/* Whether all jumps of a round have arrived: 4 columns at X, and at every GATHER_SPAN after it, up
 * to the window's end. */
DEVICE bool trace_load(uint4 (&words)[GATHER_BATCH], const uint32_t *row, uint32_t x, uint32_t to,
                       uint32_t head) {
    bool here = true;
#pragma unroll
    for (uint32_t k = 0; k < GATHER_BATCH; k++)
        if (x + k * GATHER_SPAN <= to) words[k] = load_relaxed4(row + x + k * GATHER_SPAN);
#pragma unroll
    for (uint32_t k = 0; k < GATHER_BATCH; k++)
        if (x + k * GATHER_SPAN <= to)
            here = here && words[k].x >> 16 == head && words[k].y >> 16 == head &&
                   words[k].z >> 16 == head && words[k].w >> 16 == head;
    return __all_sync(~0u, here);
}

/* Called by a warp: loads jumps of the columns in WINDOW out of ROW; MAP: the place of column 0 in
 * shared memory. False where the halves have met while it waited for a WHOLE row. */
DEVICE bool trace_load_band(const struct axis_args &args, struct trace_memory *memory,
                            const uint32_t *row, struct column_range window, uint32_t map,
                            uint32_t seam, bool whole) {
    const uint32_t lane = thread_index() % 32, size = trace_jump_bytes(args.band_steps * STEP_ROWS);
#pragma unroll 1
    for (uint32_t base = window.from; base <= window.to; base += GATHER_BATCH * GATHER_SPAN) {
        const uint32_t x = base + 4 * lane;
        uint4 words[GATHER_BATCH];
        for (uint32_t spins = 0; !trace_load(words, row, x, window.to, seam + 1); spins++) {
            if (whole && trace_met(memory, seam) != NOT_MET) return false;
            if (spins == SPIN_LIMIT) SPIN_STUCK(STUCK_JUMPS);
        }
#pragma unroll
        for (uint32_t k = 0; k < GATHER_BATCH; k++)
            if (x + k * GATHER_SPAN <= window.to) {
                const uint32_t first = x + k * GATHER_SPAN;
                const uint32_t at[] = { words[k].x, words[k].y, words[k].z, words[k].w };
                uint8_t *to = block_shared + (map + size * first);
                if (size == 1)
                    *(uint32_t *)to = four_bytes(at, first);
                else
                    *(uint2 *)to =
                        make_uint2((at[0] - first & 0xffff) | at[1] - (first + 1) << 16,
                                   (at[2] - (first + 2) & 0xffff) | at[3] - (first + 3) << 16);
            }
    }
    return true;
}

DEVICE void trace_gather(const struct axis_args &args, int number, struct trace_memory *memory,
                         uint32_t band, uint32_t seam) {
    const struct axis_half &half = args.halves[number];
    const uint32_t rows = args.band_steps * STEP_ROWS, size = trace_jump_bytes(rows);
    const uint32_t width = args.width - seam, windows = sizeof *memory;
    const uint32_t behind = half.bands - 1 - band; /* bands between this one and the middle */
    const bool whole = behind >= args.window_bands;
    const uint32_t *row = args.jumps + (uint64_t)(half.first_band + band) * args.jump_stride;
    /* Waits until the halves have met or, where there is room for a WHOLE row, the last jump has
     * arrived. */
    const uint32_t *word = row + args.width - seam - 1;
    uint32_t meet = trace_met(memory, seam);
    for (uint32_t spins = 0; meet == NOT_MET; spins++) {
        if (whole && __all_sync(~0u, load_relaxed(word) >> 16 == seam + 1)) break;
        meet = trace_met(memory, seam);
        if (spins == SPIN_LIMIT) SPIN_STUCK(STUCK_JUMPS);
    }
    uint32_t map = windows + size * (trace_windows(args.window_bands, rows) +
                                     (band - args.direct_bands) * trace_plane(args.width));
    if (!whole || meet != NOT_MET ||
        !trace_load_band(args, memory, row, { 0, width - 1 }, map, seam, true)) {
        meet = trace_met(memory, seam);
        const struct column_range window =
            reachable_range(half, min((band + 1) * rows, half.rows), meet, width);
        if (!whole) map = windows + size * (trace_windows(behind, rows) - window.from);
        trace_load_band(args, memory, row, window, map, seam, false);
    }
    if (thread_index() % 32 == 0) memory->maps[band] = map;
}

/* All warps, each as soon as it is free: bands from the edge to the middle, one after the other. */
DEVICE void trace_gather_all(const struct axis_args &args, int number, struct trace_memory *memory,
                             uint32_t seam) {
    const uint32_t bands = args.halves[number].bands;
    for (;;) {
        uint32_t band = 0;
        if (thread_index() % 32 == 0) band = args.direct_bands + atomicAdd(&memory->next, 1u);
        band = __shfl_sync(~0u, band, 0);
        if (band >= bands) return;
        trace_gather(args, number, memory, band, seam);
    }
}

/* ---- where the halves meet */

/* More than any path's cost; sums with it stay below 2^30. */
static const uint32_t COST_BESIDE = 1u << 28;

struct meet_costs {
    uint4 above, below;
    uint32_t beside; /* for the lane at the warp's left or right end, the cost that no lane has */
};

/* COST_BESIDE, with TAG, stands for columns outside the image. All lanes have 4 columns from X
 * on. */
template <class ARGS>
DEVICE struct meet_costs meet_load(const ARGS &args, uint32_t x, uint32_t width, uint32_t tag) {
    const uint32_t *down = cost_row(args, 0, args.halves[0].steps) + x;
    const uint32_t *up = cost_row(args, 1, args.halves[1].steps) + x;
    const uint32_t far = tag << 30 | (ARGS::masked ? KEY_CAP : COST_BESIDE);
    const uint32_t lane = thread_index() % 32;
    struct meet_costs costs = { make_uint4(far, far, far, far), make_uint4(far, far, far, far),
                                far };
    if (x < width) costs.above = load_relaxed4(down), costs.below = load_relaxed4(up);
    if (lane == 0 && x > 0 && x < width) costs.beside = load_relaxed(up - 1);
    if (lane == 31 && x + 4 < width) costs.beside = load_relaxed(up + 4);
    return costs;
}

DEVICE bool meet_loaded(const struct meet_costs &costs, uint32_t tag) {
    return have_tag(costs.above, tag) && have_tag(costs.below, tag) && costs.beside >> 30 == tag;
}

/* The minimum of T[m][x] + min3(B[m+1]) over 4 columns, and 4 x + which of the three. */
template <class ARGS>
DEVICE void meet_least(const ARGS &args, const struct meet_costs &costs, uint32_t x, uint32_t width,
                       uint32_t &sum, uint32_t &place) {
    const uint32_t mask = (1u << 30) - 1;
    const uint32_t lane = thread_index() % 32;
    uint32_t left = __shfl_up_sync(~0u, costs.below.w, 1);
    uint32_t right = __shfl_down_sync(~0u, costs.below.x, 1);
    if (lane == 0) left = costs.beside;
    if (lane == 31) right = costs.beside;
    const uint32_t above[] = { costs.above.x, costs.above.y, costs.above.z, costs.above.w };
    const uint32_t below[] = { left & mask,          costs.below.x & mask, costs.below.y & mask,
                               costs.below.z & mask, costs.below.w & mask, right & mask };
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const uint32_t least = __vimin3_u32(below[k], below[k + 1], below[k + 2]);
        const uint32_t which = least == below[k] ? 0 : least == below[k + 1] ? 1 : 2;
        const uint32_t here = cost_sum(args, above[k] & mask, least);
        if (x + k < width && here < sum) sum = here, place = 4 * (x + k) + which;
    }
}

DEVICE uint32_t meet_warps(const struct axis_args &args) {
    const uint32_t columns = 4 * 32 * MEET_BATCH;
    return min((args.width + columns - 1) / columns, (uint32_t)MEET_WARPS_MAX);
}

/* Called by one of the meet_warps(): its minimum of T[m][x] + min3(B[m+1]), above the place. All
 * costs of a round are loaded again until all have arrived. */
template <class ARGS> DEVICE uint64_t trace_least(const ARGS &args, uint32_t seam) {
    const uint32_t width = args.width - seam, tag = seam_tag(seam), span = 128 * meet_warps(args);
    uint32_t sum = ~0u, place = ~0u;
#pragma unroll 1
    for (uint32_t first = 0; first < width; first += MEET_BATCH * span) {
        const uint32_t x = first + 4 * thread_index();
        struct meet_costs costs[MEET_BATCH];
        bool here = false;
        for (uint32_t spins = 0; !here; spins++) {
            here = true;
#pragma unroll
            for (uint32_t k = 0; k < MEET_BATCH; k++)
                costs[k] = meet_load(args, x + k * span, width, tag);
#pragma unroll
            for (uint32_t k = 0; k < MEET_BATCH; k++) here = here && meet_loaded(costs[k], tag);
            here = __all_sync(~0u, here);
            if (spins == SPIN_LIMIT) SPIN_STUCK(STUCK_MEET);
        }
#pragma unroll
        for (uint32_t k = 0; k < MEET_BATCH; k++)
            meet_least(args, costs[k], x + k * span, width, sum, place);
    }
    const uint32_t least = warp_least(sum);
    return (uint64_t)least << 32 | warp_least(sum == least ? place : ~0u);
}

/* TRACE_ENDS... for a seam that costs SUM. */
DEVICE uint32_t trace_ends(const struct masked_args &args, uint32_t seam, uint32_t sum) {
    if (sum == ~0u) return TRACE_ENDS | TRACE_GIVES_UP;
    return args.clears && seam >= args.least && sum / (2 * args.low) == args.height ? TRACE_ENDS
                                                                                    : 0;
}

/* Called by a warp that looks: the last one publishes where the halves meet, and returns the seam's
 * cost; others return ~0. */
template <class ARGS>
DEVICE uint32_t trace_meet(const ARGS &args, int number, struct trace_memory *memory,
                           uint32_t seam) {
    uint64_t least = trace_least(args, seam);
    uint32_t others = 0;
    if (thread_index() % 32 == 0) {
        atomicMin(&memory->least, (unsigned long long)least);
        __threadfence_block();
        others = atomicAdd(&memory->looked, 1u) + 1;
    }
    if (__shfl_sync(~0u, others, 0) < meet_warps(args)) return ~0u;
    if (thread_index() % 32 == 0) {
        least = atomicExch(&memory->least, ~0ull);
        uint32_t place = (uint32_t)least;
        if constexpr (ARGS::masked) {
            memory->ends = trace_ends(args, seam, (uint32_t)(least >> 32));
            if (memory->ends & TRACE_GIVES_UP) place = 1; /* any place in the image */
        }
        const uint32_t column = number == 0 ? place / 4 : place / 4 + place % 4 - 1;
        store_relaxed(args.meets + number, (seam + 1) << 16 | column);
        atomicExch(&memory->looked, 0u);
        atomicExch(&memory->met, (seam + 1) << 16 | column);
    }
    __syncwarp();
    return __shfl_sync(~0u, (uint32_t)(least >> 32), 0);
}

/* ---- progress, and whether to stop */

/* Called by the block's last thread; the answer is needed only when the halves have met. */
DEVICE void trace_poll_stop(const struct axis_args &args, int half, struct trace_memory *memory,
                            uint32_t seam) {
    if (thread_index() != BLOCK_THREADS - 1) return;
    if (half == 0) {
        volatile struct kernel_progress *progress = args.progress;
        memory->last = progress && progress->stop;
        store_relaxed(args.decision, (seam + 1) << 1 | memory->last);
        if (progress && seam % 8 == 0) progress->done = args.done + seam;
        return;
    }
    uint32_t word = load_relaxed(args.decision);
    for (uint32_t spins = 0; word >> 1 < seam + 1; spins++) {
        word = load_relaxed(args.decision);
        if (spins == SPIN_LIMIT) SPIN_STUCK(STUCK_DECISION);
    }
    memory->last = word >> 1 == seam + 1 && (word & 1);
}

/* Called by one lane: from the entry X of the last band to that of the first band without gathered
 * jumps, in maps of JUMPs. The next map's place does not depend on the result in this one. */
template <class Jump>
DEVICE uint32_t trace_walk(struct trace_memory *memory, uint32_t bands, uint32_t direct,
                           uint32_t x) {
    uint32_t map = memory->maps[bands - 1];
#pragma unroll 4
    for (uint32_t band = bands; band > direct; band--) {
        const uint32_t next = memory->maps[max(band, 2u) - 2];
        memory->entries[band - 1] = (uint16_t)x;
        x += (uint32_t) * (const Jump *)(block_shared + (map + (uint32_t)sizeof(Jump) * x));
        map = next;
    }
    return x;
}

/* Called by the first warp: one lane goes from band to band, then all lanes publish the entries. */
template <class ARGS>
DEVICE void trace_store_entries(const ARGS &args, const struct axis_half &half,
                                struct trace_memory *memory, uint32_t x, uint32_t seam) {
    uint32_t head = (seam + 1) << 16 | memory->last << 15;
    if constexpr (ARGS::masked) {
        if (memory->ends & TRACE_ENDS) head |= 1u << 15;
        if (memory->ends & TRACE_GIVES_UP) head |= ENTRY_GIVES_UP;
    }
    if (thread_index() == 0) {
        x = trace_jump_bytes(args.band_steps * STEP_ROWS) == 1
                ? trace_walk<int8_t>(memory, half.bands, args.direct_bands, x)
                : trace_walk<int16_t>(memory, half.bands, args.direct_bands, x);
        for (uint32_t band = min(args.direct_bands, half.bands); band > 0; band--) {
            memory->entries[band - 1] = (uint16_t)x;
            const uint32_t number = half.first_band + band - 1;
            const uint32_t *from = args.jumps + (uint64_t)number * args.jump_stride + x;
            for (uint32_t spins = 0;; spins++) {
                const uint32_t word = load_relaxed(from);
                x = word & 0xffff;
                if (word >> 16 == seam + 1) break;
                if (spins == SPIN_LIMIT) SPIN_STUCK(STUCK_JUMPS);
            }
        }
    }
    __syncwarp();
    for (uint32_t band = thread_index(); band < half.bands; band += 32)
        store_relaxed(args.entries + half.first_band + band, head | memory->entries[band]);
}

template <class ARGS> static __device__ void trace_block(const ARGS &args, int number) {
    struct trace_memory *memory = (struct trace_memory *)block_shared;
    const bool mark = number == 0 && thread_index() == 0;
    bool last = false;
    uint32_t seam = 0;
    if (thread_index() == 0) trace_init(memory);
    if (mark) clock_make(args, memory->clock, SPAN_TRACE);
    __syncthreads();
    for (; seam < args.seams && !last; seam++) {
        trace_poll_stop(args, number, memory, seam);
        if (thread_index() / 32 < meet_warps(args)) trace_meet(args, number, memory, seam);
        if (number == 0 && thread_index() == 0)
            timeline_mark(args, seam, MARK_MEET), memory->clock.began = global_timer();
        trace_gather_all(args, number, memory, seam);
        if (seam == 0) {
            /* All bands must have copied their neighbours' rows before anything is removed. */
            const uint32_t bands = args.halves[0].bands + args.halves[1].bands;
            for (uint32_t band = thread_index(); band < bands; band += BLOCK_THREADS)
                spin_until(STUCK_BEGUN, [&] { return load_relaxed(args.begun + band); });
        }
        __syncthreads();
        if (mark) timeline_mark(args, seam, MARK_MAPS);
        last = memory->last;
        if constexpr (ARGS::masked) last = last || memory->ends;
        if (thread_index() < 32)
            trace_store_entries(args, args.halves[number], memory, trace_met(memory, seam), seam);
        if (thread_index() == 32) memory->next = 0;
        __syncthreads();
        if (mark) timeline_mark(args, seam, MARK_TRACED);
        if (mark) clock_store(args, memory->clock, SPAN_TRACE);
    }
    if constexpr (ARGS::masked) {
        if (memory->ends) seam--;
        if (mark && args.taken)
            *args.taken = seam | (memory->ends & TRACE_GIVES_UP ? SEAMS_LEFT : 0);
    }
    if (mark && args.progress)
        ((volatile struct kernel_progress *)args.progress)->done = args.done + seam;
}

#endif
