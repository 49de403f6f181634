// SPDX-License-Identifier: Apache-2.0
/* any_gpu.cuh - any search on any GPU, in one cooperative launch.
 *
 * Used by:  method.cuh, also where a fast method's blocks do not fit at once.
 * Fails:    as check.cuh says.
 * Limits:   none of size, energy, masks or direction; any number of blocks. Bytes a pixel: cells 2,
 *           luma 1 (where there are masks, their plane), edges 1/4 (masks: 1/2), maps 1/8. Both
 *           directions: cells 4, edges and maps twice, and 2 for every pixel removed.
 *
 * How it works. A step: sweep and map (any_gpu/traceback.cuh), choose, trace, remove
 * (any_gpu/removal.cuh), and one barrier of all blocks. Between these parts data passes in tagged
 * words.
 */
#ifndef BURIN_CARVE_ANY_GPU_CUH
#define BURIN_CARVE_ANY_GPU_CUH

#include "cuda/cooperative.cuh"
#include "cuda/ops/carve/any_gpu/removal.cuh"
#include "cuda/ops/carve/launch_kernel.cuh"
#include "cuda/ops/carve/origin_walk.cuh"
#include "cuda/ops/carve/seam_search.cuh"

enum { ANY_GPU_THREADS = 512, ANY_GPU_WARPS = ANY_GPU_THREADS / 32 };

struct any_gpu_args {
    uint32_t width, height, columns, rows;
    int energy;
    uint8_t *luma[2];
    uint16_t *cells[2];
    const uint8_t *marks; /* NULL: no masks; it has luma's stride */
    uint32_t luma_stride, cell_stride;
    struct axis_memory memories[2]; /* of vertical seams, of horizontal ones */
    uint16_t *seams;                /* of all steps, each as long as the seam was */
    uint8_t *turned;                /* [step] both directions: whether the seam was horizontal */
    uint32_t *origins;
    uint32_t origin_stride;
    uint64_t *barrier;
    struct kernel_progress *progress;
    uint32_t done;
    uint32_t least, *taken; /* as in seam_search; NULL where it does not clear */
};

/* The progress of all blocks; each block has a copy. The size follows from the number of seams
 * left: nvcc 13.0 took a width that was counted down in here for the arguments' own and never
 * changed it. */
struct any_gpu_state {
    uint32_t tag;           /* the step's number, from 1 */
    uint32_t round;         /* barriers so far */
    uint32_t columns, rows; /* seams left to remove */
    int luma, cells;        /* number of the current plane */
    size_t written;         /* of `seams` */
};

struct any_gpu_shared {
    bool turned, leave, cleared;
    uint32_t column;
};

DEVICE uint32_t grid_warp(void) {
    return threadIdx.x / 32 * gridDim.x + blockIdx.x;
}

DEVICE uint32_t grid_warps(void) {
    return gridDim.x * ANY_GPU_WARPS;
}

DEVICE uint32_t width_of(const struct any_gpu_args &args, const struct any_gpu_state &state) {
    return args.width - args.columns + state.columns;
}

DEVICE uint32_t height_of(const struct any_gpu_args &args, const struct any_gpu_state &state) {
    return args.height - args.rows + state.rows;
}

DEVICE struct cell_plane plane_of(const struct any_gpu_args &args,
                                  const struct any_gpu_state &state, bool turned) {
    const uint32_t width = width_of(args, state), height = height_of(args, state);
    return { args.cells[state.cells], args.cell_stride, turned ? height : width,
             turned ? width : height, turned };
}

/* ---- barriers */

DEVICE bool is_reporter(void) {
    return blockIdx.x == 0 && threadIdx.x == 0;
}

/* Waits for all blocks; false: they leave, all at the same barrier, whose number is in the
 * counter's upper half. */
static __device__ bool grid_barrier(const struct any_gpu_args &args, struct any_gpu_state &state,
                                    bool stop, struct any_gpu_shared &shared) {
    const uint32_t round = ++state.round;
    __syncthreads();
    if (threadIdx.x == 0) {
        uint64_t seen;
        add_release(args.barrier, 1 + (stop ? (uint64_t)round << 32 : 0));
        spin_until(STUCK_BARRIER, [&] {
            seen = load_acquire(args.barrier);
            if ((uint32_t)seen >= round * gridDim.x) return true;
            __nanosleep(20);
            return false;
        });
        shared.leave = seen >> 32 && seen >> 32 <= round;
    }
    __syncthreads();
    return !shared.leave;
}

/* Reports progress and asks whether to go on. The answer takes a microsecond: it is needed only at
 * the step's last barrier. */
DEVICE bool report_progress(const struct any_gpu_args &args, const struct any_gpu_state &state) {
    if (!args.progress || !is_reporter()) return false;
    volatile struct kernel_progress *const progress = args.progress;
    progress->done = args.done + state.tag - 1;
    return progress->stop;
}

/* ---- the parts of a step */

static __device__ void first_cells(const struct any_gpu_args &args) {
    const struct luma_plane luma = { args.luma[0], args.luma_stride, (int)args.width,
                                     (int)args.height };
    for (uint32_t y = grid_warp(); y < args.height; y += grid_warps()) {
        uint16_t *const to = args.cells[0] + (size_t)y * args.cell_stride;
        for (uint32_t x = threadIdx.x % 32; x < args.width; x += 32) {
            uint32_t cell = energy_at(luma, args.energy, (int)x, (int)y);
            if (args.marks) {
                const uint8_t mark = args.marks[(size_t)y * args.luma_stride + x];
                cell |= (mark & 1 ? CELL_KEEP : 0) | (mark & 2 ? 0 : CELL_STAYS);
            }
            to[x] = (uint16_t)cell;
        }
    }
}

/* Tasks of sweepers come first, then those of the mappers; both by search, with its two halves
 * adjacent. */
template <class COST>
DEVICE void search_band(const struct cell_plane &plane, const struct axis_memory &memory,
                        uint32_t task, bool leads, uint32_t i, uint32_t tag) {
    const int half = task % 2;
    if (i >= bands_of(plane.lines, half)) return;
    if (leads)
        run_band<COST, COSTS>(plane, memory, half, i, task / 2, tag);
    else
        run_band<COST, SOURCES>(plane, memory, half, i, task / 2, tag);
}

DEVICE uint32_t bands_most(uint32_t lines) {
    return max(bands_of(lines, FROM_START), bands_of(lines, FROM_END));
}

template <class COST, bool BOTH>
static __device__ void search_bands(const struct any_gpu_args &args,
                                    const struct any_gpu_state &state) {
    const struct cell_plane planes[2] = { plane_of(args, state, false),
                                          plane_of(args, state, true) };
    const uint32_t down = !BOTH || state.columns ? tiles_of(planes[0]) : 0;
    const uint32_t tiles = down + (BOTH && state.rows ? tiles_of(planes[1]) : 0);
    const uint32_t bands =
        max(down ? bands_most(planes[0].lines) : 0, tiles > down ? bands_most(planes[1].lines) : 0);
    for (uint32_t i = 0; i < bands; i++)
        for (uint32_t t = grid_warp(); t < 2 * tiles * (1 + MAPPERS); t += grid_warps()) {
            const uint32_t team = t / (2 * tiles), task = t - team * 2 * tiles;
            const bool turned = BOTH && task >= 2 * down;
            if (team && i % MAPPERS != team - 1) continue;
            search_band<COST>(turned ? planes[1] : planes[0], args.memories[turned],
                              turned ? task - 2 * down : task, team == 0, i, state.tag);
        }
    for (uint32_t t = grid_warp(); t < tiles; t += grid_warps()) {
        const bool turned = BOTH && t >= down;
        publish_best<COST>(turned ? planes[1] : planes[0], args.memories[turned],
                           turned ? t - down : t, state.tag);
    }
}

DEVICE bool is_cheaper(uint32_t a, uint32_t, uint32_t b, uint32_t) {
    return a < b;
}

DEVICE bool is_cheaper(uint64_t a, uint32_t a_length, uint64_t b, uint32_t b_length) {
    return carve_rank(a, a_length) < carve_rank(b, b_length);
}

/* Called by one warp. */
template <class COST>
static __device__ void choose_seam(const struct any_gpu_args &args,
                                   const struct any_gpu_state &state,
                                   struct any_gpu_shared &shared) {
    struct candidate<COST> down = {}, across = {};
    if (state.columns)
        down = wait_best<COST>(plane_of(args, state, false), args.memories[0], state.tag);
    if (state.rows)
        across = wait_best<COST>(plane_of(args, state, true), args.memories[1], state.tag);
    const bool turned =
        !state.columns || (state.rows && is_cheaper(across.total, width_of(args, state), down.total,
                                                    height_of(args, state)));
    if (threadIdx.x) return;
    shared.turned = turned;
    shared.column = turned ? across.column : down.column;
    shared.cleared =
        args.taken && state.tag > args.least && !carve_removes(down.total, height_of(args, state));
    if (args.turned && blockIdx.x == 0) args.turned[state.tag - 1] = turned;
}

template <class COST>
static __device__ void any_gpu_trace(const struct any_gpu_args &args,
                                     const struct any_gpu_state &state, bool turned,
                                     uint32_t column) {
    const struct cell_plane plane = plane_of(args, state, turned);
    const uint32_t start = bands_of(plane.lines, FROM_START);
    const uint32_t all = start + bands_of(plane.lines, FROM_END);
    for (uint32_t t = grid_warp(); t < all; t += grid_warps())
        trace_band<COST>(plane, args.memories[turned], t < start ? FROM_START : FROM_END,
                         t < start ? t : t - start, column, args.seams + state.written, state.tag);
}

DEVICE struct removal removal_of(const struct any_gpu_args &args, const struct any_gpu_state &state,
                                 bool turned) {
    return { args.luma[state.luma],
             args.luma[!state.luma],
             args.cells[state.cells],
             args.cells[turned ? !state.cells : state.cells],
             args.luma_stride,
             args.cell_stride,
             width_of(args, state),
             height_of(args, state),
             args.energy,
             args.memories[turned].path,
             state.tag };
}

static __device__ void remove_turned(const struct removal &e) {
    const uint32_t lane = threadIdx.x % 32, chunk = 32 * VECTOR;
    const uint32_t chunks = (e.width + chunk - 1) / chunk, fans = (e.width + 31) / 32;
    for (uint32_t t = grid_warp(); t < chunks * (e.height - 1); t += grid_warps()) {
        const uint32_t x = t % chunks * chunk + lane * VECTOR;
        if (x < e.width) remove_in_columns(e, (int)x, (int)(t / chunks));
    }
    for (uint32_t t = grid_warp(); t < fans * repaired(e.energy); t += grid_warps()) {
        const uint32_t x = t % fans * 32 + lane;
        if (x < e.width) repair_column(e, (int)x, (int)(t / fans));
    }
}

static __device__ void remove_seam(const struct removal &e, bool turned) {
    if (turned) return remove_turned(e);
    for (uint32_t y = grid_warp(); y < e.height; y += grid_warps()) remove_in_row(e, (int)y);
}

/* Every remaining pixel goes back through all steps to its origin. */
static __device__ void store_origins(const struct any_gpu_args &args,
                                     const struct any_gpu_state &state) {
    const uint32_t left_width = width_of(args, state), left_height = height_of(args, state);
    for (uint32_t t = grid_warp(); t < left_height; t += grid_warps())
        for (uint32_t at = threadIdx.x % 32; at < left_width; at += 32)
            args.origins[(size_t)t * args.origin_stride + at] =
                walk_to_origin(args.seams + state.written, args.turned, state.tag, left_width,
                               left_height, at, t, args.origin_stride);
}

template <class COST, bool BOTH>
static __global__ void __launch_bounds__(ANY_GPU_THREADS, 1)
    any_gpu_kernel(const __grid_constant__ struct any_gpu_args args) {
    __shared__ struct any_gpu_shared shared;
    struct any_gpu_state state = { 0, 0, args.columns, args.rows, 0, 0, 0 };
    first_cells(args);
    if (!grid_barrier(args, state, false, shared)) return;
    while (state.columns + state.rows) {
        state.tag++;
        const bool stop = report_progress(args, state);
        search_bands<COST, BOTH>(args, state);
        __syncthreads();
        if (threadIdx.x < 32) choose_seam<COST>(args, state, shared);
        __syncthreads();
        if (!BOTH && shared.cleared) {
            state.tag--; /* this seam stays */
            break;
        }
        const bool turned = BOTH && shared.turned;
        any_gpu_trace<COST>(args, state, turned, shared.column);
        if (!BOTH && state.columns == 1) break;
        if (turned && !grid_barrier(args, state, false, shared)) return;
        remove_seam(removal_of(args, state, turned), turned);
        state.written += turned ? width_of(args, state) : height_of(args, state);
        state.luma = !state.luma;
        if (turned) {
            state.cells = !state.cells;
            state.rows--;
        } else {
            state.columns--;
        }
        if (!grid_barrier(args, state, stop, shared)) return;
    }
    if (BOTH) store_origins(args, state);
    if (args.taken && is_reporter()) *args.taken = state.tag;
    if (args.progress && is_reporter())
        ((volatile struct kernel_progress *)args.progress)->done = args.done + state.tag;
}

/* ---- host */

static inline uint32_t round_up(uint32_t n, uint32_t to) {
    return (n + to - 1) / to * to;
}

static inline void any_gpu_layout_axis(struct axis_memory *memory, struct arena *arena,
                                       uint32_t columns, uint32_t lines, int parts) {
    const size_t slots = (lines + BAND - 1) / BAND + 1;
    memory->stride = round_up(columns, WINDOW_OWN);
    memory->edges = arena_take<uint64_t>(arena, parts * slots * memory->stride);
    memory->maps = arena_take<uint32_t>(arena, slots * memory->stride);
    memory->best = arena_take<uint64_t>(arena, (size_t)4 * (memory->stride / WINDOW_OWN));
    memory->path = arena_take<uint32_t>(arena, lines);
}

/* The arguments, and their memory from ARENA. *TAGS: its first bytes, which are to be cleared. */
static inline void any_gpu_layout(const struct seam_search *search, struct arena *arena,
                                  struct any_gpu_args *args, size_t *tags) {
    const int parts = search->marks ? 2 : 1;
    const uint32_t width = search->width, height = search->height;
    const uint32_t stride = round_up(width, BAND);
    const size_t cells = (size_t)stride * height + 8;
    *args = { width, height, search->columns, search->rows, search->energy };
    args->barrier = arena_take<uint64_t>(arena, 1);
    any_gpu_layout_axis(&args->memories[0], arena, width, height, parts);
    if (search->rows) any_gpu_layout_axis(&args->memories[1], arena, height, width, parts);
    *tags = arena->bytes;
    args->luma[0] = search->luma;
    args->luma[1] = search->marks;
    args->luma_stride = search->luma_stride;
    if (!search->marks)
        args->luma[1] = arena_take<uint8_t>(arena, (size_t)search->luma_stride * height + 16);
    args->marks = search->marks;
    args->cell_stride = stride;
    args->cells[0] = args->cells[1] = arena_take<uint16_t>(arena, cells);
    args->seams = search->seams;
    args->progress = search->progress;
    args->done = search->done;
    args->least = search->least, args->taken = search->clears ? search->taken : NULL;
    if (!search->rows) return;
    const size_t taken = (size_t)search->columns * height + (size_t)search->rows * width;
    args->cells[1] = arena_take<uint16_t>(arena, cells);
    args->seams = arena_take<uint16_t>(arena, taken);
    args->turned = arena_take<uint8_t>(arena, search->columns + search->rows);
    args->origins = search->origins;
    args->origin_stride = search->origin_stride;
}

/* Scratch bytes for SEARCH; of its pointers only NULL or not NULL counts. */
static inline size_t any_gpu_scratch(const struct seam_search *search) {
    struct arena arena = {};
    struct any_gpu_args args;
    size_t tags;
    any_gpu_layout(search, &arena, &args, &tags);
    return arena.bytes;
}

/* The kernel works with any number of blocks: where the driver refuses, half as many are tried. */
static inline cudaError_t any_gpu_launch(const struct cuda_context *context,
                                         const struct cooperative_launch *launch, uint32_t blocks) {
    cudaError_t error;
    const cudaStream_t stream =
        cooperative_lane_begin_long(context->cooperative, context->stream, launch->kernel, &error);
    if (error) return error;
    while ((error = cooperative_launch_in(context, launch, blocks, stream)) ==
               cudaErrorCooperativeLaunchTooLarge &&
           blocks > 1)
        blocks /= 2;
    const cudaError_t ended = cooperative_lane_end_long(context->cooperative, context->stream);
    return error ? error : ended;
}

/* Removes the seams of SEARCH. Origins are numbered by origin_stride. */
static inline enum status any_gpu_run(const struct cuda_context *context,
                                      const struct seam_search *search, struct failure *failure) {
    struct arena arena = { (uint8_t *)search->scratch, 0 };
    struct any_gpu_args args;
    size_t tags;
    any_gpu_layout(search, &arena, &args, &tags);
    CUDA_TRY(failure, cudaMemsetAsync(search->scratch, 0, tags, context->stream));
    void (*const kernels[])(
        struct any_gpu_args) = { any_gpu_kernel<uint32_t, false>, any_gpu_kernel<uint32_t, true>,
                                 any_gpu_kernel<uint64_t, false>, any_gpu_kernel<uint64_t, true> };
    const uint32_t most = cooperative_share((unsigned)context->multiprocessors);
    void *arguments[] = { &args };
    const struct cooperative_launch launch = {
        (const void *)kernels[(search->marks ? 2 : 0) + (search->rows ? 1 : 0)], ANY_GPU_THREADS, 0,
        arguments
    };
    /* Four roles a multiprocessor: each has a scheduler for itself, and no row is done twice. */
    const uint32_t roles =
        2 * (1 + MAPPERS) * ((args.memories[0].stride + args.memories[1].stride) / WINDOW_OWN);
    const uint32_t wanted = max((roles + 3) / 4, (args.height + ANY_GPU_WARPS - 1) / ANY_GPU_WARPS);
    CUDA_TRY(failure, any_gpu_launch(context, &launch, min(wanted, most)));
    return STATUS_OK;
}

#endif
