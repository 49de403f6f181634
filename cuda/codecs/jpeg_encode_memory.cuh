// SPDX-License-Identifier: Apache-2.0
/* jpeg_encode_memory.cuh - the shared memory of a tile's threads, and what each thread knows of it.
 *
 * Used by:  jpeg_encode_pixels.cuh, jpeg_encode_string.cuh, jpeg_encode_tile.cuh.
 * Limits:   54 KB, so that four blocks share a multiprocessor.
 */
#ifndef BURIN_JPEG_ENCODE_MEMORY_CUH
#define BURIN_JPEG_ENCODE_MEMORY_CUH

#include "cuda/codecs/jpeg_encode_batch.cuh"

namespace jpeg_encode {

enum {
    TILE_THREADS = JPEG_TILE_BLOCKS,
    TILE_BLOCKS_RESIDENT = 4, /* of a multiprocessor */
    SLOT_WORDS = 33,
    STAGE_STRIDE = JPEG_STAGE_WORDS + 1,
    WINDOW_WORDS = 2048,
    LANE_BLOCKS = JPEG_TILE_BLOCKS / WARP
};

struct tile_memory {
    float reciprocals[2][JPEG_BLOCK];
    uint32_t symbols[2][JPEG_SYMBOLS];
    uint8_t places[JPEG_BLOCK];
    uint32_t window[WINDOW_WORDS];
    uint32_t lengths[JPEG_TILE_BLOCKS]; /* in the order of the file's blocks */
    uint32_t slots[JPEG_TILE_SLOTS * SLOT_WORDS];
    uint32_t stages[JPEG_TILE_BLOCKS * STAGE_STRIDE];
    int32_t dcs[JPEG_TILE_SLOTS];
    uint32_t stuffed[JPEG_PHASES];
    uint32_t place, head, carry; /* `carry` is the last word of the window before */
};

/* A thread's copy of the facts about its tile. */
struct tile_task {
    struct source source;     /* a copy: the compiler must reload memory after any store */
    uint32_t number;          /* in the batch */
    uint32_t first_mcu, mcus; /* of the picture */
};

static __device__ __forceinline__ uint32_t mcu_row(const struct source &source, uint32_t mcu) {
    return source.reciprocal ? __umulhi(mcu, source.reciprocal) >> source.shift : mcu;
}

} // namespace jpeg_encode

#endif
