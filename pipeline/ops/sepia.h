// SPDX-License-Identifier: Apache-2.0
/* sepia.h - the weights of sepia: those of CSS, (1 - amount) I + amount S.
 *
 * Used by:  sepia, on both devices.
 * Source:   W3C, Filter Effects Module Level 1, sepia(): rows of S are 0.393 0.769 0.189, 0.349
 *           0.686 0.168, and 0.272 0.534 0.131.
 */
#ifndef BURIN_OPS_SEPIA_H
#define BURIN_OPS_SEPIA_H

#include "pipeline/colour_matrix.h"
#include "pipeline/param.h"

enum { SEPIA_AMOUNT }; /* place in the parameter list; in thousandths */

HOST_DEVICE struct colour_matrix sepia_weights(const struct params *params) {
    const int16_t sepia[3][3] = { { 393, 769, 189 }, { 349, 686, 168 }, { 272, 534, 131 } };
    const long amount = params->number[SEPIA_AMOUNT];
    struct colour_matrix matrix = { { { 0 } } };
    for (int c = 0; c < 3; c++)
        for (int k = 0; k < 3; k++)
            matrix.weight[c][k] = colour_matrix_weight(
                1000 * (1000 - amount) * (c == k) + amount * sepia[c][k], 1000000);
    return matrix;
}

#endif
