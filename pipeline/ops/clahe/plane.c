// SPDX-License-Identifier: Apache-2.0
#include "pipeline/ops/clahe/plane.h"

#include "pipeline/ops/histeq.h"
#include "pipeline/rows/rgb_luma.h"
#include "pipeline/rows/rgb_scale.h"
#include "pipeline/sample.h"

#define INLINE static inline __attribute__((always_inline))

INLINE uint32_t value_of(const uint8_t *row, size_t i, int mode, unsigned depth) {
    const uint32_t red = sample_get(row, i, depth), green = sample_get(row, i + 1, depth),
                   blue = sample_get(row, i + 2, depth);
    if (mode == CLAHE_LUMA) return luma(red, green, blue);
    const uint32_t most = red > green ? red : green;
    return most > blue ? most : blue;
}

/* May the kernels of pipeline/rows/ do it? */
static bool is_rgb8(struct clahe_plane plane, unsigned channels, unsigned depth) {
    return plane.mode != CLAHE_EACH && channels == 3 && depth == 8;
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
    if (is_rgb8(plane, channels, depth))
        (plane.mode == CLAHE_LUMA ? rgb_luma : rgb_scale_values)(in, gray, pixels);
    else
        SPECIALISE(channels, depth, take_row, in, gray, pixels, plane);
}

/* ---- put */

INLINE void put_channel(const uint8_t *levels, uint8_t *out, size_t pixels, unsigned channel,
                        unsigned channels, unsigned depth) {
    for (size_t p = 0; p < pixels; p++)
        sample_put(out, p * channels + channel, depth, sample_get(levels, p, depth));
}

INLINE void put_bytes(const uint8_t *restrict in, const uint8_t *restrict levels,
                      uint8_t *restrict out, size_t pixels, int mode, unsigned channels) {
    for (size_t p = 0; p < pixels; p++, in += channels, out += channels) {
        const int32_t value = (int32_t)value_of(in, 0, mode, 8), level = levels[p];
        const float reciprocal = 1.0f / (float)value;
        for (int c = 0; c < 3; c++)
            out[c] = (uint8_t)clahe_scaled8(in[c], value, level, reciprocal);
        if (channels == 4) out[3] = in[3];
    }
}

INLINE void put_words(const uint8_t *in, const uint8_t *levels, uint8_t *out, size_t pixels,
                      int mode, unsigned channels) {
    for (size_t p = 0, i = 0; p < pixels; p++, i += channels) {
        const uint32_t value = value_of(in, i, mode, 16), level = sample_get(levels, p, 16);
        for (unsigned c = 0; c < 3; c++)
            sample_put(out, i + c, 16,
                       histeq_scaled(sample_get(in, i + c, 16), value, level, 65535));
    }
}

INLINE void put_row(const uint8_t *in, const uint8_t *levels, uint8_t *out, size_t pixels,
                    struct clahe_plane plane, unsigned channels, unsigned depth) {
    if (plane.mode == CLAHE_EACH)
        put_channel(levels, out, pixels, plane.channel, channels, depth);
    else if (depth == 8)
        put_bytes(in, levels, out, pixels, plane.mode, channels);
    else
        put_words(in, levels, out, pixels, plane.mode, channels);
}

void clahe_plane_put(struct clahe_plane plane, const uint8_t *in, const uint8_t *levels,
                     uint8_t *out, size_t pixels, unsigned channels, unsigned depth) {
    if (is_rgb8(plane, channels, depth) && plane.mode == CLAHE_VALUE)
        rgb_scale_levels(in, levels, out, pixels);
    else
        SPECIALISE(channels, depth, put_row, in, levels, out, pixels, plane);
}
