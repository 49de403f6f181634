// SPDX-License-Identifier: Apache-2.0
/* jpeg_encode_string.cuh - a tile's blocks to its string of bits, with the string's description.
 *
 * Used by:  jpeg_encode_tile.cuh.
 *
 * How it works. Each thread has coded its block into a stage of its own. Once all lengths are
 * known, the stages are joined in a window of shared memory, which is stored to scratch 16 bytes at
 * a time; meanwhile 0xff bytes are counted, for all phases. Most tiles fit one window. A block
 * longer than its stage is coded again, part by part.
 */
#ifndef BURIN_JPEG_ENCODE_STRING_CUH
#define BURIN_JPEG_ENCODE_STRING_CUH

#include "cuda/codecs/jpeg_encode_memory.cuh"

namespace jpeg_encode {

/* A thread's block to code; a block longer than its stage is coded again. */
struct code_task {
    uint64_t mask;
    int32_t difference;
    uint32_t which, bits;
};

static __device__ __forceinline__ uint32_t code_block(struct tile_memory &memory,
                                                      const struct code_task &code,
                                                      uint32_t first) {
    return jpeg_code_block((const int16_t *)(memory.slots + SLOT_WORDS * threadIdx.x), code.mask,
                           code.difference, memory.symbols[code.which],
                           memory.stages + STAGE_STRIDE * threadIdx.x, first);
}

/* ---- the string */

/* Returns the bits before block PLACE of the tile; TOTAL is those of the whole tile. Every warp
 * adds up all lengths, which costs less than another barrier. */
static __device__ __forceinline__ uint32_t bits_before(const struct tile_memory &memory,
                                                       uint32_t place, uint32_t &total) {
    const uint32_t lane = threadIdx.x % WARP;
    uint32_t own = 0;
#pragma unroll
    for (int i = 0; i < LANE_BLOCKS; i++) own += memory.lengths[LANE_BLOCKS * lane + i];
    uint32_t sum = own;
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) {
        const uint32_t other = __shfl_up_sync(~0u, sum, step);
        if (lane >= step) sum += other;
    }
    total = __shfl_sync(~0u, sum, WARP - 1);
    const uint32_t group = place / LANE_BLOCKS, rest = place % LANE_BLOCKS;
    uint32_t before = __shfl_sync(~0u, sum - own, group);
#pragma unroll
    for (uint32_t i = 0; i + 1 < LANE_BLOCKS; i++)
        if (i < rest) before += memory.lengths[LANE_BLOCKS * group + i];
    return before;
}

/* Adds BITS of the thread's stage at bit OFFSET of the string. The window begins at the string's
 * word WINDOW. */
static __device__ __forceinline__ void lay(struct tile_memory &memory, uint32_t window,
                                           uint32_t offset, uint32_t bits) {
    const uint32_t *stage = memory.stages + STAGE_STRIDE * threadIdx.x;
    const uint32_t words = (bits + 31) / 32, phase = offset & 31, first = offset / 32 - window;
    const uint32_t end = (phase + bits + 31) / 32;
    uint32_t before = 0;
    for (uint32_t i = 0; i < end; i++) {
        const uint32_t word = i < words ? stage[i] : 0;
        if (first + i < WINDOW_WORDS)
            atomicOr(&memory.window[first + i], __funnelshift_r(word, before, phase));
        before = word;
    }
}

static __device__ __forceinline__ void lay_block(struct tile_memory &memory, uint32_t window,
                                                 uint32_t offset, const struct code_task &code) {
    constexpr uint32_t PART = 32 * JPEG_STAGE_WORDS;
    if (code.bits <= PART) return lay(memory, window, offset, code.bits);
    for (uint32_t done = 0; done < code.bits; done += PART) {
        code_block(memory, code, done / 32);
        lay(memory, window, offset + done, min(code.bits - done, PART));
    }
}

static __device__ __forceinline__ void count_ff(struct tile_memory &memory, uint32_t before,
                                                uint32_t word) {
    for (uint32_t ends = jpeg_ff_ends(before, word); ends; ends &= ends - 1)
        atomicAdd(&memory.stuffed[(__ffs((int)ends) - 1) % JPEG_PHASES], 1u);
}

/* Stores the window to scratch, up to the end of a string of BITS. */
static __device__ __forceinline__ void flush_window(struct tile_memory &memory,
                                                    const struct batch &batch, uint32_t window,
                                                    uint32_t bits) {
    const uint32_t vectors = min((bits - 32 * window + 127) / 128, WINDOW_WORDS / 4);
    const uint32_t place = memory.place;
    uint4 *to = (uint4 *)(batch.string_bytes + (size_t)JPEG_PLACE_BYTES * place) + window / 4;
    for (uint32_t v = threadIdx.x; v < vectors; v += TILE_THREADS) {
        const uint4 words = ((const uint4 *)memory.window)[v];
        count_ff(memory, v ? memory.window[4 * v - 1] : window ? memory.carry : 0, words.x);
        count_ff(memory, words.x, words.y);
        count_ff(memory, words.y, words.z);
        count_ff(memory, words.z, words.w);
        if (place != JPEG_NO_PLACE) to[v] = words;
    }
    if (threadIdx.x == 0 && window == 0) memory.head = memory.window[0] >> 24;
}

/* Clears the window for the next part of the string. */
static __device__ __forceinline__ void clear_window(struct tile_memory &memory) {
    __syncthreads();
    if (threadIdx.x == 0) memory.carry = memory.window[WINDOW_WORDS - 1];
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < WINDOW_WORDS; i += TILE_THREADS) memory.window[i] = 0;
    __syncthreads();
}

/* Called by one thread, after the last window, which is at word WINDOW. */
static __device__ __forceinline__ void describe(const struct tile_memory &memory,
                                                struct jpeg_string *string, uint32_t window,
                                                uint32_t bits) {
    const uint32_t last = (bits - 1) / 32 - window;
    const uint32_t before = last ? memory.window[last - 1] : window ? memory.carry : 0;
    const uint64_t end = (uint64_t)before << 32 | memory.window[last];
    const uint32_t tail = (uint32_t)(end >> (31 - (bits - 1) % 32)) & 0xff;
    const uint32_t *stuffed = memory.stuffed;
    uint4 *to = (uint4 *)string;
    to[0] = make_uint4(bits, memory.place, stuffed[0] | stuffed[1] << 16,
                       stuffed[2] | stuffed[3] << 16);
    to[1] = make_uint4(stuffed[4] | stuffed[5] << 16, stuffed[6] | stuffed[7] << 16,
                       memory.head | tail << 8, 0);
}

/* Called by one thread: takes room for the string from the counter that all blocks share. */
static __device__ __forceinline__ void take_place(struct tile_memory &memory,
                                                  const struct batch &batch, uint32_t bits) {
    const uint32_t places = (bits + 8 * JPEG_PLACE_BYTES - 1) / (8 * JPEG_PLACE_BYTES);
    const uint32_t place = atomicAdd(&batch.tables->places_taken, places);
    const bool fits = place < batch.string_places && places <= batch.string_places - place;
    memory.place = fits ? place : JPEG_NO_PLACE;
}

static __device__ __forceinline__ void write_string(struct tile_memory &memory,
                                                    const struct batch &batch,
                                                    const struct tile_task &task, uint32_t place,
                                                    const struct code_task &code) {
    uint32_t bits, window = 0;
    const uint32_t offset = bits_before(memory, place, bits);
    if (threadIdx.x == 0) take_place(memory, batch, bits);
    for (;;) {
        lay_block(memory, window, offset, code);
        __syncthreads();
        flush_window(memory, batch, window, bits);
        if (bits <= 32 * (window + WINDOW_WORDS)) break;
        clear_window(memory);
        window += WINDOW_WORDS;
    }
    __syncthreads();
    if (threadIdx.x == 0) describe(memory, batch.strings + task.number, window, bits);
}

} // namespace jpeg_encode

#endif
