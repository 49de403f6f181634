// SPDX-License-Identifier: Apache-2.0
/* A thread reads 16 pixels (8 of 16 bits): 16-byte loads and stores for every channel count. It
 * uses no skeleton: a pixel's channels become one, and the four forms work on each channel
 * alone. */
#include "pipeline/luma.h"

#include "cuda/batch.cuh"

enum { THREADS = 256 };

template <int CHANNELS, int DEPTH>
static __global__ void __launch_bounds__(THREADS)
    gray_kernel(const __grid_constant__ struct batch batch) {
    constexpr int PIXELS = 128 / DEPTH, OUT_CHANNELS = CHANNELS < 3 ? CHANNELS : CHANNELS - 2;
    constexpr int SAMPLE = DEPTH / 8;
    const uint32_t chunk = blockIdx.x * THREADS + threadIdx.x;
    if (chunk >= batch.chunks) return;
    const struct batch_image &image = batch.images[batch_find(batch, chunk)];
    const struct chunk_memory memory =
        chunk_memory_of<PIXELS, CHANNELS * SAMPLE, OUT_CHANNELS * SAMPLE>(
            image, chunk - image.first_chunk);
    uint32_t in[4 * CHANNELS], out[4 * OUT_CHANNELS] = {};
    load_chunk(in, memory.in, memory.pixels * CHANNELS * SAMPLE, image.aligned);
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
        const int i = p * CHANNELS, o = p * OUT_CHANNELS;
        chunk_set_sample<DEPTH>(out, o,
                                CHANNELS < 3 ? chunk_sample<DEPTH>(in, i)
                                             : luma(chunk_sample<DEPTH>(in, i),
                                                    chunk_sample<DEPTH>(in, i + 1),
                                                    chunk_sample<DEPTH>(in, i + 2)));
        if (OUT_CHANNELS == 2)
            chunk_set_sample<DEPTH>(out, o + 1, chunk_sample<DEPTH>(in, i + CHANNELS - 1));
    }
    store_chunk(out, memory.out, memory.pixels * OUT_CHANNELS * SAMPLE, image.aligned);
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
    const enum status status = batch_init(&batch, calls, count, 128 / calls[0].in.depth);
    if (status) return status;
    if (calls[0].in.depth == 8)
        launch<8>(context->stream, calls[0].in.channels, batch);
    else
        launch<16>(context->stream, calls[0].in.channels, batch);
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, "gray");
    return STATUS_OK;
}

extern "C" const struct cuda_op cuda_op_grayscale = { NULL, run };
