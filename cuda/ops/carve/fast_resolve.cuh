// SPDX-License-Identifier: Apache-2.0
/* fast_resolve.cuh - the resolvers: where the halves meet, and from band to band outward.
 *
 * One block a half; both find the same meeting point. Jumps are gathered in shared memory, as
 * differences of one byte, or two where bands are high: while the leaders are still under way, all
 * of a band; when the halves have met, of bands that are not there yet, only the columns that the
 * seam can reach. Some warps do nothing but look for the meeting point, so that nobody waits behind
 * a band that is late; afterwards they help with the others.
 * The first half's resolver also keeps the watch: it alone decides which seam is the last.
 */
#ifndef BURIN_CARVE_FAST_RESOLVE_CUH
#define BURIN_CARVE_FAST_RESOLVE_CUH

#include "cuda/ops/carve/fast_job.cuh"

enum {
    MEET_BATCH = 3, /* of 4 columns, for a lane that looks for the meeting point */
    MEET_WARPS_MAX = 10,
};

struct __align__(16) resolve_memory {
    struct fast_clock clock;
    /* Of the warps that have looked: the least sum, over its place, and how many. */
    unsigned long long least;
    uint32_t looked;
    uint32_t last;
    uint32_t met;  /* the seam's number + 1, the meeting point's column in the half's last row */
    uint32_t next; /* the next band to be gathered */
    uint32_t maps[FAST_BANDS_MAX]; /* where column 0 of each band's map is or would be, in bytes */
    uint16_t entries[FAST_BANDS_MAX];
};

static __host__ __device__ inline uint32_t resolve_plane(uint32_t width) {
    return (width + 15) / 16 * 16;
}

/* Columns of the maps of the COUNT bands next to the middle, which the seam can reach: of the
 * nearest one 8 columns to either side of the meeting point, of the next ROWS more, and so on; up
 * to 12 for the point itself and for whole vectors. */
static __host__ __device__ inline uint32_t resolve_windows(uint32_t count, uint32_t rows) {
    return count ? count * (count - 1) * rows + 32 * count : 0;
}

/* Bytes of a column in a map: differences are at most as large as the band is high. */
static __host__ __device__ inline uint32_t resolve_size(uint32_t rows) {
    return rows < 128 ? 1 : 2;
}

/* BANDS: of which jumps are gathered; ROWS: of a band. */
static __host__ __device__ inline uint64_t resolve_bytes(uint32_t width, uint32_t bands,
                                                         uint32_t window_bands, uint32_t rows) {
    const uint32_t windows = window_bands < bands ? window_bands : bands;
    return sizeof(struct resolve_memory) +
           resolve_size(rows) * (resolve_windows(windows, rows) +
                                 (uint64_t)resolve_plane(width) * (bands - windows));
}

/* One thread, at the start. */
static __device__ __forceinline__ void resolve_make(struct resolve_memory *memory) {
    memory->least = ~0ull;
    memory->looked = memory->last = memory->met = memory->next = 0;
}

/* A warp: the meeting point, as the column in the half's last row, once it is known. */
static __device__ __forceinline__ uint32_t resolve_met(struct resolve_memory *memory,
                                                       uint32_t seam) {
    uint32_t word = 0;
    if (fast_thread() % 32 == 0) word = atomicOr(&memory->met, 0u);
    word = __shfl_sync(~0u, word, 0);
    return word >> 16 == seam + 1 ? word & 0xffff : FAST_UNMET;
}

/* ---- jumps */

/* Jumps of 4 columns from X on, as differences; TO: their place. */
static __device__ __forceinline__ void resolve_keep(uint8_t *to, uint32_t size, uint32_t x,
                                                    uint4 words) {
    const uint32_t at[] = { words.x, words.y, words.z, words.w };
    if (size == 1)
        *(uint32_t *)to = four_bytes(at, x);
    else
        *(uint2 *)to = make_uint2((at[0] - x & 0xffff) | at[1] - (x + 1) << 16,
                                  (at[2] - (x + 2) & 0xffff) | at[3] - (x + 3) << 16);
}

enum { GATHER_BATCH = 8, GATHER_SPAN = 4 * 32 };

/* Whether all jumps of a round are there: 4 columns at X, and as many GATHER_SPAN further, up to
 * the window's end. */
static __device__ __forceinline__ bool resolve_ask(uint4 (&words)[GATHER_BATCH],
                                                   const uint32_t *row, uint32_t x, uint32_t to,
                                                   uint32_t head) {
    bool here = true;
#pragma unroll
    for (uint32_t k = 0; k < GATHER_BATCH; k++)
        if (x + k * GATHER_SPAN <= to) words[k] = load_words(row + x + k * GATHER_SPAN);
#pragma unroll
    for (uint32_t k = 0; k < GATHER_BATCH; k++)
        if (x + k * GATHER_SPAN <= to)
            here = here && words[k].x >> 16 == head && words[k].y >> 16 == head &&
                   words[k].z >> 16 == head && words[k].w >> 16 == head;
    return __all_sync(~0u, here);
}

/* A warp: jumps of the columns in WINDOW out of ROW; MAP: the place of column 0 in shared memory.
 * False where, while it waits for a WHOLE row, the halves have met. */
static __device__ __forceinline__ bool resolve_band(const struct fast_job &job,
                                                    struct resolve_memory *memory,
                                                    const uint32_t *row, struct fast_window window,
                                                    uint32_t map, uint32_t seam, bool whole) {
    const uint32_t lane = fast_thread() % 32, size = resolve_size(job.band_steps * FAST_STEP);
#pragma unroll 1
    for (uint32_t base = window.from; base <= window.to; base += GATHER_BATCH * GATHER_SPAN) {
        const uint32_t x = base + 4 * lane;
        uint4 words[GATHER_BATCH];
        for (uint32_t spins = 0; !resolve_ask(words, row, x, window.to, seam + 1); spins++) {
            if (whole && resolve_met(memory, seam) != FAST_UNMET) return false;
            if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_JUMPS);
        }
#pragma unroll
        for (uint32_t k = 0; k < GATHER_BATCH; k++)
            if (x + k * GATHER_SPAN <= window.to)
                resolve_keep(fast_shared + (map + size * (x + k * GATHER_SPAN)), size,
                             x + k * GATHER_SPAN, words[k]);
    }
    return true;
}

/* A warp: until the halves have met, or, where there is room for a WHOLE row, its last column has
 * been told. */
static __device__ __forceinline__ uint32_t resolve_wait(const struct fast_job &job,
                                                        struct resolve_memory *memory,
                                                        const uint32_t *row, uint32_t seam,
                                                        bool whole) {
    const uint32_t *word = row + job.width - seam - 1;
    uint32_t meet = resolve_met(memory, seam);
    for (uint32_t spins = 0; meet == FAST_UNMET; spins++) {
        if (whole && __all_sync(~0u, load_word(word) >> 16 == seam + 1)) break;
        meet = resolve_met(memory, seam);
        if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_JUMPS);
    }
    return meet;
}

/* A warp: the jumps of a band. */
static __device__ __forceinline__ void resolve_gather(const struct fast_job &job, int number,
                                                      struct resolve_memory *memory, uint32_t band,
                                                      uint32_t seam) {
    const struct fast_half &half = job.halves[number];
    const uint32_t rows = job.band_steps * FAST_STEP, size = resolve_size(rows);
    const uint32_t width = job.width - seam, windows = sizeof *memory;
    const uint32_t behind = half.bands - 1 - band; /* bands between this one and the middle */
    const bool whole = behind >= job.window_bands;
    const uint32_t *row = job.jumps + (uint64_t)(half.first_band + band) * job.jump_stride;
    uint32_t meet = resolve_wait(job, memory, row, seam, whole);
    uint32_t map = windows + size * (resolve_windows(job.window_bands, rows) +
                                     (band - job.direct_bands) * resolve_plane(job.width));
    if (!whole || meet != FAST_UNMET ||
        !resolve_band(job, memory, row, { 0, width - 1 }, map, seam, true)) {
        meet = resolve_met(memory, seam);
        const struct fast_window window =
            fast_reach(half, min((band + 1) * rows, half.rows), meet, width);
        if (!whole) map = windows + size * (resolve_windows(behind, rows) - window.from);
        resolve_band(job, memory, row, window, map, seam, false);
    }
    if (fast_thread() % 32 == 0) memory->maps[band] = map;
}

/* All warps, each as soon as it has nothing else to do: bands from the edge to the middle, one
 * after the other. */
static __device__ __forceinline__ void resolve_gather_all(const struct fast_job &job, int number,
                                                          struct resolve_memory *memory,
                                                          uint32_t seam) {
    const uint32_t bands = job.halves[number].bands;
    for (;;) {
        uint32_t band = 0;
        if (fast_thread() % 32 == 0) band = job.direct_bands + atomicAdd(&memory->next, 1u);
        band = __shfl_sync(~0u, band, 0);
        if (band >= bands) return;
        resolve_gather(job, number, memory, band, seam);
    }
}

/* ---- where the halves meet */

/* More than any path's cost; with what it is added to it stays below 2^30. */
static const uint32_t FAST_BESIDE = 1u << 28;

/* Costs of 4 columns of both rows, and of the columns beside in the lower one. */
struct meet_costs {
    uint4 above, below;
    uint32_t beside; /* of the lane at the warp's left or right end: what no lane has */
};

/* FAST_BESIDE, with TAG, stands for what is not in the image. All lanes have 4 columns from X on.
 */
static __device__ __forceinline__ struct meet_costs meet_ask(const struct fast_job &job, uint32_t x,
                                                             uint32_t width, uint32_t tag) {
    const uint32_t *down = cost_row(job, 0, job.halves[0].steps) + x;
    const uint32_t *up = cost_row(job, 1, job.halves[1].steps) + x;
    const uint32_t far = tag << 30 | FAST_BESIDE, lane = fast_thread() % 32;
    struct meet_costs costs = { make_uint4(far, far, far, far), make_uint4(far, far, far, far),
                                far };
    if (x < width) costs.above = load_words(down), costs.below = load_words(up);
    if (lane == 0 && x > 0 && x < width) costs.beside = load_word(up - 1);
    if (lane == 31 && x + 4 < width) costs.beside = load_word(up + 4);
    return costs;
}

static __device__ __forceinline__ bool meet_here(const struct meet_costs &costs, uint32_t tag) {
    return tagged(costs.above, tag) && tagged(costs.below, tag) && costs.beside >> 30 == tag;
}

/* The least of T[m][x] + min3(B[m+1]) of 4 columns, and 4 x + which of the three. */
static __device__ __forceinline__ void meet_least(const struct meet_costs &costs, uint32_t x,
                                                  uint32_t width, uint32_t &sum, uint32_t &place) {
    const uint32_t mask = (1u << 30) - 1;
    const uint32_t lane = fast_thread() % 32;
    uint32_t left = __shfl_up_sync(~0u, costs.below.w, 1);
    uint32_t right = __shfl_down_sync(~0u, costs.below.x, 1);
    if (lane == 0) left = costs.beside;
    if (lane == 31) right = costs.beside;
    const uint32_t above[] = { costs.above.x, costs.above.y, costs.above.z, costs.above.w };
    const uint32_t below[] = { left & mask,          costs.below.x & mask, costs.below.y & mask,
                               costs.below.z & mask, costs.below.w & mask, right & mask };
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const uint32_t least = __vimin3_u32(below[k], below[k + 1], below[k + 2]);
        const uint32_t which = least == below[k] ? 0 : least == below[k + 1] ? 1 : 2;
        const uint32_t mine = (above[k] & mask) + least;
        if (x + k < width && mine < sum) sum = mine, place = 4 * (x + k) + which;
    }
}

/* The least of a warp; PLACE the smallest of those that have it. */
static __device__ __forceinline__ void meet_of_warp(uint32_t &sum, uint32_t &place) {
    const uint32_t least = warp_least(sum);
    place = warp_least(sum == least ? place : ~0u);
    sum = least;
}

/* Warps that look for the meeting point. */
static __device__ __forceinline__ uint32_t meet_warps(const struct fast_job &job) {
    const uint32_t columns = 4 * 32 * MEET_BATCH;
    return min((job.width + columns - 1) / columns, (uint32_t)MEET_WARPS_MAX);
}

/* One of those: its least of T[m][x] + min3(B[m+1]), over the place. All costs of a round are asked
 * for at once until all are there. */
static __device__ __forceinline__ uint64_t resolve_look(const struct fast_job &job, uint32_t seam) {
    const uint32_t width = job.width - seam, tag = fast_tag(seam), span = 128 * meet_warps(job);
    uint32_t sum = ~0u, place = ~0u;
#pragma unroll 1
    for (uint32_t first = 0; first < width; first += MEET_BATCH * span) {
        const uint32_t x = first + 4 * fast_thread();
        struct meet_costs costs[MEET_BATCH];
        bool here = false;
        for (uint32_t spins = 0; !here; spins++) {
            here = true;
#pragma unroll
            for (uint32_t k = 0; k < MEET_BATCH; k++)
                costs[k] = meet_ask(job, x + k * span, width, tag);
#pragma unroll
            for (uint32_t k = 0; k < MEET_BATCH; k++) here = here && meet_here(costs[k], tag);
            here = __all_sync(~0u, here);
            if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_MEET);
        }
#pragma unroll
        for (uint32_t k = 0; k < MEET_BATCH; k++)
            meet_least(costs[k], x + k * span, width, sum, place);
    }
    meet_of_warp(sum, place);
    return (uint64_t)sum << 32 | place;
}

/* A warp that looks: if it is the last one, it tells all who wait for it where the halves meet, and
 * returns what the seam costs; else ~0. */
static __device__ __forceinline__ uint32_t resolve_meet(const struct fast_job &job, int number,
                                                        struct resolve_memory *memory,
                                                        uint32_t seam) {
    uint64_t least = resolve_look(job, seam);
    uint32_t others = 0;
    if (fast_thread() % 32 == 0) {
        atomicMin(&memory->least, (unsigned long long)least);
        __threadfence_block();
        others = atomicAdd(&memory->looked, 1u) + 1;
    }
    if (__shfl_sync(~0u, others, 0) < meet_warps(job)) return ~0u;
    if (fast_thread() % 32 == 0) {
        least = atomicExch(&memory->least, ~0ull);
        const uint32_t place = (uint32_t)least;
        const uint32_t column = number == 0 ? place / 4 : place / 4 + place % 4 - 1;
        store_word(job.meets + number, (seam + 1) << 16 | column);
        atomicExch(&memory->looked, 0u);
        atomicExch(&memory->met, (seam + 1) << 16 | column);
    }
    __syncwarp();
    return __shfl_sync(~0u, (uint32_t)(least >> 32), 0);
}

/* ---- the watch */

/* The last thread of the block; the answer is needed only when the halves have met. */
static __device__ __forceinline__ void
resolve_decide(const struct fast_job &job, int half, struct resolve_memory *memory, uint32_t seam) {
    if (fast_thread() != FAST_THREADS - 1) return;
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
    for (uint32_t band = fast_thread(); band < bands; band += FAST_THREADS)
        for (uint32_t spins = 0; !load_word(job.begun + band); spins++)
            if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_BEGUN);
}

/* The column in the last row of the band before BAND, not gathered. */
static __device__ __forceinline__ uint32_t resolve_jump(const struct fast_job &job, uint32_t band,
                                                        uint32_t x, uint32_t seam) {
    const uint32_t *from = job.jumps + (uint64_t)band * job.jump_stride + x;
    for (uint32_t spins = 0;; spins++) {
        const uint32_t word = load_word(from);
        if (word >> 16 == seam + 1) return word & 0xffff;
        if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_JUMPS);
    }
}

/* One lane: from the entry X of the last band to that of the first whose jumps are not gathered, in
 * maps of JUMPs. Where the next map is does not wait for where in this one. */
template <class Jump>
static __device__ __forceinline__ uint32_t resolve_walk(struct resolve_memory *memory,
                                                        uint32_t bands, uint32_t direct,
                                                        uint32_t x) {
    uint32_t map = memory->maps[bands - 1];
#pragma unroll 4
    for (uint32_t band = bands; band > direct; band--) {
        const uint32_t next = memory->maps[max(band, 2u) - 2];
        memory->entries[band - 1] = (uint16_t)x;
        x += (uint32_t) * (const Jump *)(fast_shared + (map + (uint32_t)sizeof(Jump) * x));
        map = next;
    }
    return x;
}

/* The first warp: one lane goes from band to band, then all tell the bands. */
static __device__ __forceinline__ void resolve_tell(const struct fast_job &job,
                                                    const struct fast_half &half,
                                                    struct resolve_memory *memory, uint32_t x,
                                                    uint32_t seam) {
    const uint32_t head = (seam + 1) << 16 | memory->last << 15;
    if (fast_thread() == 0) {
        x = resolve_size(job.band_steps * FAST_STEP) == 1
                ? resolve_walk<int8_t>(memory, half.bands, job.direct_bands, x)
                : resolve_walk<int16_t>(memory, half.bands, job.direct_bands, x);
        for (uint32_t band = min(job.direct_bands, half.bands); band > 0; band--) {
            memory->entries[band - 1] = (uint16_t)x;
            x = resolve_jump(job, half.first_band + band - 1, x, seam);
        }
    }
    __syncwarp();
    for (uint32_t band = fast_thread(); band < half.bands; band += 32)
        store_word(job.entries + half.first_band + band, head | memory->entries[band]);
}

/* A seam, from the first word that its leaders tell to the jumps of all bands. */
static __device__ __forceinline__ void resolve_seam(const struct fast_job &job, int number,
                                                    struct resolve_memory *memory, uint32_t seam) {
    if (fast_thread() / 32 < meet_warps(job)) resolve_meet(job, number, memory, seam);
    if (number == 0 && fast_thread() == 0)
        fast_mark(job, seam, MARK_MEET), memory->clock.began = fast_now();
    resolve_gather_all(job, number, memory, seam);
}

static __device__ void resolve_block(const struct fast_job &job, int number) {
    struct resolve_memory *memory = (struct resolve_memory *)fast_shared;
    const bool mark = number == 0 && fast_thread() == 0;
    bool last = false;
    uint32_t seam = 0;
    if (fast_thread() == 0) resolve_make(memory);
    if (mark) clock_make(job, memory->clock, SPAN_TRACE);
    __syncthreads();
    for (; seam < job.seams && !last; seam++) {
        resolve_decide(job, number, memory, seam);
        resolve_seam(job, number, memory, seam);
        if (seam == 0) resolve_begin(job);
        __syncthreads();
        if (mark) fast_mark(job, seam, MARK_MAPS);
        last = memory->last;
        if (fast_thread() < 32)
            resolve_tell(job, job.halves[number], memory, resolve_met(memory, seam), seam);
        if (fast_thread() == 32) memory->next = 0;
        __syncthreads();
        if (mark) fast_mark(job, seam, MARK_RESOLVED);
        if (mark) clock_tell(job, memory->clock, SPAN_TRACE);
    }
    if (mark && job.watch) ((volatile struct cuda_watch *)job.watch)->done = job.done + seam;
}

#endif
