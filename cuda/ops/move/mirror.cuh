// SPDX-License-Identifier: Apache-2.0
/* mirror.cuh - rows of pixels in the opposite order.
 *
 * Used by:  flop.cu, rotate.cu.
 * Fails:    as batch.cuh and check.cuh say.
 * Threads:  the lane's.
 *
 * How it works. A thread loads the pixels for its 16 or 48 bytes of the result from the other end
 * of the row, and reverses them in registers. At the end of a row, where there are fewer pixels,
 * they end up in the upper registers and are shifted down.
 */
#ifndef BURIN_MOVE_MIRROR_CUH
#define BURIN_MOVE_MIRROR_CUH

#include "cuda/batch.cuh"
#include "cuda/ops/move/load_any.cuh"

enum { MIRROR_THREADS = 256 };

/* Whole vectors and whole pixels. */
template <int PIXEL> struct mirror_chunk {
    static constexpr int BYTES = PIXEL % 3 ? 16 : 48, PIXELS = BYTES / PIXEL;
};

template <int PIXEL, int WORDS>
static __device__ __forceinline__ void reverse_chunk(const uint32_t (&in)[WORDS],
                                                     uint32_t (&out)[WORDS], uint32_t pixels) {
    constexpr int PIXELS = 4 * WORDS / PIXEL, HALF = PIXEL > 4 ? PIXEL / 2 : PIXEL;
#pragma unroll
    for (int i = 0; i < 4 * WORDS; i++)
        chunk_set_byte<0>(out, i,
                          chunk_sample<8>(in, (PIXELS - 1 - i / PIXEL) * PIXEL + i % PIXEL));
    for (; pixels < PIXELS; pixels++) {
        chunk_shift<HALF>(out);
        if (PIXEL > 4) chunk_shift<HALF>(out);
    }
}

template <int PIXEL, bool FLIPPED>
static __global__ void __launch_bounds__(MIRROR_THREADS)
    mirror_kernel(const __grid_constant__ struct batch batch) {
    constexpr int BYTES = mirror_chunk<PIXEL>::BYTES, PIXELS = mirror_chunk<PIXEL>::PIXELS;
    const uint32_t chunk = blockIdx.x * MIRROR_THREADS + threadIdx.x;
    if (chunk >= batch.chunks) return;
    const struct batch_image &image = batch.images[batch_find(batch, chunk)];
    const struct chunk_position position = chunk_position_of(image, chunk - image.first_chunk);
    const uint32_t x = position.x * PIXELS, y = position.y;
    const uint32_t pixels = min(image.width - x, (uint32_t)PIXELS);
    const uint32_t from_x = image.width - x - pixels, from_y = FLIPPED ? image.height - 1 - y : y;
    uint32_t in[BYTES / 4], out[BYTES / 4] = {};
    load_any(in, image.in + (uint64_t)from_y * image.in_stride + from_x * PIXEL, pixels * PIXEL);
    reverse_chunk<PIXEL>(in, out, pixels);
    const bool aligned = ((uintptr_t)image.out | image.out_stride) % 16 == 0;
    store_chunk(out, image.out + (uint64_t)y * image.out_stride + x * PIXEL, pixels * PIXEL,
                aligned);
}

template <int PIXEL, bool FLIPPED>
static enum status mirror_pixels(const struct cuda_context *context, const struct op_call *calls,
                                 int count) {
    struct batch batch;
    const enum status status = batch_init(&batch, calls, count, mirror_chunk<PIXEL>::PIXELS);
    if (status) return status;
    const unsigned blocks = (batch.chunks + MIRROR_THREADS - 1) / MIRROR_THREADS;
    mirror_kernel<PIXEL, FLIPPED><<<blocks, MIRROR_THREADS, 0, context->stream>>>(batch);
    CUDA_LAUNCHED(calls[0].failure);
    return STATUS_OK;
}

/* FLIPPED: the rows come in the opposite order too. */
template <bool FLIPPED>
static enum status mirror_run(const struct cuda_context *context, const struct op_call *calls,
                              int count, const char *name) {
    enum status status;
    switch (image_pixel_bytes(&calls[0].in)) {
    case 1: status = mirror_pixels<1, FLIPPED>(context, calls, count); break;
    case 2: status = mirror_pixels<2, FLIPPED>(context, calls, count); break;
    case 3: status = mirror_pixels<3, FLIPPED>(context, calls, count); break;
    case 4: status = mirror_pixels<4, FLIPPED>(context, calls, count); break;
    case 6: status = mirror_pixels<6, FLIPPED>(context, calls, count); break;
    default: status = mirror_pixels<8, FLIPPED>(context, calls, count); break;
    }
    if (!status) cuda_record_kernel(context, name);
    return status;
}

#endif
