// SPDX-License-Identifier: Apache-2.0
/* args.cuh - what the blocks of the cluster method share: the kernel's arguments, and the protocol.
 *
 * Used by:  all files of cluster/ and dual/.
 * Limits:   the enum below.
 *
 * How it works. One launch takes out all seams of a search. Each half of the image (rows 0..m
 * downwards, rows H-1..m+1 upwards; i counts a half's rows from the image's edge) has
 *   sweepers          one cluster: only the costs of paths, nothing kept but every 16th row
 *   band blocks       one for each band of rows: behind the sweepers, from the row before each 16,
 *                     the parents; then which column leads where through the band; in the end the
 *                     removal
 *   a traceback block finds the seam where the halves meet and follows it from band to band
 * The last bands before the middle are not done when the halves meet. From then on they do only the
 * columns that the seam can still reach.
 * Words that cross between blocks are tagged (tagged_words.cuh) and polled. Pixels and energies are
 * followed by a flag, `ready`, released and acquired.
 *
 * Why nothing is overwritten too early: a band's costs of seam s + 1 need its energies, which need
 * the traceback blocks' word on seam s, which needs every band's jumps, which need all costs of
 * seam s. The two halves cannot drift apart by a seam, since the bands beside the middle need each
 * other's crossings. All blocks are resident at once (cooperative launch), so that no wait is for a
 * block that cannot run.
 */
#ifndef BURIN_CARVE_CLUSTER_ARGS_CUH
#define BURIN_CARVE_CLUSTER_ARGS_CUH

#include "cuda/ops/carve/seam_search.cuh"
#include "cuda/ops/carve/tagged_words.cuh"

enum {
    BLOCK_THREADS = 640, /* a warp for each tile of 1920 columns; 96 registers a thread */
    STEP_ROWS = 16,      /* rows between two rows of costs that sweepers tell */
    ENERGY_PAD = 128,    /* columns left of the image in the plane of energies */
    ENERGY_PAD_RIGHT = 320,
    CLUSTER_WIDTH_MAX = 16000, /* the widest that has been tried; columns have 15 bits */
    HALO_MAX = 64,
    BLOCK_SWEEPERS_MAX = 8, /* sweepers of a block */
    STAGES_MAX = 12,
    CLUSTER_BLOCKS_MAX = 16, /* blocks */
    BANDS_MAX = 256,         /* of a half */
    BAND_STEPS_MAX = 32,
    /* Measured at 4K, where 4 to 8 are alike. At 1080p, whose bands are quick, any is slower; at 8K
     * it makes no difference. */
    LATE_BANDS = 4,
};

/* More than any path's cost, which is below 2^29 for half an image; with what is added outside, the
 * top two bits stay free. */
static const uint32_t COST_FAR = 1u << 29;

/* Energy beside the image: more than any pixel can have, its two bytes alike for cudaMemset. */
static __host__ __device__ inline uint32_t energy_outside(int energy) {
    return energy == CARVE_SOBEL5 ? 0xffff : 0x0505;
}

/* In place of the column where the halves meet, before they have. */
static const uint32_t NOT_MET = ~0u;

struct cluster_half {
    uint32_t rows, steps, bands;
    uint32_t first_band; /* in the numbering of both halves */
    uint32_t first_row;  /* in the plane of energies */
    uint32_t *costs;     /* steps + 1 rows of cost_stride: costs of the row before step k, tagged */
};

/* What the two axes of a search that weighs both directions share (dual/dual.cuh). */
struct dual_axis {
    uint32_t *verdicts; /* of each step, 0 before it is known; NULL: one direction alone */
    uint32_t *ready;    /* of each band and traceback block of both axes: steps done */
    uint32_t bands;     /* of both axes */
    uint32_t across;    /* of them the first axis's, which come first */
    uint32_t axis;      /* 1: the seams are the image's horizontal ones */
    uint32_t goes;      /* seams of this axis that are to go, of the arguments' */
};

struct cluster_args {
    uint32_t width, height, seams;
    int energy, reach;
    uint8_t *luma;
    uint32_t luma_stride;
    uint16_t *seam_columns; /* search.seams, or NULL */

    uint16_t *energies; /* first row, column 0; energy_outside() beside the image */
    uint32_t energy_stride;
    struct cluster_half halves[2];
    uint32_t cost_stride;
    /* Of each band, for each column of its last row: the column in the last row of the band before,
     * under 16 bits that are the seam's number + 1. */
    uint32_t *jumps;
    uint32_t jump_stride;
    uint32_t *meets;     /* of each half: the seam's column in its last row */
    uint32_t *entries;   /* of each band: the seam's column in its last row */
    uint32_t *crossings; /* of each row: the seam's column */
    uint32_t *ready;     /* of each band: seams taken out of it; bit 31: the last one */
    uint32_t *begun;     /* of each band: 1 once it has copied its neighbours' rows */
    uint32_t *decision;  /* whether the present seam is the last one */

    uint32_t band_steps; /* steps of a band */
    uint32_t halo, own;  /* columns beside a sweeper's own, and its own; 2 halo + own = 32 lanes */
    uint32_t sweepers;   /* warps of a half */
    uint32_t block_sweepers; /* of them in one block */
    uint32_t cluster, stages;
    /* Of so many bands of a half, next to the middle, the traceback block has room only for the
     * jumps of the columns that the seam can reach; of so many next to the edge for none. */
    uint32_t window_bands, direct_bands;
    /* Bands of a half, next to the middle, that would not be done when the halves meet: they begin
     * then. */
    uint32_t late_bands;
    bool thin; /* bands keep no parents */

    struct dual_axis dual;
    struct kernel_progress *progress;
    uint32_t done;
    uint64_t *timeline; /* NULL, or for each seam TIMELINE_MARKS times in ns */
};

enum { TIMELINE_MARKS = 11 };
enum {
    MARK_SWEEP_START,
    MARK_SWEEP_END,
    MARK_MEET,
    MARK_MAPS,
    MARK_TRACED,
    MARK_ENTRY,
    MARK_WALKED,
    MARK_MOVED,
    MARK_RENEWED,
    MARK_READY,
    MARK_LAST_JUMPS
};

/* Named where it is used, so that the compiler knows what it is. */
extern __shared__ __align__(128) uint8_t block_shared[];

DEVICE void timeline_mark(const struct cluster_args &args, uint32_t seam, int mark) {
    if (args.timeline) args.timeline[seam * TIMELINE_MARKS + mark] = global_timer();
}

/* Seam: the sweepers' way from the first row to the last. Trace: from the meeting to the last
 * band's entry. Remove: from there to new energies. Neither the first energies nor handing on from
 * one to the other is in them. */
enum { SPAN_SEAM, SPAN_TRACE, SPAN_REMOVE };

/* One thread's, in shared memory: when the present span began, ns told until now. */
struct span_clock {
    uint64_t began, spent;
};

/* Once: goes on from what the searches before this one told. */
DEVICE void clock_make(const struct cluster_args &args, struct span_clock &clock, int span) {
    clock.spent = args.progress
                      ? 1000ull * ((volatile struct kernel_progress *)args.progress)->span_us[span]
                      : 0;
}

DEVICE void clock_tell(const struct cluster_args &args, struct span_clock &clock, int span) {
    if (!args.progress) return;
    clock.spent += global_timer() - clock.began;
    ((volatile struct kernel_progress *)args.progress)->span_us[span] =
        (uint32_t)(clock.spent / 1000);
}

/* Columns AT minus X, X + 1 and so on, a byte each. */
DEVICE uint32_t four_bytes(const uint32_t (&at)[4], uint32_t x) {
    return (at[0] - x & 0xff) | (at[1] - (x + 1) & 0xff) << 8 | (at[2] - (x + 2) & 0xff) << 16 |
           at[3] - (x + 3) << 24;
}

DEVICE uint32_t warp_least(uint32_t value) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    return __reduce_min_sync(~0u, value);
#else
    __trap();
    return value;
#endif
}

/* ---- places */

/* The plane of energies has the rows of the first half, then those of the second in its own order,
 * so that the rows of a step follow one another in both. */
DEVICE uint16_t *half_energies(const struct cluster_args &args, int half, uint32_t i) {
    return args.energies + (uint64_t)(args.halves[half].first_row + i) * args.energy_stride;
}

DEVICE uint16_t *energy_row(const struct cluster_args &args, uint32_t y) {
    const uint32_t middle = args.halves[0].rows;
    return y < middle ? half_energies(args, 0, y) : half_energies(args, 1, args.height - 1 - y);
}

DEVICE uint32_t *cost_row(const struct cluster_args &args, int half, uint32_t step) {
    return args.halves[half].costs + (uint64_t)step * args.cost_stride;
}

DEVICE uint32_t step_rows(const struct cluster_half &half, uint32_t step) {
    return min((uint32_t)STEP_ROWS, half.rows - step * STEP_ROWS);
}

/* ---- what the seam can reach */

struct column_range {
    uint32_t from, to; /* first and last column, FROM a multiple of 8 */
};

/* Columns that a seam through MEET in the half's last row can cross in row I - 1, and a few more.
 */
DEVICE struct column_range reachable_range(const struct cluster_half &half, uint32_t i,
                                           uint32_t meet, uint32_t width) {
    const uint32_t reach = half.rows - i + 8;
    return { meet > reach ? (meet - reach) & ~7u : 0, min(width - 1, meet + reach) };
}

/* ---- the dual method: which axis gave the seam of a step
 *
 * A verdict says which axis's seam goes, as the number of vertical seams gone by then. There is a
 * word for every step, written once: whoever is late still finds it. */

static const uint32_t VERDICT_THERE = 1u << 31;
static const uint32_t VERDICT_LAST = 1u << 30; /* the search ends with this step */
static const uint32_t VERDICT_COUNT = (1u << 30) - 1;

enum { DUAL_TRACERS = 4 }; /* of both axes; their flags come behind those of the bands */

/* The image as an axis sees it at a step. */
struct axis_shape {
    uint32_t width, height;
    bool over; /* nothing is left for the axis to do */
};

static __host__ __device__ __forceinline__ void halve(struct cluster_half &half, int number,
                                                      uint32_t height, uint32_t band_steps) {
    half.rows = number == 0 ? (height - 1) / 2 + 1 : height / 2;
    half.steps = (half.rows + STEP_ROWS - 1) / STEP_ROWS;
    half.bands = (half.steps + band_steps - 1) / band_steps;
}

/* Before step STEP, VERDICT being that of the one before, or 0. ARGS are as the host made them. */
DEVICE struct axis_shape axis_shape_at(const struct cluster_args &args, uint32_t step,
                                       uint32_t verdict) {
    const uint32_t down = verdict & VERDICT_COUNT, own = args.dual.axis ? step - down : down;
    return { args.width - own, args.height - (step - own),
             own == args.dual.goes || (verdict & VERDICT_LAST) };
}

DEVICE uint32_t wait_verdict(const struct cluster_args &args, uint32_t step) {
    uint32_t word = load_relaxed(args.dual.verdicts + step);
    for (uint32_t spins = 0; !word; spins++) {
        word = load_relaxed(args.dual.verdicts + step);
        if (spins == SPIN_LIMIT) SPIN_STUCK(STUCK_VERDICT);
    }
    return word;
}

/* Whether the axis's own seam went at the step of VERDICT, BEFORE being the verdict before that, or
 * 0. */
DEVICE bool verdict_is_own(const struct cluster_args &args, uint32_t before, uint32_t verdict) {
    const uint32_t turned = (verdict & VERDICT_COUNT) == (before & VERDICT_COUNT);
    return turned == args.dual.axis;
}

/* A warp, until the flags TOLD from FROM to before END are COUNT or more; those who have left told
 * the most that there is. What they wrote before is then seen by the warp. */
DEVICE void wait_told(const struct cluster_args &args, const uint32_t *told, uint32_t from,
                      uint32_t end, uint32_t count) {
#pragma unroll 1
    for (uint32_t i = from + thread_index() % 32; i < end; i += 32)
        spin_until(STUCK_PEERS, [&] { return load_acquire(told + i) >= count; });
    __syncwarp();
}

/* A warp, until all bands and traceback blocks of both axes are ready for step STEP. */
DEVICE void wait_ready(const struct cluster_args &args, uint32_t step) {
    wait_told(args, args.dual.ready, 0, args.dual.bands + DUAL_TRACERS, step);
}

#endif
