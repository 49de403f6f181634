// SPDX-License-Identifier: Apache-2.0
/* kernel.cuh - weighed searches (definition.h), in one cooperative launch on any number of blocks.
 *
 * Used by:  weighed.cuh.
 * Owns:     nothing; weighed.cuh lays out the memory.
 * Limits:   none of size, energy, masks or direction.
 *
 * How it works: simple parts with a barrier of all blocks after each, so that nothing else has to
 * be waited for. A step, for each direction that still loses seams: bands of lines go from both
 * ends to the middle, a warp for each tile of columns, in trapezoids as in any_gpu/bands.cuh, and
 * leave a pixel's turn in two bits. Meanwhile the other warps make words of the next band's pixels,
 * of a pixel's own cost and those of the steps to it. All blocks find the same best crossing of the
 * middle. One block then follows the turns back, and all move the planes from one place to another.
 */
#ifndef BURIN_CARVE_WEIGHED_KERNEL_CUH
#define BURIN_CARVE_WEIGHED_KERNEL_CUH

#include "cuda/ops/carve/energy.cuh"
#include "cuda/ops/carve/origin_walk.cuh"
#include "cuda/ops/carve/seam_search.cuh"
#include "cuda/ops/carve/tagged_words.cuh"

enum { WEIGHED_THREADS = 512, WEIGHED_WARPS = WEIGHED_THREADS / 32 };
enum { WEIGHED_BAND = 32, WEIGHED_COLUMNS = 4, WEIGHED_OWN = 32 * WEIGHED_COLUMNS - 64 };
enum { FROM_TOP, FROM_BOTTOM };

/* A word: the pixel's cost in 16 bits (with marks: energy in 14, and two that its key is made of),
 * then the differences of luma in the steps to the left and to the right, towards its end. */
enum { WORD_ENERGY = 0x3fff, WORD_STAYS = 1 << 14, WORD_KEEP = 1 << 15 };

/* Memory of one direction. Lines are rows for vertical seams, columns for horizontal ones. */
struct weighed_axis {
    void *costs[2][2]; /* [half][band % 2]: of a band's last line, a COST a column */
    uint8_t *turns;    /* [line][column / 4]: two bits a column, the neighbour before */
    uint32_t *middle;  /* [column]: words of the middle line as if it came after the next one */
    uint32_t stride;   /* columns of a line of words and of turns, a multiple of 16 */
};

struct weighed_args {
    uint32_t width, height, columns, rows;
    int energy;
    uint32_t rigidity;
    bool soft;
    uint8_t *luma[2], *marks[2]; /* no marks: NULL */
    uint32_t plane_stride;
    uint32_t *words; /* [band % 2][half][line of the band][column] */
    struct weighed_axis axes[2];
    uint16_t *seams; /* of all steps, each as long as the seam was */
    uint8_t *turned; /* [step], both directions: whether the seam was horizontal */
    uint32_t *origins, origin_stride;
    uint64_t *barrier; /* arrivals, and the round after which blocks leave */
    struct kernel_progress *progress;
    uint32_t done;
    uint32_t least, *taken; /* as in seam_search; NULL where it does not clear */
};

/* The progress of all blocks; each thread has a copy. */
struct weighed_state {
    uint32_t step;          /* from 1 */
    uint32_t columns, rows; /* seams left to remove */
    int plane;              /* the present one */
    size_t written;         /* of `seams` */
    uint64_t round;         /* barriers so far */
};

/* The best seam of a direction. */
struct weighed_meeting {
    uint64_t total;
    uint32_t column, below; /* in the middle line and in the one after it */
};

struct weighed_shared {
    uint64_t totals[WEIGHED_WARPS];
    uint32_t columns[WEIGHED_WARPS];
    struct weighed_meeting best[2];
    uint32_t turns[2][WEIGHED_BAND][6];
    bool leave;
};

/* The picture as seams of one direction see it. */
struct weighed_plane {
    const uint8_t *luma, *marks;
    uint32_t stride;
    int columns, lines;
    bool turned;
};

DEVICE size_t plane_place(const struct weighed_plane &plane, int column, int line) {
    column = min(max(column, 0), plane.columns - 1), line = min(max(line, 0), plane.lines - 1);
    return plane.turned ? (size_t)column * plane.stride + line
                        : (size_t)line * plane.stride + column;
}

DEVICE struct weighed_plane weighed_plane_of(const struct weighed_args &args,
                                             const struct weighed_state &state, bool turned) {
    const int width = (int)(args.width - args.columns + state.columns);
    const int height = (int)(args.height - args.rows + state.rows);
    return { args.luma[state.plane],  args.marks[state.plane], args.plane_stride,
             turned ? height : width, turned ? width : height, turned };
}

DEVICE uint32_t weighed_warp(void) {
    return threadIdx.x / 32 * gridDim.x + blockIdx.x;
}

DEVICE uint32_t weighed_warps(void) {
    return gridDim.x * WEIGHED_WARPS;
}

/* Waits for all blocks; false: they leave, all at the same barrier. Only the first block may STOP
 * them. */
static __device__ bool weighed_barrier(const struct weighed_args &args, struct weighed_state &state,
                                       bool stop, struct weighed_shared &shared) {
    const uint64_t round = ++state.round;
    __syncthreads();
    if (threadIdx.x == 0) {
        if (stop) args.barrier[1] = round;
        add_release(args.barrier, 1);
        spin_until(STUCK_BARRIER, [&] {
            if (load_acquire(args.barrier) >= round * gridDim.x) return true;
            __nanosleep(20);
            return false;
        });
        shared.leave = load_acquire(args.barrier + 1) == round;
    }
    __syncthreads();
    return !shared.leave;
}

/* ---- every pixel's word */

DEVICE uint32_t pixel_cost(const struct weighed_args &args, const struct weighed_plane &plane,
                           int column, int line) {
    const struct luma_plane upright = { plane.luma, plane.stride,
                                        plane.turned ? plane.lines : plane.columns,
                                        plane.turned ? plane.columns : plane.lines };
    const uint32_t energy = args.energy == CARVE_FORWARD
                                ? carve_apart(plane.luma[plane_place(plane, column - 1, line)],
                                              plane.luma[plane_place(plane, column + 1, line)])
                                : energy_at(upright, args.energy, plane.turned ? line : column,
                                            plane.turned ? column : line);
    if (!plane.marks) return energy;
    const uint32_t mark = plane.marks[plane_place(plane, column, line)];
    if (args.soft) return energy + CARVE_WEIGHT * mark;
    return energy | (mark & 1 ? WORD_KEEP : 0) | (mark & 2 ? 0 : WORD_STAYS);
}

/* BEFORE: the line from which steps come. */
DEVICE uint32_t pixel_word(const struct weighed_args &args, const struct weighed_plane &plane,
                           int column, int line, int before) {
    const uint32_t cost = pixel_cost(args, plane, column, line);
    if (args.energy != CARVE_FORWARD) return cost;
    const uint32_t corner = plane.luma[plane_place(plane, column, before)];
    return cost | carve_apart(corner, plane.luma[plane_place(plane, column - 1, line)]) << 16 |
           carve_apart(corner, plane.luma[plane_place(plane, column + 1, line)]) << 24;
}

/* Calls PUT(column, line) for all pixels, a warp for 128 columns at a time. The last warps begin,
 * since the first ones do the bands. */
template <class PUT> DEVICE void for_pixels(uint32_t columns, uint32_t lines, const PUT &put) {
    enum { CHUNK = 128 };
    const uint32_t chunks = (columns + CHUNK - 1) / CHUNK;
    for (uint64_t t = weighed_warps() - 1 - weighed_warp(); t < (uint64_t)chunks * lines;
         t += weighed_warps()) {
        const uint32_t line = (uint32_t)(t / chunks), first = (uint32_t)(t % chunks) * CHUNK;
        const uint32_t end = min(columns, first + CHUNK);
        for (uint32_t column = first + threadIdx.x % 32; column < end; column += 32)
            put((int)column, (int)line);
    }
}

/* ---- the dynamic programme */

/* Lines of a half, from its end to the middle. */
DEVICE uint32_t lines_of(const struct weighed_plane &plane, int half) {
    const uint32_t top = (uint32_t)(plane.lines - 1) / 2 + 1;
    return half == FROM_TOP ? top : (uint32_t)plane.lines - top;
}

DEVICE uint32_t line_at(const struct weighed_plane &plane, int half, uint32_t i) {
    return half == FROM_TOP ? i : (uint32_t)plane.lines - 1 - i;
}

DEVICE uint32_t bands_in(const struct weighed_plane &plane, int half) {
    return (lines_of(plane, half) + WEIGHED_BAND - 1) / WEIGHED_BAND;
}

/* The words of line K of a half, counted from its end. */
DEVICE uint32_t *words_at(const struct weighed_args &args, const struct weighed_axis &axis,
                          int half, uint32_t k) {
    const uint32_t band = k / WEIGHED_BAND % 2;
    return args.words + (size_t)((band * 2 + half) * WEIGHED_BAND + k % WEIGHED_BAND) * axis.stride;
}

/* Makes the words of band I of both halves, and with the first one those of the middle line. */
static __device__ void make_words(const struct weighed_args &args,
                                  const struct weighed_plane &plane,
                                  const struct weighed_axis &axis, uint32_t i) {
    const uint32_t rows = 2 * WEIGHED_BAND + (i == 0);
    for_pixels((uint32_t)plane.columns, rows, [&](int column, int row) {
        const int half = row / WEIGHED_BAND, middle = (plane.lines - 1) / 2;
        const uint32_t k = WEIGHED_BAND * i + row % WEIGHED_BAND;
        if (half == 2) {
            axis.middle[column] = pixel_word(args, plane, column, middle, middle + 1);
        } else if (k < lines_of(plane, half)) {
            const int line = (int)line_at(plane, half, k);
            words_at(args, axis, half, k)[column] =
                pixel_word(args, plane, column, line, half == FROM_TOP ? line - 1 : line + 1);
        }
    });
}

/* The cost outside: a step can be added to it. */
template <class COST> DEVICE COST no_path(void) {
    return ~(COST)0 - CARVE_FENCE_ROOM;
}

template <class COST> DEVICE COST own_cost(uint32_t word) {
    if (sizeof(COST) == 4) return (COST)(word & 0xffff);
    return (COST)carve_key(word & WORD_ENERGY, word & WORD_KEEP, !(word & WORD_STAYS));
}

/* One line; returns a lane's turns. */
template <class COST>
DEVICE uint32_t weighed_line(COST (&costs)[WEIGHED_COLUMNS], const uint4 &four, int column,
                             int columns, uint32_t rigidity) {
    const uint32_t words[WEIGHED_COLUMNS] = { four.x, four.y, four.z, four.w };
    const COST before = __shfl_up_sync(~0u, costs[WEIGHED_COLUMNS - 1], 1);
    const COST behind = __shfl_down_sync(~0u, costs[0], 1);
    const COST old[WEIGHED_COLUMNS + 2] = {
        before, costs[0], costs[1], costs[2], costs[3], behind
    };
    uint32_t turns = 0;
#pragma unroll
    for (int i = 0; i < WEIGHED_COLUMNS; i++) {
        const COST left = old[i] + (rigidity + (words[i] >> 16 & 255));
        const COST right = old[i + 2] + (rigidity + (words[i] >> 24));
        const COST least = min(min(left, old[i + 1]), right);
        const uint32_t turn = left == least ? 0 : old[i + 1] == least ? 1 : 2;
        turns |= turn << 2 * i;
        costs[i] = column + i < 0 || column + i >= columns ? no_path<COST>()
                                                           : least + own_cost<COST>(words[i]);
    }
    return turns;
}

/* Band I of a half, in a warp's tile. The 32 outermost columns on either side are spoilt at its
 * end, one more a line. */
template <class COST>
static __device__ void
weighed_band(const struct weighed_args &args, const struct weighed_plane &plane,
             const struct weighed_axis &axis, int half, uint32_t i, uint32_t tile) {
    const int lane = (int)threadIdx.x % 32;
    const int column = (int)(tile * WEIGHED_OWN) - WEIGHED_BAND + WEIGHED_COLUMNS * lane;
    const uint32_t first = WEIGHED_BAND * i, end = min(first + WEIGHED_BAND, lines_of(plane, half));
    const COST *const from = (const COST *)axis.costs[half][(i + 1) % 2];
    COST *const to = (COST *)axis.costs[half][i % 2];
    const bool used = column >= 0 && column < plane.columns;
    const bool owns = used && lane >= 8 && lane < 24;
    COST costs[WEIGHED_COLUMNS];
#pragma unroll
    for (int c = 0; c < WEIGHED_COLUMNS; c++) {
        const bool exists = column + c >= 0 && column + c < plane.columns;
        costs[c] = !exists ? no_path<COST>() : i ? from[column + c] : 0;
    }
#pragma unroll 8
    for (uint32_t k = first; k < end; k++) {
        const size_t at = (size_t)line_at(plane, half, k) * axis.stride;
        uint4 words = make_uint4(0, 0, 0, 0);
        if (used) words = *(const uint4 *)(words_at(args, axis, half, k) + column);
        const uint32_t turns = weighed_line(costs, words, column, plane.columns, args.rigidity);
        if (owns) axis.turns[(at + (size_t)column) / 4] = (uint8_t)turns;
    }
#pragma unroll
    for (int c = 0; c < WEIGHED_COLUMNS; c++)
        if (owns && column + c < plane.columns) to[column + c] = costs[c];
}

/* The least cost of a path from the middle line's COLUMN to the end, without that column's own;
 * BELOW: where its second pixel is. */
template <class COST>
DEVICE COST least_below(const struct weighed_args &args, const struct weighed_plane &plane,
                        const struct weighed_axis &axis, uint32_t column, uint32_t *below) {
    const uint32_t bands = bands_in(plane, FROM_BOTTOM), word = axis.middle[column];
    const COST *const costs = (const COST *)axis.costs[FROM_BOTTOM][(bands + 1) % 2];
    *below = column;
    if (!bands) return 0;
    COST least = costs[column];
    if (column + 1 < (uint32_t)plane.columns) {
        const COST right = costs[column + 1] + (args.rigidity + (word >> 24));
        if (right < least) least = right, *below = column + 1;
    }
    if (column) {
        const COST left = costs[column - 1] + (args.rigidity + (word >> 16 & 255));
        if (left <= least) least = left, *below = column - 1;
    }
    return least;
}

template <class COST>
DEVICE void take_lesser(COST &total, uint32_t &column, COST other_total, uint32_t other_column) {
    if (other_total > total || (other_total == total && other_column >= column)) return;
    total = other_total, column = other_column;
}

/* The leftmost best crossing of the middle; each block finds it for itself. */
template <class COST>
static __device__ void
find_meeting(const struct weighed_args &args, const struct weighed_plane &plane,
             const struct weighed_axis &axis, struct weighed_shared &shared) {
    const COST *const upper =
        (const COST *)axis.costs[FROM_TOP][(bands_in(plane, FROM_TOP) + 1) % 2];
    COST total = ~(COST)0;
    uint32_t column = UINT32_MAX, below;
    for (uint32_t c = threadIdx.x; c < (uint32_t)plane.columns; c += WEIGHED_THREADS)
        take_lesser(total, column, upper[c] + least_below<COST>(args, plane, axis, c, &below), c);
#pragma unroll
    for (int step = 16; step; step /= 2) {
        const COST other = __shfl_down_sync(~0u, total, step);
        const uint32_t other_column = __shfl_down_sync(~0u, column, step);
        take_lesser(total, column, other, other_column);
    }
    if (threadIdx.x % 32 == 0)
        shared.totals[threadIdx.x / 32] = total, shared.columns[threadIdx.x / 32] = column;
    __syncthreads();
    if (threadIdx.x) return;
    uint64_t least = total;
    for (int warp = 1; warp < WEIGHED_WARPS; warp++)
        if (shared.columns[warp] != UINT32_MAX)
            take_lesser(least, column, shared.totals[warp], shared.columns[warp]);
    least_below<COST>(args, plane, axis, column, &below);
    shared.best[plane.turned] = { least, column, below };
}

/* False: all blocks leave. Ends with a barrier of this block. */
template <class COST>
static __device__ bool weighed_search(const struct weighed_args &args, struct weighed_state &state,
                                      bool turned, struct weighed_shared &shared) {
    const struct weighed_plane plane = weighed_plane_of(args, state, turned);
    const struct weighed_axis &axis = args.axes[turned];
    const uint32_t tiles = ((uint32_t)plane.columns + WEIGHED_OWN - 1) / WEIGHED_OWN;
    make_words(args, plane, axis, 0);
    if (!weighed_barrier(args, state, false, shared)) return false;
    for (uint32_t i = 0; i < bands_in(plane, FROM_TOP); i++) { /* no fewer than from the bottom */
        for (uint32_t t = weighed_warp(); t < 2 * tiles; t += weighed_warps())
            if (i < bands_in(plane, (int)(t % 2)))
                weighed_band<COST>(args, plane, axis, (int)(t % 2), i, t / 2);
        make_words(args, plane, axis, i + 1);
        if (!weighed_barrier(args, state, false, shared)) return false;
    }
    find_meeting<COST>(args, plane, axis, shared);
    __syncthreads();
    return true;
}

/* ---- the way back */

/* Called by a warp: follows the turns of a half from the middle, where it is in COLUMN, outward. 32
 * lines at a time come into shared memory, as far to both sides as the seam can go. */
static __device__ void trace_turns(const struct weighed_plane &plane,
                                   const struct weighed_axis &axis, int half, uint32_t column,
                                   uint16_t *path, uint32_t (&turns)[WEIGHED_BAND][6]) {
    const int lane = (int)threadIdx.x % 32;
    for (int last = (int)lines_of(plane, half) - 1; last >= 0; last -= WEIGHED_BAND) {
        const uint32_t start = column < 32 ? 0 : (column - 32) / 16 * 16;
        uint32_t own = 0;
        for (int w = 0; last >= lane && w < 6; w++)
            if (start + 16 * w < axis.stride) {
                const size_t line = line_at(plane, half, (uint32_t)(last - lane));
                turns[lane][w] =
                    *(const uint32_t *)(axis.turns + (line * axis.stride + start) / 4 + 4 * w);
            }
        __syncwarp();
        for (int k = 0; k < WEIGHED_BAND && k <= last; k++) {
            const uint32_t at = column - start;
            if (lane == k) own = column;
            if (k < last) column += (turns[k][at / 16] >> 2 * (at % 16) & 3) - 1;
        }
        if (last >= lane) path[line_at(plane, half, (uint32_t)(last - lane))] = (uint16_t)own;
        __syncwarp();
    }
}

/* ---- a step */

template <class COST>
DEVICE uint64_t weighed_rank(const struct weighed_args &args, uint64_t total, uint32_t length) {
    if (sizeof(COST) > 4) return carve_rank(total, length);
    return args.soft ? carve_rank_soft(total, length) : total;
}

/* Whether the seam is horizontal. */
template <class COST>
DEVICE bool choose_turned(const struct weighed_args &args, const struct weighed_state &state,
                          const struct weighed_shared &shared) {
    const struct weighed_plane upright = weighed_plane_of(args, state, false);
    if (!state.columns || !state.rows) return !state.columns;
    return weighed_rank<COST>(args, shared.best[1].total, (uint32_t)upright.columns) <
           weighed_rank<COST>(args, shared.best[0].total, (uint32_t)upright.lines);
}

/* Moves all pixels but the seam's from the present plane to the other one. */
static __device__ void move_planes(const struct weighed_args &args,
                                   const struct weighed_state &state, bool turned) {
    const struct weighed_plane old = weighed_plane_of(args, state, false);
    const uint16_t *const path = args.seams + state.written;
    uint8_t *const luma = args.luma[!state.plane], *const marks = args.marks[!state.plane];
    for_pixels((uint32_t)old.columns - !turned, (uint32_t)old.lines - turned, [&](int x, int y) {
        const size_t from =
            plane_place(old, x + (!turned && x >= path[y]), y + (turned && y >= path[x]));
        const size_t to = (size_t)y * old.stride + x;
        luma[to] = old.luma[from];
        if (marks) marks[to] = old.marks[from];
    });
}

DEVICE bool is_first_thread(void) {
    return blockIdx.x == 0 && threadIdx.x == 0;
}

/* Reports progress and asks whether to stop. */
DEVICE bool weighed_report(const struct weighed_args &args, const struct weighed_state &state) {
    if (!args.progress || !is_first_thread()) return false;
    volatile struct kernel_progress *const progress = args.progress;
    progress->done = args.done + state.step - 1;
    return progress->stop;
}

static __device__ void weighed_origins(const struct weighed_args &args,
                                       const struct weighed_state &state) {
    const struct weighed_plane left = weighed_plane_of(args, state, false);
    for_pixels((uint32_t)left.columns, (uint32_t)left.lines, [&](int x, int y) {
        args.origins[(size_t)y * args.origin_stride + x] = walk_to_origin(
            args.seams + state.written, args.turned, state.step, (uint32_t)left.columns,
            (uint32_t)left.lines, (uint32_t)x, (uint32_t)y, args.origin_stride);
    });
}

template <class COST, bool BOTH>
static __global__ void __launch_bounds__(WEIGHED_THREADS, 1)
    weighed_kernel(const __grid_constant__ struct weighed_args args) {
    __shared__ struct weighed_shared shared;
    struct weighed_state state = { 0, args.columns, args.rows, 0, 0, 0 };
    while (state.columns + state.rows) {
        state.step++;
        const bool stop = weighed_report(args, state);
        for (int way = 0; way < (BOTH ? 2 : 1); way++)
            if ((way ? state.rows : state.columns) &&
                !weighed_search<COST>(args, state, way, shared))
                return;
        const bool turned = BOTH && choose_turned<COST>(args, state, shared);
        const struct weighed_meeting best = shared.best[turned];
        const struct weighed_plane plane = weighed_plane_of(args, state, turned);
        if (!BOTH && args.taken && state.step > args.least &&
            !carve_removes(best.total, (uint32_t)plane.lines)) {
            state.step--; /* this seam stays */
            break;
        }
        if (BOTH && is_first_thread()) args.turned[state.step - 1] = turned;
        if (blockIdx.x == 0 && threadIdx.x < 64) {
            const int half = (int)threadIdx.x / 32;
            trace_turns(plane, args.axes[turned], half, half == FROM_TOP ? best.column : best.below,
                        args.seams + state.written, shared.turns[half]);
        }
        if (!weighed_barrier(args, state, false, shared)) return;
        if (!BOTH && state.columns == 1) break;
        move_planes(args, state, turned);
        state.written += (uint32_t)plane.lines;
        state.plane = !state.plane;
        (turned ? state.rows : state.columns)--;
        if (!weighed_barrier(args, state, stop, shared)) return;
    }
    if (BOTH) weighed_origins(args, state);
    if (args.taken && is_first_thread()) *args.taken = state.step;
    if (args.progress && is_first_thread())
        ((volatile struct kernel_progress *)args.progress)->done = args.done + state.step;
}

#endif
