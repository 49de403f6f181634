// SPDX-License-Identifier: Apache-2.0
/* batch_chunks.cuh - a batch of images as a kernel sees it: its chunks, and where they lie.
 *
 * Used by:  batch.cuh, which lays a batch out; cuda/skeletons/, also in text that is compiled at
 *           run time: so this file includes only headers that a GPU's compiler alone has.
 * Limits:   fewer than 2^32 chunks.
 *
 * How it works. A batch goes to the kernel by value, as a __grid_constant__ parameter: no copy
 * before it, no pointer to follow. Rows are cut into chunks, the pixels that one thread reads at
 * once with 16-byte loads; chunks never cross a row. The chunks of all images are numbered
 * consecutively, so that a launch divides them evenly however the sizes differ. Invariant: bytes
 * between rows are never written; a 16-byte load may read them, and the stride leaves room for
 * that.
 */
#ifndef BURIN_BATCH_CHUNKS_CUH
#define BURIN_BATCH_CHUNKS_CUH

#include "cuda/chunk.cuh"

struct batch_image {
    const uint8_t *in;
    uint8_t *out;
    uint32_t in_stride, out_stride;
    uint32_t width, height, pixels;
    uint32_t first_chunk, chunks; /* `first_chunk` is the number of its first chunk in the batch */
    uint32_t row_chunks;          /* chunks of a row */
    uint32_t reciprocal;          /* with `shift`: division by row_chunks without dividing */
    uint8_t shift;
    bool aligned;    /* every row starts at 16 bytes, both sides */
    bool contiguous; /* and whole chunks follow one another without a gap */
};

/* On the host. floor(n / divisor) = (n * reciprocal >> 32) >> shift for n < 2^31 and
 * 1 < divisor < 2^31 (Granlund and Montgomery, Division by Invariant Integers using
 * Multiplication). */
static inline void batch_set_row_chunks(struct batch_image *image, uint32_t divisor) {
    uint8_t log2_up = 0;
    while ((1ull << log2_up) < divisor) log2_up++;
    const uint64_t power = 1ull << (31 + log2_up);
    image->row_chunks = divisor;
    image->reciprocal = divisor == 1 ? 0 : (uint32_t)((power + divisor - 1) / divisor);
    image->shift = divisor == 1 ? 0 : log2_up - 1;
}

template <int CAPACITY> struct batch_of {
    int count;
    uint32_t chunks;
    uint32_t block_chunks;  /* chunks of a block */
    uint32_t larger_blocks; /* the first blocks, which have one chunk more */
    struct batch_image images[CAPACITY];
};

/* One chunk's place in memory. */
struct chunk_memory {
    const uint8_t *in;
    uint8_t *out;
    uint32_t pixels; /* less than a whole chunk at the end of a row */
};

/* Returns the image that CHUNK belongs to. */
template <int CAPACITY>
static __device__ inline int batch_find(const struct batch_of<CAPACITY> &batch, uint32_t chunk) {
    int low = 0, high = CAPACITY == 1 ? 1 : batch.count;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (batch.images[middle].first_chunk <= chunk)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Column and row of a chunk in its image. */
struct chunk_position {
    uint32_t x, y;
};

static __device__ __forceinline__ struct chunk_position
chunk_position_of(const struct batch_image &image, uint32_t index) {
    const uint32_t y =
        image.row_chunks == 1 ? index : __umulhi(index, image.reciprocal) >> image.shift;
    return { index - y * image.row_chunks, y };
}

/* A sample's place and its image's size, as users' functions may ask for them: skeletons set all,
 * and the compiler leaves out what is not used. */
struct burin_place {
    int x, y, channel;
    int width, height, channels;
};

/* Chunks first..end-1. */
struct chunk_range {
    uint32_t first, end;
};

/* This block's chunks of the batch. */
template <int CAPACITY>
static __device__ __forceinline__ struct chunk_range
block_chunks(const struct batch_of<CAPACITY> &batch) {
    const uint32_t first = batch.block_chunks * blockIdx.x + min(batch.larger_blocks, blockIdx.x);
    return { first, first + batch.block_chunks + (blockIdx.x < batch.larger_blocks) };
}

/* The block's chunks that are in IMAGE, counted from the image's first chunk. */
static __device__ __forceinline__ struct chunk_range image_chunks(const struct batch_image &image,
                                                                  struct chunk_range block) {
    return { max(block.first, image.first_chunk) - image.first_chunk,
             min(block.end - image.first_chunk, image.chunks) };
}

/* INDEX counts from the image's first chunk. CONTIGUOUS images need no row. */
template <int PIXELS, int IN_PIXEL_BYTES, int OUT_PIXEL_BYTES, bool CONTIGUOUS = false>
static __device__ __forceinline__ struct chunk_memory
chunk_memory_of(const struct batch_image &image, uint32_t index) {
    if (CONTIGUOUS)
        return { image.in + (uint64_t)index * (PIXELS * IN_PIXEL_BYTES),
                 image.out + (uint64_t)index * (PIXELS * OUT_PIXEL_BYTES), PIXELS };
    const struct chunk_position position = chunk_position_of(image, index);
    const uint32_t x = position.x * PIXELS;
    struct chunk_memory memory;
    memory.in = image.in + (uint64_t)position.y * image.in_stride + x * IN_PIXEL_BYTES;
    memory.out = image.out + (uint64_t)position.y * image.out_stride + x * OUT_PIXEL_BYTES;
    memory.pixels = min(image.width - x, (uint32_t)PIXELS);
    return memory;
}

#endif
