// SPDX-License-Identifier: Apache-2.0
/* imaginary_rows.h - imaginary's operations and parameters, as tables.
 *
 * Used by:  imaginary.c, which reads them, and imaginary_steps.c, which makes steps of them.
 * Owns:     nothing.
 * Fails:    never.
 * Threads:  any; constants.
 */
#ifndef BURIN_IMAGINARY_ROWS_H
#define BURIN_IMAGINARY_ROWS_H

#include "server/http/imaginary.h"

/* In this order imaginary does what one operation asks for. */
enum place {
    PLACE_ROTATE,
    PLACE_FLIP,
    PLACE_FLOP,
    PLACE_ZOOM,
    PLACE_SCALE,
    PLACE_CUT,
    PLACE_BLUR,
    PLACE_GRAY,
    PLACES
};

/* struct imaginary, frame: where the picture goes. */
enum frame_param {
    FRAME_WIDTH,
    FRAME_HEIGHT,
    FRAME_TOP,
    FRAME_LEFT,
    FRAME_AREAWIDTH,
    FRAME_AREAHEIGHT,
    FRAME_FACTOR,
    FRAME_FORCE,
    FRAME_NOCROP,
    FRAME_EMBED,
    FRAME_EXTEND,
    FRAME_GRAVITY,
    FRAME_PARAMS
};
enum extend {
    EXTEND_COPY,
    EXTEND_MIRROR,
    EXTEND_LASTPIXEL,
    EXTEND_WHITE,
    EXTEND_BLACK,
    EXTEND_BACKGROUND
};
extern const struct param imaginary_frame[FRAME_PARAMS + 1];

/* struct imaginary, rest: what else is done, and how it is written. */
enum rest_param {
    REST_ROTATE,
    REST_FLIP,
    REST_FLOP,
    REST_SIGMA,
    REST_COLORSPACE,
    REST_INTERLACE,
    REST_FIELD,
    REST_REFUSED, /* all behind it are good for one value alone */
    REST_NOROTATION = REST_REFUSED,
    REST_NOPROFILE,
    REST_STRIPMETA,
    REST_PALETTE,
    REST_MINAMPL,
    REST_PARAMS
};
extern const struct param imaginary_rest[REST_PARAMS + 1];

/* What an operation takes of frame, beside what all take. */
enum { TAKES_SIZE = 1, TAKES_CORNER = 2, TAKES_AREA = 4, TAKES_FACTOR = 8, TAKES_NOTHING = 16 };

/* How the step of its operator is finished. */
enum shape {
    SHAPE_SET,     /* as its parameters were set */
    SHAPE_INSIDE,  /* a resize: no larger than both sides... */
    SHAPE_COVER,   /* ... as large as both, what is over is cut... */
    SHAPE_STRETCH, /* ... as large as both */
    SHAPE_RESIZE,
    SHAPE_CROP,
    SHAPE_SMARTCROP,
    SHAPE_ROTATE,
    SHAPE_BLUR,
    SHAPE_EXTRACT,
    SHAPE_ZOOM,
    SHAPE_CONVERT,
};

struct imaginary_row {
    const char *name, *op; /* its operator; NULL: it does nothing itself */
    enum place place;      /* of its operator's step */
    enum shape shape;
    unsigned takes;
};
extern const struct imaginary_row imaginary_rows[]; /* the last has no name */

static inline bool is_given(const struct params *params, int index) {
    return params->given >> index & 1;
}

#endif
