// SPDX-License-Identifier: Apache-2.0
/* removal.cuh - the fast both-axes method: removes a seam from both energy planes and the luma.
 *
 * Used by:  fast_both_axes/blocks.cuh.
 *
 * How it works: the axis whose seam is removed closes gaps along its rows, as
 * fast_one_axis/removal.cuh does. In the other's plane the seam runs across: columns move by a row,
 * in place, in vectors of 8 columns, and each thread fetches rows ahead of its writes. Luma goes
 * from one copy to the other.
 */
#ifndef BURIN_CARVE_FAST_BOTH_AXES_REMOVAL_CUH
#define BURIN_CARVE_FAST_BOTH_AXES_REMOVAL_CUH

#include "cuda/ops/carve/fast_both_axes/args.cuh"

DEVICE void both_gather(const struct both_args &both, const struct both_shared &shared) {
    const uint32_t *crossings =
        both_crossings(both, shared.seam.own == shared.place.axis, shared.state.step);
    const uint32_t tag = shared.state.step + 1, lines = shared.seam.lines;
#pragma unroll 1
    for (uint32_t i = 4 * thread_index(); i < lines; i += 4 * BLOCK_THREADS) {
        uint4 words;
        spin_until(STUCK_CROSSING, [&] {
            words = load_relaxed4(crossings + i);
            return words.x >> 16 == tag && (i + 1 >= lines || words.y >> 16 == tag) &&
                   (i + 2 >= lines || words.z >> 16 == tag) &&
                   (i + 3 >= lines || words.w >> 16 == tag);
        });
        *(uint2 *)(both_path(both) + i) =
            make_uint2((words.x & 0xffff) | words.y << 16, (words.z & 0xffff) | words.w << 16);
    }
    __syncthreads();
}

/* The row after the band's last, in its half. */
DEVICE uint32_t band_end(const struct axis_args &args, const struct band &band) {
    return min(band.end_step * STEP_ROWS, args.halves[band.half].rows);
}

/* ---- the winner's plane */

/* Luma as if the seam were removed; the axis's rows are lines of the seam. A turned window has the
 * same energy. */
struct luma_seam {
    const uint8_t *luma;
    uint32_t along, across; /* bytes between the axis's columns, and between its rows */
    int width, height;      /* without the seam */
    struct seam_near seam;
    __device__ __forceinline__ int at(int x, int y) const {
        x = min(max(x, 0), width - 1), y = min(max(y, 0), height - 1);
        x += x >= seam.column(y);
        return luma[(uint32_t)x * along + (uint32_t)y * across];
    }
};

/* Removes the seam from the band's rows, while energies around it are computed. */
DEVICE void both_close(const struct both_args &both, const struct both_shared &shared) {
    const struct axis_args &args = shared.args;
    const uint32_t step = shared.state.step;
    if (!renews()) return close_energies(args, shared.band, step);
    const int width = (int)(args.width - step) - 1;
    const bool turned = shared.place.axis == 1;
    const struct luma_seam luma = { both.luma[step & 1],
                                    turned ? both.luma_stride : 1,
                                    turned ? 1 : both.luma_stride,
                                    width,
                                    (int)args.height,
                                    renew_seam(args, shared.band, step) };
    renew_energies(args, shared.band, luma, width);
}

DEVICE void both_renew(const struct both_args &both, const struct both_shared &shared) {
    const struct axis_args &args = shared.args, &other = both.axes[!shared.place.axis];
    const struct band &band = shared.band;
    const uint32_t stages = renew_slots(args.reach), count = stages * (band.bottom - band.top);
    const int width = (int)(args.width - shared.state.step) - 1;
    struct axis_half upper;
    halve(upper, 0, (uint32_t)width, 1);
    renew_store(args, band, shared.state.step);
#pragma unroll 1
    for (uint32_t i = thread_index(); shared.others && i < count; i += BLOCK_THREADS) {
        const int x = renew_column(args, band, i, width);
        if (x < 0 || x >= width) continue;
        const bool lower = (uint32_t)x >= upper.rows;
        half_energies(other, lower, (uint32_t)(lower ? width - 1 - x : x))[band.top + i / stages] =
            renew_place(band)[i];
    }
}

/* ---- the loser's plane */

enum { SHIFT_BATCH = 4 }; /* rows under way together */

/* A thread's part: 8 columns of some rows of a half; row numbers are less than 2^15, two in a
 * word. */
struct shift {
    uint16_t *column; /* of the half's row 0 */
    uint32_t stride;
    uint32_t cuts[4];      /* from these rows on a column moves */
    uint32_t near, spread; /* rows cut - near to cut - near + spread are written elsewhere */
    int least;             /* of the cuts */
};

DEVICE uint32_t twice(uint32_t value) {
    return value * 0x10001;
}

DEVICE struct shift shift_of(const struct both_args &both, const struct both_shared &shared,
                             uint32_t x) {
    const struct axis_args &args = shared.args;
    const uint32_t half = (uint32_t)shared.band.half, lines = shared.seam.lines;
    const uint4 four = *(const uint4 *)(both_path(both) + x);
    const uint32_t pairs[] = { four.x, four.y, four.z, four.w }, last = twice(args.height - 1);
    struct shift shift;
    shift.column = half_energies(args, (int)half, 0) + x;
    shift.stride = args.energy_stride;
    shift.spread = twice(4 * (uint32_t)args.reach);
    shift.near = twice(2 * (uint32_t)args.reach + half);
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

/* Row I, from its present content and the next row's. */
DEVICE void shift_row_of(const struct shift &shift, int i, uint4 here, uint4 next) {
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

/* Rows FROM..TO-1, ascending; LAST: row TO before the shift. */
DEVICE void shift_rows(const struct shift &shift, int from, int to, uint4 last) {
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

/* The band's columns move up behind the seam. Threads share the columns, and if those are few the
 * rows too: the row after each part is fetched before any thread writes. All threads take the same
 * number of turns, since each turn has a barrier. */
DEVICE void both_shift(const struct both_args &both, const struct both_shared &shared) {
    const uint32_t lines = shared.seam.lines, vectors = (lines + 7) / 8;
    const uint32_t parts = vectors < BLOCK_THREADS ? BLOCK_THREADS / vectors : 1;
    const uint32_t each = vectors < BLOCK_THREADS ? vectors : BLOCK_THREADS;
    const uint32_t begin = shared.band.step * STEP_ROWS, end = band_end(shared.args, shared.band);
    struct axis_half after;
    halve(after, shared.band.half, shared.args.height - 1, 1);
    const uint32_t rows = min(end, after.rows) - begin;
    const uint32_t part = (rows + parts - 1) / parts, own = thread_index() / each * part;
    const int from = (int)(begin + min(own, rows)), to = (int)(begin + min(own + part, rows));
#pragma unroll 1
    for (uint32_t base = 0; base < vectors; base += each) {
        const uint32_t x = 8 * (base + thread_index() % each);
        const bool works = from < to && x < 8 * vectors;
        struct shift shift = {};
        uint4 last = make_uint4(0, 0, 0, 0);
        if (works) {
            shift = shift_of(both, shared, x);
            last = to < (int)end ? *(const uint4 *)(shift.column + (uint64_t)to * shift.stride)
                                 : *(const uint4 *)(block_shared + both.behind + 2 * x);
        }
        __syncthreads();
        if (works) shift_rows(shift, from, to, last);
    }
}

/* ---- luma */

/* Called by a warp: row Y of the image without a horizontal seam. */
DEVICE void both_luma_turned(const uint8_t *from, uint8_t *to, uint32_t stride, uint32_t width,
                             const uint16_t *path, uint32_t y) {
#pragma unroll 1
    for (uint32_t x = 16 * (thread_index() % 32); x < width; x += 16 * 32) {
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
DEVICE void both_luma(const struct both_args &both, const struct both_shared &shared) {
    const struct axis_half *halves = shared.args.halves;
    const uint32_t warps = BLOCK_THREADS / 32, stride = both.luma_stride, lines = shared.seam.lines;
    const uint32_t bands = halves[0].bands + halves[1].bands + shared.others;
    const uint32_t rank = shared.place.number - halves[shared.band.half].first_band +
                          (shared.band.half ? halves[0].bands : 0) +
                          (shared.place.axis ? shared.others : 0);
    const bool turned = shared.seam.own == shared.place.axis;
    const uint32_t length =
        shared.seam.own ? shared.args.width - shared.state.step : shared.args.height;
    const uint8_t *from = both.luma[shared.state.step & 1];
    uint8_t *to = both.luma[~shared.state.step & 1];
    const uint16_t *path = both_path(both);
#pragma unroll 1
    for (uint32_t y = rank * warps + thread_index() / 32; y < (turned ? length - 1 : lines);
         y += bands * warps) {
        const uint64_t at = (uint64_t)y * stride;
        if (turned)
            both_luma_turned(from + at, to + at, stride, lines, path, y);
        else
            close_gap<GAP_SHARED, 4>(from + at, to + at, 0, path[y], length - 1, stride, 8);
    }
}

#endif
