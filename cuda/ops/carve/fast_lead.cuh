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

/* Energies are fetched two rows ahead, into the next step too. */
template <int LANE> struct lead_ahead { struct lead_energies<LANE> rows[2]; };

template <int LANE>
static __device__ __forceinline__ void lead_first(struct lead_ahead<LANE> &ahead,
                                                  const uint8_t *from) {
    ahead.rows[0] = lead_fetch<LANE>(from);
    ahead.rows[1] = lead_fetch<LANE>(from + lead_slot_bytes<LANE>::ROW);
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
    if (fast_thread() % 32 == 0) {
        atomicMax(job.lowest + 2 * seam + half, ~lowest);
        __threadfence();
    }
    __syncwarp();
}

/* Where a leader is in the ring, and what it has of the next rows. */
template <int LANE> struct lead_place {
    struct lead_slot slot;
    struct lead_ahead<LANE> ahead;
    uint32_t count;      /* slots that this warp has begun with */
    uint32_t release;    /* the barrier of the slot that is to be given back next */
    uint32_t base;       /* of the block's shared memory */
    const uint8_t *ring; /* the lane's columns in the first slot */
    uint32_t slot_bytes, slots;
};

template <int LANE>
static __device__ __forceinline__ const uint8_t *lead_from(const struct lead_place<LANE> &place) {
    return place.ring + place.slot.number * place.slot_bytes;
}

/* The next slot becomes the present one. */
template <int LANE>
static __device__ __forceinline__ void lead_next(struct lead_place<LANE> &place) {
    place.release = place.base + LEAD_EMPTY + 8 * place.slot.number;
    next_slot(place.slot, place.slots);
    place.count++;
}

/* Rows of a step behind which a lane does what is not rows: there they wait for their neighbours.
 */
enum { LEAD_RELEASES = 3, LEAD_TELLS = 5, LEAD_FORESEES = 6, LEAD_RENEWS = 11 };

/* All rows of a step. Nothing is decided on the way: a comparison and a branch take as long as half
 * a row. The row before is told; the slot before is given back: whoever shuffles costs has used all
 * energies of the step before. The first energies of the next slot are fetched; where that is not
 * known to be full, they are of no use. RENEWS: costs are renewed, which must be at every second
 * step at least. TO: where the lane tells. */
template <bool RENEWS, class Costs, int LANE = Costs::COLUMNS>
static __device__ __forceinline__ void lead_step(const struct lead_warp &warp,
                                                 struct lead_place<LANE> &place, Costs &costs,
                                                 uint32_t head, uint32_t *to) {
    enum { pitch = lead_slot_bytes<LANE>::ROW };
    const struct lead_told<LANE> told = lead_told_of(costs, head, to);
    const uint8_t *from = lead_from(place);
    const uint32_t release = place.release;
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
        if (r == LEAD_FORESEES && RENEWS) lead_foresee(costs);
        if (r == LEAD_RENEWS && RENEWS) lead_renew(costs);
    }
}

/* The present slot and those behind it, COUNT in all, are full; the first energies are fetched. */
template <int LANE>
static __device__ __forceinline__ void
lead_wait_slots(const struct fast_job &job, struct lead_place<LANE> &place, uint32_t count) {
    struct lead_slot slot = place.slot;
    if (!__all_sync(~0u, load_shared_word(place.base + LEAD_FILLED) >= place.count + count))
        for (uint32_t k = 0; k < count; k++, next_slot(slot, place.slots))
            lead_wait(job, place.base + LEAD_FULL + 8 * slot.number, slot.round & 1, STUCK_FULL);
    __syncwarp();
    lead_first<LANE>(place.ahead, lead_from(place));
}

/* Warps beside the image only keep pace. The first slot is full. */
template <int LANE>
static __device__ __forceinline__ void lead_idle(const struct fast_job &job,
                                                 struct lead_place<LANE> &place, uint32_t steps) {
    for (uint32_t step = 0; step < steps; step++) {
        if (step) lead_wait_slots(job, place, 1);
        if (fast_thread() % 32 == 0) barrier_arrive(place.release);
        lead_next(place);
    }
}

/* Before rows go on behind an exchange: the halos. */
template <class Costs, int LANE = Costs::COLUMNS>
static __device__ __forceinline__ void
lead_exchange(const struct fast_job &job, struct lead_warp &warp, struct lead_place<LANE> &place,
              Costs &costs, uint32_t slots) {
    warp.exchanges++;
    lead_limit(costs);
    lead_send(warp, costs);
    lead_wait_slots(job, place, slots);
    lead_receive(job, warp, costs);
    __syncwarp();
}

/* The costs of a seam down to the middle. The first slot is full. TO: where the lane tells costs,
 * from the row before the first step on (which nobody reads). From one exchange to the next all
 * slots are known to be full; before the first one they are waited for one by one, since the seam
 * before may still be under way there. */
template <class Costs, int LANE = Costs::COLUMNS>
static __device__ __forceinline__ void
lead_seam(const struct fast_job &job, const struct fast_half &half, struct lead_warp &warp,
          struct lead_place<LANE> &place, Costs &costs, uint32_t head, uint32_t *to) {
    const uint32_t whole = half.rows / FAST_STEP, every = job.halo / FAST_STEP;
    const uint32_t stride = job.cost_stride;
    uint32_t done = 0;
    for (bool early = true; done < whole;) {
        const uint32_t steps = early ? 1 : min(every, whole - done);
        uint32_t n = steps;
        for (; n >= 2; n -= 2, to += 2 * stride) {
            lead_step<false>(warp, place, costs, head, to);
            lead_step<true>(warp, place, costs, head, to + stride);
        }
        if (n) lead_step<true>(warp, place, costs, head, to), to += stride;
        done += steps;
        early = early && done < every;
        if (done == half.steps) return;
        if (done % every == 0)
            lead_exchange(job, warp, place, costs, min(every, half.steps - done));
        else if (early)
            lead_wait_slots(job, place, 1);
    }
    if (warp.own) lead_tell<LANE>(lead_told_of(costs, head, to));
    lead_limit(costs);
    __syncwarp();
    if (warp.lane == 0) barrier_arrive(place.release);
    lead_rest(costs, lead_from(place), half.rows % FAST_STEP);
    lead_next(place);
}

/* How large the step is that begins in the present slot: the width, and the half's rows. */
template <int LANE>
static __device__ __forceinline__ uint32_t lead_shape(const uint8_t *shared,
                                                      const struct lead_place<LANE> &place,
                                                      struct fast_half &half) {
    const volatile uint32_t *words = (const volatile uint32_t *)(shared + LEAD_SHAPE);
    const uint32_t word = words[place.slot.number];
    half.rows = word >> 16;
    half.steps = (half.rows + FAST_STEP - 1) / FAST_STEP;
    return word & 0xffff;
}

/* Seam by seam. */
template <class Costs>
static __device__ __forceinline__ void lead(const struct fast_job &job, int number,
                                            struct lead_warp warp, uint8_t *shared,
                                            uint32_t in_block, uint32_t slot_bytes) {
    enum { LANE = Costs::COLUMNS };
    struct fast_half half = job.halves[number];
    const bool first = warp.number == 0 && number == 0 && warp.lane == 0;
    struct fast_clock &clock = *(struct fast_clock *)(shared + LEAD_CLOCK);
    struct lead_place<LANE> place = {};
    place.base = shared_address(shared), place.release = place.base + LEAD_NOBODY;
    place.slot_bytes = slot_bytes, place.slots = job.slots;
    place.ring = shared + LEAD_RING + in_block * lead_slot_bytes<LANE>::ALL + warp.lane * 2 * LANE;
    if (first) clock_make(job, clock, SPAN_SEAM);
    for (uint32_t seam = fast_begin(job); seam < job.seams; seam++) {
        const uint32_t tag = fast_tag(seam);
        uint32_t width = job.width - seam;
        lead_wait_slots(job, place, 1);
        if (*(volatile uint32_t *)(shared + LEAD_END)) return;
        if (job.weighing.verdicts) width = lead_shape(shared, place, half);
        if (first) fast_mark(job, seam, MARK_LEAD_START), clock.began = fast_now();
        if (warp.number * job.own >= width) {
            lead_idle(job, place, half.steps);
            continue;
        }
        Costs costs;
        warp.right = (warp.number + 1) * job.own < width;
        lead_begin(costs, warp, (int)width);
        lead_seam(job, half, warp, place, costs, tag << 30, half.costs + warp.x);
        const uint32_t lowest = lead_lowest(costs);
        if (lowest != ~0u) lead_warn(job, number, seam, lowest);
        uint32_t *to = half.costs + (uint64_t)half.steps * job.cost_stride + warp.x;
        const uint32_t head = tag << 30 | (lowest != ~0u ? FAST_DOUBT : 0);
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

template <class Costs>
static __device__ __forceinline__ struct lead_warp
lead_warp_of(const struct fast_job &job, uint32_t number, uint32_t shared, uint32_t in_block) {
    enum { LANE = Costs::COLUMNS };
    const uint32_t lane = fast_thread() % 32, margin = job.halo / LANE;
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
        const struct lead_warp mine = lead_warp_of<Costs>(job, first + warp, base, warp);
        lead<Costs>(job, half, mine, shared, warp, here * lead_slot_bytes<LANE>::ALL);
    } else if (here && warp == here) {
        lead_load<LANE>(job, plane, half, shared, first, here);
    }
    __syncthreads();
    cluster_barrier();
}

#endif
