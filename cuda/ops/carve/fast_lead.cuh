// SPDX-License-Identifier: Apache-2.0
/* fast_lead.cuh - the leaders: nothing but the costs of paths, as fast as a row can follow a row.
 *
 * A half's columns are spread over the warps of a cluster, 4 warps a block, one for each scheduler.
 * A lane has LANE columns, 4 or 8, a warp 32 times as many: its own and `halo` more on either side,
 * which it computes redundantly, so that warps exchange costs only every `halo` rows. Lanes
 * exchange their edges every row. (Every second or fourth row with more columns computed twice is
 * no faster: tests/bench/kernels/carve_rows.cu.) Exchange: costs are pushed into the neighbour's
 * inbox, in its own or another block's shared memory, each word tagged with the exchange's number;
 * the receiver polls. Two inboxes in turn: whoever sends the next but one has received what was
 * sent after the last was read. Further warps load energies ahead into a ring of slots of 16 rows.
 */
#ifndef BURIN_CARVE_FAST_LEAD_CUH
#define BURIN_CARVE_FAST_LEAD_CUH

#include "cuda/ops/carve/fast_job.cuh"

#include <cuda.h>

/* Shared memory of a leading block, in bytes. */
enum {
    LEAD_FULL = 0,
    LEAD_EMPTY = 8 * FAST_SLOTS_MAX,
    LEAD_END = 16 * FAST_SLOTS_MAX,
    LEAD_INBOX = 256,
    LEAD_INBOX_SIDE = 4 * FAST_HALO_MAX,
    LEAD_INBOX_WARP = 4 * LEAD_INBOX_SIDE, /* two in turn, left and right */
    LEAD_RING = LEAD_INBOX + FAST_WARPS_MAX * LEAD_INBOX_WARP + 128,
};

/* Bytes of a leader's energies in a slot: a row of them, and all. */
template <int LANE> struct lead_slot_bytes {
    enum { ROW = 2 * 32 * LANE, ALL = FAST_STEP * ROW };
};

/* ---- barriers and words in shared memory */

static __device__ __forceinline__ uint32_t shared_address(const void *pointer) {
    return (uint32_t)__cvta_generic_to_shared(pointer);
}

static __device__ __forceinline__ void barrier_make(uint32_t barrier, uint32_t count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

static __device__ __forceinline__ void barrier_arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

static __device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

static __device__ __forceinline__ bool barrier_passed(uint32_t barrier, uint32_t parity) {
    uint32_t passed;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(passed)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return passed;
}

/* The same without ever lingering: for an answer that is wanted only later. */
static __device__ __forceinline__ bool barrier_asked(uint32_t barrier, uint32_t parity) {
    uint32_t passed;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; "
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(passed)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return passed;
}

static __device__ __forceinline__ uint4 load_shared(uint32_t address) {
    uint4 words;
    asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
                 : "r"(address)
                 : "memory");
    return words;
}

/* The address of ADDRESS in the shared memory of the cluster's block RANK. */
static __device__ __forceinline__ uint32_t address_there(uint32_t address, uint32_t rank) {
    uint32_t there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}

static __device__ __forceinline__ void push_shared(uint32_t there, uint4 words) {
    asm volatile("st.relaxed.cluster.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(there),
                 "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w)
                 : "memory");
}

/* A place in the ring that goes round. */
struct lead_slot {
    uint32_t number, round;
};

static __device__ __forceinline__ void next_slot(struct lead_slot &slot, uint32_t slots) {
    if (++slot.number == slots) slot.number = 0, slot.round++;
}

/* ---- rows */

struct lead_warp {
    uint32_t number; /* of the half's */
    int x;           /* the lane's first column */
    uint32_t lane;
    uint32_t exchanges;
    bool active, left, right;     /* has a column inside, neighbours that have */
    bool own, at_left, at_right;  /* what the lane's columns are: the warp's own, a halo */
    bool sends_left, sends_right; /* own columns that are a neighbour's halo */
    uint32_t to, inbox;           /* addresses for even exchanges */
};

/* A lane's energies of a row, two in a word. */
template <int LANE> struct lead_energies { uint32_t pairs[LANE / 2]; };

template <int LANE>
static __device__ __forceinline__ struct lead_energies<LANE> lead_fetch(const uint8_t *from) {
    struct lead_energies<LANE> energies;
    if (LANE == 8) {
        const uint4 words = *(const uint4 *)from;
        energies.pairs[0] = words.x, energies.pairs[1] = words.y;
        energies.pairs[LANE / 2 - 2] = words.z, energies.pairs[LANE / 2 - 1] = words.w;
    } else {
        const uint2 words = *(const uint2 *)from;
        energies.pairs[0] = words.x, energies.pairs[1] = words.y;
    }
    return energies;
}

template <int LANE>
static __device__ __forceinline__ void lead_row(uint32_t (&cost)[LANE],
                                                const struct lead_energies<LANE> &energies) {
    uint32_t before = __shfl_up_sync(~0u, cost[LANE - 1], 1);
    const uint32_t after = __shfl_down_sync(~0u, cost[0], 1);
#pragma unroll
    for (int k = 0; k < LANE; k++) {
        const uint32_t here = cost[k];
        const uint32_t least = __vimin3_u32(before, here, k + 1 < LANE ? cost[k + 1] : after);
        /* One instruction takes the low or the high half of the pair and adds it. */
        cost[k] = __dp2a_lo(energies.pairs[k / 2], k % 2 ? 0x100u : 1u, least);
        before = here;
    }
}

/* What is told of the row before a step: costs of the warp's own columns, tagged. */
template <int LANE> struct lead_told {
    uint4 words[LANE / 4];
    uint32_t *to; /* the lane's place; NULL: nothing to tell */
};

static __device__ __forceinline__ uint4 with_tag(const uint32_t *cost, uint32_t tag) {
    const uint32_t bits = tag << 30;
    return make_uint4(cost[0] | bits, cost[1] | bits, cost[2] | bits, cost[3] | bits);
}

template <int LANE>
static __device__ __forceinline__ struct lead_told<LANE> lead_told_of(const uint32_t (&cost)[LANE],
                                                                      uint32_t tag, uint32_t *to) {
    struct lead_told<LANE> told;
#pragma unroll
    for (int k = 0; k < LANE; k += 4) told.words[k / 4] = with_tag(cost + k, tag);
    told.to = to;
    return told;
}

template <int LANE>
static __device__ __forceinline__ void lead_tell(struct lead_told<LANE> &told) {
#pragma unroll
    for (int k = 0; k < LANE; k += 4)
        if (told.to) store_words(told.to + k, told.words[k / 4]);
    told.to = NULL;
}

/* The next step's slot, which is asked for while rows are under way: an answer takes as long as two
 * rows. Where it says no, or has none to say, the step begins with a wait. */
struct lead_next {
    uint32_t barrier, parity;
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

enum { LEAD_ASKS = 6 }; /* the row behind which the next slot is asked for */

/* All rows of a step. FROM: the lane's columns in the slot's first row. TOLD goes out where the
 * second row waits for its neighbours. */
template <int LANE>
static __device__ __forceinline__ void
lead_step(uint32_t (&cost)[LANE], struct lead_ahead<LANE> &ahead, const uint8_t *from,
          struct lead_told<LANE> told, struct lead_next &next) {
    enum { pitch = lead_slot_bytes<LANE>::ROW };
#pragma unroll
    for (int r = 0; r < FAST_STEP; r++) {
        const struct lead_energies<LANE> energies = ahead.rows[r % 2];
        if (r + 2 < FAST_STEP)
            ahead.rows[r % 2] = lead_fetch<LANE>(from + (r + 2) * pitch);
        else if (next.loaded)
            ahead.rows[r % 2] = lead_fetch<LANE>(next.from + (r + 2 - FAST_STEP) * pitch);
        lead_row<LANE>(cost, energies);
        if (r == 0) lead_tell<LANE>(told);
        if (r == LEAD_ASKS) next.loaded = next.from && barrier_asked(next.barrier, next.parity);
    }
}

/* The last rows of a half, fewer than a step's. */
template <int LANE>
static __device__ __forceinline__ void lead_rest(uint32_t (&cost)[LANE], const uint8_t *from,
                                                 uint32_t rows) {
#pragma unroll 1
    for (; rows; rows--, from += lead_slot_bytes<LANE>::ROW)
        lead_row<LANE>(cost, lead_fetch<LANE>(from));
}

/* ---- exchange */

/* Odd exchanges lie behind even ones. */
static __device__ __forceinline__ uint32_t inbox_turn(uint32_t exchange) {
    return (exchange & 1) * 2 * LEAD_INBOX_SIDE;
}

template <int LANE>
static __device__ __forceinline__ uint32_t inbox_of(uint32_t shared, uint32_t warp, uint32_t side,
                                                    uint32_t lane) {
    return shared + LEAD_INBOX + warp * LEAD_INBOX_WARP + side * LEAD_INBOX_SIDE + lane * 4 * LANE;
}

/* The edges of the warp's own columns, to both neighbours: no lane has to do with both. */
template <int LANE>
static __device__ __forceinline__ void lead_send(const struct lead_warp &warp,
                                                 const uint32_t (&cost)[LANE]) {
    const uint32_t to = warp.to + inbox_turn(warp.exchanges);
    if (!(warp.sends_left && warp.left) && !(warp.sends_right && warp.right)) return;
#pragma unroll
    for (int k = 0; k < LANE; k += 4)
        push_shared(to + 4 * k, with_tag(cost + k, warp.exchanges & 3));
}

template <int LANE>
static __device__ __forceinline__ void
lead_receive(const struct fast_job &job, const struct lead_warp &warp, uint32_t (&cost)[LANE]) {
    const bool waits = (warp.at_left && warp.left) || (warp.at_right && warp.right);
    const uint32_t address = warp.inbox + inbox_turn(warp.exchanges);
    uint4 words[LANE / 4];
#pragma unroll
    for (int k = 0; k < LANE / 4; k++)
        words[k] = make_uint4(FAST_FAR, FAST_FAR, FAST_FAR, FAST_FAR);
    bool here = !waits;
    for (uint32_t spins = 0; !__all_sync(~0u, here); spins++) {
        here = true;
#pragma unroll
        for (int k = 0; k < LANE / 4; k++) {
            if (waits) words[k] = load_shared(address + 16 * k);
            here = here && (!waits || tagged(words[k], warp.exchanges & 3));
        }
        if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_INBOX);
    }
    const uint32_t mask = (1u << 30) - 1;
#pragma unroll
    for (int k = 0; k < LANE; k += 4) {
        const uint4 four = words[k / 4];
        cost[k] = warp.own ? cost[k] : four.x & mask;
        cost[k + 1] = warp.own ? cost[k + 1] : four.y & mask;
        cost[k + 2] = warp.own ? cost[k + 2] : four.z & mask;
        cost[k + 3] = warp.own ? cost[k + 3] : four.w & mask;
    }
}

/* ---- the two kinds of warp */

static __device__ __forceinline__ void lead_wait(const struct fast_job &job, uint32_t barrier,
                                                 uint32_t parity, int where) {
    for (uint32_t spins = 0; !barrier_passed(barrier, parity); spins++)
        if (spins == FAST_PATIENCE) FAST_STUCK(job, where);
}

/* Seam by seam, step by step. */
template <int LANE>
static __device__ __forceinline__ void lead(const struct fast_job &job, int number,
                                            struct lead_warp warp, uint8_t *shared,
                                            uint32_t in_block, uint32_t slot_bytes) {
    const struct fast_half half = job.halves[number];
    const uint32_t base = shared_address(shared), every = job.halo / FAST_STEP;
    const uint8_t *ring =
        shared + LEAD_RING + in_block * lead_slot_bytes<LANE>::ALL + warp.lane * 2 * LANE;
    const bool first = warp.number == 0 && number == 0 && warp.lane == 0;
    uint64_t began = 0, spent = first ? fast_spent(job, SPAN_SEAM) : 0;
    struct lead_slot slot = {};
    struct lead_next next = {};
    struct lead_ahead<LANE> ahead;
    for (uint32_t seam = 0; seam < job.seams; seam++) {
        const int width = (int)(job.width - seam);
        const uint32_t tag = fast_tag(seam);
        uint32_t cost[LANE], wait = every, rows = half.rows;
        uint32_t *to = half.costs + warp.x;
        warp.active = warp.number * job.own < (uint32_t)width;
        warp.right = (warp.number + 1) * job.own < (uint32_t)width;
#pragma unroll
        for (int k = 0; k < LANE; k++)
            cost[k] = warp.x + k >= 0 && warp.x + k < width ? 0 : FAST_FAR;
        for (uint32_t step = 0; step < half.steps; step++, to += job.cost_stride) {
            const uint8_t *from = ring + slot.number * slot_bytes;
            const bool exchange = step && --wait == 0;
            if (exchange) wait = every;
            if (warp.active && exchange) warp.exchanges++, lead_send<LANE>(warp, cost);
            if (!next.loaded) {
                lead_wait(job, base + LEAD_FULL + 8 * slot.number, slot.round & 1, STUCK_FULL);
                lead_first<LANE>(ahead, from);
            }
            if (step == 0 && *(volatile uint32_t *)(shared + LEAD_END)) return;
            if (step == 0 && first) fast_mark(job, seam, MARK_LEAD_START), began = fast_now();
            struct lead_told<LANE> told =
                lead_told_of<LANE>(cost, tag, warp.active && step && warp.own ? to : NULL);
            /* What was sent is under way for longer than this takes. */
            if (exchange) lead_tell<LANE>(told);
            if (warp.active && exchange) lead_receive<LANE>(job, warp, cost);
            const uint32_t emptied = base + LEAD_EMPTY + 8 * slot.number;
            next_slot(slot, job.slots);
            next.barrier = base + LEAD_FULL + 8 * slot.number, next.parity = slot.round & 1;
            next.from = step + 1 < half.steps ? ring + slot.number * slot_bytes : NULL;
            next.loaded = false;
            if (warp.active && rows >= FAST_STEP)
                lead_step<LANE>(cost, ahead, from, told, next);
            else if (warp.active)
                lead_tell<LANE>(told), lead_rest<LANE>(cost, from, rows);
            rows -= FAST_STEP;
            __syncwarp();
            if (warp.lane == 0) barrier_arrive(emptied);
        }
        struct lead_told<LANE> told =
            lead_told_of<LANE>(cost, tag, warp.active && warp.own ? to : NULL);
        lead_tell<LANE>(told);
        if (first) fast_mark(job, seam, MARK_LEAD_END);
        if (first && job.watch) fast_span(job, SPAN_SEAM, began, spent);
    }
}

/* How many bands from BAND on have had SEAM seams taken out; `ended` when there will be no more. */
static __device__ __forceinline__ uint32_t lead_ready(const struct fast_job &job,
                                                      const struct fast_half &half, uint32_t band,
                                                      uint32_t seam, bool &ended) {
    const uint32_t lane = threadIdx.x % 32;
    for (uint32_t spins = 0;; spins++) {
        const bool exists = band + lane < half.bands;
        const uint32_t word =
            exists ? load_acquire(job.ready + half.first_band + band + lane) : seam;
        const uint32_t late = __ballot_sync(~0u, (word & 0x7fffffff) < seam);
        const uint32_t first = late ? __ffs((int)late) - 1 : 32;
        ended = __shfl_sync(~0u, word, 0) >> 31;
        if (first) return first;
        if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_READY);
    }
}

/* One box of the plane of energies, a step's rows of a warp's columns, by the copy engine. */
static __device__ __forceinline__ void lead_copy(uint32_t to, const CUtensorMap &plane, int pair,
                                                 int row, uint32_t full) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(&plane), "r"(pair), "r"(row), "r"(full)
                 : "memory");
}

/* The loading warp, for HERE leaders from the half's FIRST on. */
template <int LANE>
static __device__ __forceinline__ void lead_load(const struct fast_job &job,
                                                 const CUtensorMap &plane, int number,
                                                 uint8_t *shared, uint32_t first, uint32_t here) {
    const uint32_t base = shared_address(shared), lane = threadIdx.x % 32;
    const struct fast_half &half = job.halves[number];
    const int column = (int)(FAST_PAD + first * job.own - job.halo);
    struct lead_slot slot = {};
    for (uint32_t seam = 0; seam < job.seams; seam++) {
        uint32_t known = 0; /* bands that are ready */
        for (uint32_t step = 0; step < half.steps; step++) {
            const uint32_t full = base + LEAD_FULL + 8 * slot.number, band = step / job.band_steps;
            if (slot.round)
                lead_wait(job, base + LEAD_EMPTY + 8 * slot.number, (slot.round & 1) ^ 1,
                          STUCK_EMPTY);
            while (known <= band) {
                bool ended = false;
                known = band + lead_ready(job, half, band, seam, ended);
                __syncwarp();
                /* Written by ordinary stores of other blocks, read by the copy engine. */
                asm volatile("fence.proxy.async.global;" ::: "memory");
                if (!ended) continue;
                if (lane == 0) *(volatile uint32_t *)(shared + LEAD_END) = 1, barrier_arrive(full);
                return;
            }
            if (lane == 0) {
                const int row = (int)((uint32_t)number * job.halves[0].rows + step * FAST_STEP);
                enum { ALL = lead_slot_bytes<LANE>::ALL };
                uint32_t to = base + LEAD_RING + slot.number * here * ALL;
                barrier_expect(full, here * ALL);
                for (uint32_t k = 0; k < here; k++, to += ALL)
                    lead_copy(to, plane, (column + (int)(k * job.own)) / 2, row, full);
            }
            __syncwarp();
            next_slot(slot, job.slots);
        }
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
    const uint32_t lane = threadIdx.x % 32, margin = job.halo / LANE;
    const uint32_t sent_left = lane - margin, sent_right = lane - (32 - 2 * margin);
    const uint32_t received_right = lane - (32 - margin), each = job.block_leaders;
    struct lead_warp warp = {};
    warp.number = number, warp.lane = lane;
    warp.x = (int)(number * job.own) - (int)job.halo + (int)lane * LANE;
    warp.left = number > 0;
    warp.at_left = lane < margin, warp.at_right = received_right < margin;
    warp.own = !warp.at_left && !warp.at_right;
    warp.sends_left = sent_left < margin, warp.sends_right = sent_right < margin;
    warp.inbox =
        inbox_of<LANE>(shared, in_block, warp.at_right, warp.at_right ? received_right : lane);
    if (number > 0 && warp.sends_left)
        warp.to = address_there(inbox_of<LANE>(shared, (number - 1) % each, 1, sent_left),
                                (number - 1) / each);
    if (number + 1 < job.leaders && warp.sends_right)
        warp.to = address_there(inbox_of<LANE>(shared, (number + 1) % each, 0, sent_right),
                                (number + 1) / each);
    return warp;
}

/* A block of a half's cluster. No block leaves while another may still write into its memory. */
template <int LANE>
static __device__ void lead_block(const struct fast_job &job, const CUtensorMap &plane, int half) {
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
        const struct lead_warp mine = lead_warp_of<LANE>(job, first + warp, base, warp);
        lead<LANE>(job, half, mine, shared, warp, here * lead_slot_bytes<LANE>::ALL);
    } else if (here && warp == here) {
        lead_load<LANE>(job, plane, half, shared, first, here);
    }
    __syncthreads();
    cluster_barrier();
}

#endif
