// SPDX-License-Identifier: Apache-2.0
#include "pipeline/rows/alpha.h"

#include "pipeline/premultiply.h"
#include "pipeline/sample.h"

#define INLINE static inline __attribute__((always_inline))

INLINE void multiply(uint8_t *row, size_t pixels, unsigned channels, unsigned depth) {
    for (size_t i = 0; i < pixels * channels; i += channels) {
        const uint32_t alpha = sample_get(row, i + channels - 1, depth);
        for (unsigned c = 0; c < channels - 1; c++)
            sample_put(row, i + c, depth, premultiply(sample_get(row, i + c, depth), alpha, depth));
    }
}

INLINE void divide(uint8_t *row, size_t pixels, unsigned channels, unsigned depth) {
    const uint32_t max = depth == 8 ? 255 : 65535;
    for (size_t i = 0; i < pixels * channels; i += channels) {
        const uint32_t alpha = sample_get(row, i + channels - 1, depth);
        if (alpha == 0 || alpha == max) continue;
        for (unsigned c = 0; c < channels - 1; c++)
            sample_put(row, i + c, depth,
                       unpremultiply(sample_get(row, i + c, depth), alpha, depth));
    }
}

INLINE void keep(const uint8_t *in, uint8_t *out, size_t pixels, unsigned channels,
                 unsigned depth) {
    for (size_t i = channels - 1; i < pixels * channels; i += channels)
        sample_put(out, i, depth, sample_get(in, i, depth));
}

void alpha_multiply(uint8_t *row, size_t pixels, unsigned channels, unsigned depth) {
    switch (channels * 100 + depth) {
    case 208: multiply(row, pixels, 2, 8); break;
    case 408: multiply(row, pixels, 4, 8); break;
    case 216: multiply(row, pixels, 2, 16); break;
    default: multiply(row, pixels, 4, 16); break;
    }
}

void alpha_divide(uint8_t *row, size_t pixels, unsigned channels, unsigned depth) {
    switch (channels * 100 + depth) {
    case 208: divide(row, pixels, 2, 8); break;
    case 408: divide(row, pixels, 4, 8); break;
    case 216: divide(row, pixels, 2, 16); break;
    default: divide(row, pixels, 4, 16); break;
    }
}

void alpha_keep(const uint8_t *in, uint8_t *out, size_t pixels, unsigned channels, unsigned depth) {
    switch (channels * 100 + depth) {
    case 208: keep(in, out, pixels, 2, 8); break;
    case 408: keep(in, out, pixels, 4, 8); break;
    case 216: keep(in, out, pixels, 2, 16); break;
    default: keep(in, out, pixels, 4, 16); break;
    }
}
