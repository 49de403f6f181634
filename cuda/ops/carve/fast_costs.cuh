// SPDX-License-Identifier: Apache-2.0
/* fast_costs.cuh - a leader's costs as words of 32 bits: right for every image.
 */
#ifndef BURIN_CARVE_FAST_COSTS_CUH
#define BURIN_CARVE_FAST_COSTS_CUH

#include "cuda/ops/carve/fast_ring.cuh"

template <int LANE> struct lead_costs {
    enum { COLUMNS = LANE, BYTES = 4 * LANE };
    uint32_t cost[LANE];
};

/* Before the first row. */
template <int LANE>
static __device__ __forceinline__ void lead_begin(struct lead_costs<LANE> &costs,
                                                  const struct lead_warp &warp, int width) {
#pragma unroll
    for (int k = 0; k < LANE; k++)
        costs.cost[k] = warp.x + k >= 0 && warp.x + k < width ? 0 : FAST_FAR;
}

template <int LANE>
static __device__ __forceinline__ void lead_row(struct lead_costs<LANE> &costs,
                                                const struct lead_energies<LANE> &energies) {
    uint32_t(&cost)[LANE] = costs.cost;
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

/* What the other form does of itself between rows. */
template <int LANE>
static __device__ __forceinline__ void lead_foresee(struct lead_costs<LANE> &) {}
template <int LANE> static __device__ __forceinline__ void lead_renew(struct lead_costs<LANE> &) {}
template <int LANE> static __device__ __forceinline__ void lead_limit(struct lead_costs<LANE> &) {}
template <int LANE>
static __device__ __forceinline__ uint32_t lead_lowest(const struct lead_costs<LANE> &) {
    return ~0u;
}

static __device__ __forceinline__ uint4 with_head(const uint32_t *cost, uint32_t bits) {
    return make_uint4(cost[0] | bits, cost[1] | bits, cost[2] | bits, cost[3] | bits);
}

template <int LANE>
static __device__ __forceinline__ struct lead_told<LANE>
lead_told_of(const struct lead_costs<LANE> &costs, uint32_t head, uint32_t *to) {
    struct lead_told<LANE> told;
#pragma unroll
    for (int k = 0; k < LANE; k += 4) told.words[k / 4] = with_head(costs.cost + k, head);
    told.to = to;
    return told;
}

/* The edges of the warp's own columns, to both neighbours: no lane has to do with both. */
template <int LANE>
static __device__ __forceinline__ void lead_send(const struct lead_warp &warp,
                                                 const struct lead_costs<LANE> &costs) {
    const uint32_t to = warp.to + inbox_turn(warp.exchanges);
    if (!(warp.sends_left && warp.left) && !(warp.sends_right && warp.right)) return;
#pragma unroll
    for (int k = 0; k < LANE; k += 4)
        push_shared(to + 4 * k, with_head(costs.cost + k, warp.exchanges << 30));
}

template <int LANE>
static __device__ __forceinline__ void lead_receive(const struct fast_job &job,
                                                    const struct lead_warp &warp,
                                                    struct lead_costs<LANE> &costs) {
    uint32_t(&cost)[LANE] = costs.cost;
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

#endif
