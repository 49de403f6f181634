// SPDX-License-Identifier: Apache-2.0
/* walk.cuh - synchronizes the subsequences of a batch's scans: each starts where the last one ends.
 *
 * Used by:  jpeg_decode.cu, join.cuh, phases.cuh.
 *
 * How it works. A thread decodes a run of RUN subsequences from a guess, with its bits in shared
 * memory: from global memory a warp would wait at nearly each symbol for what one of its lanes
 * loads. Then come rounds, in which subsequences that do not start where the one before ends are
 * decoded again; they are dealt to the first threads, so that few warps stay. A block also decodes
 * the last subsequences of the block before, so that no block waits for another. Invariant: in a
 * round one thread writes a subsequence, and all threads have read the ends before any writes.
 */
#ifndef BURIN_JPEG_WALK_CUH
#define BURIN_JPEG_WALK_CUH

#include "cuda/codecs/jpeg_decode/units.cuh"

/* The picture's tables, and a subsequence's words for each thread. */
template <int THREADS> struct jpeg_walk_shared {
    struct jpeg_lookup lookups[4];
    uint32_t words[JPEG_SUB_WORDS * THREADS];
};

template <int THREADS>
static __device__ __forceinline__ void jpeg_load_lookups(const struct jpeg_picture *picture,
                                                         struct jpeg_walk_shared<THREADS> &shared) {
    static_assert(sizeof shared.lookups % 16 == 0, "copied by 16 bytes");
    const uint4 *from = (const uint4 *)picture->lookups;
    uint4 *into = (uint4 *)shared.lookups;
    for (uint32_t i = threadIdx.x; i < sizeof shared.lookups / 16; i += THREADS) into[i] = from[i];
}

template <int THREADS>
static __device__ __forceinline__ struct jpeg_words
jpeg_words_of(const struct jpeg_walk_shared<THREADS> &shared) {
    struct jpeg_words words = {};
    words.at = shared.words + threadIdx.x;
    words.stride = THREADS;
    return words;
}

/* 0 for a picture that is known to be flawed. */
static __device__ __forceinline__ uint32_t jpeg_subs_of(const struct jpeg_picture *picture) {
    return picture->facts->flags ? 0 : jpeg_subs(picture->facts->bytes, picture->sub_log2);
}

/* Subsequences of this block, beginning with its lead. */
template <int RUN> struct jpeg_part {
    struct jpeg_walk_shared<JPEG_WALK_THREADS> walk;
    uint32_t starts[JPEG_WALK_THREADS * RUN], ends[JPEG_WALK_THREADS * RUN];
    uint32_t pending[2][JPEG_WALK_THREADS];
    uint32_t counts[2]; /* of pending subsequences, in even and odd rounds */
};

struct jpeg_part_range {
    uint32_t begin, first, end; /* `first` is the first that the block writes */
};

template <int RUN>
static __device__ __forceinline__ uint32_t jpeg_walk_sub(const struct jpeg_picture *picture,
                                                         struct jpeg_part<RUN> &part,
                                                         const struct jpeg_part_range &range,
                                                         uint32_t bits, uint32_t sub,
                                                         uint32_t start) {
    struct jpeg_tally tally = {};
    jpeg_words_load(picture, sub, part.walk.words + threadIdx.x, JPEG_WALK_THREADS);
    const uint32_t end = jpeg_walk(picture, part.walk.lookups, jpeg_words_of(part.walk), bits, sub,
                                   start, &tally, NULL);
    if (sub >= range.first)
        *(uint4 *)&picture->tallies[sub] =
            make_uint4(tally.counts, tally.dc[0], tally.dc[1], tally.dc[2]);
    return end;
}

/* Decodes the subsequences that are pending in ROUND; their successors become the next round's. */
template <int RUN>
static __device__ __forceinline__ void
jpeg_walk_round(const struct jpeg_picture *picture, struct jpeg_part<RUN> &part,
                const struct jpeg_part_range &range, uint32_t bits, uint32_t round) {
    const bool mine = threadIdx.x < part.counts[round & 1];
    const uint32_t at = mine ? part.pending[round & 1][threadIdx.x] : 1;
    const uint32_t start = part.ends[at - 1];
    __syncthreads();
    if (threadIdx.x == 0) part.counts[round & 1] = 0;
    if (mine) {
        const uint32_t end =
            jpeg_walk_sub<RUN>(picture, part, range, bits, range.begin + at, start);
        part.starts[at] = start;
        if (end != part.ends[at] && range.begin + at + 1 < range.end)
            part.pending[~round & 1][atomicAdd(&part.counts[~round & 1], 1)] = at + 1;
        part.ends[at] = end;
    }
    __syncthreads();
}

template <int RUN>
static __device__ __forceinline__ void
jpeg_walk_runs(const struct jpeg_picture *picture, struct jpeg_part<RUN> &part,
               const struct jpeg_part_range &range, uint32_t bits) {
    uint32_t state = 0;
    for (uint32_t i = 0; i < RUN; i++) {
        const uint32_t at = threadIdx.x * RUN + i;
        if (range.begin + at >= range.end) break;
        part.starts[at] = state;
        state = jpeg_walk_sub<RUN>(picture, part, range, bits, range.begin + at, state);
        part.ends[at] = state;
    }
    __syncthreads();
    const uint32_t at = threadIdx.x * RUN;
    if (at && range.begin + at < range.end && part.starts[at] != part.ends[at - 1])
        part.pending[0][atomicAdd(&part.counts[0], 1)] = at;
    __syncthreads();
}

template <int RUN>
static __global__ void __launch_bounds__(JPEG_WALK_THREADS)
    jpeg_walk_kernel(const struct jpeg_units units) {
    __shared__ __align__(16) struct jpeg_part<RUN> part;
    const struct jpeg_unit unit = jpeg_unit_of(units, JPEG_STAGE_PARTS);
    const struct jpeg_picture *picture = unit.picture;
    const uint32_t subs = jpeg_subs_of(picture), bits = 8 * picture->facts->bytes;
    struct jpeg_part_range range;
    range.first = unit.index * jpeg_part_subs(RUN);
    range.begin = range.first - min(range.first, (uint32_t)JPEG_WALK_LEAD);
    range.end = min(range.first + jpeg_part_subs(RUN), subs);
    if (range.first >= subs) return;
    jpeg_load_lookups(picture, part.walk);
    if (threadIdx.x < 2) part.counts[threadIdx.x] = 0;
    __syncthreads();
    jpeg_walk_runs<RUN>(picture, part, range, bits);
    uint32_t round = 0;
    while (part.counts[round & 1] && round < JPEG_WALK_ROUNDS)
        jpeg_walk_round<RUN>(picture, part, range, bits, round++);
    if (threadIdx.x == 0 && part.counts[round & 1]) picture->facts->hard = 1;
    for (uint32_t sub = range.first + threadIdx.x; sub < range.end; sub += JPEG_WALK_THREADS) {
        picture->starts[sub] = part.starts[sub - range.begin];
        picture->ends[sub] = part.ends[sub - range.begin];
    }
}

/* ---- hard pictures: from every block of an MCU, a thread each */

/* The grid's blocks take 128 decodings in turn; the first block of a picture follows the last block
 * of the picture before. */
static __device__ uint32_t jpeg_walk_phases(const struct jpeg_picture *picture,
                                            struct jpeg_walk_shared<JPEG_WALK_THREADS> &shared,
                                            uint32_t turn) {
    const uint32_t decodings = jpeg_subs_of(picture) * picture->guesses;
    const uint32_t bits = 8 * picture->facts->bytes;
    const uint32_t mine = (blockIdx.x + gridDim.x - turn % gridDim.x) % gridDim.x;
    __syncthreads();
    jpeg_load_lookups(picture, shared);
    __syncthreads();
    for (uint32_t i = mine * JPEG_WALK_THREADS + threadIdx.x; i < decodings;
         i += gridDim.x * JPEG_WALK_THREADS)
        picture->candidates[(size_t)(i / picture->guesses) * JPEG_GUESSES + i % picture->guesses] =
            jpeg_make_candidate(picture, shared.lookups, jpeg_words_of(shared),
                                shared.words + threadIdx.x, bits, i / picture->guesses,
                                i % picture->guesses);
    return turn + jpeg_divide_up(decodings, JPEG_WALK_THREADS);
}

/* Most batches have no such picture: a block returns after a few loads. */
static __global__ void __launch_bounds__(JPEG_WALK_THREADS)
    jpeg_phases_kernel(const struct jpeg_units units) {
    __shared__ __align__(16) struct jpeg_walk_shared<JPEG_WALK_THREADS> shared;
    uint32_t turn = 0;
    for (int first = 0; first < units.count; first += 32) {
        const int mine = first + (int)(threadIdx.x % 32);
        const bool is_hard = mine < units.count && units.pictures[mine].facts->hard;
        for (uint32_t hard = __ballot_sync(~0u, is_hard); hard; hard &= hard - 1)
            turn = jpeg_walk_phases(units.pictures + first + __ffs((int)hard) - 1, shared, turn);
    }
}

/* ---- write what is checked */

/* One thread of SPREAD writes a subsequence: where the GPU has threads to spare, a warp with few of
 * them diverges less and waits less for the one with most symbols. */
static __global__ void __launch_bounds__(JPEG_WALK_THREADS)
    jpeg_write_kernel(const struct jpeg_units units, uint32_t spread) {
    __shared__ __align__(16) struct jpeg_walk_shared<JPEG_WALK_THREADS> shared;
    __shared__ uint32_t groups[JPEG_GROUP * JPEG_WALK_THREADS];
    const struct jpeg_unit unit = jpeg_unit_of(units, JPEG_STAGE_WRITES);
    const struct jpeg_picture *picture = unit.picture;
    /* Other blocks may set flags meanwhile; all threads of this one must see the same. */
    const bool flawed = __syncthreads_or(picture->facts->flags != 0);
    const uint32_t subs = flawed ? 0 : jpeg_subs(picture->facts->bytes, picture->sub_log2);
    const uint32_t own = JPEG_WALK_THREADS / spread;
    const uint32_t sub = unit.index * own + threadIdx.x / spread;
    if (unit.index * own >= subs) return;
    jpeg_load_lookups(picture, shared);
    __syncthreads();
    if (sub >= subs || threadIdx.x % spread) return;
    const uint32_t flags =
        jpeg_write_subs(picture, shared.lookups, jpeg_words_of(shared), shared.words + threadIdx.x,
                        groups + threadIdx.x, 8 * picture->facts->bytes, sub, sub + 1);
    if (flags) atomicOr(&picture->facts->flags, flags);
}

#endif
