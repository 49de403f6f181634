// SPDX-License-Identifier: Apache-2.0
/* fast_resolve.cuh - the resolvers: where the halves meet, and from band to band outward.
 *
 * One block a half; both find the same meeting point. The jumps of all bands are gathered in shared
 * memory while the leaders are still under way, where they fit: as differences, a byte each.
 * The first half's resolver also keeps the watch: it alone decides which seam is the last.
 */
#ifndef BURIN_CARVE_FAST_RESOLVE_CUH
#define BURIN_CARVE_FAST_RESOLVE_CUH

#include "cuda/ops/carve/fast_job.cuh"

enum { RESOLVE_LATE = 6 }; /* bands */

struct __align__(16) resolve_memory {
    uint32_t last;
    uint32_t doubt;                /* costs that are told may be too low */
    uint32_t refuse;               /* the seam may be wrong, and stays */
    uint32_t from[FAST_BANDS_MAX]; /* of late bands: the first column that is gathered */
    uint32_t sums[FAST_THREADS / 32], places[FAST_THREADS / 32];
    uint16_t entries[FAST_BANDS_MAX];
};

static __host__ __device__ inline uint32_t resolve_plane(uint32_t width) {
    return (width + 15) / 16 * 16;
}

static __host__ __device__ inline uint32_t
resolve_bytes(uint32_t width, uint32_t bands, uint32_t late_bands, uint32_t late_columns) {
    return (uint32_t)sizeof(struct resolve_memory) + resolve_plane(width) * (bands - late_bands) +
           late_columns * late_bands;
}

/* ---- jumps */

static __device__ __forceinline__ bool jumps_tagged(uint4 words, uint32_t tag) {
    const uint32_t want = tag << 14 | tag << 30;
    return (((words.x ^ want) | (words.y ^ want) | (words.z ^ want) | (words.w ^ want)) &
            0xc000c000) == 0;
}

/* Two columns from X on, as differences in two bytes. */
static __device__ __forceinline__ uint32_t jump_bytes(uint32_t pair, uint32_t x) {
    return ((pair & 0x3fff) - x & 0xff) | ((pair >> 16 & 0x3fff) - (x + 1) & 0xff) << 8;
}

/* Bands first..end-1 into shared memory, 8 columns at a time, 4 times under way at once. */
static __device__ __forceinline__ void resolve_gather(const struct fast_job &job,
                                                      const struct fast_half &half, uint8_t *maps,
                                                      uint32_t first, uint32_t end, uint32_t seam) {
    const uint32_t row = (job.width - seam + 7) / 8, plane = resolve_plane(job.width);
    const uint32_t tag = fast_tag(seam);
    const uint16_t *jumps = job.jumps + (uint64_t)half.first_band * job.jump_stride;
#pragma unroll 1
    for (uint32_t i = first * row + threadIdx.x; i < end * row; i += 4 * FAST_THREADS) {
        uint4 words[4];
#pragma unroll
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t chunk = i + k * FAST_THREADS, band = chunk / row;
            const uint16_t *from =
                jumps + (uint64_t)band * job.jump_stride + 8 * (chunk - band * row);
            if (chunk < end * row) words[k] = load_words((const uint32_t *)from);
        }
#pragma unroll
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t chunk = i + k * FAST_THREADS, band = chunk / row;
            const uint32_t x = 8 * (chunk - band * row);
            if (chunk >= end * row) break;
            for (uint32_t spins = 0; !jumps_tagged(words[k], tag); spins++) {
                words[k] =
                    load_words((const uint32_t *)(jumps + (uint64_t)band * job.jump_stride + x));
                if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_JUMPS);
            }
            *(uint2 *)(maps + band * plane + x) =
                make_uint2(jump_bytes(words[k].x, x) | jump_bytes(words[k].y, x + 2) << 16,
                           jump_bytes(words[k].z, x + 4) | jump_bytes(words[k].w, x + 6) << 16);
        }
    }
}

/* Late bands, a warp each: what the seam can reach from MEET in the half's last row. */
static __device__ __forceinline__ void resolve_gather_late(const struct fast_job &job, int number,
                                                           struct resolve_memory *memory,
                                                           uint8_t *maps, uint32_t meet,
                                                           uint32_t seam) {
    const struct fast_half &half = job.halves[number];
    const uint32_t first = half.bands - job.late_bands, lane = threadIdx.x % 32;
    for (uint32_t band = first + threadIdx.x / 32; band < half.bands; band += FAST_THREADS / 32) {
        const uint32_t end = min((band + 1) * job.band_steps * FAST_STEP, half.rows);
        const struct fast_window window = fast_reach(half, end, meet, job.width - seam);
        const uint32_t *row = late_row(job, number, band);
        uint8_t *map = maps + (band - first) * job.late_columns;
        if (lane == 0) memory->from[band] = window.from;
        for (uint32_t x = window.from + 4 * lane; x <= window.to; x += 4 * 32) {
            const uint32_t *from = row + x - window.from;
            uint4 words = load_words(from);
            for (uint32_t spins = 0; ((words.x >> 16 ^ (seam + 1)) | (words.y >> 16 ^ (seam + 1)) |
                                      (words.z >> 16 ^ (seam + 1)) | (words.w >> 16 ^ (seam + 1)));
                 spins++) {
                words = load_words(from);
                if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_JUMPS);
            }
            *(uint32_t *)(map + x - window.from) =
                (words.x - x & 0xff) | (words.y - (x + 1) & 0xff) << 8 |
                (words.z - (x + 2) & 0xff) << 16 | words.w - (x + 3) << 24;
        }
    }
}

/* One thread, jumps not gathered: the column in the last row of the band before. */
static __device__ __forceinline__ uint32_t resolve_jump(const struct fast_job &job,
                                                        const struct fast_half &half, uint32_t band,
                                                        uint32_t x, uint32_t seam) {
    const uint32_t *from =
        (const uint32_t *)(job.jumps + (uint64_t)(half.first_band + band) * job.jump_stride +
                           (x & ~1u));
    for (uint32_t spins = 0;; spins++) {
        const uint32_t word = load_word(from) >> 16 * (x & 1) & 0xffff;
        if (word >> 14 == fast_tag(seam)) return word & 0x3fff;
        if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_JUMPS);
    }
}

/* ---- where the halves meet */

/* More than any path's cost, and less than FAST_DOUBT. */
static const uint32_t FAST_BESIDE = 1u << 28;

/* Costs of 4 columns of both rows, and of the columns beside in the lower one: all asked for at
 * once until all are there. */
struct meet_costs {
    uint4 above, below;
    uint32_t left, right;
};

/* Costs without what is told in their top bits. */
static __device__ __forceinline__ void
meet_strip(const struct fast_job &job, struct resolve_memory *memory, struct meet_costs &costs) {
    const uint32_t mask = job.narrow ? FAST_DOUBT - 1 : 0x3fffffff;
    const uint32_t all = costs.above.x | costs.above.y | costs.above.z | costs.above.w |
                         costs.below.x | costs.below.y | costs.below.z | costs.below.w;
    if (job.narrow && (all & FAST_DOUBT)) memory->doubt = 1;
    costs.above.x &= mask, costs.above.y &= mask, costs.above.z &= mask, costs.above.w &= mask;
    costs.below.x &= mask, costs.below.y &= mask, costs.below.z &= mask, costs.below.w &= mask;
    costs.left &= mask, costs.right &= mask;
}

static __device__ __forceinline__ struct meet_costs
meet_ask(const struct fast_job &job, struct resolve_memory *memory, uint32_t x, uint32_t seam) {
    const uint32_t *down = cost_row(job, 0, job.halves[0].steps) + x;
    const uint32_t *up = cost_row(job, 1, job.halves[1].steps) + x;
    const uint32_t tag = fast_tag(seam);
    const bool first = x == 0, last = x + 4 >= job.width - seam;
    struct meet_costs costs;
    for (uint32_t spins = 0;; spins++) {
        costs.above = load_words(down), costs.below = load_words(up);
        costs.left = first ? tag << 30 | FAST_BESIDE : load_word(up - 1);
        costs.right = last ? tag << 30 | FAST_BESIDE : load_word(up + 4);
        if (tagged(costs.above, tag) && tagged(costs.below, tag) && costs.left >> 30 == tag &&
            costs.right >> 30 == tag)
            break;
        if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_MEET);
    }
    meet_strip(job, memory, costs);
    return costs;
}

/* The least of a warp; PLACE the smallest of those that have it. */
static __device__ __forceinline__ void warp_least(uint32_t &sum, uint32_t &place) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    const uint32_t least = __reduce_min_sync(~0u, sum);
    place = __reduce_min_sync(~0u, sum == least ? place : ~0u);
    sum = least;
#else
    __trap();
#endif
}

/* A warp's least of T[m][x] + min3(B[m+1]) goes to memory; place: 4 x + which of the three. */
static __device__ __forceinline__ void resolve_meet(const struct fast_job &job,
                                                    struct resolve_memory *memory, uint32_t seam) {
    const uint32_t width = job.width - seam;
    uint32_t sum = ~0u, place = ~0u;
#pragma unroll 1
    for (uint32_t x = 4 * threadIdx.x; x < width; x += 4 * FAST_THREADS) {
        const struct meet_costs costs = meet_ask(job, memory, x, seam);
        const uint32_t above[] = { costs.above.x, costs.above.y, costs.above.z, costs.above.w };
        const uint32_t below[] = { costs.left,    costs.below.x, costs.below.y,
                                   costs.below.z, costs.below.w, costs.right };
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const uint32_t least = __vimin3_u32(below[k], below[k + 1], below[k + 2]);
            const uint32_t which = least == below[k] ? 0 : least == below[k + 1] ? 1 : 2;
            if (x + k < width && above[k] + least < sum)
                sum = above[k] + least, place = 4 * (x + k) + which;
        }
    }
    warp_least(sum, place);
    if (threadIdx.x % 32 == 0)
        memory->sums[threadIdx.x / 32] = sum, memory->places[threadIdx.x / 32] = place;
}

/* ---- the watch */

/* The last thread of the block; the answer is needed only when the halves have met. */
static __device__ __forceinline__ void
resolve_decide(const struct fast_job &job, int half, struct resolve_memory *memory, uint32_t seam) {
    if (threadIdx.x != FAST_THREADS - 1) return;
    if (half == 0) {
        volatile struct cuda_watch *watch = job.watch;
        memory->last = watch && watch->stop;
        store_word(job.decision, (seam + 1) << 1 | memory->last);
        if (watch && seam % 8 == 0) watch->done = job.done + seam;
        return;
    }
    uint32_t word = load_word(job.decision);
    for (uint32_t spins = 0; word >> 1 < seam + 1; spins++) {
        word = load_word(job.decision);
        if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_DECISION);
    }
    memory->last = word >> 1 == seam + 1 && (word & 1);
}

/* Before anything is taken out, all bands of both halves have copied their neighbours' rows. */
static __device__ __forceinline__ void resolve_begin(const struct fast_job &job) {
    const uint32_t bands = job.halves[0].bands + job.halves[1].bands;
    for (uint32_t band = threadIdx.x; band < bands; band += FAST_THREADS)
        for (uint32_t spins = 0; !load_word(job.begun + band); spins++)
            if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_BEGUN);
}

/* Every warp for itself: the meeting point, as the column in the half's last row. */
static __device__ __forceinline__ uint32_t resolve_meet_column(struct resolve_memory *memory,
                                                               int number) {
    const uint32_t lane = threadIdx.x % 32;
    uint32_t sum = lane < FAST_THREADS / 32 ? memory->sums[lane] : ~0u;
    uint32_t place = lane < FAST_THREADS / 32 ? memory->places[lane] : ~0u;
    warp_least(sum, place);
    return number == 0 ? place / 4 : place / 4 + place % 4 - 1;
}

/* Where costs may be too low: whether the seam's own are not (fast_pairs.cuh). One warp; both
 * resolvers find the same. */
static __device__ __forceinline__ void resolve_doubt(const struct fast_job &job,
                                                     struct resolve_memory *memory, uint32_t seam) {
    const uint32_t mask = FAST_DOUBT - 1;
    uint32_t right = 1;
    for (int half = 0; half < 2; half++) {
        const uint32_t x = resolve_meet_column(memory, half);
        __threadfence(); /* the words of doubt were stored behind what they warn of */
        const uint32_t cost = load_word(cost_row(job, half, job.halves[half].steps) + x) & mask;
        right = right && cost < ~load_word(job.lowest + 2 * seam + half);
    }
    if (threadIdx.x == 0) memory->refuse = !right, memory->doubt = 0;
}

/* The first warp: one lane goes from band to band, then all tell the bands. */
static __device__ __forceinline__ void resolve_tell(const struct fast_job &job, int number,
                                                    struct resolve_memory *memory,
                                                    const uint8_t *maps, const uint8_t *late_maps,
                                                    uint32_t x, uint32_t seam) {
    const struct fast_half &half = job.halves[number];
    const uint32_t early = half.bands - job.late_bands, plane = resolve_plane(job.width);
    const uint32_t refuse = memory->refuse, last = memory->last | refuse;
    const uint32_t head = (seam + 1) << 16 | last << 15 | refuse << 14;
    uint32_t band = threadIdx.x ? 0 : half.bands;
    const uint8_t *map = late_maps + job.late_bands * job.late_columns;
    for (; band > early; band--) {
        map -= job.late_columns;
        memory->entries[band - 1] = (uint16_t)x;
        x += (uint32_t)(int8_t)map[x - memory->from[band - 1]];
    }
    map = maps + band * plane;
    if (!job.maps_shared)
        for (; band > 0; band--) {
            memory->entries[band - 1] = (uint16_t)x;
            if (band > 1) x = resolve_jump(job, half, band - 1, x, seam);
        }
    for (; band > 0; band--) {
        map -= plane;
        memory->entries[band - 1] = (uint16_t)x;
        x += (uint32_t)(int8_t)map[x];
    }
    __syncwarp();
    for (band = threadIdx.x; band < half.bands; band += 32)
        store_word(job.entries + half.first_band + band, head | memory->entries[band]);
}

static __device__ void resolve_block(const struct fast_job &job, int number) {
    struct resolve_memory *memory = (struct resolve_memory *)fast_shared;
    const struct fast_half &half = job.halves[number];
    uint8_t *late_maps = (uint8_t *)(memory + 1);
    uint8_t *maps = late_maps + job.late_bands * job.late_columns;
    const bool mark = number == 0 && threadIdx.x == 0;
    /* The last bands' jumps come only after the halves have met. */
    const uint32_t early = half.bands - job.late_bands;
    const uint32_t first = early > RESOLVE_LATE ? early - RESOLVE_LATE : 0;
    uint64_t began = 0, spent = mark ? fast_spent(job, SPAN_TRACE) : 0;
    const uint32_t begin = fast_begin(job);
    bool last = false;
    uint32_t seam = begin;
    if (threadIdx.x == 0) memory->doubt = 0, memory->refuse = 0;
    __syncthreads();
    for (; seam < job.seams && !last; seam++) {
        resolve_decide(job, number, memory, seam);
        if (job.maps_shared) resolve_gather(job, half, maps, 0, first, seam);
        resolve_meet(job, memory, seam);
        __syncthreads();
        const uint32_t meet = resolve_meet_column(memory, number);
        if (threadIdx.x == 0) store_word(job.meets + number, (seam + 1) << 16 | meet);
        if (mark) fast_mark(job, seam, MARK_MEET), began = fast_now();
        if (job.maps_shared) resolve_gather(job, half, maps, first, early, seam);
        resolve_gather_late(job, number, memory, late_maps, meet, seam);
        if (seam == begin) resolve_begin(job);
        if (threadIdx.x < 32 && memory->doubt) resolve_doubt(job, memory, seam);
        __syncthreads();
        if (mark) fast_mark(job, seam, MARK_MAPS);
        last = memory->last || memory->refuse;
        if (threadIdx.x < 32) resolve_tell(job, number, memory, maps, late_maps, meet, seam);
        __syncthreads();
        if (mark) fast_mark(job, seam, MARK_RESOLVED);
        if (mark && job.watch) fast_span(job, SPAN_TRACE, began, spent);
    }
    seam -= memory->refuse;
    if (mark && job.watch) ((volatile struct cuda_watch *)job.watch)->done = job.done + seam;
    /* Whoever was stopped needs nothing more. */
    if (mark && job.finished) *job.finished = memory->last ? job.seams : seam;
}

#endif
