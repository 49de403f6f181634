// SPDX-License-Identifier: Apache-2.0
/* colour_matrix.h - a row of pixels through a matrix of pipeline/colour_matrix.h.
 *
 * Used by:  ops/colour_matrix_rows.h.
 * Threads:  any; no state.
 */
#ifndef BURIN_ROWS_COLOUR_MATRIX_H
#define BURIN_ROWS_COLOUR_MATRIX_H

#include <stdint.h>

struct colour_matrix;

/* Sets OUT, of three channels, or four where IN has alpha, which is kept. IN and OUT must not
 * overlap. */
void colour_matrix_row(const struct colour_matrix *matrix, const uint8_t *in, uint8_t *out,
                       uint32_t width, unsigned channels, unsigned depth);

#endif
