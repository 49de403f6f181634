// SPDX-License-Identifier: Apache-2.0
/* pixel.cuh - P2P of whole pixels: a pixel becomes one with three colour channels, and with alpha
 * where the image has it.
 *
 * Used by:  kernel_source.c and convert_gpu.c, as text around users' operators.
 * Limits:   1 to 4 channels of 8 or 16 bits.
 *
 * A thread has 16 bytes of a row, or 48 with three channels: whole pixels, whose results take whole
 * vectors of 16 bytes too. FUNCTION is passed by value: a pixel and its burin_place to a pixel, of
 * the type FUNCTION::burin_pixel.
 */
#ifndef BURIN_SKELETON_PIXEL_CUH
#define BURIN_SKELETON_PIXEL_CUH

#include "cuda/skeletons/pixels.cuh"

enum { PIXEL_THREADS = 256 };

/* A thread for each chunk of BATCH, whose images are as wide as their rows have pixels. */
template <class P, int CAPACITY, class FUNCTION>
static __device__ __forceinline__ void pixel_chunk(const struct batch_of<CAPACITY> &batch,
                                                   const FUNCTION &function) {
    constexpr int OUT = P::CHANNELS < 3 ? P::CHANNELS + 2 : P::CHANNELS; /* samples of the result */
    constexpr int OUT_BYTES = OUT * P::DEPTH / 8;
    constexpr int COLOUR = P::COLOURS > 1, ALPHA = P::CHANNELS % 2 == 0;
    const uint32_t chunk = blockIdx.x * PIXEL_THREADS + threadIdx.x;
    if (chunk >= batch.chunks) return;
    const struct batch_image &image = batch.images[batch_find(batch, chunk)];
    const uint32_t index = chunk - image.first_chunk;
    const struct chunk_memory memory =
        chunk_memory_of<P::PIXELS, P::PIXEL_BYTES, OUT_BYTES>(image, index);
    const struct chunk_position position = chunk_position_of(image, index);
    struct burin_place place = {
        (int)position.x * P::PIXELS, (int)position.y, 0, (int)image.width,
        (int)image.height,           P::CHANNELS,
    };
    uint32_t in[P::WORDS], out[P::PIXELS * OUT_BYTES / 4] = {};
    load_chunk(in, memory.in, memory.pixels * P::PIXEL_BYTES, image.aligned);
#pragma unroll
    for (int p = 0; p < P::PIXELS; p++, place.x++) {
        const int i = p * P::CHANNELS;
        typename FUNCTION::burin_pixel pixel;
        pixel.r = chunk_sample<P::DEPTH>(in, i);
        pixel.g = chunk_sample<P::DEPTH>(in, i + COLOUR);
        pixel.b = chunk_sample<P::DEPTH>(in, i + 2 * COLOUR);
        pixel.a = ALPHA ? chunk_sample<P::DEPTH>(in, i + P::CHANNELS - 1) : (1u << P::DEPTH) - 1;
        pixel = function(pixel, place);
        chunk_set_sample<P::DEPTH>(out, p * OUT, pixel.r);
        chunk_set_sample<P::DEPTH>(out, p * OUT + 1, pixel.g);
        chunk_set_sample<P::DEPTH>(out, p * OUT + 2, pixel.b);
        if (ALPHA) chunk_set_sample<P::DEPTH>(out, p * OUT + 3, pixel.a);
    }
    store_chunk(out, memory.out, memory.pixels * OUT_BYTES, image.aligned);
}

#endif
