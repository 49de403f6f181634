// SPDX-License-Identifier: Apache-2.0
/* pad.h - a border of any width on each side.
 *
 * The result has `left` + width + `right` columns and `top` + height + `bottom` rows; the image
 * lies in it unchanged. Around it is `background`, or with `around` the image's own pixels: edge
 * repeats the outermost ones, mirror all of them mirrored, the outermost first, as often as it
 * takes (numpy.pad's `edge` and `symmetric`). A background with colour makes gray images coloured,
 * one that can be seen through gives the result alpha, as with resize's fit=contain.
 *
 * Used by:  pad, on both devices.
 */
#ifndef BURIN_OPS_PAD_H
#define BURIN_OPS_PAD_H

#include "pipeline/ops/resize/canvas.h"

/* Places in the parameter list. */
enum { PAD_TOP, PAD_RIGHT, PAD_BOTTOM, PAD_LEFT, PAD_AROUND, PAD_BACKGROUND };

static inline struct frame pad_frame(const struct params *params, const struct image *in) {
    const long *number = params->number;
    const uint32_t left = (uint32_t)number[PAD_LEFT], right = (uint32_t)number[PAD_RIGHT],
                   top = (uint32_t)number[PAD_TOP], bottom = (uint32_t)number[PAD_BOTTOM];
    const uint32_t width = in->width, height = in->height;
    struct frame frame = { { width, width, 0, 0, width, left, left + width + right },
                           { height, height, 0, 0, height, top, top + height + bottom },
                           false,
                           false,
                           0 };
    frame.channels =
        canvas_channels((uint32_t)number[PAD_BACKGROUND], number[PAD_AROUND], in->channels);
    return frame;
}

#endif
