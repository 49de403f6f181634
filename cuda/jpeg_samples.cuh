// SPDX-License-Identifier: Apache-2.0
/* jpeg_samples.cuh - planes of a batch of JPEGs to their upright pixels, in one launch.
 *
 * A block makes a tile of 32 x 32 pixels of a result, a thread 4 neighbours of a row. Where the
 * picture stands on its side, the tile is as many stored rows as columns, so that each sector of 32
 * bytes that is read is still used up by the block that read it. The hardware gives 6,000 pictures
 * of 1080p a second, so this is the plain way: nothing is shared between pixels but by the caches.
 * Invariant: bytes between the rows of a result are neither read nor written.
 */
#ifndef BURIN_JPEG_SAMPLES_CUH
#define BURIN_JPEG_SAMPLES_CUH

#include "cuda/cuda_op.h"
#include "pipeline/codecs/jpeg_samples.h"

#include <cuda_runtime.h>

enum { JPEG_TILE = 32, JPEG_THREAD_PIXELS = 4 };
enum { JPEG_ROW_THREADS = JPEG_TILE / JPEG_THREAD_PIXELS, JPEG_THREADS = 256 };
static_assert(JPEG_ROW_THREADS * JPEG_TILE == JPEG_THREADS, "a block makes one tile");

struct jpeg_picture {
    struct jpeg_planes planes;
    uint8_t *out;
    size_t out_stride;
    uint32_t width, height;    /* of the result */
    uint32_t first, row_tiles; /* its first tile's number in the batch, and tiles of a row */
    uint8_t orientation, channels;
    bool words; /* every row of the result starts at a word */
};

/* Goes to the kernel by value. Tiles of all pictures are numbered through. */
struct jpeg_batch {
    int count;
    uint32_t tiles;
    struct jpeg_picture pictures[CUDA_BATCH_MAX];
};

static __device__ __forceinline__ int jpeg_picture_at(const struct jpeg_batch &batch,
                                                      uint32_t tile) {
    int low = 0, high = batch.count;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (batch.pictures[middle].first <= tile)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* BYTES of each value, the lowest first, follow one another; so many PIXELS of them exist. */
template <int BYTES>
static __device__ __forceinline__ void jpeg_store(const uint32_t (&values)[JPEG_THREAD_PIXELS],
                                                  uint8_t *to, uint32_t pixels, bool words) {
    if (words && pixels >= JPEG_THREAD_PIXELS) {
        uint32_t *word = (uint32_t *)to;
        if (BYTES == 1) {
            word[0] = values[0] | values[1] << 8 | values[2] << 16 | values[3] << 24;
        } else {
            word[0] = values[0] | values[1] << 24;
            word[1] = values[1] >> 8 | values[2] << 16;
            word[2] = values[2] >> 16 | values[3] << 8;
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < JPEG_THREAD_PIXELS; i++)
        for (int byte = 0; byte < BYTES && i < pixels; byte++)
            to[i * BYTES + byte] = (uint8_t)(values[i] >> 8 * byte);
}

/* Pixels x..x+3 of row y of the result. The kind of JPEG is known at compile time. */
template <int ACROSS, int DOWN, int CHANNELS>
static __device__ __forceinline__ void jpeg_paint(const struct jpeg_picture &picture, uint32_t x,
                                                  uint32_t y) {
    struct jpeg_planes planes = picture.planes;
    planes.across = ACROSS;
    planes.down = DOWN;
    uint32_t values[JPEG_THREAD_PIXELS];
#pragma unroll
    for (int i = 0; i < JPEG_THREAD_PIXELS; i++) {
        const struct jpeg_place place = jpeg_stored_place(
            picture.orientation, planes.width, planes.height, min(x + i, picture.width - 1), y);
        values[i] = CHANNELS == 1 ? jpeg_luma(&planes, place.x, place.y)
                                  : jpeg_pixel(&planes, place.x, place.y);
    }
    jpeg_store<CHANNELS>(values, picture.out + y * picture.out_stride + x * CHANNELS,
                         picture.width - x, picture.words);
}

static __global__ void __launch_bounds__(JPEG_THREADS)
    jpeg_pixels(const __grid_constant__ struct jpeg_batch batch) {
    const struct jpeg_picture &picture = batch.pictures[jpeg_picture_at(batch, blockIdx.x)];
    const uint32_t tile = blockIdx.x - picture.first, row = tile / picture.row_tiles;
    const uint32_t x = (tile - row * picture.row_tiles) * JPEG_TILE +
                       threadIdx.x % JPEG_ROW_THREADS * JPEG_THREAD_PIXELS;
    const uint32_t y = row * JPEG_TILE + threadIdx.x / JPEG_ROW_THREADS;
    if (x >= picture.width || y >= picture.height) return;
    if (picture.channels == 1)
        jpeg_paint<1, 1, 1>(picture, x, y);
    else if (picture.planes.across == 1)
        jpeg_paint<1, 1, 3>(picture, x, y);
    else if (picture.planes.down == 1)
        jpeg_paint<2, 1, 3>(picture, x, y);
    else
        jpeg_paint<2, 2, 3>(picture, x, y);
}

#endif
