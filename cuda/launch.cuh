// SPDX-License-Identifier: Apache-2.0
/* launch.cuh - a batch of images as one launch sees it.
 *
 * A batch goes to the kernel by value, as a __grid_constant__ parameter: no copy before it, no
 * pointer to chase. Rows are cut into chunks, the pixels that one thread reads at once with 16-byte
 * loads; chunks never cross a row. Those of all images are numbered through, so that a launch
 * shares them out evenly however the sizes differ. Invariant: bytes between the rows are not
 * written; they are read only where a 16-byte load takes them along, which the stride leaves room
 * for.
 */
#ifndef BURIN_LAUNCH_CUH
#define BURIN_LAUNCH_CUH

#include "cuda/check.cuh"
#include "cuda/chunk.cuh"
#include "cuda/cuda_op.h"

struct picture {
    const uint8_t *in;
    uint8_t *out;
    uint32_t in_stride, out_stride;
    uint32_t width, height, pixels;
    uint32_t first, chunks; /* its first chunk's number in the batch, and how many it has */
    uint32_t row_chunks;    /* chunks of a row */
    uint32_t reciprocal;    /* with `shift`: division by row_chunks without dividing */
    uint8_t shift;
    bool aligned; /* every row starts at 16 bytes, both sides */
    bool flat;    /* and whole chunks follow one another without a gap */
};

template <int MOST> struct batch_of {
    int count;
    uint32_t chunks;
    uint32_t share, larger; /* chunks of a block; so many first blocks have one more */
    struct picture pictures[MOST];
};
struct batch : batch_of<CUDA_BATCH_MAX> {};

/* ---- host */

/* floor(n / divisor) = (n * reciprocal >> 32) >> shift for n < 2^31 and 1 < divisor < 2^31
 * (Granlund and Montgomery, Division by Invariant Integers using Multiplication). */
static inline void set_division(struct picture *picture, uint32_t divisor) {
    uint8_t log2_up = 0;
    while ((UINT64_C(1) << log2_up) < divisor) log2_up++;
    const uint64_t power = UINT64_C(1) << (31 + log2_up);
    picture->row_chunks = divisor;
    picture->reciprocal = divisor == 1 ? 0 : (uint32_t)((power + divisor - 1) / divisor);
    picture->shift = divisor == 1 ? 0 : log2_up - 1;
}

static inline struct picture picture_make(const struct op_call *call, unsigned chunk_pixels,
                                          uint64_t first) {
    struct picture picture = {};
    picture.in = call->in.pixels;
    picture.out = call->out.pixels;
    picture.in_stride = (uint32_t)call->in.stride;
    picture.out_stride = (uint32_t)call->out.stride;
    picture.width = call->in.width;
    picture.height = call->in.height;
    picture.pixels = (uint32_t)image_pixels(&call->in);
    picture.first = (uint32_t)first;
    picture.aligned =
        ((uintptr_t)picture.in | (uintptr_t)picture.out | picture.in_stride | picture.out_stride) %
            16 ==
        0;
    picture.flat = picture.aligned && picture.width % chunk_pixels == 0 &&
                   picture.in_stride == image_row_bytes(&call->in) &&
                   picture.out_stride == image_row_bytes(&call->out);
    set_division(&picture, (call->in.width + chunk_pixels - 1) / chunk_pixels);
    picture.chunks = picture.row_chunks * call->in.height;
    return picture;
}

/* Input and output have the same width and height. */
template <int MOST>
static inline enum status batch_make(struct batch_of<MOST> *batch, const struct op_call *calls,
                                     int count, unsigned chunk_pixels) {
    uint64_t chunks = 0;
    batch->count = count;
    for (int i = 0; i < count; i++) {
        batch->pictures[i] = picture_make(&calls[i], chunk_pixels, chunks);
        chunks += batch->pictures[i].chunks;
    }
    batch->chunks = (uint32_t)chunks;
    if (chunks < UINT32_MAX) return STATUS_OK;
    return fail(calls[0].failure, STATUS_TOO_LARGE, "too many pixels for one batch on the GPU");
}

/* The same pictures cut into tiles of ACROSS x DOWN pixels: `chunks` are tiles from now on. */
static inline enum status batch_tile(struct batch *batch, const struct op_call *calls, int count,
                                     uint32_t across, uint32_t down) {
    uint64_t tiles = 0;
    batch->count = count;
    for (int i = 0; i < count; i++) {
        struct picture *picture = &batch->pictures[i];
        *picture = picture_make(&calls[i], across, tiles);
        picture->chunks = picture->row_chunks * ((picture->height + down - 1) / down);
        tiles += picture->chunks;
    }
    batch->chunks = (uint32_t)tiles;
    if (tiles < INT32_MAX) return STATUS_OK;
    return fail(calls[0].failure, STATUS_TOO_LARGE, "too many pixels for one batch on the GPU");
}

/* Shares the chunks out to MOST blocks, or to fewer where each would have less than LEAST. Returns
 * how many. */
template <int MOST>
static inline unsigned batch_share(struct batch_of<MOST> *batch, uint32_t least, unsigned most) {
    const uint32_t wanted = (batch->chunks + least - 1) / least;
    const unsigned blocks = wanted < most ? wanted : most;
    batch->share = batch->chunks / blocks;
    batch->larger = batch->chunks % blocks;
    return blocks;
}

/* ---- device */

/* One chunk's place: the pixels that exist, and where they start. */
struct spot {
    const uint8_t *in;
    uint8_t *out;
    uint32_t pixels; /* less than a whole chunk at the end of a row */
};

template <int MOST>
static __device__ inline int picture_at(const struct batch_of<MOST> &batch, uint32_t chunk) {
    int low = 0, high = MOST == 1 ? 1 : batch.count;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (batch.pictures[middle].first <= chunk)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* INDEX counts from the picture's first chunk; y in rows of chunks. */
struct place {
    uint32_t x, y;
};

static __device__ __forceinline__ struct place place_of(const struct picture &picture,
                                                        uint32_t index) {
    const uint32_t y =
        picture.row_chunks == 1 ? index : __umulhi(index, picture.reciprocal) >> picture.shift;
    return { index - y * picture.row_chunks, y };
}

/* The chunks first..end-1 of the batch that are this block's, and those of them that are a
 * picture's, counted from its own first one. */
struct chunks {
    uint32_t first, end;
};

template <int MOST>
static __device__ __forceinline__ struct chunks block_share(const struct batch_of<MOST> &batch) {
    const uint32_t first = batch.share * blockIdx.x + min(batch.larger, blockIdx.x);
    return { first, first + batch.share + (blockIdx.x < batch.larger) };
}

static __device__ __forceinline__ struct chunks picture_part(const struct picture &picture,
                                                             struct chunks share) {
    return { max(share.first, picture.first) - picture.first,
             min(share.end - picture.first, picture.chunks) };
}

/* INDEX counts from the picture's first chunk. FLAT pictures need no row. */
template <int PIXELS, int IN_PIXEL_BYTES, int OUT_PIXEL_BYTES, bool FLAT = false>
static __device__ __forceinline__ struct spot spot_of(const struct picture &picture,
                                                      uint32_t index) {
    if (FLAT)
        return { picture.in + (uint64_t)index * (PIXELS * IN_PIXEL_BYTES),
                 picture.out + (uint64_t)index * (PIXELS * OUT_PIXEL_BYTES), PIXELS };
    const struct place place = place_of(picture, index);
    const uint32_t x = place.x * PIXELS;
    struct spot spot;
    spot.in = picture.in + (uint64_t)place.y * picture.in_stride + x * IN_PIXEL_BYTES;
    spot.out = picture.out + (uint64_t)place.y * picture.out_stride + x * OUT_PIXEL_BYTES;
    spot.pixels = min(picture.width - x, (uint32_t)PIXELS);
    return spot;
}

#endif
