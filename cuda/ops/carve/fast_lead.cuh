// SPDX-License-Identifier: Apache-2.0
/* fast_lead.cuh - the leaders: nothing but the costs of paths, as fast as a row can follow a row.
 *
 * A half's columns are spread over the warps of a cluster, at most one for each scheduler of a
 * block where that is enough. A lane has 4 or 8 columns, a warp 32 times as many: its own and
 * `halo` more on either side, which it computes redundantly, so that warps exchange costs only
 * every `halo` rows. Lanes exchange their edges every row. (Every second or fourth row with more
 * columns computed twice is no faster: tests/bench/kernels/carve_rows.cu.) Exchange: costs are
 * pushed into the neighbour's inbox, in its own or another block's shared memory, each word tagged
 * with the exchange's number; the receiver polls.
 * Costs are words of 32 bits (fast_costs.cuh) or pairs of 16 bits (fast_pairs.cuh); a further warp
 * loads energies ahead (fast_ring.cuh).
 */
#ifndef BURIN_CARVE_FAST_LEAD_CUH
#define BURIN_CARVE_FAST_LEAD_CUH

#include "cuda/ops/carve/fast_costs.cuh"
#include "cuda/ops/carve/fast_pairs.cuh"

/* The next step's slot, which is looked for while rows are under way. Where it is not full yet, or
 * it is not looked for, the step begins with a wait. */
struct lead_next {
    uint32_t filled;     /* the word that counts full slots */
    uint32_t count;      /* what it says when the slot is one of them */
    const uint8_t *from; /* the lane's columns in its first row; NULL: not in this seam */
    bool loaded;
};

/* Energies are fetched two rows ahead, into the next step where it is loaded. */
template <int LANE> struct lead_ahead { struct lead_energies<LANE> rows[2]; };

template <int LANE>
static __device__ __forceinline__ void lead_first(struct lead_ahead<LANE> &ahead,
                                                  const uint8_t *from) {
    ahead.rows[0] = lead_fetch<LANE>(from);
    ahead.rows[1] = lead_fetch<LANE>(from + lead_slot_bytes<LANE>::ROW);
}

/* Rows of a step behind which the next slot is looked for, and the next base is looked for. */
enum { LEAD_ASKS = 6, LEAD_FORESEES = 9 };

/* All rows of a step. FROM: the lane's columns in the slot's first row. TOLD goes out where the
 * second row waits for its neighbours. */
template <class Costs, int LANE = Costs::COLUMNS>
static __device__ __forceinline__ void lead_step(Costs &costs, struct lead_ahead<LANE> &ahead,
                                                 const uint8_t *from, struct lead_told<LANE> told,
                                                 struct lead_next &next) {
    enum { pitch = lead_slot_bytes<LANE>::ROW };
#pragma unroll
    for (int r = 0; r < FAST_STEP; r++) {
        const struct lead_energies<LANE> energies = ahead.rows[r % 2];
        if (r + 2 < FAST_STEP)
            ahead.rows[r % 2] = lead_fetch<LANE>(from + (r + 2) * pitch);
        else if (next.loaded)
            ahead.rows[r % 2] = lead_fetch<LANE>(next.from + (r + 2 - FAST_STEP) * pitch);
        lead_row(costs, energies);
        if (r == 0) lead_tell<LANE>(told);
        if (r == LEAD_ASKS) next.loaded = next.from && load_shared_word(next.filled) >= next.count;
        if (r == LEAD_FORESEES) lead_foresee(costs);
    }
    lead_renew(costs);
}

/* The last rows of a half, fewer than a step's. */
template <class Costs>
static __device__ __forceinline__ void lead_rest(Costs &costs, const uint8_t *from, uint32_t rows) {
    enum { LANE = Costs::COLUMNS };
#pragma unroll 1
    for (; rows; rows--, from += lead_slot_bytes<LANE>::ROW)
        lead_row(costs, lead_fetch<LANE>(from));
}

/* The seam's costs in this half are right as long as they are less than LOWEST. The word that says
 * so is there before any word that says that it is to be looked for. */
static __device__ __forceinline__ void lead_warn(const struct fast_job &job, int half,
                                                 uint32_t seam, uint32_t lowest) {
    if (threadIdx.x % 32 == 0) {
        atomicMax(job.lowest + 2 * seam + half, ~lowest);
        __threadfence();
    }
    __syncwarp();
}

/* Seam by seam, step by step. */
template <class Costs>
static __device__ __forceinline__ void lead(const struct fast_job &job, int number,
                                            struct lead_warp warp, uint8_t *shared,
                                            uint32_t in_block, uint32_t slot_bytes) {
    enum { LANE = Costs::COLUMNS };
    const struct fast_half half = job.halves[number];
    const uint32_t begin = fast_begin(job);
    const uint32_t base = shared_address(shared), every = job.halo / FAST_STEP;
    const uint8_t *ring =
        shared + LEAD_RING + in_block * lead_slot_bytes<LANE>::ALL + warp.lane * 2 * LANE;
    const bool first = warp.number == 0 && number == 0 && warp.lane == 0;
    uint64_t began = 0, spent = first ? fast_spent(job, SPAN_SEAM) : 0;
    struct lead_slot slot = {};
    struct lead_next next = { base + LEAD_FILLED, 1, NULL, false };
    struct lead_ahead<LANE> ahead;
    for (uint32_t seam = begin; seam < job.seams; seam++) {
        const int width = (int)(job.width - seam);
        const uint32_t tag = fast_tag(seam);
        uint32_t wait = every, rows = half.rows;
        Costs costs;
        uint32_t *to = half.costs + warp.x;
        warp.active = warp.number * job.own < (uint32_t)width;
        warp.right = (warp.number + 1) * job.own < (uint32_t)width;
        lead_begin(costs, warp, width);
        for (uint32_t step = 0; step < half.steps; step++, to += job.cost_stride) {
            const uint8_t *from = ring + slot.number * slot_bytes;
            const bool exchange = step && --wait == 0;
            if (exchange) wait = every;
            if (warp.active && exchange) warp.exchanges++, lead_send(warp, costs);
            if (!next.loaded) {
                lead_wait(job, base + LEAD_FULL + 8 * slot.number, slot.round & 1, STUCK_FULL);
                lead_first<LANE>(ahead, from);
            }
            if (step == 0 && *(volatile uint32_t *)(shared + LEAD_END)) return;
            if (step == 0 && first) fast_mark(job, seam, MARK_LEAD_START), began = fast_now();
            struct lead_told<LANE> told =
                lead_told_of(costs, tag << 30, warp.active && step && warp.own ? to : NULL);
            /* What was sent is under way for longer than this takes. */
            if (exchange) lead_tell<LANE>(told);
            if (warp.active && exchange) lead_receive(job, warp, costs);
            const uint32_t emptied = base + LEAD_EMPTY + 8 * slot.number;
            next_slot(slot, job.slots);
            next.count++;
            next.from = step + 1 < half.steps ? ring + slot.number * slot_bytes : NULL;
            next.loaded = false;
            if (warp.active && rows >= FAST_STEP)
                lead_step(costs, ahead, from, told, next);
            else if (warp.active)
                lead_tell<LANE>(told), lead_rest(costs, from, rows);
            rows -= FAST_STEP;
            __syncwarp();
            if (warp.lane == 0) barrier_arrive(emptied);
        }
        const uint32_t lowest = lead_lowest(costs);
        const bool doubt = warp.active && lowest != ~0u;
        if (doubt) lead_warn(job, number, seam, lowest);
        struct lead_told<LANE> told = lead_told_of(costs, tag << 30 | (doubt ? FAST_DOUBT : 0),
                                                   warp.active && warp.own ? to : NULL);
        lead_tell<LANE>(told);
        if (first) fast_mark(job, seam, MARK_LEAD_END);
        if (first && job.watch) fast_span(job, SPAN_SEAM, began, spent);
    }
}

static __device__ __forceinline__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release.aligned;\n"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

template <class Costs>
static __device__ __forceinline__ struct lead_warp
lead_warp_of(const struct fast_job &job, uint32_t number, uint32_t shared, uint32_t in_block) {
    enum { LANE = Costs::COLUMNS };
    const uint32_t lane = threadIdx.x % 32, margin = job.halo / LANE;
    const uint32_t bytes = Costs::BYTES;
    const uint32_t sent_left = lane - margin, sent_right = lane - (32 - 2 * margin);
    const uint32_t received_right = lane - (32 - margin), each = job.block_leaders;
    struct lead_warp warp = {};
    warp.number = number, warp.lane = lane;
    warp.x = (int)(number * job.own) - (int)job.halo + (int)lane * LANE;
    warp.left = number > 0;
    warp.at_left = lane < margin, warp.at_right = received_right < margin;
    warp.own = !warp.at_left && !warp.at_right;
    warp.sends_left = sent_left < margin, warp.sends_right = sent_right < margin;
    warp.heads = sent_left == 0 || sent_right == 0;
    warp.bases = inbox_of(shared, in_block, 0) + LEAD_INBOX_BASE;
    warp.inbox =
        inbox_of(shared, in_block, warp.at_right) + bytes * (warp.at_right ? received_right : lane);
    if (number > 0 && warp.sends_left)
        warp.to = address_there(inbox_of(shared, (number - 1) % each, 1) + bytes * sent_left,
                                (number - 1) / each);
    if (number + 1 < job.leaders && warp.sends_right)
        warp.to = address_there(inbox_of(shared, (number + 1) % each, 0) + bytes * sent_right,
                                (number + 1) / each);
    return warp;
}

/* A block of a half's cluster. No block leaves while another may still write into its memory. */
template <class Costs>
static __device__ void lead_block(const struct fast_job &job, const CUtensorMap &plane, int half) {
    enum { LANE = Costs::COLUMNS };
    uint8_t *shared = fast_shared;
    const uint32_t rank = blockIdx.x % job.cluster, warp = threadIdx.x / 32;
    const uint32_t first = rank * job.block_leaders;
    const uint32_t here = first < job.leaders ? min(job.block_leaders, job.leaders - first) : 0;
    const uint32_t base = shared_address(shared);
    for (uint32_t i = threadIdx.x; i < LEAD_RING / 4; i += FAST_THREADS)
        ((uint32_t *)shared)[i] = 0;
    __syncthreads();
    for (uint32_t slot = threadIdx.x; here && slot < job.slots; slot += FAST_THREADS) {
        barrier_make(base + LEAD_FULL + 8 * slot, 1);
        barrier_make(base + LEAD_EMPTY + 8 * slot, here);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    cluster_barrier();
    if (warp < here) {
        const struct lead_warp mine = lead_warp_of<Costs>(job, first + warp, base, warp);
        lead<Costs>(job, half, mine, shared, warp, here * lead_slot_bytes<LANE>::ALL);
    } else if (here && warp == here) {
        lead_load<LANE>(job, plane, half, shared, first, here);
    }
    __syncthreads();
    cluster_barrier();
}

#endif
