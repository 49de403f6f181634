// SPDX-License-Identifier: Apache-2.0
/* rgb_luma.h - luma of a run of 8-bit RGB pixels, with AVX2 where the CPU has it.
 *
 * Used by:  edge, and energies (ops/carve/luma_row.h).
 * Threads:  any.
 */
#ifndef BURIN_RGB_LUMA_H
#define BURIN_RGB_LUMA_H

#include <stddef.h>
#include <stdint.h>

/* Computes pipeline/luma.h's luma. RGB and GRAY do not overlap. */
void rgb_luma(const uint8_t *rgb, uint8_t *gray, size_t pixels);

#endif
