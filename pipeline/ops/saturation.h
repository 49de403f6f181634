// SPDX-License-Identifier: Apache-2.0
/* saturation.h - the weights of saturation: c' = Y + factor (c - Y), Y the luma of luma.h.
 *
 * A channel's weights of the others are (1 - factor) of their share of luma, rounded; its own is
 * what makes their sum 1. So grays stay as they are, and factor 0 gives grayscale's luma, three
 * times. The largest weight, of blue for factor 8, is 8 - 7 * 29 / 256 < 7.3.
 *
 * Used by:  saturation, on both devices.
 */
#ifndef BURIN_OPS_SATURATION_H
#define BURIN_OPS_SATURATION_H

#include "pipeline/colour_matrix.h"
#include "pipeline/param.h"

enum { SATURATION_FACTOR }; /* place in the parameter list; in thousandths */

HOST_DEVICE struct colour_matrix saturation_weights(const struct params *params) {
    const long rest = 1000 - params->number[SATURATION_FACTOR];
    struct colour_matrix matrix = { { { 0 } } };
    for (int c = 0; c < 3; c++)
        for (int k = 0; k < 3; k++)
            matrix.weight[c][k] = colour_matrix_weight(rest * colour_matrix_luma(k), 256000);
    colour_matrix_keep_gray(&matrix);
    return matrix;
}

#endif
