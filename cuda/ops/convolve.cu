// SPDX-License-Identifier: Apache-2.0
/* A tile of samples in shared memory, channels interleaved as in the image: neighbours of a channel
 * are `channels` samples apart. Taps are constants of the launch. */
#include "pipeline/ops/convolve.h"

#include "cuda/tile.cuh"

/* The column to read for sample X of a row: beyond its ends, the same channel of the last pixel. */
template <int CHANNELS> static __device__ __forceinline__ int replicated(int x, int samples) {
    if (x < 0) return (x + 2 * CHANNELS) % CHANNELS;
    return x < samples ? x : samples - CHANNELS + (x - samples) % CHANNELS;
}

template <int CHANNELS, int DEPTH, int REACH>
static __global__ void __launch_bounds__(TILE_THREADS)
    convolve_kernel(const __grid_constant__ struct batch batch,
                    const __grid_constant__ struct convolve_rule rule) {
    constexpr int SIDE = 2 * REACH + 1, DOWN = TILE_THREADS / TILE_WIDTH;
    __shared__ tile<REACH * CHANNELS, REACH> tile;
    const struct batch_image &image = batch.images[batch_find(batch, blockIdx.x)];
    const struct chunk_position position = chunk_position_of(image, blockIdx.x - image.first_chunk);
    const int samples = (int)image.width * CHANNELS, height = (int)image.height;
    const int left = (int)position.x * TILE_WIDTH, top = (int)position.y * TILE_HEIGHT;
    tile.fill(left, top, height, [&](int x, int y) {
        return load_sample<DEPTH>(image.in + (uint64_t)y * image.in_stride,
                                  replicated<CHANNELS>(x, samples));
    });
    const int column = threadIdx.x % TILE_WIDTH, x = left + column;
    const bool alpha = CHANNELS % 2 == 0 && x % CHANNELS == CHANNELS - 1;
    for (int row = threadIdx.x / TILE_WIDTH; row < TILE_HEIGHT; row += DOWN) {
        if (x >= samples || top + row >= height) return;
        int32_t sum = 0;
#pragma unroll
        for (int i = 0; i < SIDE * SIDE; i++)
            sum += rule.taps[i] * tile.samples[row + i / SIDE][column + i % SIDE * CHANNELS];
        const uint32_t result = alpha ? tile.samples[row + REACH][column + REACH * CHANNELS]
                                      : (uint32_t)convolve_result(sum, &rule);
        store_sample<DEPTH>(image.out + (uint64_t)(top + row) * image.out_stride, x, result);
    }
}

template <int CHANNELS, int DEPTH>
static void launch(cudaStream_t stream, const struct batch &batch,
                   const struct convolve_rule &rule) {
    if (rule.reach == 1)
        convolve_kernel<CHANNELS, DEPTH, 1><<<batch.chunks, TILE_THREADS, 0, stream>>>(batch, rule);
    else
        convolve_kernel<CHANNELS, DEPTH, 2><<<batch.chunks, TILE_THREADS, 0, stream>>>(batch, rule);
}

template <int DEPTH>
static void launch_depth(cudaStream_t stream, unsigned channels, const struct batch &batch,
                         const struct convolve_rule &rule) {
    switch (channels) {
    case 1: launch<1, DEPTH>(stream, batch, rule); break;
    case 2: launch<2, DEPTH>(stream, batch, rule); break;
    case 3: launch<3, DEPTH>(stream, batch, rule); break;
    default: launch<4, DEPTH>(stream, batch, rule); break;
    }
}

/* Tiles are counted in samples, so the batch is laid out for images so many times as wide. */
static enum status make_batch(struct batch *batch, const struct op_call *calls, int count) {
    struct op_call samples[CUDA_BATCH_MAX];
    batch_sample_calls(samples, calls, count);
    const enum status status = batch_init_tiles(batch, samples, count, TILE_WIDTH, TILE_HEIGHT);
    for (int i = 0; i < count; i++) batch->images[i].width = calls[i].in.width;
    return status;
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    const unsigned depth = calls[0].in.depth, channels = calls[0].in.channels;
    const struct convolve_rule rule = convolve_rule_of(calls[0].params, depth);
    struct batch batch;
    const enum status status = make_batch(&batch, calls, count);
    if (status) return status;
    if (depth == 8)
        launch_depth<8>(context->stream, channels, batch, rule);
    else
        launch_depth<16>(context->stream, channels, batch, rule);
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, "convolve");
    return STATUS_OK;
}

extern "C" const struct cuda_op cuda_op_convolve = { NULL, run };
