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

static __host__ __device__ inline uint32_t follow_bytes(uint32_t width, uint32_t luma_stride,
                                                        uint32_t band_steps, int reach) {
    return (uint32_t)sizeof(struct follow_memory) + follow_plane(width) * band_steps * 6 +
           2 * (uint32_t)reach * luma_stride;
}

/* The block's warps share the tiles of a step whose parents are wanted; the first tile is for warp
 * FIRST. Returns whose the next would be. */
static __device__ __forceinline__ uint32_t follow_step(const struct fast_job &job,
                                                       const struct fast_band &band, uint32_t step,
                                                       uint32_t seam, struct fast_window window,
                                                       uint32_t first) {
    const uint32_t warps = FAST_THREADS / 32, width = job.width - seam;
    const uint32_t from = (window.from > FAST_STEP ? window.from - FAST_STEP : 0) / TILE_OWN;
    const uint32_t end = min(width - 1, window.to + FAST_STEP) / TILE_OWN + 1;
    uint32_t *parents = band_parents(band, step - band.step);
#pragma unroll 1
    for (uint32_t number = from + (threadIdx.x / 32 + warps - first) % warps; number < end;
         number += warps) {
        const int x = tile_column(number);
        uint2 energies[FAST_STEP];
        struct tile tile = {};
        tile_energies(energies, job, band.half, step, x);
        tile_costs(tile, job, band.half, step, seam, x);
        tile_rows(tile, energies, step_rows(job.halves[band.half], step));
        if (tile_owns())
            *(uint4 *)(parents + x) =
                make_uint4(tile.parents[0], tile.parents[1], tile.parents[2], tile.parents[3]);
    }
    return (first + end - from) % warps;
}

/* Four columns a thread, all under way at once: where they come from in the row before the step.
 * Steps are shared out among the threads from different ones on. */
static __device__ __forceinline__ void follow_jumps(const struct fast_job &job,
                                                    const struct fast_band &band, uint32_t step,
                                                    uint32_t last, struct fast_window window) {
    const uint32_t rows = step_rows(job.halves[band.half], step);
    const uint32_t k = step - band.step, share = FAST_THREADS / job.band_steps;
    const uint32_t thread = (threadIdx.x + k * share) % FAST_THREADS;
#pragma unroll 1
    for (uint32_t x = window.from + 4 * thread; x <= window.to; x += 4 * FAST_THREADS) {
        uint32_t at[] = { min(x, last), min(x + 1, last), min(x + 2, last), min(x + 3, last) };
        walk_step(at, band_parents(band, k), rows, step);
        *(uint2 *)(band_jumps(band, k) + x) = make_uint2(at[0] | at[1] << 16, at[2] | at[3] << 16);
    }
}

/* From the last row of the band's steps before STEP through them. Columns beside a window lead
 * nowhere that matters, but must stay in the image. */
static __device__ __forceinline__ uint32_t jump_back(const struct fast_band &band, uint32_t step,
                                                     uint32_t x, uint32_t last) {
#pragma unroll 1
    while (step > band.step) x = min(last, (uint32_t)band_jumps(band, --step - band.step)[x]);
    return x;
}

/* Where the band's last row comes from in the last row of the band before, told to the resolver. */
static __device__ __forceinline__ void follow_tell(const struct fast_job &job,
                                                   const struct fast_band &band, uint32_t seam,
                                                   struct fast_window window, bool late) {
    const uint32_t last = job.width - seam - 1, tags = fast_tag(seam) << 14 | fast_tag(seam) << 30;
    uint16_t *told = job.jumps + (uint64_t)band.number * job.jump_stride;
    uint32_t *late_told =
        late_row(job, band.half, band.number - job.halves[band.half].first_band) - window.from;
#pragma unroll 1
    for (uint32_t x = window.from + 4 * threadIdx.x; x <= window.to; x += 4 * FAST_THREADS) {
        uint32_t at[4];
#pragma unroll
        for (uint32_t k = 0; k < 4; k++)
            at[k] = jump_back(band, band.end_step, min(x + k, last), last);
        if (late) {
            const uint32_t head = (seam + 1) << 16;
            store_words(late_told + x,
                        make_uint4(head | at[0], head | at[1], head | at[2], head | at[3]));
        } else {
            store_word((uint32_t *)(told + x), at[0] | at[1] << 16 | tags);
            store_word((uint32_t *)(told + x + 2), at[2] | at[3] << 16 | tags);
        }
    }
}

/* Where the halves have met, in the half's last row. */
static __device__ __forceinline__ uint32_t follow_meet(const struct fast_job &job,
                                                       const struct fast_band &band,
                                                       uint32_t seam) {
    if (threadIdx.x == 0) {
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

/* Far enough behind the leaders that nobody would do anything but ask. */
static __device__ __forceinline__ void follow_doze(const struct fast_job &job,
                                                   const struct fast_band &band, uint32_t seam) {
    if (threadIdx.x == 0 && band.step >= 4) {
        const uint32_t *word = cost_row(job, band.half, band.step - 2);
        for (uint32_t spins = 0; load_word(word) >> 30 != fast_tag(seam); spins++)
            if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_COSTS);
    }
    __syncthreads();
}

/* Parents and jumps of the band: either step by step behind the leaders, of all columns, or, LATE,
 * all steps at once when the halves have met, of the columns that the seam can reach. */
static __device__ __forceinline__ void
follow_costs(const struct fast_job &job, const struct fast_band &band, uint32_t seam, bool late) {
    const struct fast_half &half = job.halves[band.half];
    const uint32_t width = job.width - seam, steps = band.end_step - band.step;
    const uint32_t meet = late ? follow_meet(job, band, seam) : 0;
    struct fast_window window = { 0, (width + 7) / 8 * 8 - 1 };
    uint32_t warp = 0;
    if (!late) follow_doze(job, band, seam);
#pragma unroll 1
    for (uint32_t k = 0; k < 2 * steps; k++) {
        const bool walk = late ? k >= steps : k % 2;
        const uint32_t step = band.step + (late ? k % steps : k / 2);
        if (late) window = fast_reach(half, step_end(half, step), meet, width);
        if (walk)
            follow_jumps(job, band, step, width - 1, window);
        else
            warp = follow_step(job, band, step, seam, window, warp);
        if (k == 2 * steps - 1 || (late ? k == steps - 1 : !walk)) __syncthreads();
        if (!late) warp = 0;
    }
    if (band.number + 1 == job.halves[0].bands && threadIdx.x == 0)
        fast_mark(job, seam, MARK_LAST_JUMPS);
    follow_tell(job, band, seam, window, late);
}

/* The seam's column in the band's last row, with bit 15 for the last seam of all, and bit 14 where
 * it may be wrong and stays. */
static __device__ __forceinline__ uint32_t follow_entry(const struct fast_job &job,
                                                        const struct fast_band &band,
                                                        uint32_t seam) {
    if (threadIdx.x == 0) {
        uint32_t word = load_word(job.entries + band.number);
        for (uint32_t spins = 0; word >> 16 != seam + 1; spins++) {
            word = load_word(job.entries + band.number);
            if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_ENTRY);
        }
        follow_memory()->entry = word & 0xffff;
        if (band.number == 0) fast_mark(job, seam, MARK_ENTRY);
    }
    __syncthreads();
    return follow_memory()->entry;
}

/* The first warp, a lane a step: the seam row by row; then all lanes tell it, to the bands beside
 * and to the caller. */
static __device__ __forceinline__ void follow_walk(const struct fast_job &job,
                                                   const struct fast_band &band, uint32_t entry,
                                                   uint32_t seam) {
    const uint32_t step = band.step + threadIdx.x, rows = band.bottom - band.top;
    if (step < band.end_step) {
        const uint32_t *parents = band_parents(band, threadIdx.x);
        uint32_t x = entry;
#pragma unroll 1
        for (uint32_t k = band.end_step - 1; k > step; k--) x = band_jumps(band, k - band.step)[x];
        walk_rows(x, parents, step_rows(job.halves[band.half], step),
                  follow_memory()->columns + threadIdx.x * FAST_STEP);
    }
    __syncwarp();
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < rows; i += 32) {
        const uint32_t y = band.half == 0 ? band.top + i : band.bottom - 1 - i;
        const uint32_t x = follow_memory()->columns[i];
        store_word(job.crossings + y, (seam + 1) << 16 | x);
        job.seam_columns[(uint64_t)seam * job.height + y] = (uint16_t)x;
    }
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
    band.plane = follow_plane(job.width);
    band.halo = sizeof(struct follow_memory) + 4 * band.plane * job.band_steps;
    band.jumps = band.halo + 2 * (uint32_t)job.reach * job.luma_stride;
    return band;
}

/* Copies of the rows beside, before anybody changes them: nobody does before all have begun. */
static __device__ __forceinline__ void follow_halo(const struct fast_job &job,
                                                   const struct fast_band &band) {
    const uint32_t reach = (uint32_t)job.reach, vectors = job.luma_stride / 16;
    for (uint32_t i = threadIdx.x; i < 2 * reach * vectors; i += FAST_THREADS) {
        const uint32_t k = i / vectors;
        const uint32_t y = k < reach ? band.top - reach + k : band.bottom + k - reach;
        if (y < job.height)
            ((uint4 *)(fast_shared + band.halo))[i] =
                *(const uint4 *)(job.luma + (uint64_t)y * job.luma_stride + 16 * (i % vectors));
    }
    __syncthreads();
}

static __device__ void follow_block(const struct fast_job &job, uint32_t number) {
    const struct fast_band band = follow_band(job, number);
    const struct fast_half &half = job.halves[band.half];
    const bool late = is_late(job, half, number - half.first_band);
    const bool first = number == 0 && threadIdx.x == 0;
    uint64_t began = 0, spent = first ? fast_spent(job, SPAN_REMOVE) : 0;
    bool last = false;
    follow_halo(job, band);
    if (threadIdx.x == 0) store_word(job.begun + number, 1);
    for (uint32_t seam = fast_begin(job); seam < job.seams && !last; seam++) {
        follow_costs(job, band, seam, late);
        const uint32_t entry = follow_entry(job, band, seam);
        last = entry >> 15;
        if (entry >> 14 & 1) {
            if (threadIdx.x == 0) store_word(job.ready + number, (seam + 1) | 1u << 31);
            return;
        }
        if (first) began = fast_now();
        if (threadIdx.x < 32) follow_walk(job, band, entry & 0x3fff, seam);
        __syncthreads();
        if (first) fast_mark(job, seam, MARK_WALKED);
        remove_energies(job, band, seam);
        __syncthreads();
        if (first) fast_mark(job, seam, MARK_MOVED);
        renew_energies(job, band, seam);
        __syncthreads();
        if (first) fast_mark(job, seam, MARK_RENEWED);
        if (threadIdx.x == 0) store_release(job.ready + number, (seam + 1) | (uint32_t)last << 31);
        if (first) fast_mark(job, seam, MARK_READY);
        if (first && job.watch) fast_span(job, SPAN_REMOVE, began, spent);
        remove_luma(job, band, seam);
    }
}

#endif
