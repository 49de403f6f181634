// SPDX-License-Identifier: Apache-2.0
/* fast_lead.cuh - the leaders: nothing but the costs of paths, as fast as a row can follow a row.
 *
 * A half's columns are spread over the warps of a cluster, at most one for each scheduler of a
 * block where that is enough. A lane has 6 or 8 columns, a warp 32 times as many: its own and
 * `halo` more on either side, which it computes redundantly, so that warps exchange costs only
 * every `halo` rows. Lanes exchange their edges every row. (Every second or fourth row with more
 * columns computed twice is no faster, nor are costs of 16 bits, two in a word:
 * tests/bench/kernels/carve_rows.cu.) Exchange: costs are pushed into the neighbour's inbox, in its
 * own or another block's shared memory, each word tagged with the exchange's number; the receiver
 * polls. A further warp loads energies ahead (fast_ring.cuh).
 */
#ifndef BURIN_CARVE_FAST_LEAD_CUH
#define BURIN_CARVE_FAST_LEAD_CUH

#include "cuda/ops/carve/fast_costs.cuh"

/* Energies are fetched two rows ahead, into the next step too. */
template <int LANE> struct lead_ahead { struct lead_energies<LANE> rows[2]; };

template <int LANE>
static __device__ __forceinline__ void lead_first(struct lead_ahead<LANE> &ahead,
                                                  const uint8_t *from) {
    ahead.rows[0] = lead_fetch<LANE>(from);
    ahead.rows[1] = lead_fetch<LANE>(from + lead_slot_bytes<LANE>::ROW);
}

/* Where a leader is in the ring, and what it has of the next rows. */
template <int LANE> struct lead_place {
    struct lead_slot slot;
    struct lead_ahead<LANE> ahead;
    uint32_t release;    /* the barrier of the slot that is to be given back next */
    uint32_t base;       /* of the block's shared memory */
    const uint8_t *ring; /* the lane's columns in the first slot */
    uint32_t slot_bytes, slots;
};

template <int LANE>
static __device__ __forceinline__ const uint8_t *lead_from(const struct lead_place<LANE> &place) {
    return place.ring + place.slot.number * place.slot_bytes;
}

/* The barrier that tells when the present slot is full. */
template <int LANE>
static __device__ __forceinline__ uint32_t lead_full(const struct lead_place<LANE> &place) {
    return place.base + LEAD_FULL + 8 * place.slot.number;
}

/* The next slot becomes the present one. */
template <int LANE>
static __device__ __forceinline__ void lead_next(struct lead_place<LANE> &place) {
    place.release = place.base + LEAD_EMPTY + 8 * place.slot.number;
    next_slot(place.slot, place.slots);
}

/* Until the present slot is full; its first energies are fetched. */
template <int LANE>
static __device__ __forceinline__ void lead_wait_slot(const struct fast_job &job,
                                                      struct lead_place<LANE> &place) {
    lead_wait(job, lead_full(place), place.slot.round & 1, STUCK_FULL);
    __syncwarp();
    lead_first<LANE>(place.ahead, lead_from(place));
}

/* Behind these rows of a step a leader does what is not rows, in the time in which it waits for the
 * neighbouring lanes' costs; apart, so that no row has two of them, and the answer some rows behind
 * the question. */
enum { LEAD_RELEASES = 3, LEAD_TELLS = 5, LEAD_ASKS = 8, LEAD_HEARS = 11 };

/* All rows of a step. Nothing is decided on the way: a comparison and a branch take as long as half
 * a row. The row before is told; the slot before is given back: whoever shuffles costs has used all
 * energies of the step before. Whether the next slot is full is asked long before the answer is
 * looked at, and its first energies are fetched; where it was not full, they are of no use, and it
 * is waited for. ENDS: behind the last step no slot is asked for. TO: where the lane tells. */
template <int LANE>
static __device__ __forceinline__ void
lead_step(const struct fast_job &job, const struct lead_warp &warp, struct lead_place<LANE> &place,
          struct lead_costs<LANE> &costs, uint32_t head, uint32_t *to, bool ends) {
    enum { pitch = lead_slot_bytes<LANE>::ROW };
    const struct lead_told<LANE> told = lead_told_of(costs, head, to);
    const uint8_t *from = lead_from(place);
    const uint32_t release = place.release;
    bool full = false;
    lead_next(place);
    const uint8_t *next = lead_from(place);
#pragma unroll
    for (int r = 0; r < FAST_STEP; r++) {
        const struct lead_energies<LANE> energies = place.ahead.rows[r % 2];
        place.ahead.rows[r % 2] = lead_fetch<LANE>(
            r + 2 < FAST_STEP ? from + (r + 2) * pitch : next + (r + 2 - FAST_STEP) * pitch);
        lead_row(costs, energies);
        if (r == LEAD_RELEASES && warp.lane == 0) barrier_arrive(release);
        if (r == LEAD_TELLS && warp.own) lead_tell<LANE>(told);
        if (r == LEAD_ASKS) full = barrier_asked(lead_full(place), place.slot.round & 1);
        if (r == LEAD_HEARS) full = __all_sync(~0u, full);
    }
    if (!full && !ends) lead_wait_slot(job, place);
}

/* The last rows of a half, fewer than a step's, told and used up like those of a step. */
template <int LANE>
static __device__ __forceinline__ void
lead_rest(const struct lead_warp &warp, struct lead_place<LANE> &place,
          struct lead_costs<LANE> &costs, uint32_t head, uint32_t *to, uint32_t rows) {
    const uint8_t *from = lead_from(place);
    if (warp.own) lead_tell<LANE>(lead_told_of(costs, head, to));
    __syncwarp();
    if (warp.lane == 0) barrier_arrive(place.release);
#pragma unroll 1
    for (; rows; rows--, from += lead_slot_bytes<LANE>::ROW)
        lead_row(costs, lead_fetch<LANE>(from));
    lead_next(place);
}

/* Warps beside the image only keep pace. The first slot is full. */
template <int LANE>
static __device__ __forceinline__ void lead_idle(const struct fast_job &job,
                                                 struct lead_place<LANE> &place, uint32_t steps) {
    for (uint32_t step = 0; step < steps; step++) {
        if (step) lead_wait_slot(job, place);
        if (fast_thread() % 32 == 0) barrier_arrive(place.release);
        lead_next(place);
    }
}

/* Before rows go on behind `halo` of them: the halos. */
template <int LANE>
static __device__ __forceinline__ void
lead_exchange(const struct fast_job &job, struct lead_warp &warp, struct lead_costs<LANE> &costs) {
    warp.exchanges++;
    lead_send(warp, costs);
    lead_receive(job, warp, costs);
    __syncwarp();
}

/* The costs of a seam down to the middle. The first slot is full. TO: where the lane tells costs,
 * from the row before the first step on (which nobody reads). As many steps as make up the least
 * halo are one piece of code: a turn of a loop takes as long as a row. */
template <int LANE>
static __device__ __forceinline__ void
lead_seam(const struct fast_job &job, const struct fast_half &half, struct lead_warp &warp,
          struct lead_place<LANE> &place, struct lead_costs<LANE> &costs, uint32_t head,
          uint32_t *to) {
    enum { EVERY = LANE == 6 ? 3 : 2 };
    const uint32_t whole = half.rows / FAST_STEP, every = job.halo / FAST_STEP;
    uint32_t done = 0;
#pragma unroll 1
    while (done + EVERY <= whole) {
#pragma unroll
        for (int k = 1; k <= EVERY; k++, to += job.cost_stride)
            lead_step(job, warp, place, costs, head, to, done + k == half.steps);
        done += EVERY;
        if (done % every == 0 && done < half.steps) lead_exchange(job, warp, costs);
    }
#pragma unroll 1
    for (; done < whole; to += job.cost_stride)
        lead_step(job, warp, place, costs, head, to, ++done == half.steps);
    if (whole < half.steps) lead_rest(warp, place, costs, head, to, half.rows % FAST_STEP);
}

/* Seam by seam. */
template <int LANE>
static __device__ __forceinline__ void lead(const struct fast_job &job, int number,
                                            struct lead_warp warp, uint8_t *shared,
                                            uint32_t in_block, uint32_t slot_bytes) {
    struct fast_half half = job.halves[number];
    const bool first = warp.number == 0 && number == 0 && warp.lane == 0;
    struct fast_clock &clock = *(struct fast_clock *)(shared + LEAD_CLOCK);
    struct lead_place<LANE> place = {};
    place.base = shared_address(shared), place.release = place.base + LEAD_NOBODY;
    place.slot_bytes = slot_bytes, place.slots = job.slots;
    place.ring = shared + LEAD_RING + in_block * lead_slot_bytes<LANE>::ALL + warp.lane * 2 * LANE;
    if (first) clock_make(job, clock, SPAN_SEAM);
    for (uint32_t seam = 0; seam < job.seams; seam++) {
        const uint32_t head = fast_tag(seam) << 30;
        lead_wait_slot(job, place);
        const uint32_t shape = shape_of(shared, place.slot), width = shape & 0xffff;
        if (!shape) return;
        half.rows = shape >> 16, half.steps = (half.rows + FAST_STEP - 1) / FAST_STEP;
        if (first) fast_mark(job, seam, MARK_LEAD_START), clock.began = fast_now();
        if (warp.number * job.own >= width) {
            lead_idle(job, place, half.steps);
            continue;
        }
        struct lead_costs<LANE> costs;
        warp.right = (warp.number + 1) * job.own < width;
        lead_begin(costs, warp, (int)width);
        lead_seam(job, half, warp, place, costs, head, half.costs + warp.x);
        uint32_t *to = half.costs + (uint64_t)half.steps * job.cost_stride + warp.x;
        if (warp.own) lead_tell<LANE>(lead_told_of(costs, head, to));
        if (first) fast_mark(job, seam, MARK_LEAD_END);
        if (first) clock_tell(job, clock, SPAN_SEAM);
    }
}

static __device__ __forceinline__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release.aligned;\n"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

template <int LANE>
static __device__ __forceinline__ struct lead_warp
lead_warp_of(const struct fast_job &job, uint32_t number, uint32_t shared, uint32_t in_block) {
    const uint32_t lane = fast_thread() % 32, margin = job.halo / LANE;
    const uint32_t sent_left = lane - margin, sent_right = lane - (32 - 2 * margin);
    const uint32_t received_right = lane - (32 - margin), each = job.block_leaders;
    struct lead_warp warp = {};
    warp.number = number, warp.lane = lane;
    warp.x = (int)(number * job.own) - (int)job.halo + (int)lane * LANE;
    warp.left = number > 0;
    warp.at_left = lane < margin, warp.at_right = received_right < margin;
    warp.own = !warp.at_left && !warp.at_right;
    warp.sends_left = sent_left < margin, warp.sends_right = sent_right < margin;
    warp.inbox = inbox_of(shared, in_block, warp.at_right) +
                 4 * LANE * (warp.at_right ? received_right : lane);
    if (number > 0 && warp.sends_left)
        warp.to = address_there(inbox_of(shared, (number - 1) % each, 1) + 4 * LANE * sent_left,
                                (number - 1) / each);
    if (number + 1 < job.leaders && warp.sends_right)
        warp.to = address_there(inbox_of(shared, (number + 1) % each, 0) + 4 * LANE * sent_right,
                                (number + 1) / each);
    return warp;
}

/* A block of a half's cluster. No block leaves while another may still write into its memory. */
template <int LANE>
static __device__ void lead_block(const struct fast_job &job, const CUtensorMap &plane, int half) {
    uint8_t *shared = fast_shared;
    const uint32_t rank = blockIdx.x % job.cluster;
    /* So the compiler knows that it is the same for all lanes. */
    const uint32_t warp = __shfl_sync(~0u, fast_thread() / 32, 0);
    const uint32_t first = rank * job.block_leaders;
    const uint32_t here = first < job.leaders ? min(job.block_leaders, job.leaders - first) : 0;
    const uint32_t base = shared_address(shared);
    for (uint32_t i = fast_thread(); i < LEAD_RING / 4; i += FAST_THREADS)
        ((uint32_t *)shared)[i] = 0;
    __syncthreads();
    for (uint32_t slot = fast_thread(); here && slot < job.slots; slot += FAST_THREADS) {
        barrier_make(base + LEAD_FULL + 8 * slot, 1);
        barrier_make(base + LEAD_EMPTY + 8 * slot, here);
    }
    if (fast_thread() == 0) barrier_make(base + LEAD_NOBODY, 1 << 19);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    cluster_barrier();
    if (warp < here) {
        const struct lead_warp mine = lead_warp_of<LANE>(job, first + warp, base, warp);
        lead<LANE>(job, half, mine, shared, warp, here * lead_slot_bytes<LANE>::ALL);
    } else if (here && warp == here) {
        lead_load<LANE>(job, plane, half, shared, first, here);
    }
    __syncthreads();
    cluster_barrier();
}

#endif
