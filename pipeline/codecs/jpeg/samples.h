// SPDX-License-Identifier: Apache-2.0
/* samples.h - from a JPEG's decoded planes to a pixel as libjpeg-turbo 2 gives it: the
 * arithmetic that both devices share.
 *
 * Chroma that has half the luma's columns (4:2:2) is brought up with weights 3/4 and 1/4 of the
 * nearer and the farther sample, half the rows as well (4:2:0) the same in both directions at
 * once: 9, 3, 3, 1 sixteenths. Beyond the plane's edges its own last row or column goes on.
 * Rounding leans up and down in turn, by the pixel's column: even 1, odd 2 of 4; even 8, odd 7 of
 * 16. A plane of one or two columns is not smoothed: each sample stands for its pixels.
 * R, G and B follow JFIF's equations with weights in 1/65536, rounded half up and clamped.
 *
 * Used by:  tests, and a device that decodes JPEGs itself.
 * Source:   ISO/IEC 10918-5 (JFIF) for the conversion; the "fancy upsampling" that libjpeg does by
 *           default. tests/pipeline/codecs/jpeg/samples.c compares with libjpeg-turbo itself.
 * Limits:   no sample outside of width x height of a plane is read.
 */
#ifndef BURIN_JPEG_SAMPLES_H
#define BURIN_JPEG_SAMPLES_H

#include "pipeline/host_device.h"

#include <stddef.h>
#include <stdint.h>

enum { JPEG_PLANES = 3, JPEG_PLAIN_COLUMNS = 2 /* of chroma, that are not smoothed */ };

/* Y, Cb and Cr before upsampling, 8 bit, the stored way up. Cb and Cr are alike. */
struct jpeg_planes {
    const uint8_t *samples[JPEG_PLANES]; /* gray: the first alone */
    uint32_t width, height;              /* luma's, the JPEG's own */
    uint32_t luma_stride, chroma_stride; /* bytes */
    uint8_t across, down;                /* luma samples a chroma sample: 1, 1 or 2, 1 or 2, 2 */
};

/* Samples of a chroma plane along a side of LENGTH pixels, of which one sample covers 1 or 2: so a
 * shift divides. */
HOST_DEVICE uint32_t jpeg_chroma_length(uint32_t length, uint32_t covers) {
    return (length + covers - 1) >> (covers - 1);
}

/* The chroma samples that a pixel is made of: two columns and two rows, which may be the same. */
struct jpeg_spot {
    uint32_t near_x, far_x;
    size_t near_row, far_row; /* bytes from the plane's start */
    uint8_t shift, bias;      /* of the weighted sum; shift 0: the near sample alone */
};

/* A pixel lies between two samples; this is the farther: before the near one for even pixels, after
 * it for odd ones, or the near one itself at the edge of the plane. */
HOST_DEVICE uint32_t jpeg_far(uint32_t pixel, uint32_t near, uint32_t length) {
    if (pixel & 1) return near + 1 < length ? near + 1 : near;
    return near ? near - 1 : 0;
}

HOST_DEVICE struct jpeg_spot jpeg_spot_of(const struct jpeg_planes *planes, uint32_t x,
                                          uint32_t y) {
    const uint32_t columns = jpeg_chroma_length(planes->width, planes->across);
    const uint32_t rows = jpeg_chroma_length(planes->height, planes->down);
    const uint32_t near_x = x >> (planes->across - 1), near_y = y >> (planes->down - 1);
    uint32_t far_x = near_x, far_y = near_y;
    struct jpeg_spot spot;
    spot.shift = 0;
    spot.bias = 0;
    if (planes->across == 2 && columns > JPEG_PLAIN_COLUMNS) {
        far_x = jpeg_far(x, near_x, columns);
        if (planes->down == 2) far_y = jpeg_far(y, near_y, rows);
        spot.shift = planes->down == 2 ? 4 : 2;
        spot.bias = (uint8_t)(planes->down == 2 ? 8 - (x & 1) : 1 + (x & 1));
    }
    spot.near_x = near_x;
    spot.far_x = far_x;
    spot.near_row = (size_t)near_y * planes->chroma_stride;
    spot.far_row = (size_t)far_y * planes->chroma_stride;
    return spot;
}

HOST_DEVICE int32_t jpeg_chroma(const uint8_t *plane, const struct jpeg_spot *spot) {
    const uint8_t *near_row = plane + spot->near_row, *far_row = plane + spot->far_row;
    const uint32_t near = near_row[spot->near_x];
    if (spot->shift == 0) return (int32_t)near;
    const uint32_t far = near_row[spot->far_x];
    if (spot->shift == 2) return (int32_t)((3 * near + far + spot->bias) >> 2);
    const uint32_t near_column = 3 * near + far_row[spot->near_x];
    const uint32_t far_column = 3 * far + far_row[spot->far_x];
    return (int32_t)((3 * near_column + far_column + spot->bias) >> 4);
}

HOST_DEVICE uint32_t jpeg_clamp(int32_t value) {
    return (uint32_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* A pixel's colours by JFIF, not clamped yet. Right shifts of negative numbers round down. */
HOST_DEVICE int32_t jpeg_red(int32_t y, int32_t cr) {
    return y + ((91881 * (cr - 128) + (1 << 15)) >> 16);
}

HOST_DEVICE int32_t jpeg_green(int32_t y, int32_t cb, int32_t cr) {
    return y + (((1 << 15) - 22554 * (cb - 128) - 46802 * (cr - 128)) >> 16);
}

HOST_DEVICE int32_t jpeg_blue(int32_t y, int32_t cb) {
    return y + ((116130 * (cb - 128) + (1 << 15)) >> 16);
}

/* Red in the lowest byte, then green, then blue. */
HOST_DEVICE uint32_t jpeg_rgb(int32_t y, int32_t cb, int32_t cr) {
    return jpeg_clamp(jpeg_red(y, cr)) | jpeg_clamp(jpeg_green(y, cb, cr)) << 8 |
           jpeg_clamp(jpeg_blue(y, cb)) << 16;
}

/* The stored pixel (X, Y) of a gray JPEG. */
HOST_DEVICE uint32_t jpeg_luma(const struct jpeg_planes *planes, uint32_t x, uint32_t y) {
    return planes->samples[0][(size_t)y * planes->luma_stride + x];
}

/* The stored pixel (X, Y) of one in colour, as jpeg_rgb packs it. */
HOST_DEVICE uint32_t jpeg_pixel(const struct jpeg_planes *planes, uint32_t x, uint32_t y) {
    const struct jpeg_spot spot = jpeg_spot_of(planes, x, y);
    return jpeg_rgb((int32_t)jpeg_luma(planes, x, y), jpeg_chroma(planes->samples[1], &spot),
                    jpeg_chroma(planes->samples[2], &spot));
}

struct jpeg_place {
    uint32_t x, y;
};

/* The stored place of pixel (X, Y) of the upright picture, the inverse of oriented_rows.c. WIDTH
 * and HEIGHT are the stored ones; ORIENTATION is EXIF's, 1..8. */
HOST_DEVICE struct jpeg_place jpeg_stored_place(uint8_t orientation, uint32_t width,
                                                uint32_t height, uint32_t x, uint32_t y) {
    const uint32_t column = orientation >= 5 ? y : x, row = orientation >= 5 ? x : y;
    const uint32_t from_right = 1u << 2 | 1u << 3 | 1u << 7 | 1u << 8;
    const uint32_t from_below = 1u << 3 | 1u << 4 | 1u << 6 | 1u << 7;
    struct jpeg_place place;
    place.x = from_right >> orientation & 1 ? width - 1 - column : column;
    place.y = from_below >> orientation & 1 ? height - 1 - row : row;
    return place;
}

#endif
