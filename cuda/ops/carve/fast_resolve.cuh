// SPDX-License-Identifier: Apache-2.0
/* fast_resolve.cuh - the resolvers: where the halves meet, and from band to band outward.
 *
 * One block a half; both find the same meeting point. Jumps are gathered in shared memory, as
 * differences of one byte, or two where bands are high: those of bands that are surely done by then
 * while the leaders are still under way; of the others, when the halves have met, only the columns
 * that the seam can reach.
 * The first half's resolver also keeps the watch: it alone decides which seam is the last.
 */
#ifndef BURIN_CARVE_FAST_RESOLVE_CUH
#define BURIN_CARVE_FAST_RESOLVE_CUH

#include "cuda/ops/carve/fast_job.cuh"

struct __align__(16) resolve_memory {
    struct fast_clock clock;
    uint32_t last;
    uint32_t doubt;  /* costs that are told may be too low */
    uint32_t refuse; /* the seam may be wrong, and stays */
    uint32_t sums[FAST_THREADS / 32], places[FAST_THREADS / 32];
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

/* A warp: jumps of the columns in WINDOW out of ROW; MAP: the place of column 0 in shared memory.
 * All loads of a round are under way at once until all are there. */
static __device__ __forceinline__ void resolve_band(const struct fast_job &job, const uint32_t *row,
                                                    struct fast_window window, uint32_t map,
                                                    uint32_t size, uint32_t seam) {
    enum { BATCH = 8, SPAN = 4 * 32 };
    const uint32_t head = seam + 1;
#pragma unroll 1
    for (uint32_t x = window.from + 4 * (fast_thread() % 32); x <= window.to; x += BATCH * SPAN) {
        uint4 words[BATCH];
        bool here = false;
        for (uint32_t spins = 0; !here; spins++) {
            here = true;
#pragma unroll
            for (uint32_t k = 0; k < BATCH; k++)
                if (x + k * SPAN <= window.to) words[k] = load_words(row + x + k * SPAN);
#pragma unroll
            for (uint32_t k = 0; k < BATCH; k++)
                if (x + k * SPAN <= window.to)
                    here = here && words[k].x >> 16 == head && words[k].y >> 16 == head &&
                           words[k].z >> 16 == head && words[k].w >> 16 == head;
            if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_JUMPS);
        }
#pragma unroll
        for (uint32_t k = 0; k < BATCH; k++)
            if (x + k * SPAN <= window.to)
                resolve_keep(fast_shared + (map + size * (x + k * SPAN)), size, x + k * SPAN,
                             words[k]);
    }
}

/* Bands from FIRST to END of the half, a warp each: all columns, or, once the halves have met in
 * MEET, those that the seam can reach. */
static __device__ __forceinline__ void resolve_gather(const struct fast_job &job, int number,
                                                      struct resolve_memory *memory, uint32_t first,
                                                      uint32_t end, uint32_t meet, uint32_t seam) {
    const struct fast_half &half = job.halves[number];
    const uint32_t rows = job.band_steps * FAST_STEP, size = resolve_size(rows);
    const uint32_t width = job.width - seam, windows = sizeof *memory;
    const uint32_t whole = windows + size * resolve_windows(job.window_bands, rows);
#pragma unroll 1
    for (uint32_t band = first + fast_thread() / 32; band < end; band += FAST_THREADS / 32) {
        const uint32_t *row = job.jumps + (uint64_t)(half.first_band + band) * job.jump_stride;
        struct fast_window window = { 0, width - 1 };
        uint32_t map = whole + size * (band - job.direct_bands) * resolve_plane(job.width);
        if (meet == FAST_UNMET) {
            /* There is time: one word is asked for until it is there. */
            for (uint32_t spins = 0; load_word(row + width - 1) >> 16 != seam + 1; spins++)
                if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_JUMPS);
        } else {
            window = fast_reach(half, min((band + 1) * rows, half.rows), meet, width);
            map = windows + size * (resolve_windows(half.bands - 1 - band, rows) - window.from);
        }
        if (fast_thread() % 32 == 0) memory->maps[band] = map;
        resolve_band(job, row, window, map, size, seam);
    }
}

/* ---- where the halves meet */

/* More than any path's cost, and less than FAST_DOUBT. */
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

/* Whether one of the costs may be too low. */
static __device__ __forceinline__ bool meet_doubt(const struct meet_costs &costs) {
    const uint4 above = costs.above, below = costs.below;
    return (above.x | above.y | above.z | above.w | below.x | below.y | below.z | below.w) &
           FAST_DOUBT;
}

/* The least of T[m][x] + min3(B[m+1]) of 4 columns, and 4 x + which of the three. */
static __device__ __forceinline__ void meet_least(const struct meet_costs &costs, uint32_t mask,
                                                  uint32_t x, uint32_t width, uint32_t &sum,
                                                  uint32_t &place) {
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

/* A warp's least of T[m][x] + min3(B[m+1]) goes to memory. All costs of a round are asked for at
 * once until all are there. */
static __device__ __forceinline__ void resolve_meet(const struct fast_job &job,
                                                    struct resolve_memory *memory, uint32_t seam) {
    enum { BATCH = 3, SPAN = 4 * FAST_THREADS };
    const uint32_t width = job.width - seam, tag = fast_tag(seam);
    const uint32_t mask = job.narrow ? FAST_DOUBT - 1 : 0x3fffffff;
    uint32_t sum = ~0u, place = ~0u;
#pragma unroll 1
    for (uint32_t first = 0; first < width; first += BATCH * SPAN) {
        const uint32_t x = first + 4 * fast_thread();
        struct meet_costs costs[BATCH];
        bool here = false;
        for (uint32_t spins = 0; !here; spins++) {
            here = true;
#pragma unroll
            for (uint32_t k = 0; k < BATCH; k++) costs[k] = meet_ask(job, x + k * SPAN, width, tag);
#pragma unroll
            for (uint32_t k = 0; k < BATCH; k++) here = here && meet_here(costs[k], tag);
            if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_MEET);
        }
        __syncwarp();
#pragma unroll
        for (uint32_t k = 0; k < BATCH; k++) {
            if (job.narrow && meet_doubt(costs[k])) memory->doubt = 1;
            meet_least(costs[k], mask, x + k * SPAN, width, sum, place);
        }
    }
    meet_of_warp(sum, place);
    if (fast_thread() % 32 == 0)
        memory->sums[fast_thread() / 32] = sum, memory->places[fast_thread() / 32] = place;
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

/* Every warp for itself: the meeting point, as the column in the half's last row. */
static __device__ __forceinline__ uint32_t resolve_meet_column(struct resolve_memory *memory,
                                                               int number) {
    const uint32_t lane = fast_thread() % 32;
    uint32_t sum = lane < FAST_THREADS / 32 ? memory->sums[lane] : ~0u;
    uint32_t place = lane < FAST_THREADS / 32 ? memory->places[lane] : ~0u;
    meet_of_warp(sum, place);
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
    if (fast_thread() % 32 == 0) memory->refuse = !right, memory->doubt = 0;
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

/* The first warp: one lane goes from band to band, then all tell the bands. */
static __device__ __forceinline__ void resolve_tell(const struct fast_job &job,
                                                    const struct fast_half &half,
                                                    struct resolve_memory *memory, uint32_t x,
                                                    uint32_t seam) {
    const uint32_t size = resolve_size(job.band_steps * FAST_STEP);
    const uint32_t refuse = memory->refuse, last = memory->last | refuse;
    const uint32_t head = (seam + 1) << 16 | last << 15 | refuse << 14;
    uint32_t band = fast_thread() ? 0 : half.bands, map = memory->maps[half.bands - 1];
#pragma unroll 1
    for (; band > job.direct_bands; band--) {
        const uint8_t *at = fast_shared + (map + size * x);
        /* Where the next map is does not wait for where in it. */
        if (band > 1) map = memory->maps[band - 2];
        memory->entries[band - 1] = (uint16_t)x;
        x += (uint32_t)(size == 1 ? *(const int8_t *)at : *(const int16_t *)at);
    }
    for (; band > 0; band--) {
        memory->entries[band - 1] = (uint16_t)x;
        x = resolve_jump(job, half.first_band + band - 1, x, seam);
    }
    __syncwarp();
    for (band = fast_thread(); band < half.bands; band += 32)
        store_word(job.entries + half.first_band + band, head | memory->entries[band]);
}

static __device__ void resolve_block(const struct fast_job &job, int number) {
    struct resolve_memory *memory = (struct resolve_memory *)fast_shared;
    const struct fast_half &half = job.halves[number];
    const bool mark = number == 0 && fast_thread() == 0;
    const uint32_t early = half.bands - job.window_bands;
    const uint32_t begin = fast_begin(job);
    bool last = false;
    uint32_t seam = begin;
    if (fast_thread() == 0) memory->doubt = 0, memory->refuse = 0;
    if (mark) clock_make(job, memory->clock, SPAN_TRACE);
    __syncthreads();
    for (; seam < job.seams && !last; seam++) {
        resolve_decide(job, number, memory, seam);
        resolve_gather(job, number, memory, job.direct_bands, early, FAST_UNMET, seam);
        resolve_meet(job, memory, seam);
        __syncthreads();
        const uint32_t meet = resolve_meet_column(memory, number);
        if (fast_thread() == 0) store_word(job.meets + number, (seam + 1) << 16 | meet);
        if (mark) fast_mark(job, seam, MARK_MEET), memory->clock.began = fast_now();
        resolve_gather(job, number, memory, max(early, job.direct_bands), half.bands, meet, seam);
        if (seam == begin) resolve_begin(job);
        if (fast_thread() < 32 && memory->doubt) resolve_doubt(job, memory, seam);
        __syncthreads();
        if (mark) fast_mark(job, seam, MARK_MAPS);
        last = memory->last || memory->refuse;
        if (fast_thread() < 32) resolve_tell(job, half, memory, meet, seam);
        __syncthreads();
        if (mark) fast_mark(job, seam, MARK_RESOLVED);
        if (mark) clock_tell(job, memory->clock, SPAN_TRACE);
    }
    seam -= memory->refuse;
    if (mark && job.watch) ((volatile struct cuda_watch *)job.watch)->done = job.done + seam;
    /* Whoever was stopped needs nothing more. */
    if (mark && job.finished) *job.finished = memory->last ? job.seams : seam;
}

#endif
