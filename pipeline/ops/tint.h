// SPDX-License-Identifier: Apache-2.0
/* tint.h - the weights of tint: c' = (1 - amount) c + amount Y color / M, Y the luma of luma.h.
 *
 * With amount 1 white becomes the colour, black stays black, and between lie the colour's shades.
 * The colour's own alpha does nothing.
 *
 * Used by:  tint, on both devices.
 */
#ifndef BURIN_OPS_TINT_H
#define BURIN_OPS_TINT_H

#include "pipeline/colour_matrix.h"
#include "pipeline/param.h"

/* Places in the parameter list; the amount is in thousandths. */
enum { TINT_COLOR, TINT_AMOUNT };

HOST_DEVICE struct colour_matrix tint_weights(const struct params *params) {
    const int64_t amount = params->number[TINT_AMOUNT];
    struct colour_matrix matrix = { { { 0 } } };
    for (int c = 0; c < 3; c++) {
        const int64_t colour = params->number[TINT_COLOR] >> (24 - 8 * c) & 255;
        for (int k = 0; k < 3; k++)
            matrix.weight[c][k] = colour_matrix_weight((1000 - amount) * (c == k) * 255 * 256 +
                                                           amount * colour * colour_matrix_luma(k),
                                                       INT64_C(1000) * 255 * 256);
    }
    return matrix;
}

#endif
