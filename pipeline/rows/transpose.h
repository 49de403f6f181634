// SPDX-License-Identifier: Apache-2.0
/* transpose.h - rows become columns, a tile at a time, with AVX2 where the CPU has it.
 *
 * Used by:  ops/rotate.c.
 * Threads:  any; calls for different rows of the result may run at the same time.
 */
#ifndef BURIN_TRANSPOSE_H
#define BURIN_TRANSPOSE_H

#include <stddef.h>
#include <stdint.h>

enum { TRANSPOSE_TILE = 64 }; /* pixels a side: a cache line of the smallest ones */

/* COLUMNS x ROWS pixels of FROM; rows are a stride apart, which may be negative. */
struct transpose {
    const uint8_t *from;
    uint8_t *to;
    ptrdiff_t from_stride, to_stride; /* bytes */
    uint32_t columns, rows;
    size_t pixel_bytes; /* 1, 2, 3, 4, 6 or 8 */
};

/* Sets pixel j of TO's row i to pixel i of FROM's row j; they do not overlap. */
void transpose_pixels(const struct transpose *transpose);

#endif
