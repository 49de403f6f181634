// SPDX-License-Identifier: Apache-2.0
/* jpeg_encode_pixels.cuh - a tile's pixels to samples in the slots of its blocks.
 *
 * Used by:  jpeg_encode_tile.cuh.
 *
 * How it works. A thread takes strips of eight pixels (jpeg/tile.h) in rounds, and asks for the
 * pixels of all rounds before it converts the first. Rows that start at any byte are read in words
 * that are shifted together; beyond the right edge the last pixel repeats.
 */
#ifndef BURIN_JPEG_ENCODE_PIXELS_CUH
#define BURIN_JPEG_ENCODE_PIXELS_CUH

#include "cuda/chunk.cuh"
#include "cuda/codecs/jpeg_encode_memory.cuh"
#include "pipeline/codecs/jpeg/colour.h"

namespace jpeg_encode {

/* Loads eight pixels, of which those from WIDTH on repeat the last one. */
template <int WORDS>
static __device__ __forceinline__ void load_edge(uint32_t (&words)[WORDS], const uint8_t *row,
                                                 uint32_t x, uint32_t width) {
    constexpr uint32_t CHANNELS = WORDS / 2;
    const uint8_t *end = row + (size_t)(width - 1) * CHANNELS;
    const uint32_t there = x < width ? (width - x) * CHANNELS : 0; /* bytes */
    uint32_t last[3]; /* words that hold the last pixel three or four times */
    if (CHANNELS == 1) {
        last[0] = last[1] = last[2] = __ldg(end) * 0x01010101u;
    } else {
        const uint32_t r = __ldg(end), g = __ldg(end + 1), b = __ldg(end + 2);
        last[0] = r | g << 8 | b << 16 | r << 24;
        last[1] = g | b << 8 | r << 16 | g << 24;
        last[2] = b | r << 8 | g << 16 | b << 24;
    }
    load_unaligned(words, x < width ? row + (size_t)x * CHANNELS : end, max(there, CHANNELS));
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        const uint32_t bytes = there > 4 * i ? there - 4 * i : 0;
        const uint32_t keep = bytes >= 4 ? ~0u : (1u << 8 * bytes) - 1;
        words[i] = (words[i] & keep) | (last[i % 3] & ~keep);
    }
}

template <int WORDS>
static __device__ __forceinline__ void load_aligned(uint32_t (&words)[WORDS], const uint8_t *from) {
#pragma unroll
    for (int i = 0; i < WORDS / 2; i++) {
        const uint2 two = __ldg((const uint2 *)from + i);
        words[2 * i] = two.x;
        words[2 * i + 1] = two.y;
    }
}

/* PLAIN: without a branch, so that all loads are under way together. */
template <bool PLAIN, int WORDS>
static __device__ __forceinline__ void
load_pixels(uint32_t (&words)[WORDS], const struct source &source, uint32_t x, uint32_t y) {
    const uint8_t *row = source.pixels + (size_t)y * source.stride;
    const uint8_t *from = row + x * (WORDS / 2);
    if (PLAIN) return load_aligned(words, from);
    if (x + 8 > source.frame.width) return load_edge(words, row, x, source.frame.width);
    if (source.aligned) return load_aligned(words, from);
    load_unaligned(words, from, 4 * WORDS);
}

template <int SAMPLING> struct strip_shape {
    static constexpr int ROWS = SAMPLING == JPEG_420 ? 2 : 1;
    static constexpr int WORDS = SAMPLING == JPEG_GRAY ? 2 : 6;
    static constexpr int STRIPS = SAMPLING == JPEG_420   ? 33 * 16
                                  : SAMPLING == JPEG_444 ? 65 * 8
                                                         : 193 * 8;
    static constexpr int ROUNDS = (STRIPS + TILE_THREADS - 1) / TILE_THREADS;
};

/* Places the strip; false: there is none, and STRIP is at the picture's origin. */
template <int SAMPLING>
static __device__ __forceinline__ bool place_strip(struct jpeg_strip &strip,
                                                   const struct tile_task &task, int round) {
    const uint32_t number = threadIdx.x + TILE_THREADS * round;
    strip = jpeg_strip_of(SAMPLING, number);
    const uint32_t mcu = task.first_mcu + (uint32_t)strip.mcu;
    const bool there = number < strip_shape<SAMPLING>::STRIPS && mcu < task.mcus;
    const uint32_t row = there ? mcu_row(task.source, mcu) : 0;
    const uint32_t column = there ? mcu - row * task.source.frame.mcus_across : 0;
    jpeg_strip_place(&strip, &task.source.frame, column, row);
    return there;
}

static __device__ __forceinline__ uint32_t *
slot_words(struct tile_memory &memory, uint32_t sampling, int32_t mcu, uint32_t within) {
    return memory.slots + SLOT_WORDS * jpeg_slot_of(sampling, mcu, within);
}

static __device__ __forceinline__ void store_halved(struct tile_memory &memory,
                                                    const struct jpeg_strip &strip,
                                                    const uint32_t (&rows)[2][6]) {
    uint32_t *luma = slot_words(memory, JPEG_420, strip.mcu, jpeg_strip_luma(&strip)) +
                     2 * jpeg_strip_luma_row(&strip);
    const uint32_t above[2] = { jpeg_luma4(rows[0]), jpeg_luma4(rows[0] + 3) };
    const uint32_t below[2] = { jpeg_luma4(rows[1]), jpeg_luma4(rows[1] + 3) };
    luma[0] = strip.lower_twice ? below[0] : above[0];
    luma[1] = strip.lower_twice ? below[1] : above[1];
    luma[2] = below[0];
    luma[3] = below[1];
    uint32_t *chroma = slot_words(memory, JPEG_420, strip.mcu, 4) + 2 * strip.line + strip.half;
    *chroma = jpeg_chroma_halved4(rows[0], rows[1], JPEG_CB_WEIGHTS);
    chroma = slot_words(memory, JPEG_420, strip.mcu, 5) + 2 * strip.line + strip.half;
    *chroma = jpeg_chroma_halved4(rows[0], rows[1], JPEG_CR_WEIGHTS);
}

static __device__ __forceinline__ void
store_full(struct tile_memory &memory, const struct jpeg_strip &strip, const uint32_t (&row)[6]) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const uint32_t at = 2 * strip.line + i;
        slot_words(memory, JPEG_444, strip.mcu, 0)[at] = jpeg_luma4(row + 3 * i);
        slot_words(memory, JPEG_444, strip.mcu, 1)[at] = jpeg_chroma4(row + 3 * i, JPEG_CB_WEIGHTS);
        slot_words(memory, JPEG_444, strip.mcu, 2)[at] = jpeg_chroma4(row + 3 * i, JPEG_CR_WEIGHTS);
    }
}

static __device__ __forceinline__ void
store_gray(struct tile_memory &memory, const struct jpeg_strip &strip, const uint32_t (&row)[2]) {
    uint32_t *to = slot_words(memory, JPEG_GRAY, strip.mcu, 0) + 2 * strip.line;
    to[0] = row[0] ^ JPEG_LEVELS;
    to[1] = row[1] ^ JPEG_LEVELS;
}

template <int SAMPLING, bool PLAIN>
static __device__ __forceinline__ void take_pixels(struct tile_memory &memory,
                                                   const struct tile_task &task) {
    using shape = strip_shape<SAMPLING>;
    uint32_t words[shape::ROUNDS][shape::ROWS][shape::WORDS];
    struct jpeg_strip strip;
#pragma unroll
    for (int round = 0; round < shape::ROUNDS; round++) {
        if (!place_strip<SAMPLING>(strip, task, round) && !PLAIN) continue;
        load_pixels<PLAIN>(words[round][0], task.source, strip.x, strip.above);
        if constexpr (SAMPLING == JPEG_420)
            load_pixels<PLAIN>(words[round][1], task.source, strip.x, strip.below);
    }
#pragma unroll
    for (int round = 0; round < shape::ROUNDS; round++) {
        if (!place_strip<SAMPLING>(strip, task, round)) continue;
        if constexpr (SAMPLING == JPEG_420) store_halved(memory, strip, words[round]);
        if constexpr (SAMPLING == JPEG_444) store_full(memory, strip, words[round][0]);
        if constexpr (SAMPLING == JPEG_GRAY) store_gray(memory, strip, words[round][0]);
    }
}

template <int SAMPLING>
static __device__ __forceinline__ void take_pixels_of(struct tile_memory &memory,
                                                      const struct tile_task &task) {
    if (task.source.plain)
        take_pixels<SAMPLING, true>(memory, task);
    else
        take_pixels<SAMPLING, false>(memory, task);
}

} // namespace jpeg_encode

#endif
