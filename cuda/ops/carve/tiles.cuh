// SPDX-License-Identifier: Apache-2.0
/* tiles.cuh - takes the seams of a strip out on any GPU, for any size, energy, masks and both
 * directions at once: one cooperative launch for all of them.
 *
 * A step: search (trace.cuh), choose, trace, erase (erase.cuh), and one meeting of all blocks. What
 * lies between these goes through tagged words. Scratch, bytes a pixel: words 2, luma 1 (where
 * there are masks, their plane), edges 1/4 (masks: 1/2), maps 1/8. Both directions: words 4, edges
 * and maps twice, and 2 for every pixel that is taken out.
 */
#ifndef BURIN_CARVE_TILES_CUH
#define BURIN_CARVE_TILES_CUH

#include "cuda/ops/carve/erase.cuh"
#include "cuda/ops/carve/strip.cuh"

enum { TILES_THREADS = 512, TILES_WARPS = TILES_THREADS / 32 };

struct tiles_job {
    uint32_t width, height, columns, rows;
    int energy;
    uint8_t *luma[2];
    uint16_t *words[2];
    const uint8_t *marks; /* NULL: none; luma's stride */
    uint32_t luma_stride, word_stride;
    struct way ways[2]; /* vertical seams', horizontal ones' */
    uint16_t *seams;    /* of all steps, each as long as the seam was */
    uint8_t *turned;    /* [step] both directions: whether the seam was horizontal */
    uint32_t *origins;
    uint32_t origin_stride;
    uint64_t *meeting;
    struct cuda_watch *watch;
    uint32_t done;
};

/* How far all blocks are; each keeps it for itself. The size follows from what is left to take out:
 * a width counted down in here nvcc 13.0 mistook for the job's own and never changed. */
struct tiles_state {
    uint32_t tag;           /* the step's number, from 1 */
    uint32_t round;         /* meetings */
    uint32_t columns, rows; /* seams that are still to go */
    int luma, words;        /* which of the planes */
    size_t written;         /* of seams */
};

struct tiles_desk {
    bool turned, leave;
    uint32_t column;
};

static __device__ __forceinline__ uint32_t grid_warp(void) {
    return threadIdx.x / 32 * gridDim.x + blockIdx.x;
}

static __device__ __forceinline__ uint32_t grid_warps(void) {
    return gridDim.x * TILES_WARPS;
}

static __device__ __forceinline__ uint32_t width_of(const struct tiles_job &job,
                                                    const struct tiles_state &state) {
    return job.width - job.columns + state.columns;
}

static __device__ __forceinline__ uint32_t height_of(const struct tiles_job &job,
                                                     const struct tiles_state &state) {
    return job.height - job.rows + state.rows;
}

static __device__ __forceinline__ struct field
field_of(const struct tiles_job &job, const struct tiles_state &state, bool turned) {
    const uint32_t width = width_of(job, state), height = height_of(job, state);
    return { job.words[state.words], job.word_stride, turned ? height : width,
             turned ? width : height, turned };
}

/* ---- meetings */

static __device__ __forceinline__ bool is_watcher(void) {
    return blockIdx.x == 0 && threadIdx.x == 0;
}

/* All blocks have come; false where they are to leave, all at the same meeting. The counter's upper
 * half is the number of that meeting. */
static __device__ bool meet(const struct tiles_job &job, struct tiles_state &state, bool stop,
                            struct tiles_desk &desk) {
    const uint32_t round = ++state.round;
    __syncthreads();
    if (threadIdx.x == 0) {
        uint64_t seen;
        raise(job.meeting, 1 + (stop ? (uint64_t)round << 32 : 0));
        while (seen = look(job.meeting), (uint32_t)seen < round * gridDim.x) nap(20);
        desk.leave = seen >> 32 && seen >> 32 <= round;
    }
    __syncthreads();
    return !desk.leave;
}

/* Tells how far we are and asks whether to go on. The answer takes a microsecond to come: it is not
 * needed before the step's last meeting. */
static __device__ __forceinline__ bool ask_watch(const struct tiles_job &job,
                                                 const struct tiles_state &state) {
    if (!job.watch || !is_watcher()) return false;
    volatile struct cuda_watch *const watch = job.watch;
    watch->done = job.done + state.tag - 1;
    return watch->stop;
}

/* ---- the parts of a step */

static __device__ void first_words(const struct tiles_job &job) {
    const struct view view = whole_view(job.luma[0], job.luma_stride, job.width, job.height);
    for (uint32_t y = grid_warp(); y < job.height; y += grid_warps()) {
        uint16_t *const to = job.words[0] + (size_t)y * job.word_stride;
        for (uint32_t x = threadIdx.x % 32; x < job.width; x += 32) {
            uint32_t word = energy_at(view, job.energy, (int)x, (int)y);
            if (job.marks) {
                const uint8_t mark = job.marks[(size_t)y * job.luma_stride + x];
                word |= (mark & 1 ? WORD_KEEP : 0) | (mark & 2 ? 0 : WORD_STAYS);
            }
            to[x] = (uint16_t)word;
        }
    }
}

/* Tasks of leaders come first, then those of the mappers; both by strip, its two halves beside one
 * another. */
template <class COST>
static __device__ __forceinline__ void search_band(const struct field &field, const struct way &way,
                                                   uint32_t task, bool leads, uint32_t i,
                                                   uint32_t tag) {
    const int half = task % 2;
    if (i >= bands_of(field.lines, half)) return;
    if (leads)
        run_band<COST, COSTS>(field, way, half, i, task / 2, tag);
    else
        run_band<COST, SOURCES>(field, way, half, i, task / 2, tag);
}

/* Either half has at most one band more than the other. */
static __device__ __forceinline__ uint32_t bands_most(uint32_t lines) {
    return max(bands_of(lines, FROM_START), bands_of(lines, FROM_END));
}

template <class COST, bool BOTH>
static __device__ void search(const struct tiles_job &job, const struct tiles_state &state) {
    const struct field fields[2] = { field_of(job, state, false), field_of(job, state, true) };
    const uint32_t down = !BOTH || state.columns ? strips_of(fields[0]) : 0;
    const uint32_t strips = down + (BOTH && state.rows ? strips_of(fields[1]) : 0);
    const uint32_t bands = max(down ? bands_most(fields[0].lines) : 0,
                               strips > down ? bands_most(fields[1].lines) : 0);
    for (uint32_t i = 0; i < bands; i++)
        for (uint32_t t = grid_warp(); t < 2 * strips * (1 + MAPPERS); t += grid_warps()) {
            const uint32_t team = t / (2 * strips), task = t - team * 2 * strips;
            const bool turned = BOTH && task >= 2 * down;
            if (team && i % MAPPERS != team - 1) continue;
            search_band<COST>(turned ? fields[1] : fields[0], job.ways[turned],
                              turned ? task - 2 * down : task, team == 0, i, state.tag);
        }
    for (uint32_t t = grid_warp(); t < strips; t += grid_warps()) {
        const bool turned = BOTH && t >= down;
        tell_best<COST>(turned ? fields[1] : fields[0], job.ways[turned], turned ? t - down : t,
                        state.tag);
    }
}

static __device__ __forceinline__ bool is_cheaper(uint32_t a, uint32_t, uint32_t b, uint32_t) {
    return a < b;
}

static __device__ __forceinline__ bool is_cheaper(uint64_t a, uint32_t a_length, uint64_t b,
                                                  uint32_t b_length) {
    return carve_rank(a, a_length) < carve_rank(b, b_length);
}

/* One warp: the seam that goes. */
template <class COST>
static __device__ void choose_seam(const struct tiles_job &job, const struct tiles_state &state,
                                   struct tiles_desk &desk) {
    struct choice<COST> down = {}, across = {};
    if (state.columns) down = wait_best<COST>(field_of(job, state, false), job.ways[0], state.tag);
    if (state.rows) across = wait_best<COST>(field_of(job, state, true), job.ways[1], state.tag);
    const bool turned =
        !state.columns || (state.rows && is_cheaper(across.total, width_of(job, state), down.total,
                                                    height_of(job, state)));
    if (threadIdx.x) return;
    desk.turned = turned;
    desk.column = turned ? across.column : down.column;
    if (job.turned && blockIdx.x == 0) job.turned[state.tag - 1] = turned;
}

template <class COST>
static __device__ void trace_seam(const struct tiles_job &job, const struct tiles_state &state,
                                  bool turned, uint32_t column) {
    const struct field field = field_of(job, state, turned);
    const uint32_t start = bands_of(field.lines, FROM_START);
    const uint32_t all = start + bands_of(field.lines, FROM_END);
    for (uint32_t t = grid_warp(); t < all; t += grid_warps())
        trace<COST>(field, job.ways[turned], t < start ? FROM_START : FROM_END,
                    t < start ? t : t - start, column, job.seams + state.written, state.tag);
}

static __device__ __forceinline__ struct erasure
erasure_of(const struct tiles_job &job, const struct tiles_state &state, bool turned) {
    return { job.luma[state.luma],
             job.luma[!state.luma],
             job.words[state.words],
             job.words[turned ? !state.words : state.words],
             job.luma_stride,
             job.word_stride,
             width_of(job, state),
             height_of(job, state),
             job.energy,
             job.ways[turned].path,
             state.tag };
}

static __device__ void erase_turned(const struct erasure &e) {
    const uint32_t lane = threadIdx.x % 32, chunk = 32 * VECTOR;
    const uint32_t chunks = (e.width + chunk - 1) / chunk, fans = (e.width + 31) / 32;
    for (uint32_t t = grid_warp(); t < chunks * (e.height - 1); t += grid_warps()) {
        const uint32_t x = t % chunks * chunk + lane * VECTOR;
        if (x < e.width) erase_columns(e, (int)x, (int)(t / chunks));
    }
    for (uint32_t t = grid_warp(); t < fans * repaired(e.energy); t += grid_warps()) {
        const uint32_t x = t % fans * 32 + lane;
        if (x < e.width) repair_column(e, (int)x, (int)(t / fans));
    }
}

static __device__ void erase_seam(const struct erasure &e, bool turned) {
    if (turned) return erase_turned(e);
    for (uint32_t y = grid_warp(); y < e.height; y += grid_warps()) erase_in_row(e, (int)y);
}

static __device__ __forceinline__ void step_on(const struct tiles_job &job,
                                               struct tiles_state &state, bool turned) {
    state.written += turned ? width_of(job, state) : height_of(job, state);
    state.luma = !state.luma;
    if (turned) {
        state.words = !state.words;
        state.rows--;
    } else {
        state.columns--;
    }
}

/* Every pixel that is left goes back through all steps to where it came from. */
static __device__ void tell_origins(const struct tiles_job &job, const struct tiles_state &state) {
    const uint32_t left_width = width_of(job, state), left_height = height_of(job, state);
    for (uint32_t t = grid_warp(); t < left_height; t += grid_warps())
        for (uint32_t at = threadIdx.x % 32; at < left_width; at += 32) {
            uint32_t x = at, y = t, width = left_width, height = left_height;
            const uint16_t *seam = job.seams + state.written;
            for (uint32_t step = state.tag; step; step--) {
                const bool turned = job.turned[step - 1];
                seam -= turned ? width : height;
                if (turned)
                    y += y >= seam[x], height++;
                else
                    x += x >= seam[y], width++;
            }
            job.origins[(size_t)t * job.origin_stride + at] = y * job.origin_stride + x;
        }
}

template <class COST, bool BOTH>
static __global__ void __launch_bounds__(TILES_THREADS, 1)
    tiles_kernel(const __grid_constant__ struct tiles_job job) {
    __shared__ struct tiles_desk desk;
    struct tiles_state state = { 0, 0, job.columns, job.rows, 0, 0, 0 };
    first_words(job);
    if (!meet(job, state, false, desk)) return;
    while (state.columns + state.rows) {
        state.tag++;
        const bool stop = ask_watch(job, state);
        search<COST, BOTH>(job, state);
        __syncthreads();
        if (threadIdx.x < 32) choose_seam<COST>(job, state, desk);
        __syncthreads();
        const bool turned = BOTH && desk.turned;
        trace_seam<COST>(job, state, turned, desk.column);
        if (!BOTH && state.columns == 1) break;
        if (turned && !meet(job, state, false, desk)) return;
        erase_seam(erasure_of(job, state, turned), turned);
        step_on(job, state, turned);
        if (!meet(job, state, stop, desk)) return;
    }
    if (BOTH) tell_origins(job, state);
    if (job.watch && is_watcher())
        ((volatile struct cuda_watch *)job.watch)->done = job.done + state.tag;
}

/* ---- host */

static inline size_t tiles_take(size_t *bytes, size_t more) {
    const size_t at = *bytes;
    *bytes += (more + 255) / 256 * 256;
    return at;
}

static inline uint32_t tiles_round(uint32_t n, uint32_t to) {
    return (n + to - 1) / to * to;
}

static inline void tiles_place_way(struct way *way, uint8_t *base, size_t *bytes, uint32_t columns,
                                   uint32_t lines, int parts) {
    const size_t slots = (lines + BAND - 1) / BAND + 1;
    way->stride = tiles_round(columns, STRIP);
    way->edges = (uint64_t *)(base + tiles_take(bytes, 8 * parts * slots * way->stride));
    way->maps = (uint32_t *)(base + tiles_take(bytes, 4 * slots * way->stride));
    way->best = (uint64_t *)(base + tiles_take(bytes, (size_t)32 * (way->stride / STRIP)));
    way->path = (uint32_t *)(base + tiles_take(bytes, 4 * (size_t)lines));
}

/* The job in scratch from BASE on. *TAGS: bytes of it, the first ones, to be cleared. */
static inline size_t tiles_place(const struct carve_strip *strip, uint8_t *base,
                                 struct tiles_job *job, size_t *tags) {
    const int parts = strip->marks ? 2 : 1;
    const uint32_t width = strip->width, height = strip->height;
    const uint32_t stride = tiles_round(width, BAND);
    const size_t words_bytes = (size_t)stride * height * sizeof(uint16_t) + 16;
    size_t bytes = 0;
    *job = { width, height, strip->columns, strip->rows, strip->energy };
    job->meeting = (uint64_t *)(base + tiles_take(&bytes, sizeof(uint64_t)));
    tiles_place_way(&job->ways[0], base, &bytes, width, height, parts);
    if (strip->rows) tiles_place_way(&job->ways[1], base, &bytes, height, width, parts);
    *tags = bytes;
    job->luma[0] = strip->luma;
    job->luma[1] = strip->marks;
    job->luma_stride = strip->luma_stride;
    if (!strip->marks)
        job->luma[1] = base + tiles_take(&bytes, (size_t)strip->luma_stride * height + 16);
    job->marks = strip->marks;
    job->word_stride = stride;
    job->words[0] = job->words[1] = (uint16_t *)(base + tiles_take(&bytes, words_bytes));
    job->seams = strip->seams;
    job->watch = strip->watch;
    job->done = strip->done;
    if (!strip->rows) return bytes;
    const size_t taken = (size_t)strip->columns * height + (size_t)strip->rows * width;
    job->words[1] = (uint16_t *)(base + tiles_take(&bytes, words_bytes));
    job->seams = (uint16_t *)(base + tiles_take(&bytes, sizeof(uint16_t) * taken));
    job->turned = base + tiles_take(&bytes, strip->columns + strip->rows);
    job->origins = strip->origins;
    job->origin_stride = strip->origin_stride;
    return bytes;
}

/* Scratch bytes for STRIP, of which pointers need only be NULL or not. */
static inline size_t carve_tiles_scratch(const struct cuda_context *context,
                                         const struct carve_strip *strip) {
    struct tiles_job job;
    size_t tags;
    (void)context;
    return tiles_place(strip, NULL, &job, &tags);
}

/* Four roles a multiprocessor, so that each has a scheduler for itself, and no row of the image for
 * anyone to do twice; an eighth of the GPU is left to other lanes, which else would wait for all of
 * the job. */
static inline unsigned tiles_blocks(const struct cuda_context *context,
                                    const struct tiles_job *job) {
    const uint32_t down = job->ways[0].stride / STRIP, across = job->ways[1].stride / STRIP;
    const uint32_t roles = 2 * (1 + MAPPERS) * (down + across);
    const uint32_t wanted = max((roles + 3) / 4, (job->height + TILES_WARPS - 1) / TILES_WARPS);
    const int most = context->multiprocessors - context->multiprocessors / 8;
    return min(wanted, (uint32_t)most);
}

/* Takes the seams out of STRIP. Origins are numbered by origin_stride. */
static inline enum status carve_tiles(const struct cuda_context *context,
                                      const struct carve_strip *strip, struct failure *failure) {
    struct tiles_job job;
    size_t tags;
    tiles_place(strip, (uint8_t *)strip->scratch, &job, &tags);
    CUDA_TRY(failure, cudaMemsetAsync(strip->scratch, 0, tags, context->stream));
    void (*const kernels[])(
        struct tiles_job) = { tiles_kernel<uint32_t, false>, tiles_kernel<uint32_t, true>,
                              tiles_kernel<uint64_t, false>, tiles_kernel<uint64_t, true> };
    return launch_together(kernels[(strip->marks ? 2 : 0) + (strip->rows ? 1 : 0)],
                           tiles_blocks(context, &job), TILES_THREADS, context->stream, job,
                           failure);
}

#endif
