// SPDX-License-Identifier: Apache-2.0
/* A thread reads 16 pixels (8 of 16 bit): 16-byte loads for every channel count, and what it puts
 * out is whole 16-byte vectors too. */
#include "pipeline/luma.h"

#include "cuda/launch.cuh"

enum { THREADS = 256 };

template <int CHANNELS, int DEPTH>
static __global__ void __launch_bounds__(THREADS)
    gray_kernel(const __grid_constant__ struct batch batch) {
    constexpr int PIXELS = 128 / DEPTH, OUT_CHANNELS = CHANNELS < 3 ? CHANNELS : CHANNELS - 2;
    constexpr int SAMPLE = DEPTH / 8;
    const uint32_t chunk = blockIdx.x * THREADS + threadIdx.x;
    if (chunk >= batch.chunks) return;
    const struct picture &picture = batch.pictures[picture_at(batch, chunk)];
    const struct spot spot =
        spot_of<PIXELS, CHANNELS * SAMPLE, OUT_CHANNELS * SAMPLE>(picture, chunk - picture.first);
    uint32_t in[4 * CHANNELS], out[4 * OUT_CHANNELS] = {};
    load_chunk(in, spot.in, spot.pixels * CHANNELS * SAMPLE, picture.aligned);
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
        const int i = p * CHANNELS, o = p * OUT_CHANNELS;
        chunk_put<DEPTH>(out, o,
                         CHANNELS < 3 ? chunk_get<DEPTH>(in, i)
                                      : luma(chunk_get<DEPTH>(in, i), chunk_get<DEPTH>(in, i + 1),
                                             chunk_get<DEPTH>(in, i + 2)));
        if (OUT_CHANNELS == 2) chunk_put<DEPTH>(out, o + 1, chunk_get<DEPTH>(in, i + CHANNELS - 1));
    }
    store_chunk(out, spot.out, spot.pixels * OUT_CHANNELS * SAMPLE, picture.aligned);
}

template <int DEPTH>
static void launch(cudaStream_t stream, unsigned channels, const struct batch &batch) {
    const unsigned blocks = (batch.chunks + THREADS - 1) / THREADS;
    switch (channels) {
    case 1: gray_kernel<1, DEPTH><<<blocks, THREADS, 0, stream>>>(batch); break;
    case 2: gray_kernel<2, DEPTH><<<blocks, THREADS, 0, stream>>>(batch); break;
    case 3: gray_kernel<3, DEPTH><<<blocks, THREADS, 0, stream>>>(batch); break;
    default: gray_kernel<4, DEPTH><<<blocks, THREADS, 0, stream>>>(batch); break;
    }
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    struct batch batch;
    const enum status status = batch_make(&batch, calls, count, 128 / calls[0].in.depth);
    if (status) return status;
    if (calls[0].in.depth == 8)
        launch<8>(context->stream, calls[0].in.channels, batch);
    else
        launch<16>(context->stream, calls[0].in.channels, batch);
    CUDA_LAUNCHED(calls[0].failure);
    cuda_mark(context, "gray");
    return STATUS_OK;
}

extern "C" const struct cuda_op cuda_op_grayscale = { NULL, run };
