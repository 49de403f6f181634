// SPDX-License-Identifier: Apache-2.0
/* matrix.h - the weights of matrix: 9 numbers, three a row, without white, or 12.
 *
 * Used by:  matrix, on both devices.
 */
#ifndef BURIN_OPS_MATRIX_H
#define BURIN_OPS_MATRIX_H

#include "pipeline/colour_matrix.h"
#include "pipeline/param.h"

HOST_DEVICE struct colour_matrix matrix_weights(const struct params *params) {
    const int columns = params->tap_count / 3;
    struct colour_matrix matrix;
    for (int c = 0; c < 3; c++)
        for (int k = 0; k < 4; k++)
            matrix.weight[c][k] =
                (int16_t)(k < columns ? colour_matrix_weight(params->taps[c * columns + k], 1000)
                                      : 0);
    return matrix;
}

#endif
