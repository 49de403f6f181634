// SPDX-License-Identifier: Apache-2.0
/* imaginary_rows.h - tables of imaginary's operations and parameters.
 *
 * Used by:  imaginary.c, which defines them; imaginary_values.c, which reads values; and
 *           imaginary_steps.c, which makes steps of them.
 * Threads:  any; constants.
 */
#ifndef BURIN_IMAGINARY_ROWS_H
#define BURIN_IMAGINARY_ROWS_H

#include "server/http/imaginary.h"

/* The order in which imaginary does what one operation asks for. */
enum place {
    PLACE_ROTATE,
    PLACE_FLIP,
    PLACE_FLOP,
    PLACE_ZOOM,
    PLACE_SCALE,
    PLACE_CUT,
    PLACE_BLUR,
    PLACE_WATERMARK,
    PLACE_GRAY,
    PLACES
};

/* struct imaginary, frame: size and position. */
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
enum { GRAVITY_SMART = 5 }; /* its place among the choices */
enum extend {
    EXTEND_COPY,
    EXTEND_MIRROR,
    EXTEND_LASTPIXEL,
    EXTEND_WHITE,
    EXTEND_BLACK,
    EXTEND_BACKGROUND
};
extern const struct param imaginary_frame[FRAME_PARAMS + 1];

/* struct imaginary, rest: further changes, and how the image is written. */
enum rest_param {
    REST_ROTATE,
    REST_FLIP,
    REST_FLOP,
    REST_SIGMA,
    REST_COLORSPACE,
    REST_FIELD,
    REST_NOPROFILE, /* becomes profile=none or keep */
    REST_STRIPMETA, /* becomes metadata=none or keep */
    REST_REFUSED,   /* from here on only the default is accepted, or the value is ignored */
    REST_NOROTATION = REST_REFUSED,
    REST_MINAMPL,
    REST_PARAMS
};
extern const struct param imaginary_rest[REST_PARAMS + 1];

/* Parameters of frame that an operation takes in addition to those that all take. */
enum {
    TAKES_SIZE = 1,
    TAKES_CORNER = 2,
    TAKES_AREA = 4,
    TAKES_FACTOR = 8,
    TAKES_NOTHING = 16,
    TAKES_PLACE = 32 /* a corner that is no cut's */
};

/* How the step of its operator is completed. */
enum shape {
    SHAPE_SET,     /* its parameters are final */
    SHAPE_INSIDE,  /* resize: no larger than both sides */
    SHAPE_COVER,   /* resize: covers both sides, the excess is cut */
    SHAPE_STRETCH, /* resize: to exactly both sides */
    SHAPE_RESIZE,
    SHAPE_CROP,
    SHAPE_SMARTCROP,
    SHAPE_ROTATE,
    SHAPE_BLUR,
    SHAPE_EXTRACT,
    SHAPE_ZOOM,
    SHAPE_WATERMARK,
    SHAPE_CONVERT,
};

struct imaginary_row {
    const char *name, *op; /* op: its operator; NULL: none */
    enum place place;      /* of the operator's step */
    enum shape shape;
    unsigned takes;
};
extern const struct imaginary_row imaginary_rows[]; /* the last has no name */

/* imaginary_values.c: VALUE of the parameter NAME in Burin's form, which is VALUE, TEXT or a
 * constant. IN_JSON: it was a number in JSON. NULL: as if it was not given. */
const char *imaginary_value(const struct imaginary *imaginary, const char *name, const char *value,
                            bool in_json, char text[IMAGINARY_VALUE_MAX]);

/* Puts NAME on the list of those that did nothing; STATUS_OK. */
enum status imaginary_ignore(const struct imaginary *imaginary, const char *name);

static inline bool is_given(const struct params *params, int index) {
    return params->given >> index & 1;
}

#endif
