// SPDX-License-Identifier: Apache-2.0
/* dp_row.h - one row of carving's dynamic programme, in costs of three widths.
 *
 * A cell's cost is its own plus the least of the up to three cells of the row before; which of them
 * that is, the smallest column among equals, is kept in two bits. Costs of two rows are all that is
 * ever held.
 *
 * COST_16 adds with saturation: it holds min(T, 65535), half the bytes and twice the cells a
 * vector of COST_32. Costs are not negative, so a path of less than 65535 has no beginning of
 * 65535 or more: whatever is held below 65535 is exact, and what is held as 65535 is at least that.
 * Hence the least of three, and the smallest column that has it, is right wherever it is below
 * 65535. At the middle row a sum with a saturated part is a lower bound. If the leftmost least sum
 * has none, it is exact; sums to its left, bounds or exact, are greater, those to its right not
 * less; so it is the leftmost least of the true sums. Otherwise the row says so, and the halves are
 * passed again in COST_32. From an exact cell the way back meets exact cells only, since the least
 * of three is no more than what came of it.
 *
 * COST_64 holds keys (definition.h) less 2^63: signed comparison then orders them, and the sum of
 * two halves is the key again.
 *
 * Used by:  seam_search.c.
 * Threads:  any, for rows apart.
 */
#ifndef BURIN_CARVE_DP_ROW_H
#define BURIN_CARVE_DP_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cost_bits { COST_16, COST_32, COST_64 };

/* An energy as an energy map keeps it: marks in the bits that no energy reaches. */
enum { ENERGY_BITS = 0x3fff, ENERGY_KEEP = 0x4000, ENERGY_REMOVE = 0x8000 };

/* Elements in front of a row of costs, and behind its end, that are its passes' own. */
enum { DP_MARGIN = 16, DP_SLACK = 48 };

/* Bytes of one cost. */
static inline size_t cost_bytes(enum cost_bits bits) {
    return (size_t)2 << bits;
}

/* Where the cell of the row before stands that a cell's cost came from: -1, 0 or 1 columns off. A
 * word tells 32 cells: the low half has a bit where it is -1, the high half where 0 serves too. */
static inline int dp_step(const uint64_t *parents, uint32_t x) {
    const uint64_t bits = parents[x / 32] >> (x % 32);
    const int left = bits & 1, straight = bits >> 32 & 1;
    return left ? -1 : 1 - straight;
}

/* NEXT := the costs of a first row of WIDTH pixels. ENERGIES of COST_16 and COST_32 carry no
 * marks. Up to DP_SLACK elements behind any row's end may be read and written. */
void dp_first_row(enum cost_bits bits, const uint16_t *energies, void *next, uint32_t width);

/* NEXT := the costs of a row behind that of BEFORE; PARENTS: a word for 32 pixels. */
void dp_next_row(enum cost_bits bits, const void *before, const uint16_t *energies, void *next,
                 uint64_t *parents, uint32_t width);

/* NEXT := costs of nothing, for a half that has no row. */
void dp_empty_row(enum cost_bits bits, void *next, uint32_t width);

/* What the whole seam is. */
struct dp_meeting {
    uint64_t cost;   /* energy, or key */
    uint32_t column; /* in the middle row */
    uint32_t below;  /* in the row below, if there is one */
    bool exact;
};

/* UPPER: costs of the middle row; LOWER: those of the row below. */
struct dp_meeting dp_meet(enum cost_bits bits, const void *upper, const void *lower,
                          uint32_t width);

#endif
