// SPDX-License-Identifier: Apache-2.0
/* fast_both_remove.cuh - a seam out of both planes of energies, and of the luma. */
#ifndef BURIN_CARVE_FAST_BOTH_REMOVE_CUH
#define BURIN_CARVE_FAST_BOTH_REMOVE_CUH

#include "cuda/ops/carve/erase.cuh"
#include "cuda/ops/carve/fast_both_job.cuh"

/* Where the seam crosses every line, as the winner's bands tell it. */
static __device__ __forceinline__ void both_gather(const struct both_job &both,
                                                   const struct both_desk &desk) {
    const uint32_t *crossings =
        both_crossings(both, desk.seam.own == desk.place.way, desk.state.step);
    const uint32_t tag = desk.state.step + 1, lines = desk.seam.lines;
#pragma unroll 1
    for (uint32_t i = 4 * fast_thread(); i < lines; i += 4 * FAST_THREADS) {
        uint4 words = load_words(crossings + i);
        for (uint32_t spins = 0;; spins++) {
            if (words.x >> 16 == tag && (i + 1 >= lines || words.y >> 16 == tag) &&
                (i + 2 >= lines || words.z >> 16 == tag) &&
                (i + 3 >= lines || words.w >> 16 == tag))
                break;
            words = load_words(crossings + i);
            if (spins == FAST_PATIENCE) FAST_STUCK(desk.job, STUCK_CROSSING);
        }
        *(uint2 *)(both_path(both) + i) =
            make_uint2((words.x & 0xffff) | words.y << 16, (words.z & 0xffff) | words.w << 16);
    }
    __syncthreads();
}

/* First row of the band and the one behind its last, in its half. */
static __device__ __forceinline__ uint32_t band_begin(const struct fast_band &band) {
    return band.step * FAST_STEP;
}

static __device__ __forceinline__ uint32_t band_end(const struct fast_job &job,
                                                    const struct fast_band &band) {
    return min(band.end_step * FAST_STEP, job.halves[band.half].rows);
}

/* ---- the winner's plane */

/* Luma as it will be without the seam, the way's rows being lines of the seam. What is turned has
 * the same energy. */
struct luma_seam {
    const uint8_t *luma;
    uint32_t along, across; /* bytes from one of the way's columns to the next, and of its rows */
    int width, height;      /* without the seam */
    struct seam_near seam;
    __device__ __forceinline__ int at(int x, int y) const {
        x = min(max(x, 0), width - 1), y = min(max(y, 0), height - 1);
        x += x >= seam.column(y);
        return luma[(uint32_t)x * along + (uint32_t)y * across];
    }
};

/* The seam goes out of the band's rows, while energies around it are computed anew. */
static __device__ __forceinline__ void both_close(const struct both_job &both,
                                                  const struct both_desk &desk) {
    const struct fast_job &job = desk.job;
    const uint32_t step = desk.state.step;
    if (!renews()) return close_energies(job, desk.band, step);
    const int width = (int)(job.width - step) - 1;
    const bool turned = desk.place.way == 1;
    const struct luma_seam luma = {
        both.luma[step & 1], turned ? both.luma_stride : 1,   turned ? 1 : both.luma_stride, width,
        (int)job.height,     renew_seam(job, desk.band, step)
    };
    renew_energies(job, desk.band, luma, width);
}

/* And those go into both planes. */
static __device__ __forceinline__ void both_renew(const struct both_job &both,
                                                  const struct both_desk &desk) {
    const struct fast_job &job = desk.job, &other = both.ways[!desk.place.way];
    const struct fast_band &band = desk.band;
    const uint32_t slots = renew_slots(job.reach), count = slots * (band.bottom - band.top);
    const int width = (int)(job.width - desk.state.step) - 1;
    struct fast_half upper;
    fast_halve(upper, 0, (uint32_t)width, 1);
    renew_store(job, band, desk.state.step);
#pragma unroll 1
    for (uint32_t i = fast_thread(); desk.others && i < count; i += FAST_THREADS) {
        const int x = renew_column(job, band, i, width);
        if (x < 0 || x >= width) continue;
        const bool lower = (uint32_t)x >= upper.rows;
        half_energies(other, lower, (uint32_t)(lower ? width - 1 - x : x))[band.top + i / slots] =
            renew_place(band)[i];
    }
}

/* ---- the loser's plane */

enum { SHIFT_BATCH = 4 }; /* rows under way at once */

/* A thread's part: 8 columns of some rows of a half; rows are less than 2^15, two in a word. */
struct shift {
    uint16_t *column; /* of the half's row 0 */
    uint32_t stride;
    uint32_t cuts[4]; /* from these rows on a column moves */
    uint32_t near,
        spread; /* rows cut - NEAR and SPREAD behind that are not the thread's to write */
    int least;  /* of the cuts */
};

static __device__ __forceinline__ uint32_t twice(uint32_t value) {
    return value * 0x10001;
}

static __device__ __forceinline__ struct shift shift_of(const struct both_job &both,
                                                        const struct both_desk &desk, uint32_t x) {
    const struct fast_job &job = desk.job;
    const uint32_t half = (uint32_t)desk.band.half, lines = desk.seam.lines;
    const uint4 four = *(const uint4 *)(both_path(both) + x);
    const uint32_t pairs[] = { four.x, four.y, four.z, four.w }, last = twice(job.height - 1);
    struct shift shift;
    shift.column = half_energies(job, (int)half, 0) + x;
    shift.stride = job.energy_stride;
    shift.spread = twice(4 * (uint32_t)job.reach);
    shift.near = twice(2 * (uint32_t)job.reach + half);
    shift.least = 0x7fff;
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t cuts = half ? last - pairs[k] : pairs[k];
        if (x + 2 * k >= lines) cuts = 0x7fff7fff;
        if (x + 2 * k + 1 >= lines) cuts = (cuts & 0xffff) | 0x7fff0000;
        shift.cuts[k] = cuts;
        shift.least = min(shift.least, (int)min(cuts & 0xffff, cuts >> 16));
    }
    return shift;
}

/* Row I from what is there and what is in the next. */
static __device__ __forceinline__ void shift_row_of(const struct shift &shift, int i, uint4 here,
                                                    uint4 next) {
    const uint32_t old[] = { here.x, here.y, here.z, here.w }, row = twice((uint32_t)i);
    const uint32_t moved[] = { next.x, next.y, next.z, next.w };
    uint16_t *to = shift.column + (uint64_t)i * shift.stride;
    uint32_t words[4], own[4], near = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const uint32_t moves = __vcmpgeu2(row, shift.cuts[k]);
        const uint32_t others = __vcmpleu2(__vsub2(row + shift.near, shift.cuts[k]), shift.spread);
        words[k] = (old[k] & ~moves) | (moved[k] & moves);
        own[k] = moves & ~others, near |= others;
    }
    if (!near) {
        *(uint4 *)to = make_uint4(words[0], words[1], words[2], words[3]);
        return;
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        if (own[k] & 1) to[2 * k] = (uint16_t)words[k];
        if (own[k] >> 16) to[2 * k + 1] = (uint16_t)(words[k] >> 16);
    }
}

/* Rows FROM..TO-1, ascending; LAST: row TO as it was. */
static __device__ __forceinline__ void shift_rows(const struct shift &shift, int from, int to,
                                                  uint4 last) {
    from = max(from, shift.least);
    if (from >= to) return;
    uint4 here = *(const uint4 *)(shift.column + (uint64_t)from * shift.stride);
#pragma unroll 1
    for (int i = from; i < to; i += SHIFT_BATCH) {
        uint4 next[SHIFT_BATCH];
#pragma unroll
        for (int k = 0; k < SHIFT_BATCH; k++) {
            next[k] = last;
            if (i + k + 1 < to)
                next[k] = *(const uint4 *)(shift.column + (uint64_t)(i + k + 1) * shift.stride);
        }
#pragma unroll
        for (int k = 0; k < SHIFT_BATCH; k++) {
            if (i + k < to) shift_row_of(shift, i + k, here, next[k]);
            here = next[k];
        }
    }
}

/* The band's columns move up behind the seam. Threads share the columns, and where those are few
 * the rows too: of each part the row behind it is fetched before anybody writes. All threads take
 * as many turns, since there is a barrier in each. */
static __device__ __forceinline__ void both_shift(const struct both_job &both,
                                                  const struct both_desk &desk) {
    const uint32_t lines = desk.seam.lines, vectors = (lines + 7) / 8;
    const uint32_t parts = vectors < FAST_THREADS ? FAST_THREADS / vectors : 1;
    const uint32_t each = vectors < FAST_THREADS ? vectors : FAST_THREADS;
    const uint32_t begin = band_begin(desk.band), end = band_end(desk.job, desk.band);
    struct fast_half after;
    fast_halve(after, desk.band.half, desk.job.height - 1, 1);
    const uint32_t rows = min(end, after.rows) - begin;
    const uint32_t part = (rows + parts - 1) / parts, own = fast_thread() / each * part;
    const int from = (int)(begin + min(own, rows)), to = (int)(begin + min(own + part, rows));
#pragma unroll 1
    for (uint32_t base = 0; base < vectors; base += each) {
        const uint32_t x = 8 * (base + fast_thread() % each);
        const bool works = from < to && x < 8 * vectors;
        struct shift shift = {};
        uint4 last = make_uint4(0, 0, 0, 0);
        if (works) {
            shift = shift_of(both, desk, x);
            last = to < (int)end ? *(const uint4 *)(shift.column + (uint64_t)to * shift.stride)
                                 : *(const uint4 *)(fast_shared + both.behind + 2 * x);
        }
        __syncthreads();
        if (works) shift_rows(shift, from, to, last);
    }
}

/* ---- luma */

/* Row Y of the image without a horizontal seam, by a warp. */
static __device__ __forceinline__ void both_luma_turned(const uint8_t *from, uint8_t *to,
                                                        uint32_t stride, uint32_t width,
                                                        const uint16_t *path, uint32_t y) {
#pragma unroll 1
    for (uint32_t x = 16 * (fast_thread() % 32); x < width; x += 16 * 32) {
        const uint4 here = __ldcg((const uint4 *)(from + x));
        const uint4 below = __ldcg((const uint4 *)(from + stride + x));
        const uint32_t old[] = { here.x, here.y, here.z, here.w };
        const uint32_t moved[] = { below.x, below.y, below.z, below.w };
        uint32_t words[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const uint2 cuts = *(const uint2 *)(path + x + 4 * k);
            const uint32_t moves =
                __byte_perm(__vcmpgeu2(twice(y), cuts.x), __vcmpgeu2(twice(y), cuts.y), 0x6420);
            words[k] = (old[k] & ~moves) | (moved[k] & moves);
        }
        *(uint4 *)(to + x) = make_uint4(words[0], words[1], words[2], words[3]);
    }
}

/* Rows of the image, shared out among the warps of all bands. */
static __device__ __forceinline__ void both_luma(const struct both_job &both,
                                                 const struct both_desk &desk) {
    const struct fast_half *halves = desk.job.halves;
    const uint32_t warps = FAST_THREADS / 32, stride = both.luma_stride, lines = desk.seam.lines;
    const uint32_t bands = halves[0].bands + halves[1].bands + desk.others;
    const uint32_t rank = desk.place.number - halves[desk.band.half].first_band +
                          (desk.band.half ? halves[0].bands : 0) +
                          (desk.place.way ? desk.others : 0);
    const bool turned = desk.seam.own == desk.place.way;
    const uint32_t length = desk.seam.own ? desk.job.width - desk.state.step : desk.job.height;
    const uint8_t *from = both.luma[desk.state.step & 1];
    uint8_t *to = both.luma[~desk.state.step & 1];
    const uint16_t *path = both_path(both);
#pragma unroll 1
    for (uint32_t y = rank * warps + fast_thread() / 32; y < (turned ? length - 1 : lines);
         y += bands * warps) {
        const uint64_t at = (uint64_t)y * stride;
        if (turned)
            both_luma_turned(from + at, to + at, stride, lines, path, y);
        else
            shift_row<8>(from + at, to + at, 0, length - 1, path[y]);
    }
}

#endif
