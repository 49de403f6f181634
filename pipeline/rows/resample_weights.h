// SPDX-License-Identifier: Apache-2.0
/* resample_weights.h - which source pixels make a target pixel of one axis, and with which weights.
 *
 * An axis of `from` pixels is scaled to `to`; `count` of the target pixels, from `first` on, are
 * wanted. With scale = from / to, fs = max(1, scale) and S = reach * fs (lanczos3 3, cubic 2,
 * linear 1, box 0.5) target pixel i has its centre at c = (i + 0.5) * scale and its window from
 * trunc(c - S + 0.5) to trunc(c + S + 0.5), cut at the edges. Pixel j weighs f((j - c + 0.5) / fs),
 * divided by the sum over the window: in double, without contraction, then rounded to integers in
 * units of 2^-22, half away from zero. A result is (2^21 + sum of weight * sample) >> 22, clamped;
 * see resample_result. The sum of a window's |weights| is at most 1.56 * 2^22: times 255 it fits 32
 * bits in any order.
 *
 * Used by:  rows/resample.c; the operator's twin, which uploads them.
 * Owns:     nothing; the memory is the caller's.
 * Threads:  making: one; reading: any.
 * Limits:   from <= IMAGE_SIDE_MAX; to: any that 32 bits hold; first + count <= to.
 * Source:   Pillow, src/libImaging/Resample.c; the results agree bit for bit.
 */
#ifndef BURIN_RESAMPLE_WEIGHTS_H
#define BURIN_RESAMPLE_WEIGHTS_H

#include "pipeline/host_device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum resample_kernel { RESAMPLE_LANCZOS3, RESAMPLE_CUBIC, RESAMPLE_LINEAR, RESAMPLE_BOX };

enum { RESAMPLE_BITS = 22, RESAMPLE_PITCH = 4 };

struct resample_axis {
    uint32_t from, to;     /* pixels, at least 1 */
    uint32_t first, count; /* the wanted target pixels; count at least 1 */
    enum resample_kernel kernel;
};

/* Source pixels first .. first + count - 1; count is at least 1. */
struct resample_window {
    uint32_t first, count;
};

struct resample_weights {
    struct resample_window *windows; /* one for each wanted target pixel, in order */
    int32_t *weights;                /* of window i from i * pitch on, zeros after its end */
    uint32_t count;                  /* target pixels */
    uint32_t pitch;                  /* a multiple of RESAMPLE_PITCH, no less than any window */
};

/* Whether AXIS must be resampled; otherwise it is copied. */
static inline bool resample_changes(const struct resample_axis *axis) {
    return axis->from != axis->to;
}

uint32_t resample_pitch(const struct resample_axis *axis);

/* Returns the bytes for resample_weights_make, a multiple of 8. */
size_t resample_weights_bytes(const struct resample_axis *axis);

/* Fills MEMORY, 8-byte aligned: windows first, then weights. */
struct resample_weights resample_weights_make(void *memory, const struct resample_axis *axis);

/* Returns all source pixels that the wanted ones need, also for an axis that is copied. */
struct resample_window resample_span(const struct resample_axis *axis);

/* Returns the sample for SUM, of weight * sample; MAX is 255 or 65535. */
HOST_DEVICE uint32_t resample_result(int64_t sum, uint32_t max) {
    const int64_t value = (sum + (1 << (RESAMPLE_BITS - 1))) >> RESAMPLE_BITS;
    return value < 0 ? 0 : value > (int64_t)max ? max : (uint32_t)value;
}

#ifdef __cplusplus
}
#endif
#endif
