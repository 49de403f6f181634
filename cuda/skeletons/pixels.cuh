// SPDX-License-Identifier: Apache-2.0
/* pixels.cuh - whole pixels as a reduction reads them: a thread's chunk of 16 bytes, or of 48 with
 * three channels, so that every sample's channel is a constant.
 *
 * Used by:  scalar.cuh, vector.cuh.
 * Limits:   1 to 4 channels of 8 or 16 bits.
 */
#ifndef BURIN_SKELETON_PIXELS_CUH
#define BURIN_SKELETON_PIXELS_CUH

#include "cuda/batch_chunks.cuh"

template <int SAMPLE_BITS, int IN_CHANNELS> struct pixels_traits {
    static constexpr int DEPTH = SAMPLE_BITS, CHANNELS = IN_CHANNELS;
    static constexpr int COLOURS = CHANNELS < 3 ? 1 : 3;
    static constexpr int WORDS = CHANNELS == 3 ? 12 : 4; /* of a chunk */
    static constexpr int PIXEL_BYTES = CHANNELS * DEPTH / 8;
    static constexpr int PIXELS = 4 * WORDS / PIXEL_BYTES;
    static constexpr int LOADS = CHANNELS == 3 ? 2 : 4; /* of a thread, under way together */
};

/* Loads chunk INDEX of the image; returns its number of pixels, 0 for a chunk that does not
 * exist. */
template <class P>
static __device__ __forceinline__ uint32_t load_pixels(uint32_t (&words)[P::WORDS],
                                                       const struct batch_image &image,
                                                       uint32_t index) {
    if (index >= image.chunks) return 0;
    const struct chunk_memory memory = chunk_memory_of<P::PIXELS, P::PIXEL_BYTES, 0>(image, index);
    load_chunk(words, memory.in, memory.pixels * P::PIXEL_BYTES, image.aligned);
    return memory.pixels;
}

/* Drops the first pixel. */
template <class P> static __device__ __forceinline__ void drop_pixel(uint32_t (&words)[P::WORDS]) {
    chunk_shift < P::PIXEL_BYTES<4 ? P::PIXEL_BYTES : 4>(words);
    if constexpr (P::PIXEL_BYTES > 4) chunk_shift<P::PIXEL_BYTES - 4>(words);
}

/* Blocks of THREADS that have any chunk. */
template <class P, int THREADS>
static __device__ __forceinline__ unsigned pixel_blocks(const struct batch_image &image) {
    constexpr unsigned SHARE = P::LOADS * THREADS;
    return (image.chunks + SHARE - 1) / SHARE;
}

#endif
