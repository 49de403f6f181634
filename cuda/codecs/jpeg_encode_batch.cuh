// SPDX-License-Identifier: Apache-2.0
/* jpeg_encode_batch.cuh - a batch of images as the three kernels of the encoder see it.
 *
 * Used by:  jpeg_encode.cu and its kernels.
 */
#ifndef BURIN_JPEG_ENCODE_BATCH_CUH
#define BURIN_JPEG_ENCODE_BATCH_CUH

#include "cuda/codecs/jpeg_encode.h"
#include "pipeline/codecs/jpeg/huffman.h"
#include "pipeline/codecs/jpeg/splice.h"
#include "pipeline/codecs/jpeg/tile.h"

namespace jpeg_encode {

enum {
    WARP = 32,
    FEW = 16,           /* images that travel in the kernels' parameters */
    PIECE_BYTES = 1024, /* of a prologue, copied by one warp */
    QUALITIES = 100,
    OUT_ALIGN = 16, /* of a file in `out`, in bytes */
};

/* Constant tables, and two counters that are 0 between batches. */
struct tables {
    float reciprocals[QUALITIES][2][JPEG_BLOCK]; /* [quality - 1][luma or chroma] */
    uint32_t symbols[2][JPEG_SYMBOLS];
    uint8_t places[JPEG_BLOCK]; /* jpeg_places_init */
    uint32_t places_taken;      /* of scratch, in JPEG_PLACE_BYTES */
    uint32_t images_done;
    uint32_t unused[2];
};

struct source {
    const uint8_t *pixels;
    const uint4 *prologue; /* pinned, padded to 16 bytes */
    uint32_t stride, prologue_bytes, room;
    uint32_t first_tile, tiles;
    struct jpeg_frame frame;
    uint32_t reciprocal; /* with `shift`: division by mcus_across without dividing */
    uint8_t shift, quality;
    bool aligned; /* every row starts at 8 bytes */
    bool plain;   /* and no MCU reaches beyond the right edge */
};

/* The place of a tile's first byte in its file, and the phase of its first bit. */
struct tile_place {
    uint32_t offset, phase;
};

struct image_size {
    uint32_t bytes, verdict;
};

struct batch {
    struct tables *tables;
    const struct source *many;   /* images, where there are more than FEW */
    const uint32_t *many_firsts; /* number of each image's first tile, then of its first piece */
    struct jpeg_string *strings; /* by tile */
    struct tile_place *tile_places;
    struct image_size *sizes;
    struct jpeg_encode_result *results, *host_results; /* device memory; pinned memory */
    uint8_t *string_bytes;
    uint8_t *out;
    uint32_t string_places; /* of string_bytes, in JPEG_PLACE_BYTES */
    uint32_t out_bytes;
    uint32_t count, tiles, pieces;
    uint32_t tile_ratio, piece_ratio; /* images per tile or piece, in 2^-32: see guess_image */
    struct source few[FEW];
    uint32_t few_firsts[2 * FEW];
};

static __device__ __forceinline__ const struct source *sources(const struct batch &batch) {
    return batch.count <= FEW ? batch.few : batch.many;
}

static __device__ __forceinline__ const uint32_t *first_tiles(const struct batch &batch) {
    return batch.count <= FEW ? batch.few_firsts : batch.many_firsts;
}

static __device__ __forceinline__ const uint32_t *first_pieces(const struct batch &batch) {
    return first_tiles(batch) + batch.count;
}

/* The image of tile or piece NUMBER if all images have equally many: its data can be loaded before
 * the guess is verified. */
static __device__ __forceinline__ uint32_t guess_image(const struct batch &batch, uint32_t ratio,
                                                       uint32_t number) {
    return min(__umulhi(number, ratio), batch.count - 1);
}

/* The image that NUMBER belongs to; FIRSTS: the first number of each image. All lanes of a warp
 * search together, so that two loads find one of 1024. */
static __device__ __forceinline__ uint32_t search_image(const uint32_t *firsts, uint32_t count,
                                                        uint32_t number) {
    const uint32_t lane = threadIdx.x % WARP, step = (count + WARP - 1) / WARP;
    uint32_t base = 0;
    if (count > WARP) {
        const uint32_t i = lane * step;
        base = (__popc(__ballot_sync(~0u, i < count && firsts[i < count ? i : 0] <= number)) - 1) *
               step;
    }
    const uint32_t i = base + lane;
    return base + __popc(__ballot_sync(~0u, i < count && firsts[i < count ? i : 0] <= number)) - 1;
}

static __device__ __forceinline__ uint32_t find_image(const uint32_t *firsts, uint32_t count,
                                                      uint32_t number, uint32_t guess) {
    const uint32_t first = firsts[guess], next = guess + 1 < count ? firsts[guess + 1] : UINT32_MAX;
    if (first <= number && number < next) return guess;
    return search_image(firsts, count, number);
}

/* ---- overlap of a kernel with the one before */

static __device__ __forceinline__ void let_next_begin(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/* Results of the kernel before are read only after this. */
static __device__ __forceinline__ void wait_for_previous(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

} // namespace jpeg_encode

#endif
