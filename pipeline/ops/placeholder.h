// SPDX-License-Identifier: Apache-2.0
/* placeholder.h - the small picture from which blurhash and thumbhash make a text.
 *
 * It is the result of resize with width=32, height=32, fit=inside and kernel=linear: the longer
 * side is 32, the other keeps the shape and is at least 1. Its samples are the operator's values,
 * in the image's depth, in rows without gaps. The text uses 8 bits, 16 rounded by (v + 128) / 257;
 * gray counts as three equal colours, and a picture without alpha as opaque.
 *
 * Used by:  blurhash, thumbhash, on both devices; the Makefile leaves them out with resize.
 * Owns:     nothing; resize's parameters live as long as the struct.
 * Fails:    with the statuses of resize.
 */
#ifndef BURIN_OPS_PLACEHOLDER_H
#define BURIN_OPS_PLACEHOLDER_H

#ifdef __cplusplus
extern "C" {
#endif
#include "pipeline/builtin_ops.h"
#ifdef __cplusplus
}
#endif
#include "pipeline/sample.h"

#include <assert.h>
#include <string.h>

enum { PLACEHOLDER_SIDE = 32, PLACEHOLDER_PIXELS = PLACEHOLDER_SIDE * PLACEHOLDER_SIDE };

/* ---- the call of resize */

struct placeholder {
    struct params params;
    struct op_call call;
};

static inline const struct op *placeholder_resize(void) {
    const struct op *resize = builtin_op_find("resize");
    assert(resize);
    return resize;
}

static inline void placeholder_set(struct placeholder *small, const char *name, const char *value) {
    params_set(&small->params, small->call.op->params, "resize", name, value, NULL);
}

/* Fills SMALL from CALL, the placeholder's own; CALL's values become the picture. */
static inline void placeholder_ask(struct placeholder *small, const struct op_call *call) {
    struct image *const out = &small->call.out;
    small->call = *call;
    small->call.op = placeholder_resize();
    small->call.params = &small->params;
    params_init(&small->params, small->call.op->params);
    placeholder_set(small, "width", "32");
    placeholder_set(small, "height", "32");
    placeholder_set(small, "fit", "inside");
    placeholder_set(small, "kernel", "linear");
    small->call.op->size(&small->params, &call->in, out, NULL);
    out->stride = image_row_bytes(out);
    out->pixels = (uint8_t *)call->values;
    small->call.values = NULL;
}

/* ---- functions for the operators' records */

static inline struct values_shape
placeholder_values(const struct op *op, const struct params *params, const struct image *in) {
    struct placeholder small;
    struct op_call call = { 0 };
    struct values_shape shape;
    (void)op, (void)params;
    memset(&shape, 0, sizeof shape);
    call.in = *in;
    placeholder_ask(&small, &call);
    shape.type = in->depth == 8 ? VALUE_UINT8 : VALUE_UINT16;
    shape.channels = in->channels;
    shape.width = small.call.out.width;
    shape.length = shape.width * small.call.out.height;
    return shape;
}

static inline uint32_t placeholder_passes(const struct params *params, const struct image *in) {
    struct placeholder small;
    struct op_call call = { 0 };
    (void)params;
    call.in = *in;
    placeholder_ask(&small, &call);
    return small.call.op->passes(&small.params, in);
}

static inline size_t placeholder_scratch(const struct op_call *call) {
    struct placeholder small;
    placeholder_ask(&small, call);
    return small.call.op->scratch(&small.call);
}

static inline enum status placeholder_run(struct op_call *call) {
    struct placeholder small;
    placeholder_ask(&small, call);
    return small.call.op->run(&small.call);
}

/* ---- the picture's pixels */

/* Returns channel C of red, green, blue and alpha, 0..255. */
static inline uint32_t placeholder_sample(const struct values *picture, uint32_t pixel,
                                          uint32_t c) {
    const uint32_t channels = picture->shape.channels, colours = channels < 3 ? 1 : 3;
    const unsigned depth = picture->shape.type == VALUE_UINT8 ? 8 : 16;
    if (c == 3 && channels == colours) return 255;
    const uint32_t place = c == 3 ? colours : colours == 1 ? 0 : c;
    const uint32_t sample =
        sample_get((const uint8_t *)picture->numbers, (size_t)pixel * channels + place, depth);
    return depth == 8 ? sample : (sample + 128) / 257;
}

#endif
