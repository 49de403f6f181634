// SPDX-License-Identifier: Apache-2.0
/* energy.h - energies of a run of pixels, with AVX2 where the CPU has it.
 *
 * Each has a plain twin that says what it means; both give the same values.
 *
 * Used by:  energy_map.c.
 * Threads:  any.
 */
#ifndef BURIN_CARVE_ENERGY_H
#define BURIN_CARVE_ENERGY_H

#include <stdint.h>

/* Columns that may be read left and right of a run, and written behind its end. */
enum { ENERGY_MARGIN = 2, ENERGY_SLACK = 48 };

/* OUT[i] := the energy of the pixel i columns right of ROWS[2], i < COUNT. ROWS[0] to ROWS[4] are
 * the rows two above it to two below it, the border's row in place of one outside; ENERGY is one of
 * definition.h. Luma of ENERGY_MARGIN columns on each side counts; ENERGY_SLACK behind the end may
 * be read, and written in OUT. */
void energy_run(int energy, const uint8_t *const rows[5], uint32_t count, uint16_t *out);

#endif
