// SPDX-License-Identifier: Apache-2.0
/* fast_remove.cuh - a seam's pixels out of a band of rows, and the energies around them anew.
 *
 * A band's luma and energies are written by its own block alone. Energies need luma of the rows
 * beside the band too: the block keeps copies of those in shared memory and carves them itself.
 */
#ifndef BURIN_CARVE_FAST_REMOVE_CUH
#define BURIN_CARVE_FAST_REMOVE_CUH

#include "cuda/ops/carve/fast_energy.cuh"

enum { BAND_REACH_MAX = 2, BAND_ROWS_MAX = FAST_STEP * FAST_BAND_STEPS_MAX };

/* Shared memory of a following block; behind it parents, halo and jumps. */
struct __align__(16) follow_memory {
    uint32_t entry;
    uint32_t columns[BAND_ROWS_MAX];     /* the seam, in the order of the half's rows */
    uint32_t beside[2 * BAND_REACH_MAX]; /* the seam in the rows of which there are copies */
};

/* A band's rows, by the image's numbers, and where in shared memory its block keeps what. */
struct fast_band {
    int half;
    uint32_t number; /* of both halves' */
    uint32_t step, end_step;
    uint32_t top, bottom; /* rows top..bottom-1 */
    bool thin;            /* parents of one step only, others in their place later */
    bool looks, late;     /* whether it tells only a window once, or only after, the halves meet */
    uint32_t plane;       /* columns of parents and jumps */
    uint32_t halo;        /* luma of the rows beside: reach above, reach below */
    uint32_t jumps;       /* as differences, at most 16; a row a step */
};

static __device__ __forceinline__ struct follow_memory *follow_memory() {
    return (struct follow_memory *)fast_shared;
}

/* Parents of the band's step K. */
static __device__ __forceinline__ uint32_t *band_parents(const struct fast_band &band, uint32_t k) {
    return (uint32_t *)(fast_shared + sizeof(struct follow_memory)) +
           (band.thin ? 0 : k * band.plane);
}

static __device__ __forceinline__ int8_t *band_jumps(const struct fast_band &band, uint32_t k) {
    return (int8_t *)(fast_shared + band.jumps) + k * band.plane;
}

static __device__ __forceinline__ uint32_t band_column(const struct fast_band &band, uint32_t y) {
    return follow_memory()->columns[band.half == 0 ? y - band.top : band.bottom - 1 - y];
}

/* Luma as it will be without the seam, while it is still there. */
struct luma_band {
    const struct fast_job &job;
    const struct fast_band &band;
    int width; /* without the seam */
    __device__ __forceinline__ int at(int x, int y) const {
        x = min(max(x, 0), width - 1), y = min(max(y, 0), (int)job.height - 1);
        const uint8_t *row = job.luma + (uint64_t)y * job.luma_stride;
        uint32_t beside = (uint32_t)(y - (int)band.top + job.reach), column;
        if (y >= (int)band.top && y < (int)band.bottom)
            column = band_column(band, (uint32_t)y);
        else {
            if (y >= (int)band.bottom) beside -= band.bottom - band.top;
            row = fast_shared + band.halo + beside * job.luma_stride;
            column = follow_memory()->beside[beside];
        }
        return row[x + (x >= (int)column)];
    }
};

/* Bits of the 4 bytes at AT that lie at FROM or behind. */
static __device__ __forceinline__ uint32_t from_mask(uint32_t at, uint32_t from) {
    if (from <= at) return ~0u;
    return from >= at + 4 ? 0 : ~0u << (8 * (from - at));
}

/* 16 bytes at AT, of which those at FROM and behind become those BITS / 8 further on. */
static __device__ __forceinline__ uint4 shifted(uint4 old, uint32_t next, uint32_t at,
                                                uint32_t from, uint32_t bits) {
    uint32_t words[5] = { old.x, old.y, old.z, old.w, next };
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const uint32_t mask = from_mask(at + 4 * k, from);
        words[k] = (__funnelshift_r(words[k], words[k + 1], bits) & mask) | (words[k] & ~mask);
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

/* A warp moves the bytes of ROW behind FROM down by BITS / 8, at least those before END; STRIDE
 * bytes exist. Loads of a round come before its stores, and rounds ascend, so that nothing is lost
 * in place. Not inlined: code that runs once a seam has to be fetched every time. */
static __device__ __noinline__ void close_gap(uint8_t *row, uint32_t from, uint32_t end,
                                              uint32_t stride, uint32_t bits) {
    enum { BATCH = 4, SPAN = 512 };
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll 1
    for (uint32_t base = (from & ~15u) + lane * 16; base - lane * 16 < end; base += BATCH * SPAN) {
        uint4 old[BATCH];
        uint32_t next[BATCH];
#pragma unroll
        for (uint32_t k = 0; k < BATCH; k++)
            if (base + k * SPAN < end) {
                const uint32_t at = base + k * SPAN;
                old[k] = *(const uint4 *)(row + at);
                next[k] = at + 16 < stride ? *(const uint32_t *)(row + at + 16) : 0;
            }
        __syncwarp();
#pragma unroll
        for (uint32_t k = 0; k < BATCH; k++)
            if (base + k * SPAN < end)
                *(uint4 *)(row + base + k * SPAN) =
                    shifted(old[k], next[k], base + k * SPAN, from, bits);
        __syncwarp();
    }
}

/* Row K of those beside the band; height or more where there is none. */
static __device__ __forceinline__ uint32_t beside_row(const struct fast_job &job,
                                                      const struct fast_band &band, uint32_t k) {
    const uint32_t reach = (uint32_t)job.reach;
    return k < reach ? band.top - reach + k : band.bottom + k - reach;
}

/* A lane a row beside the band: where the seam crosses it, which its own band tells. */
static __device__ __forceinline__ void remove_ask(const struct fast_job &job,
                                                  const struct fast_band &band, uint32_t seam) {
    const uint32_t k = threadIdx.x % 32;
    if (k >= 2 * (uint32_t)job.reach) return;
    const uint32_t y = beside_row(job, band, k);
    if (y >= job.height) return;
    uint32_t word = load_word(job.crossings + y);
    for (uint32_t spins = 0; word >> 16 != seam + 1; spins++) {
        word = load_word(job.crossings + y);
        if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_CROSSING);
    }
    follow_memory()->beside[k] = word & 0xffff;
}

/* Energies close up, a warp a row; the last warp asks where the rows beside are crossed. */
static __device__ __forceinline__ void
remove_energies(const struct fast_job &job, const struct fast_band &band, uint32_t seam) {
    const uint32_t rows = band.bottom - band.top, end = 2 * (job.width - seam + FAST_PAD);
    const uint32_t warps = FAST_THREADS / 32, warp = threadIdx.x / 32;
    if (warp == warps - 1) remove_ask(job, band, seam);
#pragma unroll 1
    for (uint32_t row = warp; row < rows; row += warps) {
        const uint32_t y = band.top + row;
        close_gap((uint8_t *)(energy_row(job, y) - FAST_PAD), 2 * (band_column(band, y) + FAST_PAD),
                  end, 2 * job.energy_stride, 16);
    }
}

/* And luma, of the band and of the copies beside, when nobody waits for it any more. */
static __device__ __forceinline__ void remove_luma(const struct fast_job &job,
                                                   const struct fast_band &band, uint32_t seam) {
    const uint32_t rows = band.bottom - band.top, tasks = rows + 2 * (uint32_t)job.reach;
#pragma unroll 1
    for (uint32_t task = threadIdx.x / 32; task < tasks; task += FAST_THREADS / 32) {
        const uint32_t y = task < rows ? band.top + task : beside_row(job, band, task - rows);
        if (y >= job.height) continue;
        uint8_t *row = task < rows ? job.luma + (uint64_t)y * job.luma_stride
                                   : fast_shared + band.halo + (task - rows) * job.luma_stride;
        const uint32_t column =
            task < rows ? band_column(band, y) : follow_memory()->beside[task - rows];
        close_gap(row, column, job.width - seam, job.luma_stride, 8);
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
