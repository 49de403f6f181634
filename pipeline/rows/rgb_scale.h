// SPDX-License-Identifier: Apache-2.0
/* rgb_scale.h - RGB pixels scaled to a new value V = max(R, G, B), with AVX2 where the CPU has it.
 *
 * Used by:  ops/histeq.c, ops/clahe/plane.c.
 * Threads:  any.
 */
#ifndef BURIN_RGB_SCALE_H
#define BURIN_RGB_SCALE_H

#include <stddef.h>
#include <stdint.h>

/* New levels of V, and for each V the factor of its pixels' channels: LEVEL[V] / V in units of
 * 2^-16. */
struct rgb_scale {
    uint32_t factor[256];
    uint8_t level[256];
};
void rgb_scale_make(struct rgb_scale *scale, const uint8_t level[256]);

/* Sets each channel c to round(c * LEVEL[V] / V), half up; LEVEL[0] where V is 0. RGB and OUT do
 * not overlap. */
void rgb_scale_apply(const struct rgb_scale *scale, const uint8_t *rgb, uint8_t *out,
                     size_t pixels);

void rgb_scale_values(const uint8_t *rgb, uint8_t *values, size_t pixels);

/* Does the same with a new level for each pixel in LEVELS. */
void rgb_scale_levels(const uint8_t *rgb, const uint8_t *levels, uint8_t *out, size_t pixels);

#endif
