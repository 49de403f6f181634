// SPDX-License-Identifier: Apache-2.0
/* copy.cuh - parts of images as images of their own, rows in the same or in the opposite order.
 *
 * Used by:  extract.cu, crop.cu, flip.cu, rotate.cu; zoom.cu, with a kernel of its own.
 * Fails:    as batch.cuh and check.cuh say.
 * Threads:  the lane's.
 *
 * How it works. A row is a sequence of bytes, of any pixels. A thread writes 16 of them, read from
 * any address.
 */
#ifndef BURIN_MOVE_COPY_CUH
#define BURIN_MOVE_COPY_CUH

#include "cuda/batch.cuh"
#include "cuda/ops/move/load_any.cuh"

enum { COPY_THREADS = 256, COPY_BYTES = 16 };

static __device__ __forceinline__ bool is_aligned(const struct batch_image &image, uint32_t to) {
    return ((uintptr_t)image.out | image.out_stride) % to == 0;
}

template <bool FLIPPED>
static __global__ void __launch_bounds__(COPY_THREADS)
    copy_kernel(const __grid_constant__ struct batch batch) {
    const uint32_t chunk = blockIdx.x * COPY_THREADS + threadIdx.x;
    if (chunk >= batch.chunks) return;
    const struct batch_image &image = batch.images[batch_find(batch, chunk)];
    const struct chunk_position position = chunk_position_of(image, chunk - image.first_chunk);
    const uint32_t x = position.x * COPY_BYTES, y = position.y;
    const uint32_t from_y = FLIPPED ? image.height - 1 - y : y;
    const uint32_t bytes = min(image.width - x, (uint32_t)COPY_BYTES);
    uint32_t words[4];
    load_any(words, image.in + (uint64_t)from_y * image.in_stride + x, bytes);
    store_chunk(words, image.out + (uint64_t)y * image.out_stride + x, bytes,
                is_aligned(image, 16));
}

/* CALL with each byte as a pixel; its input is the part that begins at LEFT, TOP. */
static inline struct op_call copy_call(const struct op_call *call, uint32_t left, uint32_t top) {
    struct op_call bytes = *call;
    const uint32_t width = (uint32_t)image_row_bytes(&call->out);
    bytes.in.pixels = image_row(&call->in, top) + left * image_pixel_bytes(&call->in);
    bytes.in.height = call->out.height;
    bytes.in.width = bytes.out.width = width;
    bytes.in.channels = bytes.out.channels = 1;
    bytes.in.depth = bytes.out.depth = 8;
    return bytes;
}

/* CALLS are copy_call()'s. */
template <bool FLIPPED>
static enum status copy_run(const struct cuda_context *context, const struct op_call *calls,
                            int count, const char *name) {
    struct batch batch;
    const enum status status = batch_init(&batch, calls, count, COPY_BYTES);
    if (status) return status;
    const unsigned blocks = (batch.chunks + COPY_THREADS - 1) / COPY_THREADS;
    copy_kernel<FLIPPED><<<blocks, COPY_THREADS, 0, context->stream>>>(batch);
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, name);
    return STATUS_OK;
}

/* RULE gives the corner at which each call's part begins. */
template <class RULE>
static enum status copy_parts(const struct cuda_context *context, const struct op_call *calls,
                              int count, RULE rule, const char *name) {
    struct op_call bytes[CUDA_BATCH_MAX];
    for (int i = 0; i < count; i++) {
        const auto from = rule(&calls[i]);
        bytes[i] = copy_call(&calls[i], from.left, from.top);
    }
    return copy_run<false>(context, bytes, count, name);
}

#endif
