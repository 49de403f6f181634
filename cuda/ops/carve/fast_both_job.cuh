// SPDX-License-Identifier: Apache-2.0
/* fast_both_job.cuh - both directions weighed against each other by the fast method: the job of a
 * strip, and what followers and resolvers keep of a step.
 *
 * Two ways, each a fast_job of its own: the image with its vertical seams, and the image turned
 * with its horizontal ones, which are vertical there. Each has its plane of energies, its leaders,
 * followers and resolvers, which do what they do for one direction (fast_job.cuh). A step:
 *   1 Both ways look for their least seam and follow it through all bands. The way that has fewer
 *     rows is done with that long before the other, so that its seam is known in advance.
 *   2 Both tell what their seam costs. The first resolver of the way with more rows has it last: it
 *     compares and gives the verdict (fast_weigh.cuh), which all roles wait for. The loser's bands
 *     do not wait for their own seam.
 *   3 The winner's bands close the gaps in their rows, as ever. Those of the loser copy the whole
 *     seam: in their plane it runs across. Of every column one element goes, and what lies between
 *     it and the middle moves by one row towards the edge that the half begins at: a quarter of the
 *     plane, on average. Halves stay equal, or the first has a row more: the one that shrinks gives
 *     its innermost row to the columns whose seam lies in the other. Where in a column of equal
 *     seams the halves meet does not matter: all minimal seams form a lattice, and the one that the
 *     rule chooses is the leftmost in every row, whatever row one begins in.
 *   4 Energies around the seam are the same numbers in both planes: the winner's bands compute them
 *     and write them into both. The loser's bands leave those elements alone.
 *   5 `ready`: energies of both planes are as the next step needs them, once all bands say so.
 *     Leaders begin before that: with the winner's bands, they need of their own only those that
 *     they have come to.
 *   6 There is one plane of luma, the image's, in two copies in turn: from one to the other all
 *     bands of both ways move some rows, while the leaders are at the next step. Only the winner's
 *     bands read luma, and rows beside a band are there like any other, so that nobody keeps any.
 * Before a band's rows move in the loser's plane, the band before has copied the first of them
 * (`behind`), at the step's beginning; `settled` says so, and that the band's luma has moved.
 *
 * Shapes change from step to step, bands at the middle end with their last row. Followers and
 * resolvers have a copy of their way's job in shared memory that is as if the strip were as it is
 * at this step, so that what was written for one direction serves here; its width is so much more
 * than there is as the step's number says, which those functions take off again. A way that has no
 * seams left to give ends, and the other goes on alone.
 *
 * Origins: the seams that went are written down, 2 bytes for every pixel taken out, and every pixel
 * that is left goes back through them at the end. That costs pixels times steps, some 0.6 us a step
 * at 1080p; moving the numbers along would cost 4 bytes a pixel of traffic in every step.
 *
 * Words between blocks are as safe as for one direction. Followers write for step s + 1 when all
 * bands and resolvers are ready for it, so that all jumps, entries and crossings of s have been
 * read. Leaders begin it when their way's resolvers are: those had the jumps of all its bands, and
 * a band tells them behind its last look at the costs and the meeting point of s. Resolvers write
 * meeting points, totals and the verdict of s + 1 behind their leaders' last row, and so behind all
 * bands of their way that are left; the total of s was read before anybody was ready. Flags only
 * rise. The winner's bands read the whole seam only after they are ready: crossings have two places
 * in turn. Two bits are enough for the tags of costs here too: columns and steps only become fewer.
 *
 * Memory, bytes a pixel: energies 4, luma's second copy 1, seams at most 2, costs 1/2 and a little.
 */
#ifndef BURIN_CARVE_FAST_BOTH_JOB_CUH
#define BURIN_CARVE_FAST_BOTH_JOB_CUH

#include "cuda/ops/carve/fast_follow.cuh"
#include "cuda/ops/carve/fast_resolve.cuh"
#include "cuda/ops/carve/fast_weigh.cuh"

static const uint32_t BOTH_STOPPED = ~0u;

struct both_job {
    struct fast_job ways[2]; /* as before the first step; luma and watch are not theirs */
    uint8_t *luma[2];        /* the image's: before even steps in the first */
    uint32_t luma_stride;
    uint32_t *crossings[2]; /* of each way, at odd steps; at even ones the way's own are written */
    uint32_t *settled;      /* of each band of both ways: step + 1 */
    uint32_t *totals;       /* of each way: what its seam costs, tagged */
    uint32_t *made;         /* steps, in the end; BOTH_STOPPED where somebody stopped it */
    uint16_t *seams;        /* those that went, one behind the other */
    uint32_t behind, path;  /* where a following block has them in shared memory */
    uint32_t desk;          /* where every block that follows or resolves has its desk */
    uint32_t longer;        /* the way that has more rows */
    uint32_t *origins;      /* of the strip */
    uint32_t origin_stride;
    struct cuda_watch *watch;
    uint32_t done;
};

/* How far a block is. */
struct both_state {
    uint32_t step, verdict; /* the verdict of the step before, 0 at the first */
    uint64_t written;       /* of both_job.seams */
};

/* A follower's place among the others. */
struct both_place {
    uint32_t way, number; /* the band's in its way */
    uint32_t flag;        /* and in both ways */
};

/* The seam that goes, as a follower sees it. */
struct both_seam {
    bool own, ends; /* of the block's own way; the last one of all */
    uint32_t lines; /* how many it has: the winner's rows, the loser's columns */
};

/* The judge's: since when, and whether it is at work. */
struct both_clock {
    struct fast_clock spans[3]; /* SPAN_SEAM... */
    bool on;
};

/* Of a block that follows or resolves, what is the same for all its threads. The first one writes,
 * between two barriers. */
struct __align__(16) both_desk {
    struct fast_job job; /* the way's, as it is at this step */
    struct both_state state;
    uint32_t verdict, stop;
    bool over; /* nothing is left for the way, or the band, to do */
    struct both_clock clock;
    /* Of followers alone: */
    struct fast_band band;
    struct both_place place;
    struct both_seam seam;
    uint32_t others; /* bands of the other way at this step */
};

static __device__ __forceinline__ struct both_desk &both_desk(const struct both_job &both) {
    return *(struct both_desk *)(fast_shared + both.desk);
}

/* Where the seam that goes crosses each of its lines. */
static __device__ __forceinline__ uint16_t *both_path(const struct both_job &both) {
    return (uint16_t *)(fast_shared + both.path);
}

static __device__ __forceinline__ struct fast_shape
both_shape(const struct both_job &both, uint32_t way, const struct both_state &state) {
    return shape_at(both.ways[way], state.step, state.verdict);
}

/* Where the way's bands tell this step's seam. */
static __device__ __forceinline__ uint32_t *both_crossings(const struct both_job &both,
                                                           uint32_t way, uint32_t step) {
    return step & 1 ? both.crossings[way] : both.ways[way].crossings;
}

/* The flag of a resolver. */
static __device__ __forceinline__ uint32_t *both_resolver_ready(const struct both_job &both,
                                                                uint32_t way, int number) {
    const struct fast_weighing &weighing = both.ways[way].weighing;
    return weighing.ready + weighing.bands + 2 * way + (uint32_t)number;
}

/* Bands of a way at this step. */
static __device__ __forceinline__ uint32_t both_bands(const struct both_job &both, uint32_t way,
                                                      const struct both_state &state) {
    const struct fast_shape shape = both_shape(both, way, state);
    struct fast_half halves[2];
    if (shape.over) return 0;
    for (int half = 0; half < 2; half++)
        fast_halve(halves[half], half, shape.height, both.ways[way].band_steps);
    return halves[0].bands + halves[1].bands;
}

/* Whether the verdict is this way's to give. */
static __device__ __forceinline__ bool both_judges(const struct both_job &both, uint32_t way,
                                                   const struct both_state &state) {
    return way == both.longer || both_shape(both, !way, state).over;
}

/* Whether nothing comes behind the step that the verdict is on. */
static __device__ __forceinline__ bool verdict_ends(const struct fast_job &job, uint32_t step,
                                                    uint32_t verdict) {
    return (verdict & VERDICT_LAST) || step + 1 == job.seams;
}

/* All threads: the desk is WAY's, before the first step. */
static __device__ __forceinline__ void both_begin(const struct both_job &both, uint32_t way) {
    const uint32_t *from = (const uint32_t *)&both.ways[way];
    struct both_desk &desk = both_desk(both);
    uint32_t *to = (uint32_t *)&desk.job;
    for (uint32_t i = fast_thread(); i < sizeof(struct fast_job) / 4; i += FAST_THREADS)
        to[i] = from[i];
    if (fast_thread() == 0) desk.state = {};
    __syncthreads();
}

/* One thread: the desk's job becomes what it is at this step. */
static __device__ __forceinline__ void both_enter(const struct both_job &both) {
    struct both_desk &desk = both_desk(both);
    struct fast_job &job = desk.job;
    const uint32_t way = job.weighing.way;
    const struct fast_shape shape = both_shape(both, way, desk.state);
    desk.over = shape.over;
    job.width = shape.width + desk.state.step;
    job.height = shape.height;
    fast_halve(job.halves[0], 0, shape.height, job.band_steps);
    fast_halve(job.halves[1], 1, shape.height, job.band_steps);
    job.crossings = both_crossings(both, way, desk.state.step);
}

/* One thread: the step is done with. LINES: of the seam that went. */
static __device__ __forceinline__ void both_next(struct both_desk &desk, uint32_t lines) {
    desk.state.step++;
    desk.state.verdict = desk.verdict;
    desk.state.written += lines;
}

#endif
