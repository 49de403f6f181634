// SPDX-License-Identifier: Apache-2.0
/* crop.h - which part of the image crop keeps.
 *
 * Used by:  crop and composite, on both devices.
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

/* The side that CHOICE, the centre or one of eight of a compass, means across and down: -1 the side
 * where counting begins, 1 the other. */
static inline const signed char *crop_side(long choice) {
    static const signed char sides[][2] = { { 0, 0 }, { 0, -1 }, { 1, -1 }, { 1, 0 },  { 1, 1 },
                                            { 0, 1 }, { -1, 1 }, { -1, 0 }, { -1, -1 } };
    return sides[choice];
}

static inline struct rectangle crop_rectangle(const struct op_call *call) {
    const signed char *side = crop_side(call->params->number[CROP_GRAVITY]);
    const struct rectangle from = { crop_offset(call->in.width - call->out.width, side[0]),
                                    crop_offset(call->in.height - call->out.height, side[1]) };
    return from;
}

#endif
