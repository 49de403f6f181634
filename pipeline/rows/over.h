// SPDX-License-Identifier: Apache-2.0
/* over.h - rows of RGBA laid over rows of RGB or RGBA, 8 bits each, in place: composite.h's `over`,
 * and some of its blends.
 *
 * Used by:  ops/composite.c; its definition has the blends.
 * Threads:  any; no state.
 */
#ifndef BURIN_ROWS_OVER_H
#define BURIN_ROWS_OVER_H

#include <stddef.h>
#include <stdint.h>

enum { BLEND_OVER, BLEND_MULTIPLY, BLEND_SCREEN, BLEND_OVERLAY, BLEND_SOFT_LIGHT };

/* OPACITY: in thousandths. */
void over_rgba8(uint8_t *out, const uint8_t *rgba, size_t pixels, uint32_t opacity);

/* BLEND: all but BLEND_SOFT_LIGHT. */
void over_rgb8(uint8_t *rgb, const uint8_t *rgba, size_t pixels, uint32_t opacity, int blend);

#endif
