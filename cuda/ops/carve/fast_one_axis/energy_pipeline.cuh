// SPDX-License-Identifier: Apache-2.0
/* energy_pipeline.cuh - a sweep block's shared memory: stages of energies, and sweepers' inboxes.
 *
 * Used by:  sweep.cuh; fast_one_axis/plan.cuh counts the stages.
 * Limits:   STAGES_MAX stages, BLOCK_SWEEPERS_MAX sweepers a block.
 *
 * How it works: one warp, the producer, loads energies ahead into stages of 16 rows, by the copy
 * engine, a box for each sweeper; barriers show when a stage is full and when it is empty. Inboxes
 * hold what sweepers push to their neighbours, in the same or another block. Two are used in turn:
 * a neighbour that sends its next message but one has received one that was sent after the inbox
 * was read.
 */
#ifndef BURIN_CARVE_FAST_ONE_AXIS_ENERGY_PIPELINE_CUH
#define BURIN_CARVE_FAST_ONE_AXIS_ENERGY_PIPELINE_CUH

#include "cuda/ops/carve/fast_one_axis/args.cuh"

#include <cuda.h>

/* Shared memory of a sweep block, in bytes. */
enum {
    SWEEP_FULL = 0,
    SWEEP_EMPTY = 8 * STAGES_MAX,
    SWEEP_NOBODY = 16 * STAGES_MAX, /* a barrier without waiters */
    /* The seam that begins in a stage: its width | the half's rows << 16, or 0 after the last
     * seam. */
    SWEEP_SHAPE = SWEEP_NOBODY + 8,
    SWEEP_CLOCK = 256,
    SWEEP_INBOX = SWEEP_CLOCK + sizeof(struct span_clock),
    SWEEP_INBOX_SIDE = 4 * HALO_MAX,
    SWEEP_INBOX_WARP = 4 * SWEEP_INBOX_SIDE, /* two in turn, left and right */
    SWEEP_STAGES = (SWEEP_INBOX + BLOCK_SWEEPERS_MAX * SWEEP_INBOX_WARP + 127) / 128 * 128,
};

/* Bytes of a sweeper's energies in a stage. */
template <int LANE> struct stage_bytes {
    enum { ROW = 2 * 32 * LANE, ALL = STEP_ROWS * ROW };
};

/* A place in the ring of stages. */
struct pipeline_stage {
    uint32_t number, round;
};

DEVICE void next_stage(struct pipeline_stage &stage, uint32_t stages) {
    if (++stage.number == stages) stage.number = 0, stage.round++;
}

/* The shape of the seam that begins in STAGE. The stage's barrier publishes it; it is atomic only
 * because racecheck does not follow a barrier that counts bytes. */
DEVICE void stage_shape_store(uint8_t *shared, const struct pipeline_stage &stage, uint32_t shape) {
    atomicExch((uint32_t *)(shared + SWEEP_SHAPE) + stage.number, shape);
}

/* ---- a sweeper */

struct sweep_warp {
    uint32_t number; /* within the half */
    int x;           /* the lane's first column */
    uint32_t lane;
    uint32_t exchanges;
    bool left, right;             /* neighbours with a column inside the image */
    bool own, at_left, at_right;  /* kind of the lane's columns: the warp's own, a halo */
    bool sends_left, sends_right; /* own columns in a neighbour's halo */
    uint32_t to, inbox;           /* addresses for even exchanges */
};

template <int LANE> struct sweep_energies { uint32_t pairs[LANE / 2]; };

template <int LANE> DEVICE struct sweep_energies<LANE> sweep_fetch(const uint8_t *from) {
    struct sweep_energies<LANE> energies;
    if constexpr (LANE == 8) {
        const uint4 words = *(const uint4 *)from;
        energies.pairs[0] = words.x, energies.pairs[1] = words.y;
        energies.pairs[2] = words.z, energies.pairs[3] = words.w;
    } else {
#pragma unroll
        for (int k = 0; k < LANE / 2; k++) energies.pairs[k] = ((const uint32_t *)from)[k];
    }
    return energies;
}

/* Costs of the warp's own columns in the row before a step, tagged, for the band blocks. */
template <int LANE>
struct sweep_row_costs {
    uint32_t words[LANE];
    uint32_t *to; /* the lane's place */
};

template <int LANE> DEVICE void sweep_store(const struct sweep_row_costs<LANE> &row) {
    const uint32_t(&words)[LANE] = row.words;
    if constexpr (LANE == 8) {
        store_relaxed4(row.to, make_uint4(words[0], words[1], words[2], words[3]));
        store_relaxed4(row.to + 4, make_uint4(words[4], words[5], words[6], words[7]));
    } else {
#pragma unroll
        for (int k = 0; k < LANE; k += 2) store_relaxed2(row.to + k, words[k], words[k + 1]);
    }
}

DEVICE uint32_t inbox_turn(uint32_t exchange) {
    return (exchange & 1) * 2 * SWEEP_INBOX_SIDE;
}

DEVICE uint32_t inbox_of(uint32_t shared, uint32_t warp, uint32_t side) {
    return shared + SWEEP_INBOX + warp * SWEEP_INBOX_WARP + side * SWEEP_INBOX_SIDE;
}

/* ---- the loading warp */

DEVICE void barrier_wait(uint32_t barrier, uint32_t parity, int where) {
    for (uint32_t spins = 0; !mbarrier_try_wait(barrier, parity); spins++)
        if (spins == SPIN_LIMIT) SPIN_STUCK(where);
}

/* Returns how many bands from BAND on have had SEAM seams removed; `ended` when those were all. A
 * block whose sweepers have no work may be so late that it sees the flags of the seam itself. */
DEVICE uint32_t bands_ready(const struct axis_args &args, const struct axis_half &half,
                            uint32_t band, uint32_t seam, bool &ended) {
    const uint32_t lane = thread_index() % 32;
    for (uint32_t spins = 0;; spins++) {
        const bool exists = band + lane < half.bands;
        const uint32_t word =
            exists ? load_acquire(args.ready + half.first_band + band + lane) : seam;
        const uint32_t late = __ballot_sync(~0u, (word & 0x7fffffff) < seam);
        const uint32_t first = late ? __ffs((int)late) - 1 : 32;
        ended = __shfl_sync(~0u, word, 0) == (seam | 1u << 31);
        if (first) return first;
        if (spins == SPIN_LIMIT) SPIN_STUCK(STUCK_READY);
    }
}

/* Before a step of a search in both directions: updates the half, and returns the shape. VERDICT:
 * of the step before the last one, then of the last one. Waits for the other axis's bands, if they
 * had to renew energies in this axis's plane, and for the traceback blocks, which have then read
 * the last row's costs; it does not wait for the axis's own bands. */
DEVICE struct axis_shape producer_shape(const struct axis_args &args, struct axis_half &half,
                                        int number, uint32_t step, uint32_t &verdict) {
    const struct both_part &both = args.both;
    const uint32_t before = verdict, resolver = both.bands + 2 * both.axis;
    verdict = step ? wait_verdict(args, step - 1) : 0;
    const struct axis_shape shape = axis_shape_at(args, step, verdict);
    halve(half, number, shape.height, args.band_steps);
    if (shape.over || step == 0) return shape;
    wait_flags(args, both.ready, resolver, resolver + 2, step);
    if (!verdict_is_own(args, before, verdict))
        wait_flags(args, both.ready, both.axis ? 0 : both.across,
                   both.axis ? both.across : both.bands, step);
    return shape;
}

/* The loading warp, for HERE sweepers, beginning with the half's sweeper FIRST. */
template <int LANE>
DEVICE void producer(const struct axis_args &args, const CUtensorMap &plane, int number,
                     uint8_t *shared, uint32_t first, uint32_t here) {
    const uint32_t base = shared_address(shared), lane = thread_index() % 32;
    struct axis_half half = args.halves[number];
    const int column = (int)(ENERGY_PAD + first * args.own - args.halo);
    struct pipeline_stage stage = {};
    uint32_t verdict = 0;
    for (uint32_t seam = 0; seam < args.seams; seam++) {
        uint32_t known = 0; /* bands that are ready */
        struct axis_shape shape = { args.width - seam, args.height, false };
        if (args.both.verdicts) shape = producer_shape(args, half, number, seam, verdict);
        for (uint32_t step = 0; step < half.steps; step++) {
            const uint32_t full = base + SWEEP_FULL + 8 * stage.number,
                           band = step / args.band_steps;
            if (stage.round)
                barrier_wait(base + SWEEP_EMPTY + 8 * stage.number, (stage.round & 1) ^ 1,
                             STUCK_EMPTY);
            while (known <= band) {
                bool ended = shape.over;
                if (!ended) known = band + bands_ready(args, half, band, seam, ended);
                __syncwarp();
                /* Ordinary stores of other blocks must be visible to the copy engine. */
                fence_proxy_async();
                if (!ended) continue;
                if (lane == 0) stage_shape_store(shared, stage, 0), mbarrier_arrive(full);
                return;
            }
            if (lane == 0) {
                const int row = (int)(half.first_row + step * STEP_ROWS);
                if (step == 0) stage_shape_store(shared, stage, shape.width | half.rows << 16);
                enum { ALL = stage_bytes<LANE>::ALL };
                uint32_t to = base + SWEEP_STAGES + stage.number * here * ALL;
                mbarrier_expect(full, here * ALL);
                for (uint32_t k = 0; k < here; k++, to += ALL)
                    copy_box(to, plane, (column + (int)(k * args.own)) / 2, row, full);
            }
            __syncwarp();
            next_stage(stage, args.stages);
        }
    }
}

#endif
