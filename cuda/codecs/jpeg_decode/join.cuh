// SPDX-License-Identifier: Apache-2.0
/* join.cuh - fits the subsequences of each picture together and adds up what lies before each.
 *
 * Used by:  jpeg_decode.cu.
 *
 * How it works. A block of threads takes a picture; it has more threads where the picture has many
 * subsequences. For short subsequences, blocks have made paths (phases.cuh), which are chained
 * here. In hard pictures one thread follows the path through the candidates, using tables of a tile
 * that all threads have made in shared memory. Rounds of repairs, as in walk.cuh, cover the whole
 * picture. The sums go tile by tile, four subsequences a thread.
 */
#ifndef BURIN_JPEG_JOIN_CUH
#define BURIN_JPEG_JOIN_CUH

#include "cuda/codecs/jpeg_decode/walk.cuh"

enum {
    JPEG_CHOICE_TILE = 1024,
    JPEG_SUM_ROWS = 4,
    JPEG_BASE_WORDS = sizeof(struct jpeg_base) / sizeof(uint32_t),
    JPEG_AT_ONCE = 4, /* loads of a thread that are under way together */
    JPEG_SHORT_BLOCKS = (JPEG_SHORT_SUBS + JPEG_PHASE_OWN - 1) / JPEG_PHASE_OWN,
};

/* Sums of some subsequences; RESTART: one of them begins its sums of DC anew. */
struct jpeg_sums {
    struct jpeg_base base;
    bool restart;
};

template <int THREADS> struct jpeg_join_shared {
    union {
        struct jpeg_walk_shared<JPEG_REPAIR_THREADS> walk;
        uint32_t rows[THREADS / 32][32 * JPEG_BASE_WORDS];
    };
    union {
        struct {
            uint32_t followers[JPEG_CHOICE_TILE];
            uint8_t chosen[JPEG_CHOICE_TILE];
        } choice;
        struct {
            uint32_t into[JPEG_SHORT_BLOCKS];    /* from the last subsequence of the block before to
                                               * this block's first; then the choice */
            uint32_t through[JPEG_SHORT_BLOCKS]; /* the same, to this block's last subsequence */
        } blocks;
        struct jpeg_sums warps[THREADS / 32];
    };
    uint32_t last_chosen, counts[2];
};

/* ---- hard pictures */

template <int THREADS>
static __device__ void jpeg_choose_tile(const struct jpeg_picture *picture,
                                        struct jpeg_join_shared<THREADS> &shared, uint32_t from,
                                        uint32_t to) {
    for (uint32_t i = threadIdx.x; i < to - from; i += THREADS)
        shared.choice.followers[i] = jpeg_followers(picture, from + i);
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t chosen = shared.last_chosen;
        for (uint32_t i = 0; i < to - from; i++) {
            chosen = jpeg_follow(shared.choice.followers[i], chosen);
            shared.choice.chosen[i] = (uint8_t)chosen;
        }
        shared.last_chosen = chosen;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < to - from; i += THREADS)
        jpeg_choose(picture, from + i, shared.choice.chosen[i]);
    __syncthreads();
}

/* ---- short subsequences: `pending_starts` holds the paths from each block's first subsequence */

/* Chooses a decoding of each block's first subsequence; one thread follows the chain of blocks. */
template <int THREADS>
static __device__ void jpeg_choose_firsts(const struct jpeg_picture *picture,
                                          struct jpeg_join_shared<THREADS> &shared, uint32_t subs) {
    const uint32_t blocks = jpeg_divide_up(subs, JPEG_PHASE_OWN);
    const uint32_t step = sizeof(struct jpeg_candidate) / sizeof(uint32_t);
    for (uint32_t b = threadIdx.x; b < blocks; b += THREADS) {
        const uint32_t first = b * JPEG_PHASE_OWN, last = min(first + JPEG_PHASE_OWN, subs) - 1;
        const struct jpeg_candidate *its = picture->candidates + (size_t)first * JPEG_GUESSES;
        const uint32_t into =
            b ? jpeg_path(&(its - JPEG_GUESSES)->end, step, &its->start, step, picture->guesses)
              : (uint32_t)JPEG_PATH_STAY;
        shared.blocks.into[b] = into;
        shared.blocks.through[b] = jpeg_path_join(into, picture->pending_starts[last]);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t chosen = 0;
#pragma unroll 4
        for (uint32_t b = 0; b < blocks; b++) {
            const uint32_t into = shared.blocks.into[b], through = shared.blocks.through[b];
            shared.blocks.into[b] = jpeg_path_go(into, chosen);
            chosen = jpeg_path_go(through, chosen);
        }
    }
    __syncthreads();
}

/* Decoding 0 is in place already. */
template <int THREADS>
static __device__ void jpeg_choose_short(const struct jpeg_picture *picture,
                                         struct jpeg_join_shared<THREADS> &shared, uint32_t subs) {
    jpeg_choose_firsts(picture, shared, subs);
    for (uint32_t tile = 0; tile < subs; tile += JPEG_AT_ONCE * THREADS) {
        struct jpeg_candidate its[JPEG_AT_ONCE];
        uint32_t chosen[JPEG_AT_ONCE];
#pragma unroll
        for (uint32_t i = 0; i < JPEG_AT_ONCE; i++) {
            const uint32_t sub = tile + i * THREADS + threadIdx.x;
            chosen[i] = sub < subs ? jpeg_path_go(picture->pending_starts[sub],
                                                  shared.blocks.into[sub / JPEG_PHASE_OWN])
                                   : 0;
        }
#pragma unroll
        for (uint32_t i = 0; i < JPEG_AT_ONCE; i++) {
            const uint32_t sub = tile + i * THREADS + threadIdx.x;
            if (chosen[i]) its[i] = picture->candidates[(size_t)sub * JPEG_GUESSES + chosen[i]];
        }
#pragma unroll
        for (uint32_t i = 0; i < JPEG_AT_ONCE; i++)
            if (chosen[i]) jpeg_put(picture, tile + i * THREADS + threadIdx.x, &its[i]);
    }
    __syncthreads();
}

/* ---- repairs */

template <int THREADS>
static __device__ void jpeg_find_misfits(const struct jpeg_picture *picture,
                                         struct jpeg_join_shared<THREADS> &shared, uint32_t subs) {
    if (threadIdx.x < 2) shared.counts[threadIdx.x] = 0;
    __syncthreads();
    for (uint32_t tile = 1; tile < subs; tile += JPEG_AT_ONCE * THREADS) {
        uint32_t misfits = 0;
#pragma unroll
        for (uint32_t i = 0; i < JPEG_AT_ONCE; i++) {
            const uint32_t sub = min(tile + i * THREADS + threadIdx.x, subs - 1);
            const uint32_t misfit = picture->starts[sub] != picture->ends[sub - 1];
            misfits |= tile + i * THREADS + threadIdx.x < subs ? misfit << i : 0;
        }
        for (; misfits; misfits &= misfits - 1)
            picture->pending[0][atomicAdd(&shared.counts[0], 1)] =
                tile + (__ffs((int)misfits) - 1) * THREADS + threadIdx.x;
    }
    __syncthreads();
}

template <int THREADS>
static __device__ void jpeg_repair_round(const struct jpeg_picture *picture,
                                         struct jpeg_join_shared<THREADS> &shared, uint32_t round,
                                         uint32_t subs) {
    const uint32_t count = shared.counts[round & 1], bits = 8 * picture->facts->bytes;
    const uint32_t *pending = picture->pending[round & 1];
    const uint32_t first = threadIdx.x < JPEG_REPAIR_THREADS ? threadIdx.x : count;
    for (uint32_t i = first; i < count; i += JPEG_REPAIR_THREADS)
        picture->pending_starts[i] = picture->ends[pending[i] - 1];
    __syncthreads();
    if (threadIdx.x == 0) shared.counts[round & 1] = 0;
    for (uint32_t i = first; i < count; i += JPEG_REPAIR_THREADS) {
        const uint32_t sub = pending[i];
        if (jpeg_repair(picture, shared.walk.lookups, jpeg_words_of(shared.walk),
                        shared.walk.words + threadIdx.x, bits, sub, picture->pending_starts[i]) &&
            sub + 1 < subs)
            picture->pending[~round & 1][atomicAdd(&shared.counts[~round & 1], 1)] = sub + 1;
    }
    __syncthreads();
}

/* Returns flags. */
template <int THREADS>
static __device__ uint32_t jpeg_repair_all(const struct jpeg_picture *picture,
                                           struct jpeg_join_shared<THREADS> &shared,
                                           uint32_t subs) {
    uint32_t repairs = 0;
    jpeg_find_misfits(picture, shared, subs);
    if (shared.counts[0] && threadIdx.x < JPEG_REPAIR_THREADS)
        jpeg_load_lookups(picture, shared.walk);
    for (uint32_t round = 0;; round++) {
        __syncthreads();
        const uint32_t count = shared.counts[round & 1];
        if (!count) break;
        repairs += count;
        if (round == jpeg_rounds_max(picture) || repairs > jpeg_repairs_max(picture, subs))
            return JPEG_FLAG_REPAIRS;
        jpeg_repair_round(picture, shared, round, subs);
    }
    if (threadIdx.x == 0) picture->facts->repairs = repairs;
    return 0;
}

/* ---- sums */

/* The sums of EARLIER followed by LATER. */
static __device__ __forceinline__ struct jpeg_sums jpeg_sums_add(const struct jpeg_sums &earlier,
                                                                 const struct jpeg_sums &later) {
    struct jpeg_sums sums = later;
    sums.base.blocks += earlier.base.blocks;
    sums.base.coefficients += earlier.base.coefficients;
    for (int i = 0; i < JPEG_PLANES; i++) sums.base.dc[i] += later.restart ? 0 : earlier.base.dc[i];
    sums.restart |= earlier.restart;
    return sums;
}

static __device__ __forceinline__ struct jpeg_sums jpeg_sums_up(const struct jpeg_sums &sums,
                                                                uint32_t lanes) {
    struct jpeg_sums up;
    up.base.blocks = __shfl_up_sync(~0u, sums.base.blocks, lanes);
    up.base.coefficients = __shfl_up_sync(~0u, sums.base.coefficients, lanes);
    for (int i = 0; i < JPEG_PLANES; i++)
        up.base.dc[i] = __shfl_up_sync(~0u, sums.base.dc[i], lanes);
    up.restart = __shfl_up_sync(~0u, sums.restart, lanes);
    return up;
}

static __device__ __forceinline__ struct jpeg_sums jpeg_sums_from(const struct jpeg_sums &sums,
                                                                  int lane) {
    struct jpeg_sums its;
    its.base.blocks = __shfl_sync(~0u, sums.base.blocks, lane);
    its.base.coefficients = __shfl_sync(~0u, sums.base.coefficients, lane);
    for (int i = 0; i < JPEG_PLANES; i++) its.base.dc[i] = __shfl_sync(~0u, sums.base.dc[i], lane);
    its.restart = __shfl_sync(~0u, sums.restart, lane);
    return its;
}

/* The sums up to each lane's. */
static __device__ __forceinline__ struct jpeg_sums jpeg_sums_scan(struct jpeg_sums sums) {
    for (uint32_t step = 1; step < 32; step *= 2) {
        const struct jpeg_sums up = jpeg_sums_up(sums, step);
        if (threadIdx.x % 32 >= step) sums = jpeg_sums_add(up, sums);
    }
    return sums;
}

static __device__ __forceinline__ struct jpeg_sums jpeg_sums_of(const struct jpeg_picture *picture,
                                                                uint32_t sub, uint32_t subs) {
    struct jpeg_sums sums = {};
    if (sub >= subs) return sums;
    const uint4 tally = *(const uint4 *)&picture->tallies[sub];
    sums.base.blocks = tally.x & 0xfff;
    sums.base.coefficients = tally.x >> 12 & 0xfff;
    sums.restart = tally.x >> 31;
    sums.base.dc[0] = tally.y;
    sums.base.dc[1] = tally.z;
    sums.base.dc[2] = tally.w;
    return sums;
}

/* Stores a warp's 32 bases from subsequence FIRST on, by way of ROW. */
static __device__ __forceinline__ void jpeg_put_row(const struct jpeg_picture *picture,
                                                    uint32_t *row, const struct jpeg_base &base,
                                                    uint32_t first, uint32_t subs) {
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t words = first < subs ? (subs - first) * JPEG_BASE_WORDS : 0;
    uint32_t *into = (uint32_t *)(picture->bases + first);
    __syncwarp();
    memcpy(row + lane * JPEG_BASE_WORDS, &base, sizeof base);
    __syncwarp();
#pragma unroll
    for (uint32_t i = lane; i < 32 * JPEG_BASE_WORDS; i += 32)
        if (i < words) into[i] = row[i];
}

template <int THREADS>
static __device__ void jpeg_add_up(const struct jpeg_picture *picture,
                                   struct jpeg_join_shared<THREADS> &shared, uint32_t subs) {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    struct jpeg_sums before = {};
    for (uint32_t tile = 0; tile < subs; tile += THREADS * JPEG_SUM_ROWS) {
        const uint32_t first = tile + warp * 32 * JPEG_SUM_ROWS;
        struct jpeg_sums rows[JPEG_SUM_ROWS], sums = {};
#pragma unroll
        for (uint32_t i = 0; i < JPEG_SUM_ROWS; i++)
            rows[i] = jpeg_sums_of(picture, first + 32 * i + lane, subs);
#pragma unroll
        for (uint32_t i = 0; i < JPEG_SUM_ROWS; i++) {
            const struct jpeg_sums up_to = jpeg_sums_scan(rows[i]);
            rows[i] = jpeg_sums_up(up_to, 1);
            rows[i] = lane ? jpeg_sums_add(sums, rows[i]) : sums;
            sums = jpeg_sums_add(sums, jpeg_sums_from(up_to, 31));
        }
        __syncthreads();
        if (lane == 0) shared.warps[warp] = sums;
        __syncthreads();
        sums = {};
        if (lane < THREADS / 32) sums = shared.warps[lane];
        sums = jpeg_sums_scan(sums);
        struct jpeg_sums earlier = jpeg_sums_from(sums, warp ? (int)warp - 1 : 0);
        earlier = warp ? jpeg_sums_add(before, earlier) : before;
        before = jpeg_sums_add(before, jpeg_sums_from(sums, 31));
#pragma unroll
        for (uint32_t i = 0; i < JPEG_SUM_ROWS; i++)
            jpeg_put_row(picture, shared.rows[warp], jpeg_sums_add(earlier, rows[i]).base,
                         first + 32 * i, subs);
    }
    if (threadIdx.x) return;
    picture->bases[subs] = before.base;
    const uint32_t flags = jpeg_joined_flags(picture, &before.base, subs);
    if (flags) picture->facts->flags |= flags;
}

template <int THREADS>
static __global__ void __launch_bounds__(THREADS) jpeg_join_kernel(const struct jpeg_units units) {
    __shared__ __align__(16) struct jpeg_join_shared<THREADS> shared;
    const struct jpeg_picture *picture = units.pictures + blockIdx.x;
    const uint32_t subs = jpeg_subs_of(picture);
    if (picture->facts->flags) return;
    __syncthreads();
    if (picture->sub_log2 < JPEG_SUB_LOG2) {
        jpeg_choose_short(picture, shared, subs);
    } else if (picture->facts->hard) {
        if (threadIdx.x == 0) shared.last_chosen = JPEG_WALKED;
        for (uint32_t from = 1; from < subs; from += JPEG_CHOICE_TILE)
            jpeg_choose_tile(picture, shared, from, min(from + JPEG_CHOICE_TILE, subs));
    }
    const uint32_t flags = jpeg_repair_all(picture, shared, subs);
    if (flags) {
        if (threadIdx.x == 0) picture->facts->flags |= flags;
        return;
    }
    jpeg_add_up(picture, shared, subs);
}

#endif
