// SPDX-License-Identifier: Apache-2.0
/* frame.h - how large resize makes a picture, what of it is kept, and where in the result that is.
 *
 * With a picture of W x H and both w and h wanted:
 *   fill      w x h
 *   inside    (w, round(H w / W)) where w H <= h W, else (round(W h / H), h)
 *   outside   the other of these two
 *   contain   as inside, on a canvas of w x h
 *   cover     as outside, cut to w x h
 *   carve     as outside; of what is over, `share` percent goes by seams, the rest is cut off
 * Rounded half up, a side is at least 1. Where one of w and h is missing, every fit is inside with
 * the other alone, and nothing is cut or put around. With enlarge=false a picture that would be
 * scaled up keeps its size, or with fill that side, and what is cut is cut to the smaller of w x h
 * and that; a canvas is as wanted.
 *
 * What is over of a side, or missing, is a slack. It is left at the far end by west and north, at
 * the near end by east and south; its half, rounded down, is before the picture else. A point is x
 * and y thousandths of the scaled picture's sides: it comes as near to the middle of what is kept
 * as that can, the window's start being rounded down; on a canvas floor(slack x / 1000) lies before
 * the picture. smart is the picture's own business (smart.h), and centre on a canvas.
 *
 * Used by:  resize, on both devices.
 * Fails:    STATUS_BAD_PARAM, STATUS_TOO_LARGE, each naming the parameters.
 * Threads:  any; no state.
 * Limits:   numbers are 64 bits wide. What is to be looked at as a whole, for smart or carve, has
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

/* One axis. */
struct frame_side {
    uint32_t from;  /* the picture as it comes */
    uint32_t to;    /* scaled; may be over IMAGE_SIDE_MAX where the frame is not `whole` */
    uint32_t seams; /* then removed of it */
    uint32_t first; /* of what is left, the first pixel that is kept; with `smart` not known yet */
    uint32_t count; /* and how many are */
    uint32_t at;    /* where the first of them lies in the result */
    uint32_t out;   /* the result */
};

struct frame {
    struct frame_side x, y;
    bool smart;        /* where `first` is to be found by looking at the picture */
    bool whole;        /* the scaled picture is needed as a whole, to carve or to look at */
    unsigned channels; /* of the result: no fewer than of the picture */
};

/* FAILURE may be NULL. */
enum status frame_make(struct frame *frame, const struct params *params, const struct image *in,
                       struct failure *failure);

/* Whether the pixels of the picture are not merely copied. */
static inline bool frame_scales(const struct frame *frame) {
    return frame->x.from != frame->x.to || frame->y.from != frame->y.to;
}

#ifdef __cplusplus
}
#endif
#endif
