// SPDX-License-Identifier: Apache-2.0
/* frame.h - the size to which resize scales a picture, the part that is kept, and its place.
 *
 * For a picture of W x H and both w and h given:
 *   fill      w x h
 *   inside    (w, round(H w / W)) where w H <= h W, else (round(W h / H), h)
 *   outside   the other of the two
 *   contain   as inside, on a canvas of w x h
 *   cover     as outside, cut to w x h
 *   carve     as outside; seams remove `share` percent of the excess, the rest is cut off
 * Sides are rounded half up and at least 1. If w or h is missing, every fit is inside with the
 * other alone, and nothing is cut or added around. With enlarge=false a picture that would be
 * scaled up keeps its size (with fill: that side), and a cut goes to the smaller of w x h and that
 * size; a canvas keeps the requested size.
 *
 * The slack of a side is its excess, or on a canvas its missing pixels. west and north leave it at
 * the far end, east and south at the near end; otherwise half of it, rounded down, lies before the
 * picture. A point is x and y thousandths of the scaled picture's sides: the kept window is centred
 * on it as far as the borders allow, its start rounded down; on a canvas floor(slack x / 1000) lies
 * before the picture. smart looks at the picture (smart.h), and means centre on a canvas.
 *
 * Used by:  resize, on both devices.
 * Fails:    STATUS_BAD_PARAM, STATUS_TOO_LARGE, each naming the parameters.
 * Threads:  any; no state.
 * Limits:   numbers are 64 bits wide. A picture that is needed as a whole, for smart or carve, has
 *           sides of at most IMAGE_SIDE_MAX and at most FRAME_GROWTH_MAX times the pixels of the
 *           larger of picture and result, or FRAME_PIXELS_MIN.
 */
#ifndef BURIN_OPS_RESIZE_FRAME_H
#define BURIN_OPS_RESIZE_FRAME_H

#include "pipeline/image.h"
#include "pipeline/param.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FRAME_GROWTH_MAX = 4, FRAME_PIXELS_MIN = 1 << 24 };

struct frame_side {
    uint32_t from;  /* the picture's own length */
    uint32_t to;    /* scaled; may be over IMAGE_SIDE_MAX where the frame is not `whole` */
    uint32_t seams; /* seams then removed */
    uint32_t first; /* the first kept pixel of the rest; with `smart` not known yet */
    uint32_t count; /* number of kept pixels */
    uint32_t at;    /* place of the first kept pixel in the result */
    uint32_t out;   /* the result */
};

struct frame {
    struct frame_side x, y;
    bool smart;        /* `first` must be found by looking at the picture */
    bool whole;        /* the scaled picture is needed as a whole, to carve or to look at */
    unsigned channels; /* of the result: at least the picture's */
};

/* FAILURE may be NULL. */
enum status frame_make(struct frame *frame, const struct params *params, const struct image *in,
                       struct failure *failure);

/* Whether pixels are computed, not merely copied. */
static inline bool frame_scales(const struct frame *frame) {
    return frame->x.from != frame->x.to || frame->y.from != frame->y.to;
}

#ifdef __cplusplus
}
#endif
#endif
