// SPDX-License-Identifier: Apache-2.0
/* fast_both_roles.cuh - followers and resolvers of a strip that weighs both directions, step by
 * step, out of what they do for one. */
#ifndef BURIN_CARVE_FAST_BOTH_ROLES_CUH
#define BURIN_CARVE_FAST_BOTH_ROLES_CUH

#include "cuda/ops/carve/fast_both_remove.cuh"

/* ---- followers */

/* Energies are as the step before has left them; before anybody changes them again, the row behind
 * the band is copied. Luma that the block had to move is moved. */
static __device__ __forceinline__ void both_settle(const struct both_job &both,
                                                   const struct both_desk &desk) {
    const struct fast_job &job = desk.job;
    const int half = desk.band.half;
    const uint32_t end = band_end(job, desk.band), width = job.width - desk.state.step;
    if (fast_thread() < 32) wait_ready(job, desk.state.step);
    __syncthreads();
    const uint16_t *row = end < job.halves[half].rows
                              ? half_energies(job, half, end)
                              : half_energies(job, !half, job.halves[!half].rows - 1);
    for (uint32_t x = 8 * fast_thread(); x < width; x += 8 * FAST_THREADS)
        *(uint4 *)(fast_shared + both.behind + 2 * x) = __ldcg((const uint4 *)(row + x));
    __syncthreads();
    if (fast_thread() == 0) store_release(both.settled + desk.place.flag, desk.state.step + 1);
}

/* A warp: the seam's column in the band's last row, or FAST_UNMET where by then the verdict is that
 * this way's seam stays. */
static __device__ __forceinline__ uint32_t both_entry(const struct fast_job &job,
                                                      const struct both_desk &desk) {
    const uint32_t step = desk.state.step;
    uint32_t entry = 0, verdict = 0;
    for (uint32_t spins = 0; entry >> 16 != step + 1; spins++) {
        entry = __shfl_sync(~0u, load_word(job.entries + desk.band.number), 0);
        verdict = __shfl_sync(~0u, load_word(job.weighing.verdicts + step), 0);
        if (verdict && !weighed_own(job, desk.state.verdict, verdict)) return FAST_UNMET;
        if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_ENTRY);
    }
    if (fast_thread() == 0 && desk.band.number == 0) fast_mark(job, step, MARK_ENTRY);
    return entry & 0x7fff;
}

/* The verdict, and the band's part of the way's seam, told. By then all others have settled. */
static __device__ __forceinline__ void both_trace(const struct both_job &both,
                                                  struct both_desk &desk) {
    const struct fast_job &job = desk.job;
    const uint32_t step = desk.state.step, warp = fast_thread() / 32;
    if (warp == 1) wait_told(job, both.settled, 0, job.weighing.bands, step + 1);
    if (fast_thread() == 32) {
        desk.verdict = wait_verdict(job, step);
        desk.seam.own = weighed_own(job, desk.state.verdict, desk.verdict);
        desk.seam.ends = verdict_ends(job, step, desk.verdict);
        desk.seam.lines = desk.seam.own ? job.height : job.width - step;
    }
    __syncwarp();
    if (warp == 0) {
        const uint32_t entry = both_entry(job, desk);
        if (entry != FAST_UNMET) {
            follow_rows(job, desk.band, entry);
            follow_crossings(job, desk.band, step);
        }
    }
    __syncthreads();
}

/* Both planes of energies as the next step needs them; then the rest of the seam, for the luma. */
static __device__ __forceinline__ void both_energies(const struct both_job &both,
                                                     const struct both_desk &desk) {
    const bool own = desk.seam.own, mark = desk.place.number == 0 && fast_thread() == 0;
    if (own) {
        both_close(both, desk);
    } else {
        both_gather(both, desk);
        both_shift(both, desk);
    }
    __syncthreads();
    if (mark) fast_mark(desk.job, desk.state.step, MARK_MOVED);
    if (own) both_renew(both, desk);
    __syncthreads();
    if (fast_thread() == 0)
        store_release(desk.job.weighing.ready + desk.place.flag, desk.state.step + 1);
    if (mark) fast_mark(desk.job, desk.state.step, MARK_READY);
    if (own) both_gather(both, desk);
}

/* The band's part of the seam that goes, for the origins: it is this way's. */
static __device__ __forceinline__ void both_record(const struct both_job &both,
                                                   const struct both_desk &desk) {
    uint16_t *seam = both.seams + desk.state.written;
    for (uint32_t y = desk.band.top + fast_thread(); y < desk.band.bottom; y += FAST_THREADS)
        seam[y] = (uint16_t)band_column(desk.band, y);
}

/* One step of a band. */
static __device__ __forceinline__ void both_follow_step(const struct both_job &both,
                                                        struct both_desk &desk) {
    const struct fast_job &job = desk.job;
    const bool mark = desk.place.number == 0 && fast_thread() == 0;
    both_settle(both, desk);
    follow_costs(job, desk.band, desk.state.step);
    both_trace(both, desk);
    if (mark) fast_mark(job, desk.state.step, MARK_WALKED);
    if (!desk.seam.ends) {
        both_energies(both, desk);
        both_luma(both, desk);
    }
    if (desk.seam.own) both_record(both, desk);
}

/* One thread: the desk before the step; `over` where the way or the band has come to its end. */
static __device__ __forceinline__ void both_follow_enter(const struct both_job &both) {
    struct both_desk &desk = both_desk(both);
    const struct fast_half *first = both.ways[desk.place.way].halves;
    const uint32_t half = desk.place.number >= first[1].first_band;
    both_enter(both);
    desk.over |= desk.place.number - first[half].first_band >= desk.job.halves[half].bands;
    desk.others = both_bands(both, !desk.place.way, desk.state);
    if (!desk.over) desk.band = follow_band(desk.job, desk.place.number);
}

/* Band NUMBER of WAY, until it, or its way, or all has come to an end. Who leaves before the others
 * has told all that they will ever wait for. */
static __device__ void both_follow(const struct both_job &both, uint32_t way, uint32_t number) {
    struct both_desk &desk = both_desk(both);
    both_begin(both, way);
    if (fast_thread() == 0) {
        desk.place = { way, number, number + (way ? both.ways[way].weighing.across : 0) };
        both_follow_enter(both);
    }
    __syncthreads();
    while (!desk.over) {
        both_follow_step(both, desk);
        if (desk.seam.ends) return;
        __syncthreads();
        if (fast_thread() == 0) both_next(desk, desk.seam.lines), both_follow_enter(both);
        __syncthreads();
    }
    if (fast_thread()) return;
    store_release(both.settled + desk.place.flag, ~0u);
    store_release(desk.job.weighing.ready + desk.place.flag, ~0u);
}

/* ---- resolvers */

/* The first thread of the block that judges, while the leaders are under way: before its warp has
 * looked for the meeting point, and so before anybody gives the verdict. */
static __device__ __forceinline__ void both_watch(const struct both_job &both, uint32_t step) {
    if (fast_thread()) return;
    volatile struct cuda_watch *watch = both.watch;
    atomicExch(&both_desk(both).stop, watch && watch->stop ? 1u : 0u);
    if (watch && step % 8 == 0) watch->done = both.done + step;
}

/* A warp: what the way's seam costs is TOTAL. The judge compares it with the other's, of which
 * OTHER is what was told a while ago, and gives the verdict. */
static __device__ __forceinline__ void both_weigh(const struct both_job &both,
                                                  const struct fast_job &job,
                                                  const struct both_state &state, bool judges,
                                                  uint32_t total, uint32_t other) {
    const uint32_t lane = fast_thread() % 32, way = job.weighing.way, tag = fast_tag(state.step);
    if (lane) return;
    if (!judges) {
        store_word(both.totals + way, tag << 30 | total);
        return;
    }
    uint32_t turned = way;
    if (!both_shape(both, !way, state).over) {
        for (uint32_t spins = 0; other >> 30 != tag; spins++) {
            other = load_word(both.totals + !way);
            if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_TOTAL);
        }
        other &= (1u << 30) - 1;
        turned = way ? total < other : other < total;
    }
    const uint32_t flags = atomicOr(&both_desk(both).stop, 0u) ? VERDICT_LAST : 0;
    store_word(job.weighing.verdicts + state.step,
               VERDICT_THERE | flags | ((state.verdict & VERDICT_COUNT) + !turned));
}

/* Where the time of the job goes, by the first thread of the block that judges. */
static __device__ __forceinline__ void both_tell(const struct fast_job &job,
                                                 struct both_clock &clock, int span) {
    if (fast_thread() || !clock.on) return;
    clock_tell(job, clock.spans[span], span);
    for (struct fast_clock &each : clock.spans) each.began = fast_now();
}

/* The judge's clock goes on at the end of the step before; whoever takes over goes on from what the
 * other told. */
static __device__ __forceinline__ void
both_listen(const struct fast_job &job, struct both_clock &clock, bool judges, uint32_t step) {
    if (!judges || !job.watch || fast_thread() >= 32) return;
    wait_ready(job, step);
    if (fast_thread()) return;
    if (clock.on && step) both_tell(job, clock, SPAN_REMOVE);
    if (clock.on) return;
    for (int span = SPAN_SEAM; span <= SPAN_REMOVE; span++) {
        clock_make(job, clock.spans[span], span);
        clock.spans[span].began = fast_now();
    }
    clock.on = true;
}

/* One step of a resolver, up to the entries of its bands. */
static __device__ __forceinline__ void both_resolve_step(const struct both_job &both,
                                                         const struct fast_job &job, int number,
                                                         const struct both_state &state,
                                                         bool judges) {
    struct both_clock &clock = both_desk(both).clock;
    struct resolve_memory *memory = (struct resolve_memory *)fast_shared;
    const struct fast_half &half = job.halves[number];
    const uint32_t step = state.step, warps = meet_warps(job);
    const bool mark = number == 0 && fast_thread() == 0;
    if (judges) both_watch(both, step);
    both_listen(job, clock, judges, step);
    if (fast_thread() / 32 < warps) {
        /* May be there already: one trip less behind the meeting. */
        const uint32_t other =
            judges && fast_thread() % 32 == 0 ? load_word(both.totals + !job.weighing.way) : 0;
        const uint32_t total = resolve_meet(job, number, memory, step);
        if (total != ~0u && number == 0) both_weigh(both, job, state, judges, total, other);
        if (mark) fast_mark(job, step, MARK_MEET);
        both_tell(job, clock, SPAN_SEAM);
    }
    resolve_gather_all(job, number, memory, step);
    __syncthreads();
    if (mark) fast_mark(job, step, MARK_MAPS);
    if (fast_thread() < 32) resolve_tell(job, half, memory, resolve_met(memory, step), step);
    if (fast_thread() == 32) memory->next = 0;
    __syncthreads();
    if (mark) fast_mark(job, step, MARK_RESOLVED);
    both_tell(job, clock, SPAN_TRACE);
}

/* One thread: what the last of the judges leaves. */
static __device__ __forceinline__ void both_end(const struct both_job &both, uint32_t verdict,
                                                uint32_t step) {
    *both.made = verdict & VERDICT_LAST ? BOTH_STOPPED : step + 1;
    if (both.watch) ((volatile struct cuda_watch *)both.watch)->done = both.done + step + 1;
}

/* The resolver of a half of WAY, until the way, or all, has come to an end. */
static __device__ void both_resolve(const struct both_job &both, uint32_t way, int number) {
    struct both_desk &desk = both_desk(both);
    uint32_t *ready = both_resolver_ready(both, way, number);
    both_begin(both, way);
    if (fast_thread() == 0) {
        desk.job.watch = both.watch;
        desk.clock.on = false;
        struct resolve_memory *memory = (struct resolve_memory *)fast_shared;
        resolve_make(memory);
        both_enter(both);
    }
    __syncthreads();
    while (!desk.over) {
        const bool judges = number == 0 && both_judges(both, way, desk.state);
        both_resolve_step(both, desk.job, number, desk.state, judges);
        if (fast_thread() == 0) {
            const uint32_t step = desk.state.step;
            store_release(ready, step + 1);
            desk.verdict = wait_verdict(desk.job, step);
            const bool ends = verdict_ends(desk.job, step, desk.verdict);
            both_next(desk, 0);
            both_enter(both);
            desk.over |= ends;
            if (ends && judges) both_end(both, desk.verdict, step);
        }
        __syncthreads();
    }
    if (fast_thread() == 0) store_release(ready, ~0u);
}

#endif
