// SPDX-License-Identifier: Apache-2.0
/* sobel3 of 8-bit images, which is nearly all there is, keeps its rows in registers; sobel5, 16 bit
 * and rows that start at odd places go through a tile of levels in shared memory. */
#include "pipeline/ops/edge.h"

#include "cuda/ops/edge8.cuh"
#include "cuda/tile.cuh"

/* ---- tiles */

template <int CHANNELS, int DEPTH>
static __device__ __forceinline__ uint32_t level_at(const uint8_t *row, int x,
                                                    const struct edge_rule &rule) {
    const uint32_t i = (uint32_t)x * CHANNELS, first = sample_at<DEPTH>(row, i);
    const uint32_t gray =
        CHANNELS < 3 ? first
                     : luma(first, sample_at<DEPTH>(row, i + 1), sample_at<DEPTH>(row, i + 2));
    return brightness_of(gray, rule.shift, DEPTH == 8 ? 255 : 65535);
}

/* Down the columns, then along the row. LEVELS leads to the window's first level. */
template <int REACH, int PITCH>
static __device__ __forceinline__ uint32_t edge_at(const uint16_t *levels,
                                                   const struct edge_rule &rule) {
    constexpr int SIDE = 2 * REACH + 1;
    constexpr int along[2][5] = { { -1, 0, 1 }, { -1, -2, 0, 2, 1 } };
    constexpr int across[2][5] = { { 1, 2, 1 }, { 1, 4, 6, 4, 1 } };
    int32_t gx = 0, gy = 0;
#pragma unroll
    for (int column = 0; column < SIDE; column++) {
        int32_t smooth = 0, slope = 0;
#pragma unroll
        for (int row = 0; row < SIDE; row++) {
            const int32_t level = levels[row * PITCH + column];
            smooth += across[REACH - 1][row] * level;
            slope += along[REACH - 1][row] * level;
        }
        gx += along[REACH - 1][column] * smooth;
        gy += across[REACH - 1][column] * slope;
    }
    return edge_result(gx, gy, &rule);
}

template <int CHANNELS, int DEPTH, int REACH>
static __global__ void __launch_bounds__(TILE_THREADS)
    edge_tile_kernel(const __grid_constant__ struct batch batch,
                     const __grid_constant__ struct edge_rule rule) {
    constexpr int DOWN = TILE_THREADS / TILE_ACROSS;
    typedef tile<REACH, REACH> level_tile;
    __shared__ level_tile levels;
    const struct picture &picture = batch.pictures[picture_at(batch, blockIdx.x)];
    const struct place place = place_of(picture, blockIdx.x - picture.first);
    const int width = (int)picture.width, height = (int)picture.height;
    const int left = (int)place.x * TILE_ACROSS, top = (int)place.y * TILE_DOWN;
    levels.fill(left, top, height, [&](int x, int y) {
        return level_at<CHANNELS, DEPTH>(picture.in + (uint64_t)y * picture.in_stride,
                                         min(max(x, 0), width - 1), rule);
    });
    const int column = threadIdx.x % TILE_ACROSS, x = left + column, margin = (int)rule.margin;
    for (int row = threadIdx.x / TILE_ACROSS; row < TILE_DOWN; row += DOWN) {
        const int y = top + row;
        if (x >= width || y >= height) return;
        const bool inside = x >= margin && x < width - margin && y >= margin && y < height - margin;
        const uint32_t edge = edge_at<REACH, level_tile::PITCH>(&levels.samples[row][column], rule);
        uint8_t *out = picture.out + (uint64_t)y * picture.out_stride;
        const uint8_t *in = picture.in + (uint64_t)y * picture.in_stride;
        sample_to<DEPTH>(out, CHANNELS % 2 ? x : 2 * x, inside ? edge : 0);
        if (CHANNELS % 2 == 0)
            sample_to<DEPTH>(out, 2 * x + 1, sample_at<DEPTH>(in, x * CHANNELS + CHANNELS - 1));
    }
}

template <int CHANNELS, int DEPTH>
static void launch_tiles(cudaStream_t stream, const struct batch &batch,
                         const struct edge_rule &rule) {
    if (rule.reach == 1)
        edge_tile_kernel<CHANNELS, DEPTH, 1>
            <<<batch.chunks, TILE_THREADS, 0, stream>>>(batch, rule);
    else
        edge_tile_kernel<CHANNELS, DEPTH, 2>
            <<<batch.chunks, TILE_THREADS, 0, stream>>>(batch, rule);
}

template <int DEPTH>
static void launch_tiles(cudaStream_t stream, unsigned channels, const struct batch &batch,
                         const struct edge_rule &rule) {
    switch (channels) {
    case 1: launch_tiles<1, DEPTH>(stream, batch, rule); break;
    case 2: launch_tiles<2, DEPTH>(stream, batch, rule); break;
    case 3: launch_tiles<3, DEPTH>(stream, batch, rule); break;
    default: launch_tiles<4, DEPTH>(stream, batch, rule); break;
    }
}

static enum status run_tiles(const struct cuda_context *context, const struct op_call *calls,
                             int count, const struct edge_rule &rule) {
    struct batch batch;
    const enum status status = batch_tile(&batch, calls, count, TILE_ACROSS, TILE_DOWN);
    if (status) return status;
    if (calls[0].in.depth == 8)
        launch_tiles<8>(context->stream, calls[0].in.channels, batch, rule);
    else
        launch_tiles<16>(context->stream, calls[0].in.channels, batch, rule);
    return STATUS_OK;
}

/* ---- strips */

/* Of a multiprocessor: as many as registers allow. */
enum { BLOCKS_GRAY = 6, BLOCKS_EXTRAS = 5, BLOCKS_OTHER = 4 };

static constexpr uint32_t ROWS_LEAST = 2, ROWS_FEW = 4, ROWS_MOST = 8;

/* Gray images that need the GPU's threads many times over have longer strips, whose rows are
 * fetched into the L2 cache ahead: it holds little of what one strip has read when the next one
 * needs it. */
enum { BLOCKS_LONG = 7, AHEAD_LONG = 2 };
static constexpr uint32_t ROWS_LONG = 16, TIMES_LONG = 4;

static bool has_extras(const struct edge_rule &rule) {
    return rule.shift.add || rule.threshold || rule.white || rule.margin;
}

/* Rows of a strip, an even number: so many that the threads fill the GPU once. Two more are
 * read above and below, so more rows are less work; but the longer the strips, the farther apart is
 * what the GPU reads at a time, and that costs more from nine on where nothing is fetched ahead. */
static uint32_t strip_rows(const struct cuda_context *context, const struct op_call *calls,
                           int count, const struct edge_rule &rule) {
    const int blocks = calls[0].in.channels == 1 ? BLOCKS_GRAY : BLOCKS_OTHER;
    const uint64_t threads = (uint64_t)context->multiprocessors * blocks * EDGE8_THREADS;
    uint64_t rows = 0;
    for (int i = 0; i < count; i++)
        rows +=
            (uint64_t)(calls[i].in.width + EDGE8_PIXELS - 1) / EDGE8_PIXELS * calls[i].in.height;
    const uint64_t wanted = (rows + 2 * threads - 1) / (2 * threads) * 2;
    const bool plain = calls[0].in.channels == 1 && !has_extras(rule);
    if (plain && wanted >= TIMES_LONG * ROWS_LONG) return ROWS_LONG;
    if (plain && wanted > ROWS_FEW) return ROWS_MOST; /* 4K: 8 rows take 10.0 us, 6 take 10.4 */
    return wanted < ROWS_LEAST ? ROWS_LEAST : wanted > ROWS_MOST ? ROWS_MOST : (uint32_t)wanted;
}

template <int CHANNELS, int BLOCKS>
static void launch_strips(cudaStream_t stream, const struct strips8 &launch) {
    constexpr int FEWER = BLOCKS < BLOCKS_EXTRAS ? BLOCKS : (int)BLOCKS_EXTRAS;
    const struct edge_rule &rule = launch.rule;
    const unsigned blocks = (launch.batch.chunks + EDGE8_THREADS - 1) / EDGE8_THREADS;
    if (has_extras(rule))
        edge8_kernel<CHANNELS, true, FEWER><<<blocks, EDGE8_THREADS, 0, stream>>>(launch);
    else if (CHANNELS == 1 && launch.rows == ROWS_LONG)
        edge8_kernel<1, false, BLOCKS_LONG, AHEAD_LONG>
            <<<blocks, EDGE8_THREADS, 0, stream>>>(launch);
    else
        edge8_kernel<CHANNELS, false, BLOCKS><<<blocks, EDGE8_THREADS, 0, stream>>>(launch);
}

static enum status run_strips(const struct cuda_context *context, const struct op_call *calls,
                              int count, const struct edge_rule &rule) {
    struct strips8 launch;
    launch.rule = rule;
    launch.rows = strip_rows(context, calls, count, rule);
    const enum status status = batch_tile(&launch.batch, calls, count, EDGE8_PIXELS, launch.rows);
    if (status) return status;
    switch (calls[0].in.channels) {
    case 1: launch_strips<1, BLOCKS_GRAY>(context->stream, launch); break;
    case 2: launch_strips<2, BLOCKS_OTHER>(context->stream, launch); break;
    case 3: launch_strips<3, BLOCKS_OTHER>(context->stream, launch); break;
    default: launch_strips<4, BLOCKS_OTHER>(context->stream, launch); break;
    }
    return STATUS_OK;
}

static bool all_aligned(const struct op_call *calls, int count) {
    uintptr_t bits = 0;
    for (int i = 0; i < count; i++)
        bits |= (uintptr_t)calls[i].in.pixels | (uintptr_t)calls[i].out.pixels |
                calls[i].in.stride | calls[i].out.stride;
    return bits % 16 == 0;
}

/* ---- run */

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    const unsigned depth = calls[0].in.depth;
    const struct edge_rule rule = edge_rule_of(calls[0].params, depth);
    const bool strips = depth == 8 && rule.reach == 1 && all_aligned(calls, count);
    const enum status status =
        strips ? run_strips(context, calls, count, rule) : run_tiles(context, calls, count, rule);
    if (status) return status;
    CUDA_LAUNCHED(calls[0].failure);
    cuda_mark(context, "edge");
    return STATUS_OK;
}

extern "C" const struct cuda_op cuda_op_edge = { NULL, run };
