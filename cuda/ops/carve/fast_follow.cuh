// SPDX-License-Identifier: Apache-2.0
/* fast_follow.cuh - the followers: a block for each band of rows.
 *
 * Behind the leaders: parents of every step of the band, from them the column that each column of
 * the band's last row comes from in the last row of the band before (`jumps`). Once the resolver
 * has said where the seam enters the band: its crossing of every row, and the removal.
 */
#ifndef BURIN_CARVE_FAST_FOLLOW_CUH
#define BURIN_CARVE_FAST_FOLLOW_CUH

#include "cuda/ops/carve/fast_remove.cuh"
#include "cuda/ops/carve/fast_tile.cuh"

static __host__ __device__ inline uint32_t follow_plane(uint32_t width) {
    return (width + TILE_OWN - 1) / TILE_OWN * TILE_OWN;
}

/* Bytes of parents: of all steps, or, THIN, of one at a time and later of a tile a warp. */
static __host__ __device__ inline uint32_t follow_parents(uint32_t width, uint32_t band_steps,
                                                          bool thin) {
    const uint32_t step = 4 * follow_plane(width), tiles = 4 * TILE_COLUMNS * FAST_THREADS / 32;
    if (!thin) return step * band_steps;
    return step > tiles ? step : tiles;
}

static __host__ __device__ inline uint32_t follow_bytes(uint32_t width, uint32_t luma_stride,
                                                        uint32_t band_steps, int reach, bool thin) {
    return (uint32_t)sizeof(struct follow_memory) + follow_parents(width, band_steps, thin) +
           follow_plane(width) * band_steps + 2 * (uint32_t)reach * luma_stride +
           2 * renew_slots(reach) * FAST_STEP * band_steps;
}

/* ---- whether the halves have met */

/* Asks where, if it is not known; the answer is looked at later. */
static __device__ __forceinline__ uint32_t follow_ask(const struct fast_job &job,
                                                      const struct fast_band &band, uint32_t meet) {
    return meet == FAST_UNMET ? load_word(job.meets + band.half) : 0;
}

/* The meeting point, if WORD tells it or it is known. */
static __device__ __forceinline__ uint32_t follow_answer(uint32_t word, uint32_t seam,
                                                         uint32_t meet) {
    return word >> 16 == seam + 1 ? word & 0xffff : meet;
}

/* The block waits for it. */
static __device__ __forceinline__ uint32_t follow_meet(const struct fast_job &job,
                                                       const struct fast_band &band,
                                                       uint32_t seam) {
    if (fast_thread() == 0) {
        uint32_t word = load_word(job.meets + band.half);
        for (uint32_t spins = 0; word >> 16 != seam + 1; spins++) {
            word = load_word(job.meets + band.half);
            if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_MEET);
        }
        follow_memory()->meet = word & 0xffff;
    }
    __syncthreads();
    return follow_memory()->meet;
}

/* The block's barrier: afterwards all know MEET if one of its warps did. TURN: odd and even ones in
 * turn, since a warp may be at the next while another still reads. */
static __device__ __forceinline__ uint32_t follow_agree(uint32_t turn, uint32_t meet) {
    uint32_t *known = follow_memory()->known[turn % 2];
    const uint32_t warps = FAST_THREADS / 32, lane = fast_thread() % 32;
    if (lane == 0) known[fast_thread() / 32] = meet;
    __syncthreads();
    return warp_least(lane < warps ? known[lane] : FAST_UNMET);
}

/* Columns of the step's last row that are wanted. */
static __device__ __forceinline__ struct fast_window
follow_window(const struct fast_half &half, uint32_t step, uint32_t meet, uint32_t width) {
    if (meet == FAST_UNMET) return { 0, width - 1 };
    return fast_reach(half, step_end(half, step), meet, width);
}

/* ---- parents and jumps */

/* The block's warps share the tiles of a step whose parents are wanted; the first tile is for warp
 * FIRST. Returns whose the next would be; MEET may become known on the way. */
static __device__ __forceinline__ uint32_t follow_step(const struct fast_job &job,
                                                       const struct fast_band &band, uint32_t step,
                                                       uint32_t seam, uint32_t &meet,
                                                       uint32_t first) {
    const uint32_t warps = FAST_THREADS / 32, width = job.width - seam;
    const struct fast_half &half = job.halves[band.half];
    uint32_t *parents = band_parents(band, step - band.step);
    struct fast_window window = follow_window(half, step, meet, width);
    const uint32_t from = (window.from > FAST_STEP ? window.from - FAST_STEP : 0) / TILE_OWN;
    const uint32_t end = min(width - 1, window.to + FAST_STEP) / TILE_OWN + 1;
#pragma unroll 1
    for (uint32_t number = from + (fast_thread() / 32 + warps - first) % warps; number < end;
         number += warps) {
        const int x = tile_column(number);
        uint2 energies[FAST_STEP];
        struct tile tile = {};
        if ((number + 1) * TILE_OWN + FAST_STEP <= window.from) continue;
        if (number * TILE_OWN > window.to + FAST_STEP) break;
        const uint32_t word = follow_ask(job, band, meet);
        tile_energies(energies, job, band.half, step, x);
        tile_costs(tile, job, band.half, step, seam, x);
        tile_rows(tile, energies, step_rows(half, step));
        if (tile_owns())
            *(uint4 *)(parents + x) =
                make_uint4(tile.parents[0], tile.parents[1], tile.parents[2], tile.parents[3]);
        meet = follow_answer(__shfl_sync(~0u, word, 0), seam, meet);
        window = follow_window(half, step, meet, width);
    }
    return (first + end - from) % warps;
}

/* From columns AT of the row before STEP to the row before the band. Columns beside a window lead
 * nowhere that matters, but must stay in the image. */
static __device__ __forceinline__ void jumps_back(uint32_t (&at)[4], const struct fast_band &band,
                                                  uint32_t step, uint32_t last) {
#pragma unroll 1
    while (step > band.step) {
        const int8_t *jumps = band_jumps(band, --step - band.step);
#pragma unroll
        for (int k = 0; k < 4; k++) at[k] = min(last, at[k] + (uint32_t)jumps[at[k]]);
    }
}

/* Four columns a thread, all under way at once: where they come from in the row before the step;
 * at the band's last step, where from in the row before the band, told to the resolver. Steps are
 * shared out among the threads from different ones on. */
static __device__ __forceinline__ void follow_jumps(const struct fast_job &job,
                                                    const struct fast_band &band, uint32_t step,
                                                    uint32_t seam, uint32_t meet) {
    const struct fast_half &half = job.halves[band.half];
    const uint32_t last = job.width - seam - 1, head = (seam + 1) << 16, k = step - band.step;
    const uint32_t thread = (fast_thread() + k * (FAST_THREADS / job.band_steps)) % FAST_THREADS;
    struct fast_window window = follow_window(half, step, meet, last + 1);
    enum { ROUND = 4 * FAST_THREADS };
#pragma unroll 1
    for (uint32_t x = window.from + 4 * thread; x <= window.to; x += ROUND) {
        if (x < window.from) continue;
        const uint32_t word = x + ROUND <= window.to ? follow_ask(job, band, meet) : 0;
        uint32_t at[] = { min(x, last), min(x + 1, last), min(x + 2, last), min(x + 3, last) };
        walk_step(at, band_parents(band, k), step_rows(half, step), step);
#pragma unroll
        for (int i = 0; i < 4; i++) at[i] = min(at[i], last);
        *(uint32_t *)(band_jumps(band, k) + x) = four_bytes(at, x);
        if (step + 1 == band.end_step) {
            jumps_back(at, band, step, last);
            store_words(job.jumps + (uint64_t)band.number * job.jump_stride + x,
                        make_uint4(head | at[0], head | at[1], head | at[2], head | at[3]));
        }
        meet = follow_answer(word, seam, meet);
        window = follow_window(half, step, meet, last + 1);
    }
}

/* Far enough behind the leaders that nobody would do anything but ask. */
static __device__ __forceinline__ void follow_doze(const struct fast_job &job,
                                                   const struct fast_band &band, uint32_t seam) {
    if (fast_thread() == 0 && band.step >= 4) {
        const uint32_t *word = cost_row(job, band.half, band.step - 2);
        for (uint32_t spins = 0; load_word(word) >> 30 != fast_tag(seam); spins++)
            if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_COSTS);
    }
    __syncthreads();
}

/* Parents and jumps of the band: of all columns, step by step behind the leaders; from when the
 * halves are known to have met, of the columns that the seam can reach, and all steps at once. Who
 * knows may leave out the others at any time, since nobody reads them: the seam's columns of a step
 * lead to columns within its reach in the step before. */
static __device__ __forceinline__ void follow_costs(const struct fast_job &job,
                                                    const struct fast_band &band, uint32_t seam) {
    uint32_t meet = band.late ? follow_meet(job, band, seam) : FAST_UNMET, warp = 0;
    if (!band.late) follow_doze(job, band, seam);
#pragma unroll 1
    for (uint32_t step = band.step, end; step < band.end_step; step = end) {
        end = meet == FAST_UNMET || band.thin ? step + 1 : band.end_step;
#pragma unroll 1
        for (uint32_t k = step; k < end; k++) warp = follow_step(job, band, k, seam, meet, warp);
        meet = follow_agree(step, meet);
#pragma unroll 1
        for (uint32_t k = step; k < end; k++) {
            /* The last one's are told, through those before. */
            if (k > step && k + 1 == end) __syncthreads();
            follow_jumps(job, band, k, seam, meet);
        }
        /* Parents of a step take the place of those of the step before. */
        if (band.thin) __syncthreads();
    }
    if (band.number + 1 == job.halves[0].bands && fast_thread() == 0)
        fast_mark(job, seam, MARK_LAST_JUMPS);
    __syncthreads();
}

/* ---- the way through the band */

/* Waits for the seam's column in the band's last row. In follow_memory, bit 15 of it tells the last
 * seam of all. */
static __device__ __forceinline__ uint32_t follow_entry(const struct fast_job &job,
                                                        const struct fast_band &band,
                                                        uint32_t seam) {
    for (uint32_t spins = 0;; spins++) {
        const uint32_t word = load_word(job.entries + band.number);
        if (word >> 16 == seam + 1) {
            if (fast_thread() == 0) follow_memory()->entry = word & 0xffff;
            if (fast_thread() == 0 && band.number == 0) fast_mark(job, seam, MARK_ENTRY);
            return word & 0x7fff;
        }
        if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_ENTRY);
    }
}

/* The seam's column in the last row of the band's step K, from that of the band's last row. */
static __device__ __forceinline__ uint32_t follow_back(const struct fast_band &band, uint32_t k,
                                                       uint32_t x) {
#pragma unroll 1
    for (uint32_t j = band.end_step - band.step - 1; j > k; j--)
        x += (uint32_t)band_jumps(band, j)[x];
    return x;
}

/* A warp a step, parents not kept: those around the seam once more. Costs are still this seam's:
 * leaders write those of the next only behind bands that are ready, and the band before this one is
 * not before it has this one's crossings. */
static __device__ __forceinline__ void follow_again(const struct fast_job &job,
                                                    const struct fast_band &band, uint32_t entry,
                                                    uint32_t seam) {
    const struct fast_half &half = job.halves[band.half];
    const uint32_t steps = band.end_step - band.step, lane = fast_thread() % 32;
    uint32_t *parents = band_parents(band, 0) + fast_thread() / 32 * TILE_COLUMNS;
#pragma unroll 1
    for (uint32_t k = fast_thread() / 32; k < steps; k += FAST_THREADS / 32) {
        const uint32_t step = band.step + k, rows = step_rows(half, step);
        const uint32_t x = follow_back(band, k, entry);
        const int first = (int)(x & ~3u) - TILE_COLUMNS / 2, mine = first + 4 * (int)lane;
        uint2 energies[FAST_STEP];
        struct tile tile = {};
        tile_energies(energies, job, band.half, step, mine);
        tile_costs(tile, job, band.half, step, seam, mine);
        tile_rows(tile, energies, rows);
        *(uint4 *)(parents + 4 * lane) =
            make_uint4(tile.parents[0], tile.parents[1], tile.parents[2], tile.parents[3]);
        __syncwarp();
        if (lane == 0)
            walk_rows(x, parents - first, rows, follow_memory()->columns + k * FAST_STEP);
        __syncwarp();
    }
}

/* The first warp: tells the seam's columns to the bands beside and to the caller. */
static __device__ __forceinline__ void
follow_crossings(const struct fast_job &job, const struct fast_band &band, uint32_t seam) {
    const uint32_t rows = band.bottom - band.top;
#pragma unroll 1
    for (uint32_t i = fast_thread(); i < rows; i += 32) {
        const uint32_t y = band.half == 0 ? band.top + i : band.bottom - 1 - i;
        const uint32_t x = follow_memory()->columns[i];
        store_word(job.crossings + y, (seam + 1) << 16 | x);
        if (job.seam_columns) job.seam_columns[(uint64_t)seam * job.height + y] = (uint16_t)x;
    }
}

/* The first warp: the seam row by row, a lane a step, where there are parents. */
static __device__ __forceinline__ void follow_rows(const struct fast_job &job,
                                                   const struct fast_band &band, uint32_t entry) {
    const uint32_t k = fast_thread();
    if (k < band.end_step - band.step)
        walk_rows(follow_back(band, k, entry), band_parents(band, k),
                  step_rows(job.halves[band.half], band.step + k),
                  follow_memory()->columns + k * FAST_STEP);
    __syncwarp();
}

static __device__ __forceinline__ void follow_walk(const struct fast_job &job,
                                                   const struct fast_band &band, uint32_t seam) {
    if (band.thin) {
        follow_again(job, band, follow_entry(job, band, seam), seam);
        __syncthreads();
    } else if (fast_thread() < 32) {
        follow_rows(job, band, follow_entry(job, band, seam));
    }
    if (fast_thread() < 32) follow_crossings(job, band, seam);
    __syncthreads();
}

static __device__ __forceinline__ struct fast_band follow_band(const struct fast_job &job,
                                                               uint32_t number) {
    struct fast_band band;
    band.half = number >= job.halves[0].bands;
    const struct fast_half &half = job.halves[band.half];
    band.number = number;
    band.step = (number - half.first_band) * job.band_steps;
    band.end_step = min(band.step + job.band_steps, half.steps);
    const uint32_t first = band.step * FAST_STEP, end = min(band.end_step * FAST_STEP, half.rows);
    band.top = band.half == 0 ? first : job.height - end;
    band.bottom = band.half == 0 ? end : job.height - first;
    band.thin = job.thin;
    band.late = number - half.first_band + job.late_bands >= half.bands;
    band.plane = follow_plane(job.width);
    band.halo = sizeof(struct follow_memory) + follow_parents(job.width, job.band_steps, job.thin);
    band.jumps = band.halo + 2 * (uint32_t)job.reach * job.luma_stride;
    band.renewed = band.jumps + band.plane * job.band_steps;
    return band;
}

/* Copies of the rows beside, before anybody changes them: nobody does before all have begun. */
static __device__ __forceinline__ void follow_halo(const struct fast_job &job,
                                                   const struct fast_band &band) {
    const uint32_t reach = (uint32_t)job.reach, vectors = job.luma_stride / 16;
    for (uint32_t i = fast_thread(); i < 2 * reach * vectors; i += FAST_THREADS) {
        const uint32_t k = i / vectors;
        const uint32_t y = k < reach ? band.top - reach + k : band.bottom + k - reach;
        if (y < job.height)
            ((uint4 *)(fast_shared + band.halo))[i] =
                *(const uint4 *)(job.luma + (uint64_t)y * job.luma_stride + 16 * (i % vectors));
    }
    __syncthreads();
}

static __device__ void follow_block(const struct fast_job &job, uint32_t number) {
    if (fast_thread() == 0) follow_memory()->band = follow_band(job, number);
    __syncthreads();
    const struct fast_band &band = follow_memory()->band;
    const bool first = number == 0 && fast_thread() == 0;
    struct fast_clock &clock = follow_memory()->clock;
    bool last = false;
    if (first) clock_make(job, clock, SPAN_REMOVE);
    follow_halo(job, band);
    if (fast_thread() == 0) store_word(job.begun + number, 1);
    for (uint32_t seam = 0; seam < job.seams && !last; seam++) {
        follow_costs(job, band, seam);
        follow_walk(job, band, seam);
        last = follow_memory()->entry >> 15;
        if (first) fast_mark(job, seam, MARK_WALKED), clock.began = fast_now();
        remove_energies(job, band, seam);
        __syncthreads();
        if (first) fast_mark(job, seam, MARK_MOVED);
        renew_store(job, band, seam);
        __syncthreads();
        if (first) fast_mark(job, seam, MARK_RENEWED);
        if (fast_thread() == 0)
            store_release(job.ready + number, (seam + 1) | (uint32_t)last << 31);
        if (first) fast_mark(job, seam, MARK_READY);
        if (first) clock_tell(job, clock, SPAN_REMOVE);
        remove_luma(job, band, seam);
    }
}

#endif
