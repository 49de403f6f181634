// SPDX-License-Identifier: Apache-2.0
/* args.cuh - the fast both-axes method: its kernel's arguments, and its blocks' state in a step.
 *
 * Used by:  all files of fast_both_axes/.
 * Limits:   bytes a pixel: energies 4, luma's second copy 1, seams at most 2, costs 1/2 and a
 *           little.
 *
 * How it works. Two axes, each with axis_args of its own: the image with its vertical seams, and
 * the image turned with its horizontal ones, which are vertical there. Each has its plane of
 * energies, its sweepers, band blocks and traceback blocks, which do the same as for one direction
 * (fast_one_axis/args.cuh). A step:
 *   1 Both axes look for their least seam and follow it through all bands. The axis with fewer rows
 *     is done long before the other, so that its seam is known in advance.
 *   2 Both publish what their seam costs. The first traceback block of the axis with more rows has
 *     its cost last: it compares and gives the verdict (fast_one_axis/args.cuh), for which all
 *     blocks wait. The loser's bands do not wait for their own seam.
 *   3 The winner's bands close the gaps in their rows, as for one direction. Those of the loser
 *     copy the whole seam, which in their plane runs across. Every column loses one element, and
 *     those between it and the middle move by one row towards the edge where the half begins: a
 *     quarter of the plane, on average. Halves stay equal, or the first has a row more: the half
 *     that shrinks gives its innermost row to the columns whose seam lies in the other. Where in a
 *     column of equal seams the halves meet does not matter: all minimal seams form a lattice, and
 *     the rule chooses the leftmost in every row, whatever row the walk begins in.
 *   4 Energies around the seam are the same numbers in both planes: the winner's bands compute them
 *     and write them into both. The loser's bands leave those elements alone.
 *   5 `ready`: energies of both planes are as the next step needs them, once all bands have set it.
 *     Sweepers begin before that: besides the winner's bands they need only those of their own
 *     bands that they have come to.
 *   6 There is one plane of luma, the image's, in two copies used in turn: all bands of both axes
 *     move some rows from one to the other, while the sweepers are at the next step. Only the
 *     winner's bands read luma; rows beside a band are in the plane too, so that no copies are
 *     kept.
 * Before a band's rows move in the loser's plane, the band before has copied the first of them
 * (`behind`), at the step's beginning; `settled` shows that, and that the band's luma has moved.
 *
 * Shapes change from step to step; bands at the middle end with their last row. Band and traceback
 * blocks keep a copy of their axis's arguments in shared memory that describes the search at this
 * step, so that functions written for one direction serve here; its width is larger than the real
 * one by the step's number, which those functions subtract. An axis without seams left ends, and
 * the other goes on alone.
 *
 * Origins: removed seams are recorded, 2 bytes for every pixel removed, and at the end every
 * remaining pixel goes back through them. That costs pixels times steps, some 0.6 us a step at
 * 1080p; moving the numbers along would cost 4 bytes a pixel of traffic in every step.
 *
 * Words between blocks are as safe as for one direction. Band blocks write for step s + 1 when all
 * bands and traceback blocks are ready for it, so that all jumps, entries and crossings of s have
 * been read. Sweepers begin it when their axis's traceback blocks are ready: those had the jumps of
 * all its bands, and a band stores them after its last look at the costs and the meeting point of
 * s. Traceback blocks write meeting points, totals and the verdict of s + 1 after their sweepers'
 * last row, and so after all remaining bands of their axis; the total of s was read before any
 * block was ready. Flags only rise. The winner's bands read the whole seam only after they are
 * ready: crossings have two places used in turn. Two bits are enough for the tags of costs here
 * too: columns and steps only become fewer.
 */
#ifndef BURIN_CARVE_FAST_BOTH_AXES_ARGS_CUH
#define BURIN_CARVE_FAST_BOTH_AXES_ARGS_CUH

#include "cuda/ops/carve/fast_one_axis/band.cuh"
#include "cuda/ops/carve/fast_one_axis/traceback.cuh"

static const uint32_t BOTH_STOPPED = ~0u;

struct both_args {
    struct axis_args axes[2]; /* as before the first step; luma and progress unused */
    uint8_t *luma[2];         /* the image's; the first before even steps */
    uint32_t luma_stride;
    uint32_t *crossings[2]; /* of each axis, at odd steps; even ones use the axis's own */
    uint32_t *settled;      /* of each band of both axes: step + 1 */
    uint32_t *totals;       /* of each axis: its seam's cost, tagged */
    uint32_t *made;         /* number of steps, at the end, or BOTH_STOPPED */
    uint16_t *seams;        /* the removed ones, one after another */
    uint32_t behind, path;  /* places in a band block's shared memory */
    uint32_t shared;        /* shared memory of every band and traceback block, in bytes */
    uint32_t longer;        /* the axis that has more rows */
    uint32_t *origins;      /* of the search */
    uint32_t origin_stride;
    struct kernel_progress *progress;
    uint32_t done;
};

struct both_state {
    uint32_t step, verdict; /* `verdict`: of the step before, 0 at the first */
    uint64_t written;       /* of both_args.seams */
};

struct both_position {
    uint32_t axis, number; /* `number`: the band's in its axis */
    uint32_t flag;         /* its number in both axes */
};

/* The removed seam, as a band block sees it. */
struct both_seam {
    bool own, ends; /* `own`: of the block's own axis; `ends`: the last one of all */
    uint32_t lines; /* its lines: the winner's rows, the loser's columns */
};

/* The judging block's clock. */
struct both_clock {
    struct span_clock spans[3]; /* SPAN_SEAM... */
    bool on;
};

/* Shared by all threads of a band or traceback block. The first thread writes it, between two
 * barriers. */
struct __align__(16) both_shared {
    struct axis_args args; /* the axis's, as at this step */
    struct both_state state;
    uint32_t verdict, stop;
    bool over; /* the axis, or the band, has no work left */
    struct both_clock clock;
    /* band blocks alone: */
    struct band band;
    struct both_position place;
    struct both_seam seam;
    uint32_t others; /* bands of the other axis at this step */
};

DEVICE struct both_shared &both_shared(const struct both_args &both) {
    return *(struct both_shared *)(block_shared + both.shared);
}

DEVICE uint16_t *both_path(const struct both_args &both) {
    return (uint16_t *)(block_shared + both.path);
}

DEVICE struct axis_shape both_axis_shape(const struct both_args &both, uint32_t axis,
                                         const struct both_state &state) {
    return axis_shape_at(both.axes[axis], state.step, state.verdict);
}

DEVICE uint32_t *both_crossings(const struct both_args &both, uint32_t axis, uint32_t step) {
    return step & 1 ? both.crossings[axis] : both.axes[axis].crossings;
}

/* Whether the step of VERDICT is the last one. */
DEVICE bool verdict_ends(const struct axis_args &args, uint32_t step, uint32_t verdict) {
    return (verdict & VERDICT_LAST) || step + 1 == args.seams;
}

/* Called by all threads: fills the shared memory with AXIS's arguments, before the first step. */
DEVICE void both_begin(const struct both_args &both, uint32_t axis) {
    const uint32_t *from = (const uint32_t *)&both.axes[axis];
    struct both_shared &shared = both_shared(both);
    uint32_t *to = (uint32_t *)&shared.args;
    for (uint32_t i = thread_index(); i < sizeof(struct axis_args) / 4; i += BLOCK_THREADS)
        to[i] = from[i];
    if (thread_index() == 0) shared.state = {};
    __syncthreads();
}

/* Called by one thread: brings the arguments in shared memory up to date for this step. */
DEVICE void both_enter(const struct both_args &both) {
    struct both_shared &shared = both_shared(both);
    struct axis_args &args = shared.args;
    const uint32_t axis = args.both.axis;
    const struct axis_shape shape = both_axis_shape(both, axis, shared.state);
    shared.over = shape.over;
    args.width = shape.width + shared.state.step;
    args.height = shape.height;
    halve(args.halves[0], 0, shape.height, args.band_steps);
    halve(args.halves[1], 1, shape.height, args.band_steps);
    args.crossings = both_crossings(both, axis, shared.state.step);
}

/* Called by one thread, at the end of the step. LINES: of the removed seam. */
DEVICE void both_advance(struct both_shared &shared, uint32_t lines) {
    shared.state.step++;
    shared.state.verdict = shared.verdict;
    shared.state.written += lines;
}

#endif
