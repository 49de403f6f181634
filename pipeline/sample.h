// SPDX-License-Identifier: Apache-2.0
/* sample.h - samples of 8 or 16 bit behind one pair of functions.
 *
 * An operator writes its row function once, with `channels` and `depth` as last arguments, and
 * calls it through SPECIALISE, which passes both as constants: the compiler makes one tight loop
 * for each combination.
 *
 * Used by:  operators.
 * Threads:  any; no state.
 */
#ifndef BURIN_SAMPLE_H
#define BURIN_SAMPLE_H

#include "pipeline/background.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t sample_get(const uint8_t *row, size_t index, unsigned depth) {
    if (depth == 8) return row[index];
    uint16_t sample;
    memcpy(&sample, row + 2 * index, 2);
    return sample;
}

static inline void sample_put(uint8_t *row, size_t index, unsigned depth, uint32_t value) {
    if (depth == 8) {
        row[index] = (uint8_t)value;
        return;
    }
    const uint16_t sample = (uint16_t)value;
    memcpy(row + 2 * index, &sample, 2);
}

/* The gray or the luma of the pixel whose first sample is at INDEX. */
static inline uint32_t sample_luma(const uint8_t *row, size_t index, unsigned channels,
                                   unsigned depth) {
    const uint32_t first = sample_get(row, index, depth);
    return channels < 3
               ? first
               : luma(first, sample_get(row, index + 1, depth), sample_get(row, index + 2, depth));
}

/* The same, laid over UNDER where the pixel has alpha. */
static inline uint32_t sample_luma_over(const uint8_t *row, size_t index, unsigned channels,
                                        unsigned depth, const struct background *under) {
    if (channels % 2) return sample_luma(row, index, channels, depth);
    const uint32_t first = sample_get(row, index, depth),
                   alpha = sample_get(row, index + channels - 1, depth);
    return channels == 2 ? background_lay(first, alpha, under->sample[0], depth)
                         : background_luma(first, sample_get(row, index + 1, depth),
                                           sample_get(row, index + 2, depth), alpha, under, depth);
}

/* Whether the pixel whose first sample is at INDEX can be seen: 1 or 0. */
static inline uint32_t sample_visible(const uint8_t *row, size_t index, unsigned channels,
                                      unsigned depth) {
    return channels % 2 || sample_get(row, index + channels - 1, depth) > 0;
}

/* Calls row_function(..., channels, depth) with constants. */
#define SPECIALISE(channels, depth, row_function, ...)                                             \
    do {                                                                                           \
        switch ((channels)*100 + (depth)) {                                                        \
        case 108: row_function(__VA_ARGS__, 1, 8); break;                                          \
        case 208: row_function(__VA_ARGS__, 2, 8); break;                                          \
        case 308: row_function(__VA_ARGS__, 3, 8); break;                                          \
        case 408: row_function(__VA_ARGS__, 4, 8); break;                                          \
        case 116: row_function(__VA_ARGS__, 1, 16); break;                                         \
        case 216: row_function(__VA_ARGS__, 2, 16); break;                                         \
        case 316: row_function(__VA_ARGS__, 3, 16); break;                                         \
        default: row_function(__VA_ARGS__, 4, 16); break;                                          \
        }                                                                                          \
    } while (0)

/* The same for pixels with alpha: 2 or 4 channels. */
#define SPECIALISE_ALPHA(channels, depth, row_function, ...)                                       \
    do {                                                                                           \
        switch ((channels)*100 + (depth)) {                                                        \
        case 208: row_function(__VA_ARGS__, 2, 8); break;                                          \
        case 408: row_function(__VA_ARGS__, 4, 8); break;                                          \
        case 216: row_function(__VA_ARGS__, 2, 16); break;                                         \
        default: row_function(__VA_ARGS__, 4, 16); break;                                          \
        }                                                                                          \
    } while (0)

#endif
