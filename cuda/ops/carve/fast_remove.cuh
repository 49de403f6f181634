// SPDX-License-Identifier: Apache-2.0
/* fast_remove.cuh - a seam's pixels out of a band of rows, and the energies around them anew.
 *
 * A band's luma and energies are written by its own block alone. Energies need luma of the rows
 * beside the band too: the block keeps copies of those in shared memory and carves them itself.
 */
#ifndef BURIN_CARVE_FAST_REMOVE_CUH
#define BURIN_CARVE_FAST_REMOVE_CUH

#include "cuda/ops/carve/fast_energy.cuh"

enum { BAND_REACH_MAX = 2, BAND_ROWS_MAX = 16 * 7 };

/* A band's rows, by the image's numbers, and what its block keeps. */
struct fast_band {
    int half;
    uint32_t number; /* of both halves' */
    uint32_t step, end_step;
    uint32_t top, bottom; /* rows top..bottom-1 */
    uint8_t *halo;        /* luma of the rows beside: reach above, reach below */
    uint32_t *columns;    /* the seam, in the order of the half's rows */
    uint32_t *parents;    /* a plane a step */
    uint16_t *jumps;      /* a row a step */
    uint32_t plane;       /* columns of either */
};

static __device__ __forceinline__ uint32_t band_column(const struct fast_band &band, uint32_t y) {
    return band.columns[band.half == 0 ? y - band.top : band.bottom - 1 - y];
}

struct luma_band {
    const struct fast_job &job;
    const struct fast_band &band;
    int width;
    __device__ __forceinline__ int at(int x, int y) const {
        x = min(max(x, 0), width - 1), y = min(max(y, 0), (int)job.height - 1);
        const uint8_t *row = job.luma + (uint64_t)y * job.luma_stride;
        if (y < (int)band.top)
            row = band.halo + (y - (int)band.top + job.reach) * job.luma_stride;
        else if (y >= (int)band.bottom)
            row = band.halo + (y - (int)band.bottom + job.reach) * job.luma_stride;
        return row[x];
    }
};

/* Bits of the 4 bytes at AT that lie at FROM or behind. */
static __device__ __forceinline__ uint32_t from_mask(uint32_t at, uint32_t from) {
    if (from <= at) return ~0u;
    return from >= at + 4 ? 0 : ~0u << (8 * (from - at));
}

template <int BYTES>
static __device__ __forceinline__ uint4 shifted(uint4 old, uint32_t next, uint32_t at,
                                                uint32_t from) {
    uint32_t words[5] = { old.x, old.y, old.z, old.w, next };
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const uint32_t mask = from_mask(at + 4 * k, from);
        words[k] = (__funnelshift_r(words[k], words[k + 1], 8 * BYTES) & mask) | (words[k] & ~mask);
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

/* A lane's share of up to BATCH * 512 bytes of a row that are to move down by BYTES. */
template <int BYTES, int BATCH> struct gap {
    uint4 old[BATCH];
    uint32_t next[BATCH];

    /* ROW has STRIDE bytes, of which those before END are wanted. */
    __device__ __forceinline__ void load(const uint8_t *row, uint32_t base, uint32_t end,
                                         uint32_t stride) {
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            const uint32_t at = base + k * 512 + threadIdx.x % 32 * 16;
            if (at >= end) continue;
            old[k] = *(const uint4 *)(row + at);
            next[k] = at + 16 < stride ? *(const uint32_t *)(row + at + 16) : 0;
        }
    }

    __device__ __forceinline__ void store(uint8_t *row, uint32_t base, uint32_t end,
                                          uint32_t from) {
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            const uint32_t at = base + k * 512 + threadIdx.x % 32 * 16;
            if (at < end) *(uint4 *)(row + at) = shifted<BYTES>(old[k], next[k], at, from);
        }
    }
};

/* A warp moves bytes FROM + BYTES.. of ROW down to FROM.., at least up to END; STRIDE bytes exist.
 * Loads of a round come before its stores, and rounds ascend, so that nothing is lost in place. */
template <int BYTES>
static __device__ void close_gap(uint8_t *row, uint32_t from, uint32_t end, uint32_t stride) {
    struct gap<BYTES, 4> gap;
    for (uint32_t base = from & ~15u; base < end; base += 4 * 512) {
        gap.load(row, base, end, stride);
        __syncwarp();
        gap.store(row, base, end, from);
        __syncwarp();
    }
}

/* The same with a row of luma and one of energies, loaded together: 1024 columns a round. */
static __device__ void close_gaps(const struct fast_job &job, uint32_t y, uint32_t column,
                                  uint32_t width) {
    uint8_t *luma = job.luma + (uint64_t)y * job.luma_stride;
    uint8_t *energies = (uint8_t *)(energy_row(job, y) - FAST_PAD);
    const uint32_t from = 2 * (column + FAST_PAD), end = 2 * (width + FAST_PAD);
    uint32_t at = column & ~15u, energies_at = from & ~15u;
    struct gap<1, 2> bytes;
    struct gap<2, 4> pairs;
    for (; at < width || energies_at < end; at += 1024, energies_at += 2048) {
        pairs.load(energies, energies_at, end, 2 * job.energy_stride);
        bytes.load(luma, at, width, job.luma_stride);
        __syncwarp();
        pairs.store(energies, energies_at, end, from);
        bytes.store(luma, at, width, column);
        __syncwarp();
    }
}

/* One of the rows beside the band: waits until its own band tells where the seam crosses it. */
static __device__ __forceinline__ void
remove_beside(const struct fast_job &job, const struct fast_band &band, uint32_t k, uint32_t seam) {
    const uint32_t reach = (uint32_t)job.reach;
    const uint32_t y = k < reach ? band.top - reach + k : band.bottom + k - reach;
    if (y >= job.height) return; /* above row 0 wraps round, too */
    uint32_t word = load_word(job.crossings + y);
    for (uint32_t spins = 0; word >> 16 != seam + 1; spins++) {
        word = load_word(job.crossings + y);
        if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_CROSSING);
    }
    close_gap<1>(band.halo + k * job.luma_stride, word & 0xffff, job.width - seam, job.luma_stride);
}

/* All warps of the block; band.columns are known. */
static __device__ __forceinline__ void remove_seam(const struct fast_job &job,
                                                   const struct fast_band &band, uint32_t seam) {
    const uint32_t rows = band.bottom - band.top, width = job.width - seam;
    const uint32_t tasks = rows + 2 * (uint32_t)job.reach;
    for (uint32_t task = threadIdx.x / 32; task < tasks; task += FAST_THREADS / 32) {
        if (task < rows)
            close_gaps(job, band.top + task, band_column(band, band.top + task), width);
        else
            remove_beside(job, band, task - rows, seam);
    }
}

/* Energies whose window the seam has touched: 2 reach columns on either side of it. */
static __device__ __forceinline__ void renew_energies(const struct fast_job &job,
                                                      const struct fast_band &band, uint32_t seam) {
    const int width = (int)(job.width - seam) - 1, spread = 2 * job.reach;
    const struct luma_band luma = { job, band, width };
    for (uint32_t i = threadIdx.x; i < 16 * (band.bottom - band.top); i += FAST_THREADS) {
        const int y = (int)(band.top + i / 16);
        const int x = (int)band_column(band, (uint32_t)y) + (int)(i % 16) - spread;
        if ((int)(i % 16) > 2 * spread || x < 0 || x >= width) continue;
        energy_row(job, y)[x] = (uint16_t)energy_at(luma, job.energy, x, y);
    }
}

#endif
