// SPDX-License-Identifier: Apache-2.0
/* How it works. Angles of 0 and 180 degrees have kernels of their own (move/), and so have those
 * between quarters (rotate/). Quarter turns are made here: a block of threads turns a tile of 64
 * columns of the input, which are rows of the result, by 64 columns of the result, which are rows
 * of the input. So rows are read and written in pieces that begin at whole vectors. A thread
 * transposes 4 x 4 pixels in registers and stores their columns to shared memory, where a row is an
 * odd number of words, so that neighbours of a warp, 4 rows apart, never share a bank. From there
 * rows are written. */
#include "pipeline/ops/rotate.h"

#include "cuda/batch.cuh"
#include "cuda/ops/move/copy.cuh"
#include "cuda/ops/move/mirror.cuh"
#include "cuda/ops/rotate/tilt.cuh"

/* ---- quarter turns */

enum { TURN_TILE = 64, TURN_THREADS = 256, TURN_SIDE = 4 };

/* The row of the input that becomes column X of the result, and the row of the result that was
 * column X of the input. */
template <bool CLOCKWISE>
static __device__ __forceinline__ uint32_t turned_column(const struct batch_image &image,
                                                         uint32_t x) {
    return CLOCKWISE ? image.height - 1 - x : x;
}

template <bool CLOCKWISE>
static __device__ __forceinline__ uint32_t turned_row(const struct batch_image &image, uint32_t x) {
    return CLOCKWISE ? x : image.width - 1 - x;
}

/* Loads four neighbours of each of four rows; those beyond the edge are 0. */
template <int PIXEL, bool CLOCKWISE>
static __device__ __forceinline__ void turn_load(const struct batch_image &image, uint32_t x,
                                                 uint32_t out_x, uint32_t (&rows)[4][PIXEL]) {
    const uint32_t pixels = x < image.width ? min(image.width - x, (uint32_t)TURN_SIDE) : 0;
#pragma unroll
    for (int i = 0; i < TURN_SIDE; i++) {
#pragma unroll
        for (int k = 0; k < PIXEL; k++) rows[i][k] = 0;
        if (!pixels || out_x + i >= image.height) continue;
        const uint32_t y = turned_column<CLOCKWISE>(image, out_x + i);
        load_unaligned(rows[i], image.in + (uint64_t)y * image.in_stride + x * PIXEL,
                       pixels * PIXEL);
    }
}

/* Column K of ROWS as a row. */
template <int PIXEL>
static __device__ __forceinline__ void turn_column(const uint32_t (&rows)[4][PIXEL], int k,
                                                   uint32_t (&column)[PIXEL]) {
#pragma unroll
    for (int i = 0; i < TURN_SIDE; i++)
#pragma unroll
        for (int b = 0; b < PIXEL; b++)
            chunk_set_byte<0>(column, i * PIXEL + b, chunk_sample<8>(rows[i], k * PIXEL + b));
}

template <int PIXEL, bool CLOCKWISE>
static __global__ void __launch_bounds__(TURN_THREADS)
    turn_kernel(const __grid_constant__ struct batch batch) {
    constexpr uint32_t WORDS = TURN_TILE * PIXEL / 4;
    __shared__ uint32_t tile[TURN_TILE][WORDS + 1];
    const struct batch_image &image = batch.images[batch_find(batch, blockIdx.x)];
    const struct chunk_position position = chunk_position_of(image, blockIdx.x - image.first_chunk);
    const uint32_t x = position.x * TURN_TILE, out_x = position.y * TURN_TILE;
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t across = lane % 8 + warp % 2 * 8, down = lane / 8 + warp / 2 * 4;
    uint32_t rows[TURN_SIDE][PIXEL], column[PIXEL] = {};
    turn_load<PIXEL, CLOCKWISE>(image, x + TURN_SIDE * across, out_x + TURN_SIDE * down, rows);
#pragma unroll
    for (int k = 0; k < TURN_SIDE; k++) {
        turn_column(rows, k, column);
#pragma unroll
        for (int w = 0; w < PIXEL; w++) tile[TURN_SIDE * across + k][down * PIXEL + w] = column[w];
    }
    __syncthreads();
    const uint32_t bytes = min(image.height - out_x, (uint32_t)TURN_TILE) * PIXEL;
    const bool aligned = ((uintptr_t)image.out | image.out_stride) % 4 == 0;
    for (uint32_t i = threadIdx.x; i < TURN_TILE * WORDS; i += TURN_THREADS) {
        const uint32_t row = i / WORDS, first = i % WORDS * 4;
        if (x + row >= image.width || first >= bytes) continue;
        const uint32_t y = turned_row<CLOCKWISE>(image, x + row);
        store_word(image.out + (uint64_t)y * image.out_stride + out_x * PIXEL + first,
                   tile[row][i % WORDS], bytes - first, aligned);
    }
}

template <int PIXEL, bool CLOCKWISE>
static enum status turn_pixels(const struct cuda_context *context, const struct op_call *calls,
                               int count) {
    struct batch batch;
    const enum status status = batch_init_tiles(&batch, calls, count, TURN_TILE, TURN_TILE);
    if (status) return status;
    turn_kernel<PIXEL, CLOCKWISE><<<batch.chunks, TURN_THREADS, 0, context->stream>>>(batch);
    CUDA_LAUNCHED(calls[0].failure);
    return STATUS_OK;
}

template <bool CLOCKWISE>
static enum status turn_run(const struct cuda_context *context, const struct op_call *calls,
                            int count, const char *name) {
    enum status status;
    switch (image_pixel_bytes(&calls[0].in)) {
    case 1: status = turn_pixels<1, CLOCKWISE>(context, calls, count); break;
    case 2: status = turn_pixels<2, CLOCKWISE>(context, calls, count); break;
    case 3: status = turn_pixels<3, CLOCKWISE>(context, calls, count); break;
    case 4: status = turn_pixels<4, CLOCKWISE>(context, calls, count); break;
    case 6: status = turn_pixels<6, CLOCKWISE>(context, calls, count); break;
    default: status = turn_pixels<8, CLOCKWISE>(context, calls, count); break;
    }
    if (!status) cuda_record_kernel(context, name);
    return status;
}

static enum status copy_all(const struct cuda_context *context, const struct op_call *calls,
                            int count) {
    struct op_call bytes[CUDA_BATCH_MAX];
    for (int i = 0; i < count; i++) bytes[i] = copy_call(&calls[i], 0, 0);
    return copy_run<false>(context, bytes, count, "rotate");
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    switch (rotate_quarters(calls[0].params)) {
    case ROTATE_90: return turn_run<true>(context, calls, count, "rotate");
    case ROTATE_180: return mirror_run<true>(context, calls, count, "rotate");
    case ROTATE_270: return turn_run<false>(context, calls, count, "rotate");
    case ROTATE_BETWEEN: return tilt_run(context, calls, count, "rotate");
    default: return copy_all(context, calls, count);
    }
}

extern "C" const struct cuda_op cuda_op_rotate = { NULL, run };
