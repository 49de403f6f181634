// SPDX-License-Identifier: Apache-2.0
/* args.cuh - the kernel's arguments and the protocol between blocks of the fast methods.
 *
 * Used by:  all files of fast_one_axis/ and fast_both_axes/.
 * Limits:   the enum below.
 *
 * How it works. One launch removes all seams of a search. Each half of the image (rows 0..m
 * downwards, rows H-1..m+1 upwards; i counts a half's rows from the image's edge) has
 *   sweepers           one cluster of blocks: computes only the costs of paths, and keeps only
 *                      every 16th row of them
 *   band blocks        one for each band of rows: behind the sweepers, from the kept row before
 *                      each 16 rows, the parents; then the jumps, which say for each column where
 *                      it leads through the band; in the end the removal
 *   a traceback block  finds the seam where the halves meet and follows it from band to band
 * The last bands before the middle are not done when the halves meet. From then on they work only
 * on the columns that the seam can still reach. Words that cross between blocks are tagged
 * (tagged_words.cuh) and polled. Pixels and energies are followed by a flag, `ready`, released and
 * acquired.
 *
 * Nothing is overwritten too early: a band's costs of seam s + 1 need its energies, which need the
 * traceback blocks' result for seam s, which needs every band's jumps, which need all costs of seam
 * s. The two halves cannot drift apart by a seam, since the bands beside the middle need each
 * other's crossings. All blocks are resident at once (cooperative launch), so that no block waits
 * for one that cannot run.
 */
#ifndef BURIN_CARVE_FAST_ONE_AXIS_ARGS_CUH
#define BURIN_CARVE_FAST_ONE_AXIS_ARGS_CUH

#include "cuda/ops/carve/seam_search.cuh"
#include "cuda/ops/carve/tagged_words.cuh"

enum {
    BLOCK_THREADS = 640, /* a warp for each tile of 1920 columns; 96 registers a thread */
    STEP_ROWS = 16,      /* rows from one kept row of costs to the next */
    ENERGY_PAD = 128,    /* columns left of the image in the plane of energies */
    ENERGY_PAD_RIGHT = 320,
    FAST_WIDTH_MAX = 16000, /* the widest that was tried; columns have 14 bits */
    HALO_MAX = 64,
    BLOCK_SWEEPERS_MAX = 8, /* of one block */
    STAGES_MAX = 12,
    CLUSTER_BLOCKS_MAX = 16, /* of one cluster */
    BANDS_MAX = 256,         /* of a half */
    BAND_STEPS_MAX = 32,
    /* Measured at 4K, where 4 to 8 are equally fast. At 1080p, whose bands are quick, any number is
     * slower; at 8K it makes no difference. */
    LATE_BANDS = 4,
};

/* More than any path's cost, which is below 2^29 for half an image; additions outside the image
 * leave the top two bits free. */
static const uint32_t COST_FAR = 1u << 29;

/* Energy beside the image: more than any pixel can have, with two equal bytes for cudaMemset. */
static __host__ __device__ inline uint32_t energy_outside(int energy) {
    return energy == CARVE_SOBEL5 ? 0xffff : 0x0505;
}

/* Stands for the column where the halves meet before it is known. */
static const uint32_t NOT_MET = ~0u;

struct axis_half {
    uint32_t rows, steps, bands;
    uint32_t first_band; /* number of the first band, counted through both halves */
    uint32_t first_row;  /* in the plane of energies */
    uint32_t *costs;     /* steps + 1 rows of cost_stride: tagged costs of the row before a step */
};

/* One axis's part in a search of both directions (fast_both_axes/fast_both_axes.cuh). */
struct both_part {
    uint32_t *verdicts; /* of each step, 0 before it is known; NULL: one direction alone */
    uint32_t *ready;    /* of each band and traceback block of both axes: steps done */
    uint32_t bands;     /* of both axes */
    uint32_t across;    /* of the first axis, which come first */
    uint32_t axis;      /* 1: the seams are the image's horizontal ones */
    uint32_t goes;      /* seams of this axis to remove, out of args.seams */
};

struct axis_args {
    static constexpr bool masked = false;
    uint32_t width, height, seams;
    int energy, reach;
    uint8_t *luma;
    uint32_t luma_stride;
    uint16_t *seam_columns; /* search.seams, or NULL */

    uint16_t *energies; /* first row, column 0; beside the image it holds energy_outside() */
    uint32_t energy_stride;
    struct axis_half halves[2];
    uint32_t cost_stride;
    /* For each band and each column of its last row: the column in the last row of the band before,
     * below 16 bits with the seam's number + 1. */
    uint32_t *jumps;
    uint32_t jump_stride;
    uint32_t *meets;     /* of each half: the seam's column in its last row */
    uint32_t *entries;   /* of each band: the seam's column in its last row */
    uint32_t *crossings; /* of each row: the seam's column */
    uint32_t *ready;     /* of each band: the number of seams removed; bit 31: the last one */
    uint32_t *begun;     /* of each band: 1 once it has copied its neighbours' rows */
    uint32_t *decision;  /* whether the present seam is the last one */

    uint32_t band_steps; /* steps of a band */
    uint32_t halo, own;  /* a sweeper's columns beside its own, its own; 2 halo + own = 32 lanes */
    uint32_t sweepers;   /* warps of a half */
    uint32_t block_sweepers; /* warps of a block */
    uint32_t cluster, stages;
    /* Next to the middle, the traceback block has room only for the jumps that the seam can reach:
     * window_bands of a half. Next to the edge it has no room at all: direct_bands. */
    uint32_t window_bands, direct_bands;
    /* Bands of a half, next to the middle, that would not be done when the halves meet: they start
     * then. */
    uint32_t late_bands;
    bool thin; /* bands keep no parents */

    struct both_part both;
    struct kernel_progress *progress;
    uint32_t done;
    uint64_t *timeline; /* NULL, or TIMELINE_MARKS times in ns for each seam */
};

/* ---- masks. A cost is a key then, in 30 bits: the energies of a path, a weight for each pixel
 * with KEY_LOW that is greater than all energies of half a path, and one for each with KEY_HIGH
 * that is greater than all of that together. Both flags are bits of the energy's word and move with
 * it. Sums end at KEY_CAP: below it they are exact, and none is below it that should not be. So are
 * all with one mask, and with both masks those without a pixel that is kept. */

enum {
    KEY_LOW = 1 << 12,  /* with both masks or rmask: not to be removed; with keep alone: kept */
    KEY_HIGH = 1 << 15, /* with both masks: kept */
    KEY_FLAGS = KEY_LOW | KEY_HIGH,
};
static const uint32_t KEY_CAP = (1u << 30) - 2;
/* The most that half a path may cost without KEY_HIGH, so that a single key is below KEY_CAP. */
static const uint32_t KEY_MOST = (1u << 30) - (1u << 26);

struct key_part {
    uint8_t *marks; /* of the search, as are masks, least, taken and clears */
    int masks;
    uint32_t weights;      /* of KEY_HIGH and KEY_LOW, as key_pair() takes them */
    uint32_t low, per_low; /* of KEY_LOW: weight and flag; 2^32 / low */
    uint32_t most;         /* that half a path costs without KEY_HIGH */
    uint32_t least, *taken;
    bool clears;
};

struct masked_args : axis_args, key_part {
    static constexpr bool masked = true;
};

/* The keys of a pair of energies: each word, with byte 1 of WEIGHTS on top for KEY_HIGH and byte 2
 * next to it for KEY_LOW, or byte 0, which is 0. */
DEVICE uint2 key_pair(uint32_t pair, uint32_t weights) {
    const uint32_t select = (pair >> 3 & 0x12001200) | 0x44324410;
    return make_uint2(pick_bytes(pair, weights, select), pick_bytes(pair, weights, select >> 16));
}

/* The number of pixels with KEY_LOW on a path that costs KEY, without KEY_HIGH. */
DEVICE uint32_t key_lows(const struct masked_args &args, uint32_t key) {
    const uint32_t lows = __umulhi(key, args.per_low);
    return lows + (key - lows * args.low >= args.low);
}

/* Ranks paths by both halves: twice the weight for each pixel with KEY_LOW, since the energies of
 * both may be more than one weight. ~0 where a half has a pixel with KEY_HIGH. */
DEVICE uint32_t cost_sum(const struct masked_args &args, uint32_t a, uint32_t b) {
    const uint32_t lows = key_lows(args, a) + key_lows(args, b);
    return max(a, b) > args.most ? ~0u : a + b + lows * args.low;
}

DEVICE uint32_t cost_sum(const struct axis_args &, uint32_t a, uint32_t b) {
    return a + b;
}

/* A bit of an entry, next to the one of the last seam: any_gpu takes over before this seam. */
static const uint32_t ENTRY_GIVES_UP = 1u << 14;

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

/* Declared here, since the compiler must see the object itself. */
extern __shared__ __align__(128) uint8_t block_shared[];

DEVICE void timeline_mark(const struct axis_args &args, uint32_t seam, int mark) {
    if (args.timeline) args.timeline[seam * TIMELINE_MARKS + mark] = global_timer();
}

/* Seam: the sweepers' way from the first row to the last. Trace: from the meeting to the last
 * band's entry. Remove: from there to new energies. The first energies and the handing on between
 * parts are not counted. */
enum { SPAN_SEAM, SPAN_TRACE, SPAN_REMOVE };

/* One thread's, in shared memory: the start of the present span, and the time of earlier ones, in
 * ns. */
struct span_clock {
    uint64_t began, spent;
};

/* Called once: continues from the sum of earlier searches. */
DEVICE void clock_make(const struct axis_args &args, struct span_clock &clock, int span) {
    clock.spent = args.progress
                      ? 1000ull * ((volatile struct kernel_progress *)args.progress)->span_us[span]
                      : 0;
}

DEVICE void clock_store(const struct axis_args &args, struct span_clock &clock, int span) {
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
 * so that the rows of a step are adjacent in both. */
DEVICE uint16_t *half_energies(const struct axis_args &args, int half, uint32_t i) {
    return args.energies + (uint64_t)(args.halves[half].first_row + i) * args.energy_stride;
}

DEVICE uint16_t *energy_row(const struct axis_args &args, uint32_t y) {
    const uint32_t middle = args.halves[0].rows;
    return y < middle ? half_energies(args, 0, y) : half_energies(args, 1, args.height - 1 - y);
}

DEVICE uint32_t *cost_row(const struct axis_args &args, int half, uint32_t step) {
    return args.halves[half].costs + (uint64_t)step * args.cost_stride;
}

DEVICE uint32_t step_rows(const struct axis_half &half, uint32_t step) {
    return min((uint32_t)STEP_ROWS, half.rows - step * STEP_ROWS);
}

/* ---- reach of the seam */

struct column_range {
    uint32_t from, to; /* first and last column; `from` is a multiple of 8 */
};

/* Columns that a seam through MEET in the half's last row can cross in row I - 1, and a few
 * more. */
DEVICE struct column_range reachable_range(const struct axis_half &half, uint32_t i, uint32_t meet,
                                           uint32_t width) {
    const uint32_t reach = half.rows - i + 8;
    return { meet > reach ? (meet - reach) & ~7u : 0, min(width - 1, meet + reach) };
}

/* ---- both directions: which axis gave the seam of a step. A verdict names the axis by the number
 * of vertical seams removed by then. Each step has a word of its own, written once, so that late
 * blocks still find it. */

static const uint32_t VERDICT_THERE = 1u << 31;
static const uint32_t VERDICT_LAST = 1u << 30; /* the search ends with this step */
static const uint32_t VERDICT_COUNT = (1u << 30) - 1;

enum { BOTH_TRACERS = 4 }; /* of both axes; their flags follow those of the bands */

/* The image as an axis sees it at a step. */
struct axis_shape {
    uint32_t width, height;
    bool over; /* the axis has no work left */
};

static __host__ __device__ __forceinline__ void halve(struct axis_half &half, int number,
                                                      uint32_t height, uint32_t band_steps) {
    half.rows = number == 0 ? (height - 1) / 2 + 1 : height / 2;
    half.steps = (half.rows + STEP_ROWS - 1) / STEP_ROWS;
    half.bands = (half.steps + band_steps - 1) / band_steps;
}

/* The shape before STEP; VERDICT is that of the step before, or 0. ARGS are as the host made
 * them. */
DEVICE struct axis_shape axis_shape_at(const struct axis_args &args, uint32_t step,
                                       uint32_t verdict) {
    const uint32_t down = verdict & VERDICT_COUNT, own = args.both.axis ? step - down : down;
    return { args.width - own, args.height - (step - own),
             own == args.both.goes || (verdict & VERDICT_LAST) };
}

DEVICE uint32_t wait_verdict(const struct axis_args &args, uint32_t step) {
    uint32_t word = load_relaxed(args.both.verdicts + step);
    for (uint32_t spins = 0; !word; spins++) {
        word = load_relaxed(args.both.verdicts + step);
        if (spins == SPIN_LIMIT) SPIN_STUCK(STUCK_VERDICT);
    }
    return word;
}

/* Whether the axis's own seam was removed at the step of VERDICT; BEFORE: the verdict before that,
 * or 0. */
DEVICE bool verdict_is_own(const struct axis_args &args, uint32_t before, uint32_t verdict) {
    const uint32_t turned = (verdict & VERDICT_COUNT) == (before & VERDICT_COUNT);
    return turned == args.both.axis;
}

/* Called by a warp: waits until the FLAGS from FROM to before END are COUNT or more, and acquires
 * what was written before. Blocks that have left have set the greatest flag. */
DEVICE void wait_flags(const struct axis_args &args, const uint32_t *flags, uint32_t from,
                       uint32_t end, uint32_t count) {
#pragma unroll 1
    for (uint32_t i = from + thread_index() % 32; i < end; i += 32)
        spin_until(STUCK_PEERS, [&] { return load_acquire(flags + i) >= count; });
    __syncwarp();
}

/* Called by a warp: waits until all bands and traceback blocks of both axes are ready for STEP. */
DEVICE void wait_ready(const struct axis_args &args, uint32_t step) {
    wait_flags(args, args.both.ready, 0, args.both.bands + BOTH_TRACERS, step);
}

#endif
