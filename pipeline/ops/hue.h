// SPDX-License-Identifier: Apache-2.0
/* hue.h - the weights of hue: colours turned about the gray axis, their luma kept.
 *
 *   W = L + cos(a) (I - L) + sin(a) N
 *
 * Every row of L is luma.h's weights. N turns by a quarter in the plane of I and Q of the NTSC's
 * YIQ, with that luma in Y's place: its rows sum to 0, and so do its columns by luma's weights. Red
 * turns to yellow, green, blue, as in CSS's hue-rotate() and HSV. A channel's own weight is what
 * makes its row's sum 1: grays stay as they are. Colours that leave the range are clamped, and only
 * they change luma by more than roundings. No weight is over 2 in size.
 *
 * Used by:  hue, on both devices.
 */
#ifndef BURIN_OPS_HUE_H
#define BURIN_OPS_HUE_H

#include "pipeline/colour_matrix.h"
#include "pipeline/param.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HUE_DEGREES }; /* place in the parameter list; in thousandths */

struct colour_matrix hue_weights(const struct params *params);

#ifdef __cplusplus
}
#endif
#endif
