// SPDX-License-Identifier: Apache-2.0
/* sweep.cuh - the sweepers: only the costs of paths, as fast as one row can follow another.
 *
 * Used by:  fast_one_axis.cuh and fast_both_axes.cuh.
 * Limits:   6 or 8 columns a lane, at most BLOCK_SWEEPERS_MAX warps a block.
 *
 * How it works: a half's columns are spread over the warps of a cluster, at most one for each
 * scheduler of a block where that is enough. A lane has 6 or 8 columns, a warp 32 times as many:
 * its own and `halo` more on either side, which it computes redundantly, so that warps exchange
 * costs only every `halo` rows. Lanes exchange their edges every row. (Exchanging every second or
 * fourth row, with more columns computed twice, is no faster, nor are costs of 16 bits, two in a
 * word: tests/bench/kernels/carve_rows.cu.) In an exchange, costs are pushed into the neighbour's
 * inbox, in the shared memory of its own or another block, each word tagged with the exchange's
 * number; the receiver polls. A further warp loads energies ahead (energy_pipeline.cuh).
 */
#ifndef BURIN_CARVE_FAST_ONE_AXIS_SWEEP_CUH
#define BURIN_CARVE_FAST_ONE_AXIS_SWEEP_CUH

#include "cuda/ops/carve/fast_one_axis/energy_pipeline.cuh"

template <int LANE> struct sweep_costs { uint32_t cost[LANE]; };

/* The outermost columns: the minimum of the lane's own costs, with the energy added, is ready
 * before the neighbours' costs arrive; those then take one more instruction. Energies are picked by
 * byte, because the compiler does not merge that with the addition, which is to be part of the
 * instruction. */
template <int LANE>
DEVICE void sweep_row(const struct axis_args &, struct sweep_costs<LANE> &costs,
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

/* With masks. Keys are made while the neighbours' costs are under way. */
template <int LANE>
DEVICE void sweep_row(const struct masked_args &args, struct sweep_costs<LANE> &costs,
                      const struct sweep_energies<LANE> &energies) {
    uint32_t(&cost)[LANE] = costs.cost, next[LANE], keys[LANE];
    const uint32_t before = __shfl_up_sync(~0u, cost[LANE - 1], 1);
    const uint32_t after = __shfl_down_sync(~0u, cost[0], 1);
#pragma unroll
    for (int k = 0; k < LANE; k += 2) {
        const uint2 two = key_pair(energies.pairs[k / 2], args.weights);
        keys[k] = two.x, keys[k + 1] = two.y;
    }
    const uint32_t left = __viaddmin_u32(min(cost[0], cost[1]), keys[0], KEY_CAP);
    const uint32_t right =
        __viaddmin_u32(min(cost[LANE - 2], cost[LANE - 1]), keys[LANE - 1], KEY_CAP);
#pragma unroll
    for (int k = 1; k < LANE - 1; k++)
        next[k] = __viaddmin_u32(__vimin3_u32(cost[k - 1], cost[k], cost[k + 1]), keys[k], KEY_CAP);
    next[0] = __viaddmin_u32(before, keys[0], left);
    next[LANE - 1] = __viaddmin_u32(after, keys[LANE - 1], right);
#pragma unroll
    for (int k = 0; k < LANE; k++) cost[k] = next[k];
}

template <int LANE>
DEVICE struct sweep_row_costs<LANE> sweep_row_costs_of(const struct sweep_costs<LANE> &costs,
                                                       uint32_t head, uint32_t *to) {
    struct sweep_row_costs<LANE> row;
#pragma unroll
    for (int k = 0; k < LANE; k++) row.words[k] = costs.cost[k] | head;
    row.to = to;
    return row;
}

/* Sends to both neighbours: no lane has columns for both. */
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

template <int LANE, class ARGS>
DEVICE void sweep_receive(const ARGS &args, const struct sweep_warp &warp,
                          struct sweep_costs<LANE> &costs) {
    uint32_t(&cost)[LANE] = costs.cost;
    const bool waits = (warp.at_left && warp.left) || (warp.at_right && warp.right);
    const uint32_t address = warp.inbox + inbox_turn(warp.exchanges);
    const uint32_t want = warp.exchanges << 30, mask = (1u << 30) - 1;
    uint32_t words[LANE];
    bool here = !waits;
#pragma unroll
    for (int k = 0; k < LANE; k++) words[k] = ARGS::masked ? KEY_CAP : COST_FAR;
    for (uint32_t spins = 0; !__all_sync(~0u, here); spins++) {
        uint32_t wrong = 0;
        if (waits) {
#pragma unroll
            for (int k = 0; k < LANE; k += 2) {
                const uint2 two = load_shared2(address + 4 * k);
                words[k] = two.x, words[k + 1] = two.y;
            }
        }
#pragma unroll
        for (int k = 0; k < LANE; k++) wrong |= words[k] ^ want;
        here = !waits || !(wrong >> 30);
        if (spins == SPIN_LIMIT) SPIN_STUCK(STUCK_INBOX);
    }
#pragma unroll
    for (int k = 0; k < LANE; k++) cost[k] = warp.own ? cost[k] : words[k] & mask;
}

/* Energies are fetched two rows ahead, into the next step too. */
template <int LANE> struct sweep_ahead { struct sweep_energies<LANE> rows[2]; };

/* A sweeper's place in the ring, and its next rows of energies. */
template <int LANE> struct sweep_cursor {
    struct pipeline_stage stage;
    struct sweep_ahead<LANE> ahead;
    uint32_t release;     /* the barrier of the stage that is released next */
    uint32_t base;        /* of the block's shared memory */
    const uint8_t *first; /* the lane's columns in the first stage */
    uint32_t stage_size, stages;
};

template <int LANE> DEVICE const uint8_t *sweep_stage(const struct sweep_cursor<LANE> &cursor) {
    return cursor.first + cursor.stage.number * cursor.stage_size;
}

template <int LANE> DEVICE uint32_t sweep_full_barrier(const struct sweep_cursor<LANE> &cursor) {
    return cursor.base + SWEEP_FULL + 8 * cursor.stage.number;
}

template <int LANE> DEVICE void sweep_next_stage(struct sweep_cursor<LANE> &cursor) {
    cursor.release = cursor.base + SWEEP_EMPTY + 8 * cursor.stage.number;
    next_stage(cursor.stage, cursor.stages);
}

/* Waits until the present stage is full, then fetches its first energies. */
template <int LANE>
DEVICE void sweep_wait_stage(const struct axis_args &args, struct sweep_cursor<LANE> &cursor) {
    barrier_wait(sweep_full_barrier(cursor), cursor.stage.round & 1, STUCK_FULL);
    __syncwarp();
    cursor.ahead.rows[0] = sweep_fetch<LANE>(sweep_stage(cursor));
    cursor.ahead.rows[1] = sweep_fetch<LANE>(sweep_stage(cursor) + stage_bytes<LANE>::ROW);
}

/* After these rows of a step a sweeper does its other work, in the time in which it waits for the
 * neighbouring lanes' costs. The rows differ, so that no row has two such tasks, and the answer is
 * read some rows after the question. */
enum { SWEEP_RELEASES_AT = 3, SWEEP_STORES_AT = 5, SWEEP_ASKS_AT = 8, SWEEP_HEARS_AT = 11 };

/* All rows of a step. Nothing is decided on the way: a comparison and a branch take as long as half
 * a row. The costs of the row before are stored, and the stage before is released: a warp that
 * shuffles costs has used all energies of the step before. Whether the next stage is full is asked
 * long before the answer is used, and its first energies are fetched meanwhile; if it was not full,
 * they are discarded, and the warp waits. ENDS: no stage follows the last step. TO: where the lane
 * stores costs. */
template <int LANE, class ARGS>
DEVICE void sweep_step(const ARGS &args, const struct sweep_warp &warp,
                       struct sweep_cursor<LANE> &cursor, struct sweep_costs<LANE> &costs,
                       uint32_t head, uint32_t *to, bool ends) {
    enum { pitch = stage_bytes<LANE>::ROW };
    const struct sweep_row_costs<LANE> kept = sweep_row_costs_of(costs, head, to);
    const uint8_t *from = sweep_stage(cursor);
    const uint32_t release = cursor.release;
    bool full = false;
    sweep_next_stage(cursor);
    const uint8_t *next = sweep_stage(cursor);
#pragma unroll
    for (int r = 0; r < STEP_ROWS; r++) {
        const struct sweep_energies<LANE> energies = cursor.ahead.rows[r % 2];
        cursor.ahead.rows[r % 2] = sweep_fetch<LANE>(
            r + 2 < STEP_ROWS ? from + (r + 2) * pitch : next + (r + 2 - STEP_ROWS) * pitch);
        sweep_row(args, costs, energies);
        if (r == SWEEP_RELEASES_AT && warp.lane == 0) mbarrier_arrive(release);
        if (r == SWEEP_STORES_AT && warp.own) sweep_store<LANE>(kept);
        if (r == SWEEP_ASKS_AT)
            full = mbarrier_test_wait(sweep_full_barrier(cursor), cursor.stage.round & 1);
        if (r == SWEEP_HEARS_AT) full = __all_sync(~0u, full);
    }
    if (!full && !ends) sweep_wait_stage(args, cursor);
}

/* Fewer rows than a step has. */
template <int LANE, class ARGS>
DEVICE void sweep_rest(const ARGS &args, const struct sweep_warp &warp,
                       struct sweep_cursor<LANE> &cursor, struct sweep_costs<LANE> &costs,
                       uint32_t head, uint32_t *to, uint32_t rows) {
    const uint8_t *from = sweep_stage(cursor);
    if (warp.own) sweep_store<LANE>(sweep_row_costs_of(costs, head, to));
    __syncwarp();
    if (warp.lane == 0) mbarrier_arrive(cursor.release);
#pragma unroll 1
    for (; rows; rows--, from += stage_bytes<LANE>::ROW)
        sweep_row(args, costs, sweep_fetch<LANE>(from));
    sweep_next_stage(cursor);
}

/* The costs of a seam down to the middle. The first stage is full. TO: where the lane stores costs,
 * beginning with those of the row before the first step, which are not read. As many steps as cover
 * the least halo are one piece of code: a turn of a loop takes as long as a row. */
template <int LANE, class ARGS>
DEVICE void sweep_seam(const ARGS &args, const struct axis_half &half, struct sweep_warp &warp,
                       struct sweep_cursor<LANE> &cursor, struct sweep_costs<LANE> &costs,
                       uint32_t head, uint32_t *to) {
    enum { EVERY = LANE == 6 ? 3 : 2 };
    const uint32_t whole = half.rows / STEP_ROWS, every = args.halo / STEP_ROWS;
    uint32_t done = 0;
#pragma unroll 1
    while (done + EVERY <= whole) {
#pragma unroll
        for (int k = 1; k <= EVERY; k++, to += args.cost_stride)
            sweep_step(args, warp, cursor, costs, head, to, done + k == half.steps);
        done += EVERY;
        if (done % every == 0 && done < half.steps) {
            warp.exchanges++;
            sweep_send(warp, costs);
            sweep_receive(args, warp, costs);
            __syncwarp();
        }
    }
#pragma unroll 1
    for (; done < whole; to += args.cost_stride)
        sweep_step(args, warp, cursor, costs, head, to, ++done == half.steps);
    if (whole < half.steps) sweep_rest(args, warp, cursor, costs, head, to, half.rows % STEP_ROWS);
}

template <int LANE, class ARGS>
DEVICE void sweep(const ARGS &args, int number, struct sweep_warp warp, uint8_t *shared,
                  uint32_t in_block, uint32_t stage_size) {
    struct axis_half half = args.halves[number];
    const bool first = warp.number == 0 && number == 0 && warp.lane == 0;
    struct span_clock &clock = *(struct span_clock *)(shared + SWEEP_CLOCK);
    struct sweep_cursor<LANE> cursor = {};
    cursor.base = shared_address(shared), cursor.release = cursor.base + SWEEP_NOBODY;
    cursor.stage_size = stage_size, cursor.stages = args.stages;
    cursor.first = shared + SWEEP_STAGES + in_block * stage_bytes<LANE>::ALL + warp.lane * 2 * LANE;
    if (first) clock_make(args, clock, SPAN_SEAM);
    for (uint32_t seam = 0; seam < args.seams; seam++) {
        const uint32_t head = seam_tag(seam) << 30;
        sweep_wait_stage(args, cursor);
        uint32_t shape = 0;
        if (thread_index() % 32 == 0)
            shape = atomicOr((uint32_t *)(shared + SWEEP_SHAPE) + cursor.stage.number, 0u);
        shape = __shfl_sync(~0u, shape, 0);
        const uint32_t width = shape & 0xffff;
        if (!shape) return;
        half.rows = shape >> 16, half.steps = (half.rows + STEP_ROWS - 1) / STEP_ROWS;
        if (first) timeline_mark(args, seam, MARK_SWEEP_START), clock.began = global_timer();
        if (warp.number * args.own >= width) {
            /* Beside the image a warp only keeps pace. */
            for (uint32_t step = 0; step < half.steps; step++) {
                if (step) sweep_wait_stage(args, cursor);
                if (thread_index() % 32 == 0) mbarrier_arrive(cursor.release);
                sweep_next_stage(cursor);
            }
            continue;
        }
        struct sweep_costs<LANE> costs;
        warp.right = (warp.number + 1) * args.own < width;
#pragma unroll
        for (int k = 0; k < LANE; k++)
            costs.cost[k] = warp.x + k >= 0 && warp.x + k < (int)width ? 0 : COST_FAR;
        sweep_seam(args, half, warp, cursor, costs, head, half.costs + warp.x);
        uint32_t *to = half.costs + (uint64_t)half.steps * args.cost_stride + warp.x;
        if (warp.own) sweep_store<LANE>(sweep_row_costs_of(costs, head, to));
        if (first) timeline_mark(args, seam, MARK_SWEEP_END);
        if (first) clock_store(args, clock, SPAN_SEAM);
    }
}

template <int LANE>
DEVICE struct sweep_warp sweep_warp_of(const struct axis_args &args, uint32_t number,
                                       uint32_t shared, uint32_t in_block) {
    const uint32_t lane = thread_index() % 32, margin = args.halo / LANE;
    const uint32_t sent_left = lane - margin, sent_right = lane - (32 - 2 * margin);
    const uint32_t received_right = lane - (32 - margin), each = args.block_sweepers;
    struct sweep_warp warp = {};
    warp.number = number, warp.lane = lane;
    warp.x = (int)(number * args.own) - (int)args.halo + (int)lane * LANE;
    warp.left = number > 0;
    warp.at_left = lane < margin, warp.at_right = received_right < margin;
    warp.own = !warp.at_left && !warp.at_right;
    warp.sends_left = sent_left < margin, warp.sends_right = sent_right < margin;
    warp.inbox = inbox_of(shared, in_block, warp.at_right) +
                 4 * LANE * (warp.at_right ? received_right : lane);
    if (number > 0 && warp.sends_left)
        warp.to = cluster_address(inbox_of(shared, (number - 1) % each, 1) + 4 * LANE * sent_left,
                                  (number - 1) / each);
    if (number + 1 < args.sweepers && warp.sends_right)
        warp.to = cluster_address(inbox_of(shared, (number + 1) % each, 0) + 4 * LANE * sent_right,
                                  (number + 1) / each);
    return warp;
}

/* A block of a half's cluster. No block leaves while another may still write into its memory. */
template <int LANE, class ARGS>
static __device__ void sweep_block(const ARGS &args, const CUtensorMap &plane, int half) {
    uint8_t *shared = block_shared;
    const uint32_t rank = blockIdx.x % args.cluster;
    /* shows the compiler that all lanes have the same value */
    const uint32_t warp = __shfl_sync(~0u, thread_index() / 32, 0);
    const uint32_t first = rank * args.block_sweepers;
    const uint32_t here =
        first < args.sweepers ? min(args.block_sweepers, args.sweepers - first) : 0;
    const uint32_t base = shared_address(shared);
    for (uint32_t i = thread_index(); i < SWEEP_STAGES / 4; i += BLOCK_THREADS)
        ((uint32_t *)shared)[i] = 0;
    __syncthreads();
    for (uint32_t stage = thread_index(); here && stage < args.stages; stage += BLOCK_THREADS) {
        mbarrier_init(base + SWEEP_FULL + 8 * stage, 1);
        mbarrier_init(base + SWEEP_EMPTY + 8 * stage, here);
    }
    if (thread_index() == 0) mbarrier_init(base + SWEEP_NOBODY, 1 << 19);
    mbarrier_init_fence();
    cluster_barrier();
    if (warp < here) {
        const struct sweep_warp sweeper = sweep_warp_of<LANE>(args, first + warp, base, warp);
        sweep<LANE>(args, half, sweeper, shared, warp, here * stage_bytes<LANE>::ALL);
    } else if (here && warp == here) {
        producer<LANE>(args, plane, half, shared, first, here);
    }
    __syncthreads();
    cluster_barrier();
}

#endif
