// SPDX-License-Identifier: Apache-2.0
/* band.cuh - a band block: parents and jumps of a band of rows, its part of the seam, the removal.
 *
 * Used by:  fast_one_axis.cuh; fast_both_axes/blocks.cuh runs the same parts in another order.
 * Limits:   bands of up to BAND_STEPS_MAX steps of 16 rows, as shared memory allows.
 *
 * How it works: behind the sweepers the block computes the parents of every step of the band, and
 * from them the `jumps`: for each column of the band's last row the column in the last row of the
 * band before. Once the traceback block has published where the seam enters the band, the block
 * finds its crossing of every row and removes it.
 */
#ifndef BURIN_CARVE_FAST_ONE_AXIS_BAND_CUH
#define BURIN_CARVE_FAST_ONE_AXIS_BAND_CUH

#include "cuda/ops/carve/fast_one_axis/removal.cuh"
#include "cuda/ops/carve/fast_one_axis/tile.cuh"

static __host__ __device__ inline uint32_t band_plane(uint32_t width) {
    return (width + TILE_OWN - 1) / TILE_OWN * TILE_OWN;
}

/* Bytes of parents: of all steps, or, THIN, of one step at a time and later of a tile for each
 * warp. */
static __host__ __device__ inline uint32_t band_parents_bytes(uint32_t width, uint32_t band_steps,
                                                              bool thin) {
    const uint32_t step = 4 * band_plane(width), tiles = 4 * TILE_COLUMNS * BLOCK_THREADS / 32;
    if (!thin) return step * band_steps;
    return step > tiles ? step : tiles;
}

static __host__ __device__ inline uint32_t band_bytes(uint32_t width, uint32_t luma_stride,
                                                      uint32_t band_steps, int reach, bool thin) {
    return (uint32_t)sizeof(struct band_memory) + band_parents_bytes(width, band_steps, thin) +
           band_plane(width) * band_steps + 2 * (uint32_t)reach * luma_stride +
           2 * renew_slots(reach) * STEP_ROWS * band_steps;
}

/* ---- whether the halves have met */

/* Starts the load; its result is used later. */
DEVICE uint32_t band_load_meet(const struct axis_args &args, const struct band &band,
                               uint32_t meet) {
    return meet == NOT_MET ? load_relaxed(args.meets + band.half) : 0;
}

DEVICE uint32_t band_meet_from(uint32_t word, uint32_t seam, uint32_t meet) {
    return word >> 16 == seam + 1 ? word & 0xffff : meet;
}

/* A barrier of the block: afterwards all threads know MEET if one of its warps did. TURN alternates
 * between odd and even, since a warp may be at the next call while another still reads. */
DEVICE uint32_t band_agree(uint32_t turn, uint32_t meet) {
    uint32_t *known = band_memory()->known[turn % 2];
    const uint32_t warps = BLOCK_THREADS / 32, lane = thread_index() % 32;
    if (lane == 0) known[thread_index() / 32] = meet;
    __syncthreads();
    return warp_least(lane < warps ? known[lane] : NOT_MET);
}

DEVICE struct column_range band_window(const struct axis_half &half, uint32_t step, uint32_t meet,
                                       uint32_t width) {
    if (meet == NOT_MET) return { 0, width - 1 };
    return reachable_range(half, min((step + 1) * STEP_ROWS, half.rows), meet, width);
}

/* ---- parents and jumps */

/* The block's warps share the wanted tiles of a step, beginning with warp FIRST. Returns the warp
 * that comes next; MEET may become known meanwhile. */
template <class ARGS>
DEVICE uint32_t band_step(const ARGS &args, const struct band &band, uint32_t step, uint32_t seam,
                          uint32_t &meet, uint32_t first) {
    const uint32_t warps = BLOCK_THREADS / 32, width = args.width - seam;
    const struct axis_half &half = args.halves[band.half];
    uint32_t *parents = band_parents(band, step - band.step);
    struct column_range window = band_window(half, step, meet, width);
    const uint32_t from = (window.from > STEP_ROWS ? window.from - STEP_ROWS : 0) / TILE_OWN;
    const uint32_t end = min(width - 1, window.to + STEP_ROWS) / TILE_OWN + 1;
#pragma unroll 1
    for (uint32_t number = from + (thread_index() / 32 + warps - first) % warps; number < end;
         number += warps) {
        const int x = tile_column(number);
        uint2 energies[STEP_ROWS];
        auto tile = tile_make(args, x);
        if ((number + 1) * TILE_OWN + STEP_ROWS <= window.from) continue;
        if (number * TILE_OWN > window.to + STEP_ROWS) break;
        const uint32_t word = band_load_meet(args, band, meet);
        tile_energies(energies, args, band.half, step, x);
        tile_costs(tile, args, band.half, step, seam, x);
        tile_rows(tile, energies, step_rows(half, step));
        if (tile_owns())
            *(uint4 *)(parents + x) =
                make_uint4(tile.parents[0], tile.parents[1], tile.parents[2], tile.parents[3]);
        meet = band_meet_from(__shfl_sync(~0u, word, 0), seam, meet);
        window = band_window(half, step, meet, width);
    }
    return (first + end - from) % warps;
}

/* Four columns a thread, all loaded at once: finds where they come from in the row before the step;
 * at the band's last step, in the row before the band, which it publishes to the traceback block.
 * Each step begins with another thread, to share the work. */
template <class ARGS>
DEVICE void band_find_jumps(const ARGS &args, const struct band &band, uint32_t step, uint32_t seam,
                            uint32_t meet) {
    const struct axis_half &half = args.halves[band.half];
    const uint32_t last = args.width - seam - 1, head = (seam + 1) << 16, k = step - band.step;
    const uint32_t thread =
        (thread_index() + k * (BLOCK_THREADS / args.band_steps)) % BLOCK_THREADS;
    struct column_range window = band_window(half, step, meet, last + 1);
    enum { ROUND = 4 * BLOCK_THREADS };
#pragma unroll 1
    for (uint32_t x = window.from + 4 * thread; x <= window.to; x += ROUND) {
        if (x < window.from) continue;
        const uint32_t word = x + ROUND <= window.to ? band_load_meet(args, band, meet) : 0;
        uint32_t at[] = { min(x, last), min(x + 1, last), min(x + 2, last), min(x + 3, last) };
        walk_step<ARGS::masked>(at, band_parents(band, k), step_rows(half, step), step);
#pragma unroll
        for (int i = 0; i < 4; i++) at[i] = min(at[i], last);
        *(uint32_t *)(band_jumps(band, k) + x) = four_bytes(at, x);
        if (step + 1 == band.end_step) {
            /* Columns beside a window lead nowhere that matters, but must stay in the image. */
#pragma unroll 1
            for (uint32_t before = step; before > band.step;) {
                const int8_t *jumps = band_jumps(band, --before - band.step);
#pragma unroll
                for (int i = 0; i < 4; i++) at[i] = min(last, at[i] + (uint32_t)jumps[at[i]]);
            }
            store_relaxed4(args.jumps + (uint64_t)band.number * args.jump_stride + x,
                           make_uint4(head | at[0], head | at[1], head | at[2], head | at[3]));
        }
        meet = band_meet_from(word, seam, meet);
        window = band_window(half, step, meet, last + 1);
    }
}

/* Parents and jumps of the band: of all columns, step by step behind the sweepers; once the halves
 * are known to have met, of the columns that the seam can reach, for all steps at once. Other
 * columns may be left out at any time, since they are not read: the seam's columns of a step lead
 * to columns within its reach in the step before. */
template <class ARGS>
DEVICE void band_search(const ARGS &args, const struct band &band, uint32_t seam) {
    uint32_t meet = NOT_MET, warp = 0;
    if (band.late) {
        if (thread_index() == 0) {
            uint32_t word = load_relaxed(args.meets + band.half);
            for (uint32_t spins = 0; word >> 16 != seam + 1; spins++) {
                word = load_relaxed(args.meets + band.half);
                if (spins == SPIN_LIMIT) SPIN_STUCK(STUCK_MEET);
            }
            band_memory()->meet = word & 0xffff;
        }
        __syncthreads();
        meet = band_memory()->meet;
    }
    if (!band.late) {
        /* So far behind the sweepers that all warps would only poll. */
        if (thread_index() == 0 && band.step >= 4) {
            const uint32_t *word = cost_row(args, band.half, band.step - 2);
            spin_until(STUCK_COSTS, [&] { return load_relaxed(word) >> 30 == seam_tag(seam); });
        }
        __syncthreads();
    }
#pragma unroll 1
    for (uint32_t step = band.step, end; step < band.end_step; step = end) {
        end = meet == NOT_MET || band.thin ? step + 1 : band.end_step;
#pragma unroll 1
        for (uint32_t k = step; k < end; k++) warp = band_step(args, band, k, seam, meet, warp);
        meet = band_agree(step, meet);
#pragma unroll 1
        for (uint32_t k = step; k < end; k++) {
            /* The last step publishes its jumps, through those of earlier steps. */
            if (k > step && k + 1 == end) __syncthreads();
            band_find_jumps(args, band, k, seam, meet);
        }
        /* Parents of a step replace those of the step before. */
        if (band.thin) __syncthreads();
    }
    if (band.number + 1 == args.halves[0].bands && thread_index() == 0)
        timeline_mark(args, seam, MARK_LAST_JUMPS);
    __syncthreads();
}

/* ---- the way through the band */

/* Waits for the seam's column in the band's last row. Bit 15 of it in band_memory marks the last
 * seam of all. */
template <class ARGS>
DEVICE uint32_t band_entry(const ARGS &args, const struct band &band, uint32_t seam) {
    for (uint32_t spins = 0;; spins++) {
        const uint32_t word = load_relaxed(args.entries + band.number);
        if (word >> 16 == seam + 1) {
            if (thread_index() == 0) band_memory()->entry = word & 0xffff;
            if (thread_index() == 0 && band.number == 0) timeline_mark(args, seam, MARK_ENTRY);
            return word & (ARGS::masked ? ENTRY_GIVES_UP - 1 : 0x7fff);
        }
        if (spins == SPIN_LIMIT) SPIN_STUCK(STUCK_ENTRY);
    }
}

/* The seam's column in the last row of the band's step K, from that of the band's last row. */
DEVICE uint32_t band_back(const struct band &band, uint32_t k, uint32_t x) {
#pragma unroll 1
    for (uint32_t j = band.end_step - band.step - 1; j > k; j--)
        x += (uint32_t)band_jumps(band, j)[x];
    return x;
}

/* A warp a step, where parents are not kept: computes those around the seam again. Costs are still
 * this seam's: sweepers write those of the next seam only after bands that are ready, and the band
 * before this one is not ready before it has this one's crossings. */
template <class ARGS>
DEVICE void band_walk_thin(const ARGS &args, const struct band &band, uint32_t entry,
                           uint32_t seam) {
    const struct axis_half &half = args.halves[band.half];
    const uint32_t steps = band.end_step - band.step, lane = thread_index() % 32;
    uint32_t *parents = band_parents(band, 0) + thread_index() / 32 * TILE_COLUMNS;
#pragma unroll 1
    for (uint32_t k = thread_index() / 32; k < steps; k += BLOCK_THREADS / 32) {
        const uint32_t step = band.step + k, rows = step_rows(half, step);
        const uint32_t x = band_back(band, k, entry);
        const int first = (int)(x & ~3u) - TILE_COLUMNS / 2, mine = first + 4 * (int)lane;
        uint2 energies[STEP_ROWS];
        auto tile = tile_make(args, mine);
        tile_energies(energies, args, band.half, step, mine);
        tile_costs(tile, args, band.half, step, seam, mine);
        tile_rows(tile, energies, rows);
        *(uint4 *)(parents + 4 * lane) =
            make_uint4(tile.parents[0], tile.parents[1], tile.parents[2], tile.parents[3]);
        __syncwarp();
        if (lane == 0)
            walk_rows<ARGS::masked>(x, parents - first, rows,
                                    band_memory()->columns + k * STEP_ROWS);
        __syncwarp();
    }
}

/* Called by the first warp. */
DEVICE void band_store_crossings(const struct axis_args &args, const struct band &band,
                                 uint32_t seam) {
    const uint32_t rows = band.bottom - band.top;
#pragma unroll 1
    for (uint32_t i = thread_index(); i < rows; i += 32) {
        const uint32_t y = band.half == 0 ? band.top + i : band.bottom - 1 - i;
        const uint32_t x = band_memory()->columns[i];
        store_relaxed(args.crossings + y, (seam + 1) << 16 | x);
        if (args.seam_columns) args.seam_columns[(uint64_t)seam * args.height + y] = (uint16_t)x;
    }
}

/* Called by the first warp: the seam row by row, a lane a step, where parents are kept. */
template <class ARGS>
DEVICE void band_walk_rows(const ARGS &args, const struct band &band, uint32_t entry) {
    const uint32_t k = thread_index();
    if (k < band.end_step - band.step)
        walk_rows<ARGS::masked>(band_back(band, k, entry), band_parents(band, k),
                                step_rows(args.halves[band.half], band.step + k),
                                band_memory()->columns + k * STEP_ROWS);
    __syncwarp();
}

template <class ARGS>
DEVICE void band_walk(const ARGS &args, const struct band &band, uint32_t seam) {
    if (band.thin) {
        band_walk_thin(args, band, band_entry(args, band, seam), seam);
        __syncthreads();
    } else if (thread_index() < 32) {
        band_walk_rows(args, band, band_entry(args, band, seam));
    }
    if (thread_index() < 32) band_store_crossings(args, band, seam);
    __syncthreads();
}

DEVICE struct band band_make(const struct axis_args &args, uint32_t number) {
    struct band band;
    band.half = number >= args.halves[0].bands;
    const struct axis_half &half = args.halves[band.half];
    band.number = number;
    band.step = (number - half.first_band) * args.band_steps;
    band.end_step = min(band.step + args.band_steps, half.steps);
    const uint32_t first = band.step * STEP_ROWS, end = min(band.end_step * STEP_ROWS, half.rows);
    band.top = band.half == 0 ? first : args.height - end;
    band.bottom = band.half == 0 ? end : args.height - first;
    band.thin = args.thin;
    band.late = number - half.first_band + args.late_bands >= half.bands;
    band.plane = band_plane(args.width);
    band.halo =
        sizeof(struct band_memory) + band_parents_bytes(args.width, args.band_steps, args.thin);
    band.jumps = band.halo + 2 * (uint32_t)args.reach * args.luma_stride;
    band.renewed = band.jumps + band.plane * args.band_steps;
    return band;
}

/* Leaves luma and marks as they are before SEAM. */
DEVICE void band_store_marks(const struct masked_args &args, const struct band &band,
                             uint32_t seam) {
    const uint32_t warp = thread_index() / 32;
#pragma unroll 1
    for (uint32_t y = band.top + warp; y < band.bottom; y += BLOCK_THREADS / 32)
#pragma unroll 1
        for (uint32_t x = thread_index() % 32; x < args.width - seam; x += 32) {
            const uint32_t word = energy_row(args, y)[x];
            args.marks[(uint64_t)y * args.luma_stride + x] =
                (word & KEY_HIGH ? 1 : 0) | (word & KEY_LOW ? 0 : 2);
        }
}

template <class ARGS> static __device__ void band_block(const ARGS &args, uint32_t number) {
    if (thread_index() == 0) band_memory()->band = band_make(args, number);
    __syncthreads();
    const struct band &band = band_memory()->band;
    const bool first = number == 0 && thread_index() == 0;
    struct span_clock &clock = band_memory()->clock;
    bool last = false;
    if (first) clock_make(args, clock, SPAN_REMOVE);
    /* Copies the rows beside the band before they change: no block removes a seam before all have
     * begun. */
    const uint32_t reach = (uint32_t)args.reach, vectors = args.luma_stride / 16;
    for (uint32_t i = thread_index(); i < 2 * reach * vectors; i += BLOCK_THREADS) {
        const uint32_t y = beside_row(args, band, i / vectors);
        if (y < args.height)
            ((uint4 *)(block_shared + band.halo))[i] =
                *(const uint4 *)(args.luma + (uint64_t)y * args.luma_stride + 16 * (i % vectors));
    }
    __syncthreads();
    if (thread_index() == 0) store_relaxed(args.begun + number, 1);
    for (uint32_t seam = 0; seam < args.seams && !last; seam++) {
        band_search(args, band, seam);
        band_walk(args, band, seam);
        last = band_memory()->entry >> 15;
        if constexpr (ARGS::masked)
            if (band_memory()->entry & ENTRY_GIVES_UP) {
                band_store_marks(args, band, seam);
                if (thread_index() == 0) store_release(args.ready + number, (seam + 1) | 1u << 31);
                return;
            }
        if (first) timeline_mark(args, seam, MARK_WALKED), clock.began = global_timer();
        remove_energies(args, band, seam);
        __syncthreads();
        if (first) timeline_mark(args, seam, MARK_MOVED);
        renew_store(args, band, seam);
        __syncthreads();
        if (first) timeline_mark(args, seam, MARK_RENEWED);
        if (thread_index() == 0)
            store_release(args.ready + number, (seam + 1) | (uint32_t)last << 31);
        if (first) timeline_mark(args, seam, MARK_READY);
        if (first) clock_store(args, clock, SPAN_REMOVE);
        remove_luma(args, band, seam);
    }
}

#endif
