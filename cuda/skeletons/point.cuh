// SPDX-License-Identifier: Apache-2.0
/* point.cuh - P2P: a sample becomes a function of itself and its pixel's number; alpha stays.
 *
 * Used by:  kernel_source.c and convert_gpu.c, as text around users' operators; launch.cuh, for
 *           operators that are built in.
 * Source:   C. Nugteren, H. Corporaal and B. Mesman, Skeleton-based automatic parallelization of
 *           image processing algorithms for GPUs, 2011, which names the class.
 *
 * A row is a sequence of samples to this kernel, for any number of channels: a thread takes 16
 * bytes, and the places of alpha are the same in every chunk (three channels have none). FUNCTION
 * is passed by value: sample and burin_place to sample.
 */
#ifndef BURIN_SKELETON_POINT_CUH
#define BURIN_SKELETON_POINT_CUH

#include "cuda/batch_chunks.cuh"

enum { POINT_THREADS = 256 };

/* All ones in a chunk's bytes of alpha. */
struct alpha_mask {
    uint32_t words[4];
};

/* An image of BATCH is as wide as its row has samples; a pixel has CHANNELS of them. A thread for
 * each chunk. */
template <int DEPTH, int CAPACITY, class FUNCTION>
static __device__ __forceinline__ void point_chunk(const struct batch_of<CAPACITY> &batch,
                                                   const FUNCTION &function, uint32_t channels,
                                                   const struct alpha_mask &alpha) {
    constexpr int SAMPLES = 128 / DEPTH, BYTES = DEPTH / 8;
    const uint32_t chunk = blockIdx.x * POINT_THREADS + threadIdx.x;
    if (chunk >= batch.chunks) return;
    const struct batch_image &image = batch.images[batch_find(batch, chunk)];
    const struct chunk_memory memory =
        chunk_memory_of<SAMPLES, BYTES, BYTES>(image, chunk - image.first_chunk);
    const struct chunk_position position = chunk_position_of(image, chunk - image.first_chunk);
    const uint32_t column = position.x * SAMPLES;
    struct burin_place place = {
        (int)(column / channels),      (int)position.y,   (int)(column % channels),
        (int)(image.width / channels), (int)image.height, (int)channels,
    };
    uint32_t in[4], out[4] = {};
    load_chunk(in, memory.in, memory.pixels * BYTES, image.aligned);
#pragma unroll
    for (int i = 0; i < SAMPLES; i++) {
        chunk_set_sample<DEPTH>(out, i, function(chunk_sample<DEPTH>(in, i), place));
        place.channel = place.channel + 1 == place.channels ? 0 : place.channel + 1;
        place.x += place.channel == 0;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) out[i] = (out[i] & ~alpha.words[i]) | (in[i] & alpha.words[i]);
    store_chunk(out, memory.out, memory.pixels * BYTES, image.aligned);
}

#endif
