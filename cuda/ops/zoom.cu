// SPDX-License-Identifier: Apache-2.0
/* A thread writes 16 bytes of a row of the result, and looks each of them up: neighbours have the
 * same source, or adjacent ones. */
#include "pipeline/ops/zoom.h"

#include "cuda/ops/move/copy.cuh"

struct zoom {
    uint32_t times, pixel; /* bytes of a pixel */
};

static __global__ void __launch_bounds__(COPY_THREADS)
    zoom_kernel(const __grid_constant__ struct batch batch, const struct zoom zoom) {
    const uint32_t chunk = blockIdx.x * COPY_THREADS + threadIdx.x;
    if (chunk >= batch.chunks) return;
    const struct batch_image &image = batch.images[batch_find(batch, chunk)];
    const struct chunk_position position = chunk_position_of(image, chunk - image.first_chunk);
    const uint32_t x = position.x * COPY_BYTES, bytes = min(image.width - x, (uint32_t)COPY_BYTES);
    const uint32_t square = zoom.times * zoom.pixel;
    const uint8_t *in =
        image.in + (uint64_t)(position.y / zoom.times) * image.in_stride + x / square * zoom.pixel;
    uint32_t within = x % square, byte = within % zoom.pixel, words[4] = {};
#pragma unroll
    for (int i = 0; i < COPY_BYTES; i++) {
        if (i < (int)bytes) chunk_set_byte<0>(words, i, __ldg(in + byte));
        byte = byte + 1 == zoom.pixel ? 0 : byte + 1;
        within = within + 1 == square ? 0 : within + 1;
        in += within ? 0 : zoom.pixel;
    }
    store_chunk(words, image.out + (uint64_t)position.y * image.out_stride + x, bytes,
                is_aligned(image, 16));
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    struct op_call bytes[CUDA_BATCH_MAX];
    struct batch batch;
    const struct zoom zoom = { (uint32_t)calls[0].params->number[ZOOM_TIMES],
                               (uint32_t)image_pixel_bytes(&calls[0].in) };
    for (int i = 0; i < count; i++) bytes[i] = copy_call(&calls[i], 0, 0);
    const enum status status = batch_init(&batch, bytes, count, COPY_BYTES);
    if (status) return status;
    const unsigned blocks = (batch.chunks + COPY_THREADS - 1) / COPY_THREADS;
    zoom_kernel<<<blocks, COPY_THREADS, 0, context->stream>>>(batch, zoom);
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, "zoom");
    return STATUS_OK;
}

extern "C" const struct cuda_op cuda_op_zoom = { NULL, run };
