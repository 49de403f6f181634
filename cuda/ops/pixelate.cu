// SPDX-License-Identifier: Apache-2.0
/* How it works. A thread block has one block of pixels, or as many side by side as have
 * TILE_COLUMNS columns. Each thread adds up columns, all of them add to sums in shared memory, and
 * the means are written as words, each made once for all of its rows. */
#include "pipeline/ops/pixelate.h"

#include "cuda/batch.cuh"

enum { PIXELATE_THREADS = 256, TILE_COLUMNS = 256, BLOCKS_MAX = TILE_COLUMNS / 2 };

/* The part of an image that a thread block has. */
struct pixelate_tile {
    const uint8_t *in; /* its first pixel */
    uint8_t *out;
    uint32_t in_stride, out_stride;
    uint32_t columns, rows;
};

struct pixelate_sums {
    uint64_t block[BLOCKS_MAX][4];
};

/* A pixel of each block, as bytes. */
struct pixelate_means {
    uint8_t bytes[BLOCKS_MAX][8];
};

template <int CHANNELS, int DEPTH>
static __device__ __forceinline__ void
add_columns(struct pixelate_sums *sums, const struct pixelate_tile &tile, uint32_t size) {
    constexpr int ALPHA = CHANNELS % 2 ? CHANNELS : CHANNELS - 1;
    for (uint32_t x = threadIdx.x; x < tile.columns; x += PIXELATE_THREADS) {
        uint64_t column[CHANNELS] = {};
        const uint8_t *row = tile.in;
#pragma unroll 4
        for (uint32_t y = 0; y < tile.rows; y++, row += tile.in_stride) {
            uint32_t samples[CHANNELS];
#pragma unroll
            for (int c = 0; c < CHANNELS; c++)
                samples[c] = load_sample<DEPTH>(row, x * CHANNELS + c);
#pragma unroll
            for (int c = 0; c < CHANNELS; c++)
                column[c] +=
                    samples[c] * (ALPHA < CHANNELS && c != ALPHA ? samples[CHANNELS - 1] : 1);
        }
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            atomicAdd((unsigned long long *)&sums->block[x / size][c],
                      (unsigned long long)column[c]);
    }
}

/* Byte AT of a row of the tile. */
static __device__ __forceinline__ uint32_t mean_byte(const struct pixelate_means &means,
                                                     uint32_t at, uint32_t pixel, uint32_t size) {
    return means.bytes[at / pixel / size][at % pixel];
}

static __device__ __forceinline__ void fill_rows(const struct pixelate_tile &tile,
                                                 const struct pixelate_means &means, uint32_t pixel,
                                                 uint32_t size) {
    const uint32_t bytes = tile.columns * pixel, lead = (uint32_t)(uintptr_t)tile.out & 3;
    if (tile.out_stride % 4) {
        for (uint32_t i = threadIdx.x; i < bytes; i += PIXELATE_THREADS)
            for (uint32_t y = 0; y < tile.rows; y++)
                tile.out[(uint64_t)y * tile.out_stride + i] =
                    (uint8_t)mean_byte(means, i, pixel, size);
        return;
    }
    for (uint32_t i = 4 * threadIdx.x; i < lead + bytes; i += 4 * PIXELATE_THREADS) {
        uint8_t *to = tile.out - lead + i;
        const uint32_t first = i < lead ? lead - i : 0, end = min(lead + bytes - i, 4u);
        uint32_t word = 0;
        for (uint32_t b = first; b < end; b++)
            word |= mean_byte(means, i + b - lead, pixel, size) << 8 * b;
        for (uint32_t y = 0; y < tile.rows; y++, to += tile.out_stride) {
            if (first == 0 && end == 4)
                *(uint32_t *)to = word;
            else
                for (uint32_t b = first; b < end; b++) to[b] = (uint8_t)(word >> 8 * b);
        }
    }
}

template <int CHANNELS, int DEPTH>
static __global__ void __launch_bounds__(PIXELATE_THREADS)
    pixelate_kernel(const __grid_constant__ struct batch batch, uint32_t size, uint32_t across) {
    constexpr uint32_t PIXEL = CHANNELS * DEPTH / 8;
    __shared__ struct pixelate_sums sums;
    __shared__ struct pixelate_means means;
    const struct batch_image &image = batch.images[batch_find(batch, blockIdx.x)];
    const struct chunk_position position = chunk_position_of(image, blockIdx.x - image.first_chunk);
    const uint32_t x = position.x * across, y = position.y * size;
    const struct pixelate_tile tile = { image.in + (uint64_t)y * image.in_stride + x * PIXEL,
                                        image.out + (uint64_t)y * image.out_stride + x * PIXEL,
                                        image.in_stride,
                                        image.out_stride,
                                        min(image.width - x, across),
                                        min(image.height - y, size) };
    const uint32_t blocks = (tile.columns + size - 1) / size;
    for (uint32_t i = threadIdx.x; i < 4 * blocks; i += PIXELATE_THREADS)
        sums.block[i / 4][i % 4] = 0;
    __syncthreads();
    add_columns<CHANNELS, DEPTH>(&sums, tile, size);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < CHANNELS * blocks; i += PIXELATE_THREADS) {
        const uint32_t block = i / CHANNELS, c = i % CHANNELS;
        const uint32_t count = min(tile.columns - block * size, size) * tile.rows;
        const uint32_t sample = pixelate_sample(sums.block[block], count, c, CHANNELS);
        uint8_t *bytes = means.bytes[block] + c * (DEPTH / 8);
        bytes[0] = (uint8_t)sample;
        if (DEPTH == 16) bytes[1] = (uint8_t)(sample >> 8);
    }
    __syncthreads();
    fill_rows(tile, means, PIXEL, size);
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    static void (*const kernels[4][2])(struct batch, uint32_t, uint32_t) = {
        { pixelate_kernel<1, 8>, pixelate_kernel<1, 16> },
        { pixelate_kernel<2, 8>, pixelate_kernel<2, 16> },
        { pixelate_kernel<3, 8>, pixelate_kernel<3, 16> },
        { pixelate_kernel<4, 8>, pixelate_kernel<4, 16> },
    };
    const struct image &in = calls[0].in;
    const uint32_t size = (uint32_t)calls[0].params->number[PIXELATE_SIZE];
    const uint32_t across = size < TILE_COLUMNS ? TILE_COLUMNS / size * size : size;
    struct batch batch;
    const enum status status = batch_init_tiles(&batch, calls, count, across, size);
    if (status) return status;
    void (*const kernel)(struct batch, uint32_t, uint32_t) =
        kernels[in.channels - 1][in.depth / 16];
    kernel<<<batch.chunks, PIXELATE_THREADS, 0, context->stream>>>(batch, size, across);
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, "pixelate");
    return STATUS_OK;
}

extern "C" const struct cuda_op cuda_op_pixelate = { NULL, run };
