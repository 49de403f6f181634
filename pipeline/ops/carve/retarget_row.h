// SPDX-License-Identifier: Apache-2.0
/* retarget_row.h - a row that loses or doubles the pixels of seams, by two ways: plain C, which
 * says what is meant, and AVX2, which leaves a few pixels at both ends to it.
 *
 * Used by:  retarget.c.
 * Owns:     nothing.
 * Threads:  each has a row of its own.
 */
#ifndef BURIN_CARVE_RETARGET_ROW_H
#define BURIN_CARVE_RETARGET_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct retarget_row {
    const uint16_t *map;
    const uint8_t *in, *in_end;
    uint8_t *out, *out_end; /* of what is still to be written */
    uint32_t width;         /* of `in` and the map */
    uint16_t seams;         /* so many are taken out or doubled */
    bool grows;
    unsigned channels, depth;
};

/* Does a number of the map, below 2^16, belong to those seams? */
static inline bool retarget_crosses(uint16_t number, uint16_t seams) {
    return (uint16_t)(number - 1) < seams;
}

enum { RETARGET_MASKS = 16, RETARGET_BYTES = 32 };

/* By which pixels of a group a seam goes through, where in its result each byte comes from: of the
 * group's pixels, or of the means for all of them; 128: not from there. */
struct retarget_shuffles {
    uint32_t group; /* pixels */
    uint8_t pixels[RETARGET_MASKS][RETARGET_BYTES], means[RETARGET_MASKS][RETARGET_BYTES];
    uint8_t length[RETARGET_MASKS]; /* bytes of the result */
};

void retarget_shuffles_make(struct retarget_shuffles *shuffles, size_t pixel_bytes, bool grows);

/* Pixels from FIRST on, of which the left neighbour is in the row, as many as it can. Where it
 * ended. */
uint32_t retarget_row_avx2(struct retarget_row *row, const struct retarget_shuffles *shuffles,
                           uint32_t first);

#endif
