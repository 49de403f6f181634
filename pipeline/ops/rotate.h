// SPDX-License-Identifier: Apache-2.0
/* rotate.h - turns by any angle, clockwise: the definition, and the arithmetic that both devices
 * share.
 *
 * Multiples of 90 degrees move pixels. At other angles the result is the smallest picture that
 * holds the whole turned one: of w x h, ceil(w |cos| + h |sin|) by ceil(w |sin| + h |cos|). Both
 * have the same centre. A pixel's centre is turned back to a place in the image, in 256ths of a
 * pixel, rounded half up; the four pixels around that place are weighed by their distances along
 * each axis. Beyond the image is `background`, so that edges are smooth. Colours are weighed by
 * alpha too: c' = round(sum(w a c) / sum(w a)), and 0 where that is 0 / 0. A background with colour
 * makes gray images coloured, one that can be seen through gives the result alpha, as with resize's
 * fit=contain.
 *
 * Sine and cosine are the C library's, rounded to 30 binary places, once on the host. None of the
 * 360,000 angles has one within 1.2 * 10^-6 of a half there; the angle's own rounding and a
 * library's error stay below 10^-6 together: each machine has the same.
 *
 * Used by:  rotate, on both devices.
 * Limits:   sides of IMAGE_SIDE_MAX: sums below 2^50, and places below 2^27.
 */
#ifndef BURIN_OPS_ROTATE_H
#define BURIN_OPS_ROTATE_H

#include "pipeline/host_device.h"
#include "pipeline/op.h"
#include "pipeline/ops/resize/canvas.h"

#include <math.h>
#include <stdlib.h>

enum { ROTATE_ANGLE, ROTATE_BACKGROUND }; /* places in the parameter list */
enum { ROTATE_0, ROTATE_90, ROTATE_180, ROTATE_270, ROTATE_BETWEEN }; /* clockwise */

/* The angle in quarters, or ROTATE_BETWEEN. */
static inline int rotate_quarters(const struct params *params) {
    const long turn = 360000, angle = (params->number[ROTATE_ANGLE] % turn + turn) % turn;
    return angle % 90000 ? ROTATE_BETWEEN : (int)(angle / 90000);
}

struct rotation {
    int32_t cosine, sine; /* 2^-30 */
};

/* Within half a turn the angle's own rounding is small. */
static inline struct rotation rotation_of(const struct params *params) {
    const long turn = 360000, within = params->number[ROTATE_ANGLE] % turn;
    const long nearest = within > turn / 2    ? within - turn
                         : within < -turn / 2 ? within + turn
                                              : within;
    const double angle = (double)nearest * (3.14159265358979323846 / 180000);
    struct rotation rotation;
    rotation.cosine = (int32_t)lround(cos(angle) * (1 << 30));
    rotation.sine = (int32_t)lround(sin(angle) * (1 << 30));
    return rotation;
}

/* The background as a pixel of the result. */
static inline void rotation_background(const struct op_call *call, uint32_t pixel[4]) {
    uint16_t samples[4] = { 0 };
    canvas_pixel((uint32_t)call->params->number[ROTATE_BACKGROUND], call->out.channels,
                 call->out.depth, samples);
    for (int c = 0; c < 4; c++) pixel[c] = samples[c];
}

/* The sample of a pixel with IN channels that becomes sample C of the result. Alpha that the image
 * lacks is the caller's. */
HOST_DEVICE unsigned rotation_source(unsigned c, unsigned in, unsigned channels) {
    if (in == channels) return c;
    if (channels % 2 == 0 && c == channels - 1) return in - 1;
    return in < 3 ? 0 : c;
}

/* The side of the result along which ALONG and ACROSS have these shares. */
static inline uint32_t rotation_side(uint32_t along, int32_t along_share, uint32_t across,
                                     int32_t across_share) {
    const int64_t side =
        (int64_t)along * abs(along_share) + (int64_t)across * abs(across_share) + (1 << 30) - 1;
    return (uint32_t)(side >> 30);
}

/* The place on an axis of LENGTH pixels, in 256ths from its first pixel's centre on. X and Y: twice
 * the distance of a result's pixel from the centre. */
HOST_DEVICE int32_t rotation_place(int32_t x, int32_t x_share, int32_t y, int32_t y_share,
                                   uint32_t length) {
    const int64_t middle = ((int64_t)length - 1) * (1 << 30), half = 1 << 22;
    return (int32_t)(((int64_t)x * x_share + (int64_t)y * y_share + middle + half) >> 23);
}

/* The pixel between TAPS (upper left, upper right, lower left, lower right), at X and Y of 256
 * between them. */
HOST_DEVICE void rotation_mix(uint32_t taps[4][4], uint32_t x, uint32_t y, unsigned channels,
                              unsigned depth, uint32_t pixel[4]) {
    const uint32_t weights[4] = { (256 - x) * (256 - y), x * (256 - y), (256 - x) * y, x * y };
    const unsigned alpha = channels % 2 ? channels : channels - 1;
    uint32_t seen[4], sum = 0;
    for (int t = 0; t < 4 && channels % 2 == 0; t++) {
        seen[t] = weights[t] * taps[t][alpha];
        sum += seen[t];
    }
    for (unsigned c = 0; c < channels; c++) {
        if (c == alpha) {
            pixel[c] = (uint32_t)(((uint64_t)sum + 32768) >> 16);
        } else if (channels % 2) {
            uint32_t mixed = 32768;
            for (int t = 0; t < 4; t++) mixed += weights[t] * taps[t][c];
            pixel[c] = mixed >> 16;
        } else if (depth == 8) {
            uint32_t mixed = sum / 2;
            for (int t = 0; t < 4; t++) mixed += seen[t] * taps[t][c];
            pixel[c] = sum ? mixed / sum : 0;
        } else {
            uint64_t mixed = sum / 2;
            for (int t = 0; t < 4; t++) mixed += (uint64_t)seen[t] * taps[t][c];
            pixel[c] = sum ? (uint32_t)(mixed / sum) : 0;
        }
    }
}

#endif
