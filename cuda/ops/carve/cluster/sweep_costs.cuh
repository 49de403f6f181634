// SPDX-License-Identifier: Apache-2.0
/* sweep_costs.cuh - a sweeper's costs: from row to row, stored, sent and received.
 *
 * Used by:  sweep.cuh; tests/bench/kernels/carve_rows.cu measures a row.
 */
#ifndef BURIN_CARVE_CLUSTER_SWEEP_COSTS_CUH
#define BURIN_CARVE_CLUSTER_SWEEP_COSTS_CUH

#include "cuda/ops/carve/cluster/energy_pipeline.cuh"

template <int LANE> struct sweep_costs { uint32_t cost[LANE]; };

/* Before the first row. */
template <int LANE>
DEVICE void sweep_begin(struct sweep_costs<LANE> &costs, const struct sweep_warp &warp, int width) {
#pragma unroll
    for (int k = 0; k < LANE; k++)
        costs.cost[k] = warp.x + k >= 0 && warp.x + k < width ? 0 : COST_FAR;
}

/* The outermost columns: the least of what the lane has itself, and the energy on top, is there
 * before the neighbours' costs are; with those it is one instruction more. Energies are picked by
 * byte, which the compiler does not merge with the addition that is to be part of that instruction.
 */
template <int LANE>
DEVICE void sweep_row(struct sweep_costs<LANE> &costs,
                      const struct sweep_energies<LANE> &energies) {
    uint32_t(&cost)[LANE] = costs.cost, next[LANE];
    const uint32_t before = __shfl_up_sync(~0u, cost[LANE - 1], 1);
    const uint32_t after = __shfl_down_sync(~0u, cost[0], 1);
    const uint32_t first = __byte_perm(energies.pairs[0], 0, 0x4410);
    const uint32_t last = __byte_perm(energies.pairs[LANE / 2 - 1], 0, 0x4432);
    const uint32_t left = min(cost[0], cost[1]) + first;
    const uint32_t right = min(cost[LANE - 2], cost[LANE - 1]) + last;
#pragma unroll
    for (int k = 1; k < LANE - 1; k++)
        /* One instruction takes the low or the high half of the pair and adds it. */
        next[k] = __dp2a_lo(energies.pairs[k / 2], k % 2 ? 0x100u : 1u,
                            __vimin3_u32(cost[k - 1], cost[k], cost[k + 1]));
    next[0] = __viaddmin_u32(before, first, left);
    next[LANE - 1] = __viaddmin_u32(after, last, right);
#pragma unroll
    for (int k = 0; k < LANE; k++) cost[k] = next[k];
}

template <int LANE>
DEVICE struct sweep_row_costs<LANE> sweep_row_costs_of(const struct sweep_costs<LANE> &costs,
                                                       uint32_t head, uint32_t *to) {
    struct sweep_row_costs<LANE> told;
#pragma unroll
    for (int k = 0; k < LANE; k++) told.words[k] = costs.cost[k] | head;
    told.to = to;
    return told;
}

/* The edges of the warp's own columns, to both neighbours: no lane has to do with both. */
template <int LANE>
DEVICE void sweep_send(const struct sweep_warp &warp, const struct sweep_costs<LANE> &costs) {
    const uint32_t to = warp.to + inbox_turn(warp.exchanges);
    if (!(warp.sends_left && warp.left) && !(warp.sends_right && warp.right)) return;
    const uint32_t head = warp.exchanges << 30, (&cost)[LANE] = costs.cost;
    if constexpr (LANE == 8) {
        store_cluster4(to,
                       make_uint4(cost[0] | head, cost[1] | head, cost[2] | head, cost[3] | head));
        store_cluster4(to + 16,
                       make_uint4(cost[4] | head, cost[5] | head, cost[6] | head, cost[7] | head));
    } else {
#pragma unroll
        for (int k = 0; k < LANE; k += 2)
            store_cluster2(to + 4 * k, cost[k] | head, cost[k + 1] | head);
    }
}

/* An inbox's words of a lane. */
template <int LANE> DEVICE void inbox_read(uint32_t (&words)[LANE], uint32_t address) {
#pragma unroll
    for (int k = 0; k < LANE; k += 2) {
        const uint2 two = load_shared2(address + 4 * k);
        words[k] = two.x, words[k + 1] = two.y;
    }
}

template <int LANE>
DEVICE void sweep_receive(const struct cluster_args &args, const struct sweep_warp &warp,
                          struct sweep_costs<LANE> &costs) {
    uint32_t(&cost)[LANE] = costs.cost;
    const bool waits = (warp.at_left && warp.left) || (warp.at_right && warp.right);
    const uint32_t address = warp.inbox + inbox_turn(warp.exchanges);
    const uint32_t want = warp.exchanges << 30, mask = (1u << 30) - 1;
    uint32_t words[LANE];
    bool here = !waits;
#pragma unroll
    for (int k = 0; k < LANE; k++) words[k] = COST_FAR;
    for (uint32_t spins = 0; !__all_sync(~0u, here); spins++) {
        uint32_t wrong = 0;
        if (waits) inbox_read(words, address);
#pragma unroll
        for (int k = 0; k < LANE; k++) wrong |= words[k] ^ want;
        here = !waits || !(wrong >> 30);
        if (spins == SPIN_LIMIT) SPIN_STUCK(STUCK_INBOX);
    }
#pragma unroll
    for (int k = 0; k < LANE; k++) cost[k] = warp.own ? cost[k] : words[k] & mask;
}

#endif
