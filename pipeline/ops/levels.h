// SPDX-License-Identifier: Apache-2.0
/* levels.h - a range of samples stretched to the whole range, and bent by a power.
 *
 *   t  = clamp((v - black) / (white - black), 0, 1)
 *   v' = floor(M t^(1 / gamma) + 1/2)
 *
 * A white that is not above black counts as black + 1: the page moves one of them at a time. Both
 * are multiplied by 257 for 16 bits. With gamma 1 that is computed in integers:
 * floor((2 M (v - black) + d) / (2 d)), d = white - black, clamped. A gray image is changed
 * whichever channel is chosen.
 *
 * Used by:  levels, on both devices.
 * Threads:  any.
 */
#ifndef BURIN_OPS_LEVELS_H
#define BURIN_OPS_LEVELS_H

#include "pipeline/image.h"
#include "pipeline/ops/tone.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Places in the parameter list. */
enum { LEVELS_BLACK, LEVELS_WHITE, LEVELS_GAMMA, LEVELS_CHANNEL };

tone_fill levels_fill;

/* The channel of IN that changes, or TONE_ALL. */
static inline int levels_channel(const struct params *params, const struct image *in) {
    return image_colours(in) == 1 ? TONE_ALL : (int)params->number[LEVELS_CHANNEL] - 1;
}

#ifdef __cplusplus
}
#endif
#endif
