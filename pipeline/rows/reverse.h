// SPDX-License-Identifier: Apache-2.0
/* reverse.h - a row's pixels in the opposite order, with AVX2 where the CPU has it.
 *
 * Used by:  ops/flop.c, ops/rotate.c.
 * Threads:  any; no state.
 */
#ifndef BURIN_REVERSE_H
#define BURIN_REVERSE_H

#include <stddef.h>
#include <stdint.h>

/* Sets pixel i of OUT to pixel COUNT - 1 - i of IN; they do not overlap. A pixel has 1, 2, 3, 4, 6
 * or 8 bytes, whose order stays. */
void reverse_pixels(const uint8_t *in, uint8_t *out, size_t count, size_t pixel_bytes);

#endif
