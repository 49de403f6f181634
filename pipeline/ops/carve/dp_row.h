// SPDX-License-Identifier: Apache-2.0
/* dp_row.h - one row of carving's dynamic programme, in costs of three widths.
 *
 * A cell's cost is its own plus the least of up to three cells of the row before. Two bits record
 * which of them, the leftmost of equal ones. Only the costs of two rows are ever kept.
 *
 * COST_16 adds with saturation and holds min(T, 65535), in half the bytes of COST_32 and with twice
 * the cells a vector. Costs are not negative, so a path below 65535 has no beginning of 65535 or
 * more: a stored value below 65535 is exact, and 65535 means at least that. So the least of three,
 * and its leftmost column, is right wherever it is below 65535. At the middle row a sum with a
 * saturated part is a lower bound. If the leftmost least sum has no such part, it is exact; sums to
 * its left, bounds or exact, are greater, and those to its right are not less; so it is the
 * leftmost least of the true sums. Otherwise `exact` is false, and both halves are computed again
 * in COST_32. The way back from an exact cell meets only exact cells, since the least of three
 * never exceeds the cost that it led to.
 *
 * COST_64 holds keys (definition.h) less 2^63: signed comparison orders them, and the sum of two
 * halves is a key again.
 *
 * In a weighed search (definition.h) diagonal steps cost something too; only COST_32 and COST_64 do
 * that. The columns outside have the greatest cost less CARVE_FENCE_ROOM.
 *
 * Used by:  seam_search.c, tiles.c.
 * Threads:  any, for different rows.
 */
#ifndef BURIN_CARVE_DP_ROW_H
#define BURIN_CARVE_DP_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cost_bits { COST_16, COST_32, COST_64 };

/* An energy as an energy map stores it: marks use the bits that no energy reaches. */
enum { ENERGY_BITS = 0x3fff, ENERGY_KEEP = 0x4000, ENERGY_REMOVE = 0x8000 };

/* Elements before a row of costs and after its end that dp_* functions may read and write. */
enum { DP_MARGIN = 16, DP_SLACK = 48 };

static inline size_t cost_bytes(enum cost_bits bits) {
    return (size_t)2 << bits;
}

/* Returns the column offset (-1, 0 or 1) of the cell in the row before from which a cell's cost
 * came. A word describes 32 cells: bits of the low half mean -1, bits of the high half that 0 is as
 * good. */
static inline int dp_step(const uint64_t *parents, uint32_t x) {
    const uint64_t bits = parents[x / 32] >> (x % 32);
    const int left = bits & 1, straight = bits >> 32 & 1;
    return left ? -1 : 1 - straight;
}

/* Sets NEXT to the costs of a first row of WIDTH pixels. ENERGIES of COST_16 and COST_32 carry no
 * marks. Up to DP_SLACK elements after the end of any row may be read and written. */
void dp_first_row(enum cost_bits bits, const uint16_t *energies, void *next, uint32_t width);

/* Sets NEXT to the costs of the row after that of BEFORE; PARENTS gets a word for 32 pixels. */
void dp_next_row(enum cost_bits bits, const void *before, const uint16_t *energies, void *next,
                 uint64_t *parents, uint32_t width);

/* The costs of a weighed search's diagonal steps between two rows, of whose luma HERE is the one
 * that is computed. CORNERS: 255, or 0 if luma does not count. */
struct dp_steps {
    const uint8_t *here, *before;
    uint32_t rigidity, corners;
};

/* dp_next_row of a weighed search. */
void dp_weighed_row(enum cost_bits bits, const void *before, const uint16_t *energies, void *next,
                    uint64_t *parents, uint32_t width, struct dp_steps steps);

/* Puts what must lie around a row of WIDTH costs that were copied together. */
void dp_end_row(enum cost_bits bits, void *row, uint32_t width);

/* Sets NEXT to costs of 0, for a half without rows. */
void dp_empty_row(enum cost_bits bits, void *next, uint32_t width);

/* The seam's cost, and where it crosses the middle. */
struct dp_meeting {
    uint64_t cost;   /* energy, or key */
    uint32_t column; /* in the middle row */
    uint32_t below;  /* in the row below, if there is one */
    bool exact;
};

/* UPPER has the costs of the middle row, LOWER those of the row below. */
struct dp_meeting dp_meet(enum cost_bits bits, const void *upper, const void *lower,
                          uint32_t width);

/* The same of a weighed search; STEPS are those from the middle row (`here`) to the row below. */
struct dp_meeting dp_weighed_meet(enum cost_bits bits, const void *upper, const void *lower,
                                  uint32_t width, struct dp_steps steps);

#endif
