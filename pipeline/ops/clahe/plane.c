// SPDX-License-Identifier: Apache-2.0
#include "pipeline/ops/clahe/plane.h"

#include "pipeline/ops/histeq.h"
#include "pipeline/sample.h"

#define INLINE static inline __attribute__((always_inline))

INLINE uint32_t value_of(const uint8_t *row, size_t i, int mode, unsigned depth) {
    const uint32_t red = sample_get(row, i, depth), green = sample_get(row, i + 1, depth),
                   blue = sample_get(row, i + 2, depth);
    if (mode == CLAHE_LUMA) return luma(red, green, blue);
    const uint32_t most = red > green ? red : green;
    return most > blue ? most : blue;
}

/* ---- take */

INLINE void take_row(const uint8_t *in, uint8_t *gray, size_t pixels, struct clahe_plane plane,
                     unsigned channels, unsigned depth) {
    for (size_t p = 0; p < pixels; p++)
        sample_put(gray, p, depth,
                   plane.mode == CLAHE_EACH ? sample_get(in, p * channels + plane.channel, depth)
                                            : value_of(in, p * channels, plane.mode, depth));
}

void clahe_plane_take(struct clahe_plane plane, const uint8_t *in, uint8_t *gray, size_t pixels,
                      unsigned channels, unsigned depth) {
    SPECIALISE(channels, depth, take_row, in, gray, pixels, plane);
}

/* ---- put */

INLINE void put_row(const uint8_t *in, const uint8_t *levels, uint8_t *out, size_t pixels,
                    struct clahe_plane plane, unsigned channels, unsigned depth) {
    const uint32_t max = depth == 8 ? 255 : 65535;
    for (size_t p = 0, i = 0; p < pixels; p++, i += channels) {
        const uint32_t level = sample_get(levels, p, depth);
        if (plane.mode == CLAHE_EACH) {
            sample_put(out, i + plane.channel, depth, level);
            continue;
        }
        const uint32_t value = value_of(in, i, plane.mode, depth);
        for (unsigned c = 0; c < 3; c++)
            sample_put(out, i + c, depth,
                       histeq_scaled(sample_get(in, i + c, depth), value, level, max));
    }
}

void clahe_plane_put(struct clahe_plane plane, const uint8_t *in, const uint8_t *levels,
                     uint8_t *out, size_t pixels, unsigned channels, unsigned depth) {
    SPECIALISE(channels, depth, put_row, in, levels, out, pixels, plane);
}
