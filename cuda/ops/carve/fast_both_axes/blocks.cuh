// SPDX-License-Identifier: Apache-2.0
/* blocks.cuh - band and traceback blocks of the fast both-axes method, step by step.
 *
 * Used by:  fast_both_axes.cuh.
 *
 * How it works: args.cuh explains a step; the parts are those of fast_one_axis/band.cuh and
 * fast_one_axis/traceback.cuh, run on the copy of the arguments in shared memory. Between two
 * barriers the first thread brings that copy up to date.
 */
#ifndef BURIN_CARVE_FAST_BOTH_AXES_BLOCKS_CUH
#define BURIN_CARVE_FAST_BOTH_AXES_BLOCKS_CUH

#include "cuda/ops/carve/fast_both_axes/removal.cuh"

/* ---- band blocks */

/* Energies are as the step before left them: copies the row after the band before it changes, and
 * moves the block's luma. */
DEVICE void both_settle(const struct both_args &both, const struct both_shared &shared) {
    const struct axis_args &args = shared.args;
    const int half = shared.band.half;
    const uint32_t end = band_end(args, shared.band), width = args.width - shared.state.step;
    if (thread_index() < 32) wait_ready(args, shared.state.step);
    __syncthreads();
    const uint16_t *row = end < args.halves[half].rows
                              ? half_energies(args, half, end)
                              : half_energies(args, !half, args.halves[!half].rows - 1);
    for (uint32_t x = 8 * thread_index(); x < width; x += 8 * BLOCK_THREADS)
        *(uint4 *)(block_shared + both.behind + 2 * x) = __ldcg((const uint4 *)(row + x));
    __syncthreads();
    if (thread_index() == 0) store_release(both.settled + shared.place.flag, shared.state.step + 1);
}

/* Called by a warp: returns the seam's column in the band's last row, or NOT_MET if the verdict is
 * known first and keeps this axis's seam. */
DEVICE uint32_t both_entry(const struct axis_args &args, const struct both_shared &shared) {
    const uint32_t step = shared.state.step;
    uint32_t entry = 0, verdict = 0;
    for (uint32_t spins = 0; entry >> 16 != step + 1; spins++) {
        entry = __shfl_sync(~0u, load_relaxed(args.entries + shared.band.number), 0);
        verdict = __shfl_sync(~0u, load_relaxed(args.both.verdicts + step), 0);
        if (verdict && !verdict_is_own(args, shared.state.verdict, verdict)) return NOT_MET;
        if (spins == SPIN_LIMIT) SPIN_STUCK(STUCK_ENTRY);
    }
    if (thread_index() == 0 && shared.band.number == 0) timeline_mark(args, step, MARK_ENTRY);
    return entry & 0x7fff;
}

/* Publishes the band's part of the axis's seam, and waits for the verdict. By then all others have
 * settled. */
DEVICE void both_trace_seam(const struct both_args &both, struct both_shared &shared) {
    const struct axis_args &args = shared.args;
    const uint32_t step = shared.state.step, warp = thread_index() / 32;
    if (warp == 1) wait_flags(args, both.settled, 0, args.both.bands, step + 1);
    if (thread_index() == 32) {
        shared.verdict = wait_verdict(args, step);
        shared.seam.own = verdict_is_own(args, shared.state.verdict, shared.verdict);
        shared.seam.ends = verdict_ends(args, step, shared.verdict);
        shared.seam.lines = shared.seam.own ? args.height : args.width - step;
    }
    __syncwarp();
    if (warp == 0) {
        const uint32_t entry = both_entry(args, shared);
        if (entry != NOT_MET) {
            band_walk_rows(args, shared.band, entry);
            band_store_crossings(args, shared.band, step);
        }
    }
    __syncthreads();
}

/* Updates both planes of energies for the next step, then collects the rest of the seam, for the
 * luma. */
DEVICE void both_energies(const struct both_args &both, const struct both_shared &shared) {
    const bool own = shared.seam.own, mark = shared.place.number == 0 && thread_index() == 0;
    if (own) {
        both_close(both, shared);
    } else {
        both_gather(both, shared);
        both_shift(both, shared);
    }
    __syncthreads();
    if (mark) timeline_mark(shared.args, shared.state.step, MARK_MOVED);
    if (own) both_renew(both, shared);
    __syncthreads();
    if (thread_index() == 0)
        store_release(shared.args.both.ready + shared.place.flag, shared.state.step + 1);
    if (mark) timeline_mark(shared.args, shared.state.step, MARK_READY);
    if (own) both_gather(both, shared);
}

DEVICE void both_band_step(const struct both_args &both, struct both_shared &shared) {
    const struct axis_args &args = shared.args;
    const bool mark = shared.place.number == 0 && thread_index() == 0;
    both_settle(both, shared);
    band_search(args, shared.band, shared.state.step);
    both_trace_seam(both, shared);
    if (mark) timeline_mark(args, shared.state.step, MARK_WALKED);
    if (!shared.seam.ends) {
        both_energies(both, shared);
        both_luma(both, shared);
    }
    if (!shared.seam.own) return;
    uint16_t *seam = both.seams + shared.state.written; /* for the origins */
    for (uint32_t y = shared.band.top + thread_index(); y < shared.band.bottom; y += BLOCK_THREADS)
        seam[y] = (uint16_t)band_column(shared.band, y);
}

/* Called by one thread: prepares the shared memory for the step; `over` where the axis or the band
 * has ended. */
DEVICE void both_band_enter(const struct both_args &both) {
    struct both_shared &shared = both_shared(both);
    const struct axis_half *first = both.axes[shared.place.axis].halves;
    const uint32_t half = shared.place.number >= first[1].first_band;
    both_enter(both);
    shared.over |= shared.place.number - first[half].first_band >= shared.args.halves[half].bands;
    const struct axis_args &other = both.axes[!shared.place.axis];
    const struct axis_shape shape = axis_shape_at(other, shared.state.step, shared.state.verdict);
    struct axis_half halves[2];
    for (int k = 0; k < 2; k++) halve(halves[k], k, shape.height, other.band_steps);
    shared.others = shape.over ? 0 : halves[0].bands + halves[1].bands;
    if (!shared.over) shared.band = band_make(shared.args, shared.place.number);
}

/* Band NUMBER of AXIS, until it, or its axis, or the whole search ends. A block that leaves early
 * has published all that others will ever wait for. */
static __device__ void both_band_block(const struct both_args &both, uint32_t axis,
                                       uint32_t number) {
    struct both_shared &shared = both_shared(both);
    both_begin(both, axis);
    if (thread_index() == 0) {
        shared.place = { axis, number, number + (axis ? both.axes[axis].both.across : 0) };
        both_band_enter(both);
    }
    __syncthreads();
    while (!shared.over) {
        both_band_step(both, shared);
        if (shared.seam.ends) return;
        __syncthreads();
        if (thread_index() == 0) both_advance(shared, shared.seam.lines), both_band_enter(both);
        __syncthreads();
    }
    if (thread_index()) return;
    store_release(both.settled + shared.place.flag, ~0u);
    store_release(shared.args.both.ready + shared.place.flag, ~0u);
}

/* ---- traceback blocks */

/* Called by a warp: the axis's seam costs TOTAL. The judge compares it with the other axis's, of
 * which OTHER is an early load, and gives the verdict. */
DEVICE void both_judge(const struct both_args &both, const struct axis_args &args,
                       const struct both_state &state, bool judges, uint32_t total,
                       uint32_t other) {
    const uint32_t lane = thread_index() % 32, axis = args.both.axis, tag = seam_tag(state.step);
    if (lane) return;
    if (!judges) {
        store_relaxed(both.totals + axis, tag << 30 | total);
        return;
    }
    uint32_t turned = axis;
    if (!both_axis_shape(both, !axis, state).over) {
        for (uint32_t spins = 0; other >> 30 != tag; spins++) {
            other = load_relaxed(both.totals + !axis);
            if (spins == SPIN_LIMIT) SPIN_STUCK(STUCK_TOTAL);
        }
        other &= (1u << 30) - 1;
        turned = axis ? total < other : other < total;
    }
    const uint32_t flags = atomicOr(&both_shared(both).stop, 0u) ? VERDICT_LAST : 0;
    store_relaxed(args.both.verdicts + state.step,
                  VERDICT_THERE | flags | ((state.verdict & VERDICT_COUNT) + !turned));
}

/* Adds up the times of the search, by the first thread of the judging block. */
DEVICE void both_clock_store(const struct axis_args &args, struct both_clock &clock, int span) {
    if (thread_index() || !clock.on) return;
    clock_store(args, clock.spans[span], span);
    for (struct span_clock &each : clock.spans) each.began = global_timer();
}

/* The judge's clock goes on at the end of the step before; a block that takes over goes on from the
 * times that the other stored. */
DEVICE void both_clock_start(const struct axis_args &args, struct both_clock &clock, bool judges,
                             uint32_t step) {
    if (!judges || !args.progress || thread_index() >= 32) return;
    wait_ready(args, step);
    if (thread_index()) return;
    if (clock.on && step) both_clock_store(args, clock, SPAN_REMOVE);
    if (clock.on) return;
    for (int span = SPAN_SEAM; span <= SPAN_REMOVE; span++) {
        clock_make(args, clock.spans[span], span);
        clock.spans[span].began = global_timer();
    }
    clock.on = true;
}

/* One step of a traceback block, up to the entries of its bands. */
DEVICE void both_trace_step(const struct both_args &both, const struct axis_args &args, int number,
                            const struct both_state &state, bool judges) {
    struct both_clock &clock = both_shared(both).clock;
    struct trace_memory *memory = (struct trace_memory *)block_shared;
    const struct axis_half &half = args.halves[number];
    const uint32_t step = state.step, warps = meet_warps(args);
    const bool mark = number == 0 && thread_index() == 0;
    if (judges && thread_index() == 0) {
        /* While the sweepers are under way: before this warp looks for the meeting point, and so
         * before any verdict. */
        volatile struct kernel_progress *progress = both.progress;
        atomicExch(&both_shared(both).stop, progress && progress->stop ? 1u : 0u);
        if (progress && step % 8 == 0) progress->done = both.done + step;
    }
    both_clock_start(args, clock, judges, step);
    if (thread_index() / 32 < warps) {
        /* The other's total may have arrived already, which saves a round trip after the
         * meeting. */
        const uint32_t other =
            judges && thread_index() % 32 == 0 ? load_relaxed(both.totals + !args.both.axis) : 0;
        const uint32_t total = trace_meet(args, number, memory, step);
        if (total != ~0u && number == 0) both_judge(both, args, state, judges, total, other);
        if (mark) timeline_mark(args, step, MARK_MEET);
        both_clock_store(args, clock, SPAN_SEAM);
    }
    trace_gather_all(args, number, memory, step);
    __syncthreads();
    if (mark) timeline_mark(args, step, MARK_MAPS);
    if (thread_index() < 32) trace_store_entries(args, half, memory, trace_met(memory, step), step);
    if (thread_index() == 32) memory->next = 0;
    __syncthreads();
    if (mark) timeline_mark(args, step, MARK_TRACED);
    both_clock_store(args, clock, SPAN_TRACE);
}

/* The traceback block of a half of AXIS, until the axis or the whole search ends. */
static __device__ void both_trace_block(const struct both_args &both, uint32_t axis, int number) {
    struct both_shared &shared = both_shared(both);
    const struct both_part &share = both.axes[axis].both;
    uint32_t *ready = share.ready + share.bands + 2 * axis + (uint32_t)number;
    both_begin(both, axis);
    if (thread_index() == 0) {
        shared.args.progress = both.progress;
        shared.clock.on = false;
        struct trace_memory *memory = (struct trace_memory *)block_shared;
        trace_init(memory);
        both_enter(both);
    }
    __syncthreads();
    while (!shared.over) {
        const bool judges =
            number == 0 && (axis == both.longer || both_axis_shape(both, !axis, shared.state).over);
        both_trace_step(both, shared.args, number, shared.state, judges);
        if (thread_index() == 0) {
            const uint32_t step = shared.state.step;
            store_release(ready, step + 1);
            shared.verdict = wait_verdict(shared.args, step);
            const bool ends = verdict_ends(shared.args, step, shared.verdict);
            both_advance(shared, 0);
            both_enter(both);
            shared.over |= ends;
            if (ends && judges) {
                *both.made = shared.verdict & VERDICT_LAST ? BOTH_STOPPED : step + 1;
                volatile struct kernel_progress *progress = both.progress;
                if (progress) progress->done = both.done + step + 1;
            }
        }
        __syncthreads();
    }
    if (thread_index() == 0) store_release(ready, ~0u);
}

#endif
