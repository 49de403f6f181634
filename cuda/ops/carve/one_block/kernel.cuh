// SPDX-License-Identifier: Apache-2.0
/* kernel.cuh - a block, or a cluster of two, finds and removes all seams of one search.
 *
 * Used by:  one_block.cuh launches it; tests/cuda/ops/carve_one_block.cpp runs it on the CPU.
 * Limits:   layout.cuh's.
 *
 * How it works: a step is one seam. Every warp sweeps its columns of its half, which also removes
 * the seam before (sweep.cuh); the upper half's warps find where both halves meet cheapest; a few
 * warps of each half trace the seam (trace.cuh). With masks (flags.cuh) a seam may be the one at
 * which the search ends.
 */
#ifndef BURIN_CARVE_ONE_BLOCK_KERNEL_CUH
#define BURIN_CARVE_ONE_BLOCK_KERNEL_CUH

#include "cuda/ops/carve/one_block/sweep.cuh"
#include "cuda/ops/carve/one_block/trace.cuh"

enum { ONE_BLOCK_SEARCHES_MAX = CUDA_BATCH_MAX };

struct block_searches {
    struct block_search of[ONE_BLOCK_SEARCHES_MAX];
};

template <int WORDS, search_kind KIND> struct one_block_shared {
    alignas(16) struct exchange<WORDS> box;
    struct trace_shared<WORDS, KIND> trace[2]; /* [half] */
    bool stop;
    bool ends; /* MASKED: the search, before the present seam */
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define CLUSTER_BARRIER() /* the kernel for clusters is not launched */
#else
#define CLUSTER_BARRIER() cluster_barrier()
#endif

/* For all threads of the search. */
template <int CLUSTER> DEVICE void search_barrier() {
    if constexpr (CLUSTER == 1)
        __syncthreads();
    else
        CLUSTER_BARRIER();
}

/* GAPS get the column where the seam before crosses each row; for the first seam there is none. */
DEVICE void load_gaps(uint16_t *gaps, const uint16_t *seam, uint32_t height, uint32_t threads) {
    for (uint32_t i = threadIdx.x; i < height + 2 * GAPS_SLACK; i += threads)
        gaps[i] = seam && i >= GAPS_SLACK && i < height + GAPS_SLACK ? __ldcg(seam + i - GAPS_SLACK)
                                                                     : (uint16_t)0xffff;
}

/* The upper half's warps: the least cost of a path through the middle, the leftmost of equals. */
template <int WORDS, search_kind KIND>
DEVICE void meet(const struct block_view &view, const struct sweep_place &place, int width,
                 const uint32_t (&upper)[4 * WORDS]) {
    constexpr int COLUMNS = 4 * WORDS;
    uint32_t lower[COLUMNS], best = ~0u, column = 0;
    load_costs(lower, view.middle + place.x);
#pragma unroll
    for (int i = 0; i < COLUMNS; i++)
        if (place.x + i < 0 || place.x + i >= width) lower[i] = outside_cost<KIND>();
    uint32_t left = __shfl_up_sync(~0u, lower[COLUMNS - 1], 1);
    const uint32_t right = __shfl_down_sync(~0u, lower[0], 1);
#pragma unroll
    for (int i = 0; i < COLUMNS; i++) {
        const uint32_t next = i + 1 < COLUMNS ? lower[(i + 1) % COLUMNS] : right;
        const uint32_t under = __vimin3_u32(left, lower[i], next);
        uint32_t cost = upper[i] + under;
        if (KIND == MASKED && max(upper[i], under) == COST_WALL) cost = SEARCH_WALLED;
        left = lower[i];
        if (place.own && place.x + i < width && cost < best)
            best = cost, column = (uint32_t)(place.x + i);
    }
    const uint32_t least = __reduce_min_sync(~0u, best);
    column = __reduce_min_sync(~0u, best == least ? column : ~0u);
    if (place.lane == 0) __stcg(view.bests + place.warp, (uint64_t)least << 32 | column);
}

/* The half of the block's warp number WARP. */
template <int CLUSTER> DEVICE uint32_t half_of(uint32_t warp, uint32_t warps) {
    return CLUSTER == 1 ? warp / warps : block_index() % 2;
}

/* The warp's place. In one block the lower half's warps are numbered from the right: those on the
 * right, which have more gaps to close, share their part of the multiprocessor with left ones. */
template <int WORDS, int CLUSTER>
DEVICE struct sweep_place place_of(uint32_t warp, uint32_t warps, uint32_t half) {
    struct sweep_place place;
    place.warp = CLUSTER == 2 ? warp : half ? 2 * warps - 1 - warp : warp;
    place.lane = threadIdx.x % 32;
    place.left = (int)place.warp * lane_shape<WORDS>::OWN - lane_shape<WORDS>::COLUMNS;
    place.x = place.left + (int)place.lane * lane_shape<WORDS>::COLUMNS;
    place.own = place.lane > 0 && place.lane < 31;
    return place;
}

/* Whether the search ends before SEAM, of COST, or for another way to carve; one lane says so. */
DEVICE bool search_ends(const struct block_search &search, uint32_t seam, uint32_t cost,
                        bool says) {
    const struct flag_costs costs = flag_costs_of(search.height, search.masks);
    const bool walled = cost == SEARCH_WALLED;
    const bool ends = walled || (seam >= search.least && cost >= search.height * costs.stays);
    if (ends && says) *search.taken = walled ? +SEARCH_WALLED : seam;
    return ends;
}

/* A warp's part in the trace of SEAM, unless the search ends before. RINGS: the shared address of
 * the block's. All else is read anew, so that the sweep keeps no register for the trace. */
template <int WORDS, int CLUSTER, search_kind KIND>
DEVICE void trace_seam(const struct block_search &search, uint32_t seam, uint32_t rings,
                       struct one_block_shared<WORDS, KIND> &shared) {
    const uint32_t number = thread_index() / 32, warps = search.warps;
    const uint32_t half = half_of<CLUSTER>(number, warps);
    const int warp = (int)place_of<WORDS, CLUSTER>(number, warps, half).warp;
    if (warp >= TRACE_WARPS) return;
    const struct block_view view = block_view_of(search, KIND);
    /* The least of the warps' costs, and the first column with it. */
    const uint32_t lane = thread_index() % 32;
    const uint64_t best = lane < warps ? __ldcg(view.bests + lane) : ~0ull;
    const uint32_t cost = (uint32_t)(best >> 32), least = __reduce_min_sync(~0u, cost);
    const int column = (int)__reduce_min_sync(~0u, cost == least ? (uint32_t)best : ~0u);
    const uint32_t ring = rings + number * ring_shape<WORDS, KIND>::BYTES;
    const bool says = !half && !warp && lane == 0;
    if (KIND == MASKED && search_ends(search, seam, least, says))
        shared.ends = true;
    else if (half)
        trace_half<true>(search, view, seam, warp, column, ring, shared.trace[1]);
    else
        trace_half<false>(search, view, seam, warp, column, ring, shared.trace[0]);
}

/* A warp's part of one seam, up to the least paths of its columns. With masks the sweep needs the
 * registers of the view, which is made again behind it. */
template <int WORDS, int CLUSTER, search_kind KIND>
DEVICE void sweep_and_meet(const struct block_searches &searches, const struct block_view &view,
                           struct sweep_args<WORDS> &args, const struct sweep_place &place,
                           uint32_t half, struct exchange<WORDS> &box, uint32_t &parity) {
    uint32_t costs[4 * WORDS];
    const auto again = [&] {
        return KIND == PLAIN ? view : block_view_of(searches.of[block_index() / CLUSTER], KIND);
    };
    if (half) {
        args.kept = kept_costs<1>(view) + place.x;
        sweep_half<WORDS, 1, KIND>(args, place, box, parity, costs);
        if (place.own) store_costs(again().middle + place.x, costs);
    } else {
        args.kept = kept_costs<0>(view) + place.x;
        sweep_half<WORDS, 0, KIND>(args, place, box, parity, costs);
    }
    search_barrier<CLUSTER>();
    if (!half) meet<WORDS, KIND>(again(), place, args.width, costs);
}

/* One block or cluster a search. Warps that a smaller search does not need leave at once. */
template <int WORDS, int CLUSTER, search_kind KIND>
static __global__ void __launch_bounds__(32 * BLOCK_WARPS_MAX)
    one_block_kernel(const __grid_constant__ struct block_searches searches) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    extern __shared__ __align__(128) uint8_t dynamic[];
    __shared__ struct one_block_shared<WORDS, KIND> shared;
    constexpr uint32_t RING = ring_shape<WORDS, KIND>::BYTES;
    const struct block_search &search = searches.of[blockIdx.x / CLUSTER];
    const uint32_t warps = search.warps, here = 2 * warps / CLUSTER, warp = threadIdx.x / 32;
    if (warp >= here) return;
    const struct block_view view = block_view_of(search, KIND);
    const uint32_t half = half_of<CLUSTER>(warp, warps);
    const struct sweep_place place = place_of<WORDS, CLUSTER>(warp, warps, half);
    uint16_t *const gaps = (uint16_t *)(dynamic + here * RING);
    uint32_t parity = 0;
    struct sweep_args<WORDS> args;
    args.height = search.height;
    args.rows = half ? args.height - 1 - (int)view.middle_row : (int)view.middle_row + 1;
    args.pitch = view.shape.pitch;
    args.stride = view.shape.stride;
    args.ring = shared_address(dynamic) + warp * RING;
    args.gaps = shared_address(gaps + GAPS_SLACK);
    args.first = CLUSTER == 1 ? half * warps : 0;
    args.warps = warps;
    if constexpr (KIND == MASKED) {
        args.flags_at = flags_at(view.shape);
        args.masks = search.masks;
        if (threadIdx.x == 0) shared.ends = false;
    }

    for (uint32_t seam = 0; seam < search.seam_count; seam++) {
        uint16_t *const found = search.seams + (size_t)seam * search.height;
        uint8_t *const plane = plane_of(view, seam);
        uint32_t stop = 0;
        /* It comes from the host's memory, and is used after the sweep. Two blocks may see it at
         * different seams: the barriers of a cluster do not wait for a block that has left. */
        if (threadIdx.x == 0 && search.progress)
            stop = ((volatile struct kernel_progress *)search.progress)->stop;
        load_gaps(gaps, seam ? found - search.height : NULL, search.height, 32 * here);
        __syncthreads();
        args.width = (int)(search.width - seam);
        args.closes = seam > 0;
        args.from = plane_of(view, seam ? seam - 1 : 0) + place.x;
        args.to = plane + place.x;
        sweep_and_meet<WORDS, CLUSTER, KIND>(searches, view, args, place, half, shared.box, parity);
        if (threadIdx.x == 0) shared.stop = stop != 0;
        search_barrier<CLUSTER>();
        if (shared.stop) return;
        trace_seam<WORDS, CLUSTER>(searches.of[block_index() / CLUSTER], seam,
                                   shared_address(dynamic), shared);
        search_barrier<CLUSTER>();
        if (KIND == MASKED && shared.ends) return;
        if (search.progress && threadIdx.x == 0 && !half)
            ((volatile struct kernel_progress *)search.progress)->done = search.done + seam + 1;
    }
    if (KIND == MASKED && threadIdx.x == 0 && !half) *search.taken = search.seam_count;
#endif
}

#endif
