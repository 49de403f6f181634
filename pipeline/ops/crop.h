// SPDX-License-Identifier: Apache-2.0
/* crop.h - which part of the image crop keeps.
 *
 * Used by:  crop, on both devices.
 */
#ifndef BURIN_OPS_CROP_H
#define BURIN_OPS_CROP_H

#include "pipeline/ops/rectangle.h"

/* Places in the parameter list. */
enum { CROP_WIDTH, CROP_HEIGHT, CROP_GRAVITY };

/* Returns how many of the CUT pixels lie before the part: none for SIDE -1, half for 0, all for 1.
 */
static inline uint32_t crop_offset(uint32_t cut, int side) {
    return side < 0 ? 0 : side > 0 ? cut : cut / 2;
}

/* The table is in the order of the parameter's choices. */
static inline struct rectangle crop_rectangle(const struct op_call *call) {
    static const signed char sides[][2] = { { 0, 0 }, { 0, -1 }, { 1, -1 }, { 1, 0 },  { 1, 1 },
                                            { 0, 1 }, { -1, 1 }, { -1, 0 }, { -1, -1 } };
    const signed char *side = sides[call->params->number[CROP_GRAVITY]];
    const struct rectangle from = { crop_offset(call->in.width - call->out.width, side[0]),
                                    crop_offset(call->in.height - call->out.height, side[1]) };
    return from;
}

#endif
