// SPDX-License-Identifier: Apache-2.0
/* A thread converts 16 samples, for any number of channels: 16-byte loads and stores. It uses no
 * skeleton: those keep the depth. */
#include "pipeline/ops/depth.h"

#include "cuda/batch.cuh"

enum { THREADS = 256, SAMPLES = 16 };

template <int FROM, int TO>
static __global__ void __launch_bounds__(THREADS)
    depth_kernel(const __grid_constant__ struct batch batch) {
    const uint32_t chunk = blockIdx.x * THREADS + threadIdx.x;
    if (chunk >= batch.chunks) return;
    const struct batch_image &image = batch.images[batch_find(batch, chunk)];
    const struct chunk_memory memory =
        chunk_memory_of<SAMPLES, FROM / 8, TO / 8>(image, chunk - image.first_chunk);
    uint32_t in[SAMPLES * FROM / 32], out[SAMPLES * TO / 32] = {};
    load_chunk(in, memory.in, memory.pixels * FROM / 8, image.aligned);
#pragma unroll
    for (int i = 0; i < SAMPLES; i++)
        chunk_set_sample<TO>(out, i, depth_convert(chunk_sample<FROM>(in, i), FROM, TO));
    store_chunk(out, memory.out, memory.pixels * TO / 8, image.aligned);
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    struct op_call samples[CUDA_BATCH_MAX];
    struct batch batch;
    batch_sample_calls(samples, calls, count);
    const enum status status = batch_init(&batch, samples, count, SAMPLES);
    if (status) return status;
    const unsigned blocks = (batch.chunks + THREADS - 1) / THREADS;
    const unsigned from = calls[0].in.depth, to = calls[0].out.depth;
    cudaStream_t stream = context->stream;
    if (from == 8 && to == 8)
        depth_kernel<8, 8><<<blocks, THREADS, 0, stream>>>(batch);
    else if (from == 8)
        depth_kernel<8, 16><<<blocks, THREADS, 0, stream>>>(batch);
    else if (to == 8)
        depth_kernel<16, 8><<<blocks, THREADS, 0, stream>>>(batch);
    else
        depth_kernel<16, 16><<<blocks, THREADS, 0, stream>>>(batch);
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, "depth");
    return STATUS_OK;
}

extern "C" const struct cuda_op cuda_op_depth = { NULL, run };
