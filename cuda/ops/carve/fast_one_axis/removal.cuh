// SPDX-License-Identifier: Apache-2.0
/* removal.cuh - removes a seam's pixels from a band of rows, and renews the energies around it.
 *
 * Used by:  band.cuh; fast_both_axes/removal.cuh for the axis whose seam is removed.
 *
 * How it works: only a band's own block writes its luma and energies. Energies also need luma of
 * the rows beside the band: the block keeps copies of those in shared memory and carves them
 * itself. The block's last warps compute energies while the others close the gaps.
 */
#ifndef BURIN_CARVE_FAST_ONE_AXIS_REMOVAL_CUH
#define BURIN_CARVE_FAST_ONE_AXIS_REMOVAL_CUH

#include "cuda/ops/carve/close_gap.cuh"
#include "cuda/ops/carve/energy.cuh"
#include "cuda/ops/carve/fast_one_axis/args.cuh"

enum {
    BAND_REACH_MAX = 2,
    BAND_ROWS_MAX = STEP_ROWS * BAND_STEPS_MAX,
    /* The block's last warps compute energies while the others close the gaps: 16 are left for the
     * 16 rows of a step. */
    RENEW_WARPS = BLOCK_THREADS / 32 - 16,
};

/* A band's rows, in the image's numbers, and the places of its block's shared memory, in bytes. */
struct band {
    int half;
    uint32_t number; /* among both halves' bands */
    uint32_t step, end_step;
    uint32_t top, bottom; /* rows top..bottom-1 */
    bool thin;            /* parents of one step only; later others take their place */
    bool late;            /* idle before the halves have met */
    uint32_t plane;       /* columns of parents and jumps */
    uint32_t halo;        /* luma of the rows beside: `reach` above, `reach` below */
    uint32_t jumps;       /* as differences of at most 16; a row a step */
    uint32_t renewed;     /* energies around the seam, 16 bits each, renew_slots a row */
};

/* Shared memory of a band block; parents, halo, jumps and new energies follow. */
struct __align__(16) band_memory {
    uint32_t entry, meet;
    struct span_clock clock;
    struct band band;                      /* its own; registers have no room for it */
    uint32_t known[2][BLOCK_THREADS / 32]; /* of each warp: the meeting point or NOT_MET */
    uint32_t columns[BAND_ROWS_MAX];       /* the seam, in the order of the half's rows */
    /* The seam in the rows that are copied; each warp that needs it loads its own. */
    uint32_t beside[RENEW_WARPS][2 * BAND_REACH_MAX];
};

DEVICE struct band_memory *band_memory() {
    return (struct band_memory *)block_shared;
}

DEVICE uint32_t *band_parents(const struct band &band, uint32_t k) {
    return (uint32_t *)(block_shared + sizeof(struct band_memory)) +
           (band.thin ? 0 : k * band.plane);
}

DEVICE int8_t *band_jumps(const struct band &band, uint32_t k) {
    return (int8_t *)(block_shared + band.jumps) + k * band.plane;
}

DEVICE uint32_t band_column(const struct band &band, uint32_t y) {
    return band_memory()->columns[band.half == 0 ? y - band.top : band.bottom - 1 - y];
}

/* Holds no reference to the arguments or the band: an object that a function without inlining gets
 * by reference must lie in memory wherever it is used. */
struct seam_near {
    int top, bottom, reach;
    bool upwards;           /* the half's rows are counted upwards */
    const uint32_t *beside; /* of band_memory */
    __device__ __forceinline__ bool inside(int y) const {
        return y >= top && y < bottom;
    }
    /* The number, among the rows beside the band, of row Y outside it. */
    __device__ __forceinline__ int outside(int y) const {
        return (y < top ? y - top : y - bottom) + reach;
    }
    __device__ __forceinline__ int column(int y) const {
        return (int)(inside(y) ? band_memory()->columns[upwards ? bottom - 1 - y : y - top]
                               : beside[outside(y)]);
    }
};

/* Luma as if the seam were removed, while it is still there. */
struct luma_band {
    const uint8_t *luma;
    uint32_t stride, halo;
    int width, height; /* without the seam */
    struct seam_near seam;
    __device__ __forceinline__ int at(int x, int y) const {
        x = min(max(x, 0), width - 1), y = min(max(y, 0), height - 1);
        const uint8_t *row = seam.inside(y)
                                 ? luma + (uint64_t)y * stride
                                 : block_shared + halo + (uint32_t)seam.outside(y) * stride;
        return row[x + (x >= seam.column(y))];
    }
};

/* Row K of the rows beside the band; height or more where there is none. */
DEVICE uint32_t beside_row(const struct axis_args &args, const struct band &band, uint32_t k) {
    const uint32_t reach = (uint32_t)args.reach;
    return k < reach ? band.top - reach + k : band.bottom + k - reach;
}

/* ---- energies around the seam: their windows contain it in 2 reach columns on either side */

/* Places for a row's energies. */
static __host__ __device__ inline uint32_t renew_slots(int reach) {
    return reach == 1 ? 8 : 16;
}

DEVICE uint16_t *renew_place(const struct band &band) {
    return (uint16_t *)(block_shared + band.renewed);
}

/* Column of the band's place I; below 0 or at least WIDTH where there is none. */
DEVICE int renew_column(const struct axis_args &args, const struct band &band, uint32_t i,
                        int width) {
    const uint32_t stages = renew_slots(args.reach), stage = i % stages;
    const int spread = 2 * args.reach, x = (int)band_column(band, band.top + i / stages) - spread;
    return stage <= 2 * (uint32_t)spread ? x + (int)stage : width;
}

/* Called by each of the last warps. */
DEVICE struct seam_near renew_seam(const struct axis_args &args, const struct band &band,
                                   uint32_t seam) {
    const uint32_t warp = thread_index() / 32 - (BLOCK_THREADS / 32 - RENEW_WARPS);
    uint32_t *beside = band_memory()->beside[warp];
    /* A lane a row beside the band: waits for the seam's crossing, which the row's own band
     * publishes. */
    const uint32_t k = thread_index() % 32;
    const uint32_t y = k < 2 * (uint32_t)args.reach ? beside_row(args, band, k) : args.height;
    for (uint32_t spins = 0; y < args.height; spins++) {
        const uint32_t word = load_relaxed(args.crossings + y);
        beside[k] = word & 0xffff;
        if (word >> 16 == seam + 1) break;
        if (spins == SPIN_LIMIT) SPIN_STUCK(STUCK_CROSSING);
    }
    __syncwarp();
    return { (int)band.top, (int)band.bottom, args.reach, band.half == 1, beside };
}

/* The last warps: computes energies from LUMA, which still has the seam; the image has WIDTH
 * columns without it. */
template <class Luma>
DEVICE void renew_energies(const struct axis_args &args, const struct band &band, const Luma &luma,
                           int width) {
    const uint32_t thread = thread_index() - (BLOCK_THREADS - 32 * RENEW_WARPS);
    const uint32_t stages = renew_slots(args.reach), count = stages * (band.bottom - band.top);
#pragma unroll 1
    for (uint32_t i = thread; i < count; i += 32 * RENEW_WARPS) {
        const int x = renew_column(args, band, i, width);
        if (x >= 0 && x < width)
            renew_place(band)[i] =
                (uint16_t)energy_at(luma, args.energy, x, (int)(band.top + i / stages));
    }
}

/* Called by all threads, after all rows are closed up. */
template <class ARGS>
DEVICE void renew_store(const ARGS &args, const struct band &band, uint32_t seam) {
    const uint32_t stages = renew_slots(args.reach), count = stages * (band.bottom - band.top);
    const int width = (int)(args.width - seam) - 1;
#pragma unroll 1
    for (uint32_t i = thread_index(); i < count; i += BLOCK_THREADS) {
        const int x = renew_column(args, band, i, width);
        if (x < 0 || x >= width) continue;
        if constexpr (ARGS::masked)
            renew_place(band)[i] |= energy_row(args, band.top + i / stages)[x] & KEY_FLAGS;
        energy_row(args, band.top + i / stages)[x] = renew_place(band)[i];
    }
}

/* ---- closing the gap */

DEVICE bool renews() {
    return thread_index() / 32 >= BLOCK_THREADS / 32 - RENEW_WARPS;
}

/* Energies, a warp a row, while the last warps compute those around the seam. */
DEVICE void close_energies(const struct axis_args &args, const struct band &band, uint32_t seam) {
    const uint32_t rows = band.bottom - band.top, end = 2 * (args.width - seam + ENERGY_PAD);
#pragma unroll 1
    for (uint32_t row = thread_index() / 32; row < rows; row += BLOCK_THREADS / 32 - RENEW_WARPS) {
        const uint32_t y = band.top + row;
        close_own_gap((uint8_t *)(energy_row(args, y) - ENERGY_PAD),
                      2 * (band_column(band, y) + ENERGY_PAD), end, 2 * args.energy_stride, 16);
    }
}

DEVICE void remove_energies(const struct axis_args &args, const struct band &band, uint32_t seam) {
    if (!renews()) return close_energies(args, band, seam);
    const int width = (int)(args.width - seam) - 1;
    const struct luma_band luma = { args.luma, args.luma_stride, band.halo,
                                    width,     (int)args.height, renew_seam(args, band, seam) };
    renew_energies(args, band, luma, width);
}

/* Luma, of the band and of the copies beside it, after the parts that others wait for. */
DEVICE void remove_luma(const struct axis_args &args, const struct band &band, uint32_t seam) {
    const uint32_t rows = band.bottom - band.top, tasks = rows + 2 * (uint32_t)args.reach;
#pragma unroll 1
    for (uint32_t task = thread_index() / 32; task < tasks; task += BLOCK_THREADS / 32) {
        const uint32_t y = task < rows ? band.top + task : beside_row(args, band, task - rows);
        if (y >= args.height) continue;
        uint8_t *row = task < rows ? args.luma + (uint64_t)y * args.luma_stride
                                   : block_shared + band.halo + (task - rows) * args.luma_stride;
        const uint32_t column =
            task < rows ? band_column(band, y) : band_memory()->beside[0][task - rows];
        close_own_gap(row, column, args.width - seam, args.luma_stride, 8);
    }
}

#endif
