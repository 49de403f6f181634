// SPDX-License-Identifier: Apache-2.0
/* fast_ring.cuh - a leading block's shared memory: the ring of energies, and the leaders' inboxes.
 *
 * One warp loads energies ahead into a ring of slots of 16 rows, by the copy engine, a box for each
 * leader; barriers tell when a slot is full and when it is empty. Inboxes are for what leaders push
 * to their neighbours, in the same or another block: two in turn, since whoever sends the next but
 * one has received what was sent after the last was read.
 */
#ifndef BURIN_CARVE_FAST_RING_CUH
#define BURIN_CARVE_FAST_RING_CUH

#include "cuda/ops/carve/fast_weigh.cuh"

#include <cuda.h>

/* Shared memory of a leading block, in bytes. */
enum {
    LEAD_FULL = 0,
    LEAD_EMPTY = 8 * FAST_SLOTS_MAX,
    LEAD_NOBODY = 16 * FAST_SLOTS_MAX, /* a barrier that nobody waits for */
    /* Of the seam that begins in a slot: width | the half's rows << 16, or 0 behind the last one.
     */
    LEAD_SHAPE = LEAD_NOBODY + 8,
    LEAD_CLOCK = 256,
    LEAD_INBOX = LEAD_CLOCK + sizeof(struct fast_clock),
    LEAD_INBOX_SIDE = 4 * FAST_HALO_MAX,
    LEAD_INBOX_WARP = 4 * LEAD_INBOX_SIDE, /* two in turn, left and right */
    LEAD_RING = (LEAD_INBOX + FAST_WARPS_MAX * LEAD_INBOX_WARP + 127) / 128 * 128,
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

/* The same without ever lingering. */
static __device__ __forceinline__ bool barrier_asked(uint32_t barrier, uint32_t parity) {
    uint32_t passed;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; "
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(passed)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return passed;
}

/* The address of ADDRESS in the shared memory of the cluster's block RANK. */
static __device__ __forceinline__ uint32_t address_there(uint32_t address, uint32_t rank) {
    uint32_t there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}

/* Words of an inbox carry their own tag, so whoever reads one while it is written asks again. For
 * racecheck, which takes that for a fault, they are atomics: a build with FAST_CHECKED is its. */
#ifdef FAST_CHECKED
static __device__ __forceinline__ void push_word(uint32_t there, uint32_t word) {
    uint32_t before;
    asm volatile("atom.relaxed.cluster.shared::cluster.exch.b32 %0, [%1], %2;"
                 : "=r"(before)
                 : "r"(there), "r"(word)
                 : "memory");
}

static __device__ __forceinline__ uint32_t load_inbox(uint32_t address) {
    uint32_t word;
    asm volatile("atom.relaxed.cluster.shared::cta.or.b32 %0, [%1], 0;"
                 : "=r"(word)
                 : "r"(address)
                 : "memory");
    return word;
}

static __device__ __forceinline__ void push_shared_two(uint32_t there, uint32_t a, uint32_t b) {
    push_word(there, a), push_word(there + 4, b);
}

static __device__ __forceinline__ void push_shared(uint32_t there, uint4 words) {
    push_shared_two(there, words.x, words.y), push_shared_two(there + 8, words.z, words.w);
}

static __device__ __forceinline__ uint2 load_shared_two(uint32_t address) {
    return make_uint2(load_inbox(address), load_inbox(address + 4));
}
#else
static __device__ __forceinline__ void push_shared(uint32_t there, uint4 words) {
    asm volatile("st.relaxed.cluster.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(there),
                 "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w)
                 : "memory");
}

static __device__ __forceinline__ void push_shared_two(uint32_t there, uint32_t a, uint32_t b) {
    asm volatile("st.relaxed.cluster.shared::cluster.v2.u32 [%0], {%1, %2};" ::"r"(there), "r"(a),
                 "r"(b)
                 : "memory");
}

static __device__ __forceinline__ uint2 load_shared_two(uint32_t address) {
    uint2 words;
    asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];"
                 : "=r"(words.x), "=r"(words.y)
                 : "r"(address)
                 : "memory");
    return words;
}
#endif

/* A place in the ring that goes round. */
struct lead_slot {
    uint32_t number, round;
};

static __device__ __forceinline__ void next_slot(struct lead_slot &slot, uint32_t slots) {
    if (++slot.number == slots) slot.number = 0, slot.round++;
}

/* The shape of the seam that begins in SLOT. It is handed on by the slot's barrier; atomics, since
 * racecheck does not follow a barrier that counts bytes. */
static __device__ __forceinline__ void shape_tell(uint8_t *shared, const struct lead_slot &slot,
                                                  uint32_t shape) {
    atomicExch((uint32_t *)(shared + LEAD_SHAPE) + slot.number, shape);
}

/* A warp. */
static __device__ __forceinline__ uint32_t shape_of(uint8_t *shared, const struct lead_slot &slot) {
    uint32_t shape = 0;
    if (fast_thread() % 32 == 0)
        shape = atomicOr((uint32_t *)(shared + LEAD_SHAPE) + slot.number, 0u);
    return __shfl_sync(~0u, shape, 0);
}

/* ---- a leader */

struct lead_warp {
    uint32_t number; /* of the half's */
    int x;           /* the lane's first column */
    uint32_t lane;
    uint32_t exchanges;
    bool left, right;             /* neighbours that have a column inside */
    bool own, at_left, at_right;  /* what the lane's columns are: the warp's own, a halo */
    bool sends_left, sends_right; /* own columns that are a neighbour's halo */
    uint32_t to, inbox;           /* addresses for even exchanges */
};

/* A lane's energies of a row, two in a word. */
template <int LANE> struct lead_energies { uint32_t pairs[LANE / 2]; };

template <int LANE>
static __device__ __forceinline__ struct lead_energies<LANE> lead_fetch(const uint8_t *from) {
    struct lead_energies<LANE> energies;
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

/* What is told of the row before a step: costs of the warp's own columns, tagged. */
template <int LANE>
struct lead_told {
    uint32_t words[LANE];
    uint32_t *to; /* the lane's place */
};

template <int LANE>
static __device__ __forceinline__ void lead_tell(const struct lead_told<LANE> &told) {
    const uint32_t(&words)[LANE] = told.words;
    if constexpr (LANE == 8) {
        store_words(told.to, make_uint4(words[0], words[1], words[2], words[3]));
        store_words(told.to + 4, make_uint4(words[4], words[5], words[6], words[7]));
    } else {
#pragma unroll
        for (int k = 0; k < LANE; k += 2) store_two(told.to + k, words[k], words[k + 1]);
    }
}

/* Odd exchanges lie behind even ones. */
static __device__ __forceinline__ uint32_t inbox_turn(uint32_t exchange) {
    return (exchange & 1) * 2 * LEAD_INBOX_SIDE;
}

static __device__ __forceinline__ uint32_t inbox_of(uint32_t shared, uint32_t warp, uint32_t side) {
    return shared + LEAD_INBOX + warp * LEAD_INBOX_WARP + side * LEAD_INBOX_SIDE;
}

/* ---- the loading warp */

static __device__ __forceinline__ void lead_wait(const struct fast_job &job, uint32_t barrier,
                                                 uint32_t parity, int where) {
    for (uint32_t spins = 0; !barrier_passed(barrier, parity); spins++)
        if (spins == FAST_PATIENCE) FAST_STUCK(job, where);
}

/* How many bands from BAND on have had SEAM seams taken out; `ended` when those were all. A block
 * whose leaders have nothing to do may be late enough to see what is told of the seam itself. */
static __device__ __forceinline__ uint32_t lead_ready(const struct fast_job &job,
                                                      const struct fast_half &half, uint32_t band,
                                                      uint32_t seam, bool &ended) {
    const uint32_t lane = fast_thread() % 32;
    for (uint32_t spins = 0;; spins++) {
        const bool exists = band + lane < half.bands;
        const uint32_t word =
            exists ? load_acquire(job.ready + half.first_band + band + lane) : seam;
        const uint32_t late = __ballot_sync(~0u, (word & 0x7fffffff) < seam);
        const uint32_t first = late ? __ffs((int)late) - 1 : 32;
        ended = __shfl_sync(~0u, word, 0) == (seam | 1u << 31);
        if (first) return first;
        if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_READY);
    }
}

/* Before a step of a strip that weighs both directions: the half as it will be, and the shape.
 * VERDICT: of the step before that, then of the one before. The way's own bands are not waited for,
 * but the other's if it was theirs to renew energies in this way's plane, and the resolvers, who
 * have then read the last row's costs. */
static __device__ __forceinline__ struct fast_shape lead_weighed(const struct fast_job &job,
                                                                 struct fast_half &half, int number,
                                                                 uint32_t step, uint32_t &verdict) {
    const struct fast_weighing &weighing = job.weighing;
    const uint32_t before = verdict, resolver = weighing.bands + 2 * weighing.way;
    verdict = step ? wait_verdict(job, step - 1) : 0;
    const struct fast_shape shape = shape_at(job, step, verdict);
    fast_halve(half, number, shape.height, job.band_steps);
    if (shape.over || step == 0) return shape;
    wait_told(job, weighing.ready, resolver, resolver + 2, step);
    if (!weighed_own(job, before, verdict))
        wait_told(job, weighing.ready, weighing.way ? 0 : weighing.across,
                  weighing.way ? weighing.across : weighing.bands, step);
    return shape;
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
    const uint32_t base = shared_address(shared), lane = fast_thread() % 32;
    struct fast_half half = job.halves[number];
    const int column = (int)(FAST_PAD + first * job.own - job.halo);
    struct lead_slot slot = {};
    uint32_t verdict = 0;
    for (uint32_t seam = 0; seam < job.seams; seam++) {
        uint32_t known = 0; /* bands that are ready */
        struct fast_shape shape = { job.width - seam, job.height, false };
        if (job.weighing.verdicts) shape = lead_weighed(job, half, number, seam, verdict);
        for (uint32_t step = 0; step < half.steps; step++) {
            const uint32_t full = base + LEAD_FULL + 8 * slot.number, band = step / job.band_steps;
            if (slot.round)
                lead_wait(job, base + LEAD_EMPTY + 8 * slot.number, (slot.round & 1) ^ 1,
                          STUCK_EMPTY);
            while (known <= band) {
                bool ended = shape.over;
                if (!ended) known = band + lead_ready(job, half, band, seam, ended);
                __syncwarp();
                /* Written by ordinary stores of other blocks, read by the copy engine. */
                asm volatile("fence.proxy.async.global;" ::: "memory");
                if (!ended) continue;
                if (lane == 0) shape_tell(shared, slot, 0), barrier_arrive(full);
                return;
            }
            if (lane == 0) {
                const int row = (int)(half.first_row + step * FAST_STEP);
                if (step == 0) shape_tell(shared, slot, shape.width | half.rows << 16);
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

#endif
