// SPDX-License-Identifier: Apache-2.0
/* phases.cuh - decodes short subsequences from all blocks of an MCU at once, in place of a walk.
 *
 * Used by:  jpeg_decode.cu, for batches with fewer subsequences than the GPU has threads.
 *
 * How it works. A walk is long because it finds the block's number within the MCU late. Decodings
 * that start from all blocks of an MCU find bit and coefficient after a few hundred bits. A block
 * of threads takes JPEG_PHASE_SUBS neighbouring subsequences, a thread each candidate; candidates
 * of one subsequence are in neighbouring lanes, which read the same bits. Where no decoding of the
 * next subsequence starts at some end, that end is continued in the place of a decoding that
 * follows no end, in rounds (jpeg_continue); the first warp hands out the orders. Finally it
 * composes the tables of followers to paths from the block's first subsequence, into
 * `pending_starts`, so that only one thread a block of them is left to chain (join.cuh).
 */
#ifndef BURIN_JPEG_PHASES_CUH
#define BURIN_JPEG_PHASES_CUH

#include "cuda/codecs/jpeg_decode/walk.cuh"

struct jpeg_short_shared {
    struct jpeg_walk_shared<JPEG_PHASE_THREADS> walk;
    uint32_t starts[JPEG_PHASE_THREADS], ends[JPEG_PHASE_THREADS]; /* JPEG_GUESSES a subsequence */
    uint32_t orders[JPEG_PHASE_THREADS]; /* place of a decoding | place of the end << 16 */
    uint32_t count;
};

/* Stores decoding PLACE of the block, whose subsequences begin at BEGIN; those from FIRST on are
 * its own. */
static __device__ __forceinline__ void jpeg_short_put(const struct jpeg_picture *picture,
                                                      struct jpeg_short_shared &shared,
                                                      const struct jpeg_candidate &candidate,
                                                      uint32_t place, uint32_t begin,
                                                      uint32_t first) {
    const uint32_t sub = begin + place / JPEG_GUESSES, number = place % JPEG_GUESSES;
    shared.starts[place] = candidate.start;
    shared.ends[place] = candidate.end;
    if (sub < first) return;
    picture->candidates[(size_t)sub * JPEG_GUESSES + number] = candidate;
    if (number == 0) jpeg_put(picture, sub, &candidate);
}

/* The first warp, a lane a subsequence: fills `orders` and `count`. */
static __device__ __forceinline__ void jpeg_short_order(const struct jpeg_picture *picture,
                                                        struct jpeg_short_shared &shared,
                                                        uint32_t count) {
    const uint32_t at = threadIdx.x * JPEG_GUESSES, before = at - JPEG_GUESSES;
    uint32_t orders = 0, mine = 0;
    if (threadIdx.x && threadIdx.x < count)
        orders = jpeg_continue(shared.ends + before, shared.starts + at, picture->guesses);
    for (uint32_t slot = 0; slot < JPEG_GUESSES; slot++) mine += (orders >> 4 * slot & 15) != 0;
    uint32_t sum = mine;
    for (uint32_t step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(~0u, sum, step);
        sum += threadIdx.x >= step ? other : 0;
    }
    if (threadIdx.x == 31) shared.count = sum;
    uint32_t next = sum - mine;
    for (uint32_t slot = 0; slot < JPEG_GUESSES; slot++) {
        const uint32_t from = orders >> 4 * slot & 15;
        if (from) shared.orders[next++] = (at + slot) | (before + from - 1) << 16;
    }
}

/* Continues ends, ROUNDS times at most. The caller needs no barrier afterwards. */
static __device__ __forceinline__ void jpeg_short_continue(const struct jpeg_picture *picture,
                                                           struct jpeg_short_shared &shared,
                                                           uint32_t begin, uint32_t first,
                                                           uint32_t count, uint32_t rounds) {
    /* Spreads few orders over all warps. */
    const uint32_t warps = JPEG_PHASE_THREADS / 32;
    const uint32_t mine = threadIdx.x % 32 * warps + threadIdx.x / 32;
    for (uint32_t round = 0; round < rounds; round++) {
        if (threadIdx.x < 32) jpeg_short_order(picture, shared, count);
        __syncthreads();
        const uint32_t orders = shared.count;
        if (!orders) return;
        const uint32_t order = mine < orders ? shared.orders[mine] : 0;
        const uint32_t place = order & 0xffff, start = shared.ends[order >> 16];
        __syncthreads();
        if (mine < orders)
            jpeg_short_put(
                picture, shared,
                jpeg_candidate_from(picture, shared.walk.lookups, jpeg_words_of(shared.walk),
                                    shared.walk.words + threadIdx.x, 8 * picture->facts->bytes,
                                    begin + place / JPEG_GUESSES, start),
                place, begin, first);
        __syncthreads();
    }
}

/* The first warp, a lane each of the block's own subsequences. */
static __device__ __forceinline__ void jpeg_short_paths(const struct jpeg_picture *picture,
                                                        const struct jpeg_short_shared &shared,
                                                        uint32_t begin, uint32_t first,
                                                        uint32_t end) {
    const uint32_t sub = first + threadIdx.x, at = (sub - begin) * JPEG_GUESSES;
    uint32_t path = JPEG_PATH_STAY;
    if (threadIdx.x && sub < end)
        path =
            jpeg_path(shared.ends + at - JPEG_GUESSES, 1, shared.starts + at, 1, picture->guesses);
    for (uint32_t step = 1; step < 32; step *= 2) {
        const uint32_t up = __shfl_up_sync(~0u, path, step);
        if (threadIdx.x >= step) path = jpeg_path_join(up, path);
    }
    if (sub < end) picture->pending_starts[sub] = path;
}

static __global__ void __launch_bounds__(JPEG_PHASE_THREADS)
    jpeg_short_kernel(const struct jpeg_units units) {
    __shared__ __align__(16) struct jpeg_short_shared shared;
    const struct jpeg_unit unit = jpeg_unit_of(units, JPEG_STAGE_SHORTS);
    const struct jpeg_picture *picture = unit.picture;
    const uint32_t subs = jpeg_subs_of(picture), guesses = picture->guesses;
    const uint32_t first = unit.index * JPEG_PHASE_OWN;
    const uint32_t begin = first - min(first, (uint32_t)JPEG_PHASE_OVERLAP);
    const uint32_t end = min(first + JPEG_PHASE_OWN, subs), at = threadIdx.x / guesses;
    if (first >= subs) return;
    jpeg_load_lookups(picture, shared.walk);
    __syncthreads();
    if (at < end - begin)
        jpeg_short_put(picture, shared,
                       jpeg_make_candidate(picture, shared.walk.lookups, jpeg_words_of(shared.walk),
                                           shared.walk.words + threadIdx.x,
                                           8 * picture->facts->bytes, begin + at,
                                           threadIdx.x % guesses),
                       at * JPEG_GUESSES + threadIdx.x % guesses, begin, first);
    __syncthreads();
    jpeg_short_continue(picture, shared, begin, first, end - begin, units.rounds);
    if (threadIdx.x < 32) jpeg_short_paths(picture, shared, begin, first, end);
}

#endif
