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

/* A warp of the winner's: the same of the band's own lines, and of those beside that its energies
 * reach. */
static __device__ __forceinline__ void both_beside(const struct both_job &both,
                                                   const struct both_desk &desk) {
    const struct fast_band &band = desk.band;
    const uint32_t lane = fast_thread() % 32, reach = (uint32_t)desk.job.reach;
    uint16_t *path = both_path(both);
    for (uint32_t y = band.top + lane; y < band.bottom; y += 32)
        path[y] = (uint16_t)band_column(band, y);
    const uint32_t beside = lane < reach ? band.top - reach + lane : band.bottom + lane - reach;
    if (lane >= 2 * reach || beside >= desk.seam.lines) return;
    uint32_t word = load_word(desk.job.crossings + beside);
    for (uint32_t spins = 0; word >> 16 != desk.state.step + 1; spins++) {
        word = load_word(desk.job.crossings + beside);
        if (spins == FAST_PATIENCE) FAST_STUCK(desk.job, STUCK_CROSSING);
    }
    path[beside] = (uint16_t)word;
}

/* ---- the winner's plane */

/* First row of the band and the one behind its last, in its half. */
static __device__ __forceinline__ uint32_t band_begin(const struct fast_band &band) {
    return band.step * FAST_STEP;
}

static __device__ __forceinline__ uint32_t band_end(const struct fast_job &job,
                                                    const struct fast_band &band) {
    return min(band.end_step * FAST_STEP, job.halves[band.half].rows);
}

enum { CLOSE_BATCH = 4, CLOSE_WARPS = FAST_THREADS / 32 - 1, CLOSE_BYTES = 32 * 16 };

static __device__ __forceinline__ void close_barrier() {
    asm volatile("bar.sync %0, %1;" ::"r"(1), "r"(32 * CLOSE_WARPS) : "memory");
}

/* Gaps in the band's rows, by all warps but the last, which asks where the seam goes beside the
 * band. Pieces of rows are tasks, the first pieces of all rows first; of a batch all loads come
 * before all stores, so that a piece finds the next one's first word as it was. */
static __device__ __forceinline__ void both_close(const struct both_job &both,
                                                  const struct both_desk &desk) {
    const uint32_t warp = fast_thread() / 32, lane = fast_thread() % 32;
    const uint32_t begin = band_begin(desk.band), rows = band_end(desk.job, desk.band) - begin;
    const uint32_t bytes = 2 * (desk.job.width - desk.state.step + FAST_PAD);
    const uint32_t tasks = (bytes + CLOSE_BYTES - 1) / CLOSE_BYTES * rows;
    const uint32_t stride = 2 * desk.job.energy_stride;
    uint8_t *plane = (uint8_t *)(half_energies(desk.job, desk.band.half, begin) - FAST_PAD);
    if (warp == CLOSE_WARPS) {
        both_beside(both, desk);
        return;
    }
#pragma unroll 1
    for (uint32_t base = warp; base - warp < tasks; base += CLOSE_BATCH * CLOSE_WARPS) {
        uint4 old[CLOSE_BATCH];
        uint32_t next[CLOSE_BATCH], places[CLOSE_BATCH];
        int from[CLOSE_BATCH]; /* the gap, behind the lane's piece; its 16 bytes or more: no work */
#pragma unroll
        for (uint32_t k = 0; k < CLOSE_BATCH; k++) {
            const uint32_t task = base + k * CLOSE_WARPS, row = task % rows;
            const uint32_t at = task / rows * CLOSE_BYTES + 16 * lane;
            places[k] = row * stride + at, from[k] = 16;
            if (task >= tasks || at >= bytes) continue;
            from[k] = 2 * (int)(follow_memory()->columns[row] + FAST_PAD) - (int)at;
            if (from[k] >= 16) continue;
            old[k] = *(const uint4 *)(plane + places[k]);
            next[k] = at + 16 < stride ? *(const uint32_t *)(plane + places[k] + 16) : 0;
        }
        close_barrier();
#pragma unroll
        for (uint32_t k = 0; k < CLOSE_BATCH; k++)
            if (from[k] < 16)
                *(uint4 *)(plane + places[k]) =
                    shifted(old[k], next[k], 0, (uint32_t)max(from[k], 0), 16);
    }
}

/* Luma as it will be without the seam, the way's rows being lines of the seam. What is turned has
 * the same energy. */
struct luma_seam {
    const uint8_t *luma;
    uint32_t stride;
    const uint16_t *path;
    int width, lines; /* without the seam */
    bool turned;
    __device__ __forceinline__ int at(int x, int y) const {
        x = min(max(x, 0), width - 1), y = min(max(y, 0), lines - 1);
        x += x >= path[y];
        return luma[turned ? (uint32_t)x * stride + (uint32_t)y
                           : (uint32_t)y * stride + (uint32_t)x];
    }
};

/* Energies whose window the seam has touched, 2 reach columns on either side of it, in both planes.
 */
static __device__ __forceinline__ void both_renew(const struct both_job &both,
                                                  const struct both_desk &desk) {
    const struct fast_job &job = desk.job;
    const int width = (int)(job.width - desk.state.step) - 1, spread = 2 * job.reach;
    const uint32_t each = 2 * (uint32_t)spread + 1;
    const uint32_t begin = band_begin(desk.band), rows = band_end(job, desk.band) - begin;
    const struct luma_seam luma = {
        both.luma[desk.state.step & 1], both.luma_stride,   both_path(both), width,
        (int)desk.seam.lines,           desk.place.way == 1
    };
    struct fast_half upper;
    fast_halve(upper, 0, (uint32_t)width, 1);
#pragma unroll 1
    for (uint32_t i = fast_thread(); i < each * rows; i += FAST_THREADS) {
        const uint32_t row = begin + i / each;
        const uint32_t line = desk.band.half ? desk.seam.lines - 1 - row : row;
        const int x = (int)luma.path[line] + (int)(i % each) - spread;
        if (x < 0 || x >= width) continue;
        const uint16_t energy = (uint16_t)energy_at(luma, job.energy, x, (int)line);
        half_energies(job, desk.band.half, row)[x] = energy;
        if (!desk.others) continue;
        const int half = (uint32_t)x >= upper.rows;
        half_energies(both.ways[!desk.place.way], half, half ? width - 1 - x : x)[line] = energy;
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
        struct shift shift;
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
