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

/* Bands first..end-1 into shared memory, 8 columns at a time. */
static __device__ __forceinline__ void resolve_gather(const struct fast_job &job,
                                                      const struct fast_half &half, uint8_t *maps,
                                                      uint32_t first, uint32_t end, uint32_t seam) {
    const uint32_t row = (job.width - seam + 7) / 8, plane = resolve_plane(job.width);
    const uint32_t tag = fast_tag(seam);
#pragma unroll 1
    for (uint32_t i = first * row + threadIdx.x; i < end * row; i += FAST_THREADS) {
        const uint32_t band = i / row, x = 8 * (i - band * row);
        const uint32_t *from =
            (const uint32_t *)(job.jumps + (uint64_t)(half.first_band + band) * job.jump_stride +
                               x);
        uint4 words = load_words(from);
        for (uint32_t spins = 0; !jumps_tagged(words, tag); spins++) {
            words = load_words(from);
            if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_JUMPS);
        }
        *(uint2 *)(maps + band * plane + x) =
            make_uint2(jump_bytes(words.x, x) | jump_bytes(words.y, x + 2) << 16,
                       jump_bytes(words.z, x + 4) | jump_bytes(words.w, x + 6) << 16);
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

static __device__ __forceinline__ uint32_t meet_word(const struct fast_job &job,
                                                     const uint32_t *row, int x, uint32_t seam) {
    if (x < 0 || x >= (int)(job.width - seam)) return FAST_FAR;
    uint32_t word = load_word(row + x);
    for (uint32_t spins = 0; word >> 30 != fast_tag(seam); spins++) {
        word = load_word(row + x);
        if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_MEET);
    }
    return word & 0x3fffffff;
}

static __device__ __forceinline__ uint4 meet_words(const struct fast_job &job, const uint32_t *row,
                                                   uint32_t x, uint32_t seam) {
    uint4 words = load_words(row + x);
    for (uint32_t spins = 0; !tagged(words, fast_tag(seam)); spins++) {
        words = load_words(row + x);
        if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_MEET);
    }
    const uint32_t mask = 0x3fffffff;
    return make_uint4(words.x & mask, words.y & mask, words.z & mask, words.w & mask);
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
    const uint32_t *down = cost_row(job, 0, job.halves[0].steps);
    const uint32_t *up = cost_row(job, 1, job.halves[1].steps);
    uint32_t sum = ~0u, place = ~0u;
#pragma unroll 1
    for (uint32_t x = 4 * threadIdx.x; x < width; x += 4 * FAST_THREADS) {
        const uint4 t = meet_words(job, down, x, seam), b = meet_words(job, up, x, seam);
        const uint32_t above[] = { t.x, t.y, t.z, t.w };
        const uint32_t below[] = { meet_word(job, up, (int)x - 1, seam), b.x, b.y, b.z, b.w,
                                   meet_word(job, up, (int)x + 4, seam) };
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

/* The first warp: one lane goes from band to band, then all tell the bands. */
static __device__ __forceinline__ void resolve_tell(const struct fast_job &job, int number,
                                                    struct resolve_memory *memory,
                                                    const uint8_t *maps, const uint8_t *late_maps,
                                                    uint32_t x, uint32_t seam) {
    const struct fast_half &half = job.halves[number];
    const uint32_t early = half.bands - job.late_bands, plane = resolve_plane(job.width);
    const uint32_t head = (seam + 1) << 16 | memory->last << 15;
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
    bool last = false;
    for (uint32_t seam = 0; seam < job.seams && !last; seam++) {
        resolve_decide(job, number, memory, seam);
        if (job.maps_shared) resolve_gather(job, half, maps, 0, first, seam);
        resolve_meet(job, memory, seam);
        __syncthreads();
        const uint32_t meet = resolve_meet_column(memory, number);
        if (threadIdx.x == 0) store_word(job.meets + number, (seam + 1) << 16 | meet);
        if (mark) fast_mark(job, seam, MARK_MEET);
        if (job.maps_shared) resolve_gather(job, half, maps, first, early, seam);
        resolve_gather_late(job, number, memory, late_maps, meet, seam);
        if (seam == 0) resolve_begin(job);
        __syncthreads();
        if (mark) fast_mark(job, seam, MARK_MAPS);
        last = memory->last;
        if (threadIdx.x < 32) resolve_tell(job, number, memory, maps, late_maps, meet, seam);
        __syncthreads();
        if (mark) fast_mark(job, seam, MARK_RESOLVED);
    }
    if (mark && job.watch) ((volatile struct cuda_watch *)job.watch)->done = job.done + job.seams;
}

#endif
