// SPDX-License-Identifier: Apache-2.0
/* fast_job.cuh - what the roles of the fast method share: the job, its shape, and how they talk.
 *
 * One launch takes out all seams of a strip. Each half of the image (rows 0..m downwards, rows
 * H-1..m+1 upwards; i counts a half's rows from the image's edge) has
 *   leaders     one cluster: only the costs of the paths, nothing kept but every 16th row
 *   followers   a block for each band of rows: behind the leaders, from the row before each 16, the
 *               parents; then what column leads where through the band; in the end the removal
 *   a resolver  a block: finds the seam where the halves meet and follows it from band to band
 * The last bands before the middle are not done when the halves meet. From then on they do only the
 * columns that the seam can still reach.
 * Words that cross between blocks carry their seam's number in spare bits and are polled, so that
 * whoever writes needs no fence: a word is old or it is right. Pixels and energies are followed by
 * a flag, `ready`, released and acquired.
 *
 * Why nothing is overwritten too early: a band's costs of seam s + 1 need its energies, which need
 * the resolvers' word on seam s, which needs every band's jumps, which need all costs of seam s.
 * The two halves cannot drift apart by a seam, since the bands beside the middle need each other's
 * crossings. All blocks are resident at once (cooperative launch), so that no wait is for a block
 * that cannot run.
 */
#ifndef BURIN_CARVE_FAST_JOB_CUH
#define BURIN_CARVE_FAST_JOB_CUH

#include "cuda/ops/carve/strip.cuh"

enum {
    FAST_THREADS = 640, /* a warp for each tile of 1920 columns; 96 registers a thread */
    FAST_STEP = 16,     /* rows between two rows of costs that leaders tell */
    FAST_PAD = 128,     /* columns left of the image in the plane of energies */
    FAST_PAD_RIGHT = 320,
    FAST_WIDTH_MAX = 16000, /* the widest that has been tried; columns have 15 bits */
    FAST_HALO_MAX = 64,
    FAST_WARPS_MAX = 8, /* leaders of a block */
    FAST_SLOTS_MAX = 12,
    FAST_CLUSTER_MAX = 16, /* blocks */
    FAST_BANDS_MAX = 256,  /* of a half */
    FAST_BAND_STEPS_MAX = 32,
    /* Measured at 4K, where 4 to 8 are alike. At 1080p, whose bands are quick, any is slower; at 8K
     * it makes no difference. */
    FAST_LATE_BANDS = 4,
};

/* More than any path's cost, which is below 2^29 for half an image; with what is added outside, the
 * top two bits stay free. */
static const uint32_t FAST_FAR = 1u << 29;

/* Energy beside the image: more than any pixel can have. */
static __host__ __device__ inline uint32_t fast_outside(int energy) {
    return energy == CARVE_SOBEL5 ? 65535 : 1151;
}

/* In place of the column where the halves meet, before they have. */
static const uint32_t FAST_UNMET = ~0u;

struct fast_half {
    uint32_t rows, steps, bands;
    uint32_t first_band; /* in the numbering of both halves */
    uint32_t first_row;  /* in the plane of energies */
    uint32_t *costs;     /* steps + 1 rows of cost_stride: costs of the row before step k, tagged */
};

/* What the two ways of a strip that weighs both directions share (fast_both.cuh). */
struct fast_weighing {
    uint32_t *verdicts; /* of each step, 0 before it is known; NULL: one direction alone */
    uint32_t *ready;    /* of each band and resolver of both ways: steps done */
    uint32_t bands;     /* of both ways */
    uint32_t across;    /* of them the first way's, which come first */
    uint32_t way;       /* 1: the seams are the image's horizontal ones */
    uint32_t goes;      /* seams of this way that are to go, of the job's */
};

struct fast_job {
    uint32_t width, height, seams;
    int energy, reach;
    uint8_t *luma;
    uint32_t luma_stride;
    uint16_t *seam_columns; /* strip.seams, or NULL */

    uint16_t *energies; /* first row, column 0; fast_outside() beside the image */
    uint32_t energy_stride;
    struct fast_half halves[2];
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
    uint32_t halo, own;  /* columns beside a leader's own, and its own; 2 halo + own = 32 lanes */
    uint32_t leaders;    /* warps of a half */
    uint32_t block_leaders; /* of them in one block */
    uint32_t cluster, slots;
    /* Of so many bands of a half, next to the middle, the resolver has room only for the jumps of
     * the columns that the seam can reach; of so many next to the edge for none. */
    uint32_t window_bands, direct_bands;
    /* Bands of a half, next to the middle, that would not be done when the halves meet: they begin
     * then. */
    uint32_t late_bands;
    bool thin; /* bands keep no parents */

    struct fast_weighing weighing;
    struct cuda_watch *watch;
    uint32_t done;
    uint64_t *trace; /* NULL, or for each seam FAST_TRACE_MARKS times in ns */
};

enum { FAST_TRACE_MARKS = 11 };
enum {
    MARK_LEAD_START,
    MARK_LEAD_END,
    MARK_MEET,
    MARK_MAPS,
    MARK_RESOLVED,
    MARK_ENTRY,
    MARK_WALKED,
    MARK_MOVED,
    MARK_RENEWED,
    MARK_READY,
    MARK_LAST_JUMPS
};

/* A wait that never ends is a fault of ours or a broken chip: better a failed launch than a GPU
 * that hangs. The ladder tells which wait it was. */
#ifndef FAST_STUCK
#define FAST_STUCK(job, where) __trap()
#define FAST_PATIENCE          (1u << 31) /* turns: a minute at least */
#endif

enum {
    STUCK_FULL = 1,
    STUCK_EMPTY,
    STUCK_READY,
    STUCK_INBOX,
    STUCK_COSTS,
    STUCK_ENTRY,
    STUCK_CROSSING,
    STUCK_JUMPS,
    STUCK_MEET,
    STUCK_DECISION,
    STUCK_BEGUN,
    STUCK_VERDICT,
    STUCK_TOTAL,
    STUCK_PEERS
};

/* The block's shared memory. Named where it is used, so that the compiler knows what it is. */
extern __shared__ __align__(128) uint8_t fast_shared[];

/* threadIdx.x, asked for each time: what is computed from it needs no register, or worse, memory,
 * from one use to the next. */
static __device__ __forceinline__ uint32_t fast_thread() {
    uint32_t thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
}

/* ---- words between blocks */

static __device__ __forceinline__ uint64_t fast_now() {
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

static __device__ __forceinline__ void fast_mark(const struct fast_job &job, uint32_t seam,
                                                 int mark) {
    if (job.trace) job.trace[seam * FAST_TRACE_MARKS + mark] = fast_now();
}

/* What the watch is told of. Seam: the leaders' way from the first row to the last. Trace: from the
 * meeting to the last band's entry. Remove: from there to new energies. What it takes to hand on
 * from one to the other is in none of them, nor are the first energies. */
enum { SPAN_SEAM, SPAN_TRACE, SPAN_REMOVE };

/* One thread's, in shared memory: when the present span began, ns told until now. */
struct fast_clock {
    uint64_t began, spent;
};

/* Once: goes on from what the strips before this one told. */
static __device__ __forceinline__ void clock_make(const struct fast_job &job,
                                                  struct fast_clock &clock, int span) {
    clock.spent =
        job.watch ? 1000ull * ((volatile struct cuda_watch *)job.watch)->span_us[span] : 0;
}

/* Adds the time since `began`, and tells. */
static __device__ __forceinline__ void clock_tell(const struct fast_job &job,
                                                  struct fast_clock &clock, int span) {
    if (!job.watch) return;
    clock.spent += fast_now() - clock.began;
    ((volatile struct cuda_watch *)job.watch)->span_us[span] = (uint32_t)(clock.spent / 1000);
}

static __device__ __forceinline__ uint32_t load_word(const uint32_t *from) {
    uint32_t word;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(from) : "memory");
    return word;
}

static __device__ __forceinline__ uint32_t load_acquire(const uint32_t *from) {
    uint32_t word;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(from) : "memory");
    return word;
}

static __device__ __forceinline__ uint4 load_words(const uint32_t *from) {
    uint4 words;
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
                 : "l"(from)
                 : "memory");
    return words;
}

static __device__ __forceinline__ void store_word(uint32_t *to, uint32_t word) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(word) : "memory");
}

static __device__ __forceinline__ void store_release(uint32_t *to, uint32_t word) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(word) : "memory");
}

static __device__ __forceinline__ void store_two(uint32_t *to, uint32_t a, uint32_t b) {
    asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(a), "r"(b)
                 : "memory");
}

static __device__ __forceinline__ void store_words(uint32_t *to, uint4 words) {
    asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(words.x),
                 "r"(words.y), "r"(words.z), "r"(words.w)
                 : "memory");
}

/* Two bits that tell a seam's words from those of the three before, which is enough for words that
 * are written anew for every seam (jumps are not, and have 16 bits); memory that is 0 belongs to
 * none of the first three. */
static __device__ __forceinline__ uint32_t fast_tag(uint32_t seam) {
    return (seam + 1) & 3;
}

/* Whether the top two bits of all four words are TAG's. */
static __device__ __forceinline__ bool tagged(uint4 words, uint32_t tag) {
    const uint32_t want = tag << 30;
    return (((words.x ^ want) | (words.y ^ want) | (words.z ^ want) | (words.w ^ want)) >> 30) == 0;
}

/* Columns AT, as differences from those that follow one another from X on, a byte each. */
static __device__ __forceinline__ uint32_t four_bytes(const uint32_t (&at)[4], uint32_t x) {
    return (at[0] - x & 0xff) | (at[1] - (x + 1) & 0xff) << 8 | (at[2] - (x + 2) & 0xff) << 16 |
           at[3] - (x + 3) << 24;
}

/* The least of a warp. */
static __device__ __forceinline__ uint32_t warp_least(uint32_t value) {
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
static __device__ __forceinline__ uint16_t *half_energies(const struct fast_job &job, int half,
                                                          uint32_t i) {
    return job.energies + (uint64_t)(job.halves[half].first_row + i) * job.energy_stride;
}

static __device__ __forceinline__ uint16_t *energy_row(const struct fast_job &job, uint32_t y) {
    const uint32_t middle = job.halves[0].rows;
    return y < middle ? half_energies(job, 0, y) : half_energies(job, 1, job.height - 1 - y);
}

static __device__ __forceinline__ uint32_t *cost_row(const struct fast_job &job, int half,
                                                     uint32_t step) {
    return job.halves[half].costs + (uint64_t)step * job.cost_stride;
}

static __device__ __forceinline__ uint32_t step_rows(const struct fast_half &half, uint32_t step) {
    return min((uint32_t)FAST_STEP, half.rows - step * FAST_STEP);
}

/* ---- what the seam can reach */

struct fast_window {
    uint32_t from, to; /* first and last column, FROM a multiple of 8 */
};

/* Columns that a seam through MEET in the half's last row can cross in row I - 1, and a few more.
 */
static __device__ __forceinline__ struct fast_window
fast_reach(const struct fast_half &half, uint32_t i, uint32_t meet, uint32_t width) {
    const uint32_t reach = half.rows - i + 8;
    return { meet > reach ? (meet - reach) & ~7u : 0, min(width - 1, meet + reach) };
}

static __device__ __forceinline__ uint32_t step_end(const struct fast_half &half, uint32_t step) {
    return min((step + 1) * FAST_STEP, half.rows);
}

#endif
