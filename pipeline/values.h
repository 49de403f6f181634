// SPDX-License-Identifier: Apache-2.0
/* values.h - the values that an operator computes: a number or a list for every colour channel, or
 * a text.
 *
 * Numbers lie channel after channel without gaps, in the machine's own byte order. For a text they
 * are the samples of a small picture, from which op.text makes it: pixel after pixel, row after
 * row.
 *
 * Used by:  op.h, run.c; the server, which writes them as JSON.
 * Owns:     nothing; the code that allocated the memory frees it.
 * Threads:  any; no state.
 */
#ifndef BURIN_VALUES_H
#define BURIN_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum value_type {
    VALUE_NONE, /* no values */
    VALUE_INT32,
    VALUE_UINT32,
    VALUE_INT64,
    VALUE_UINT64,
    VALUE_DOUBLE,
    VALUE_UINT8, /* this and the next: samples of a picture */
    VALUE_UINT16
};

enum { VALUES_TEXT_MAX = 168 }; /* bytes of one text, with its zero byte */

struct values_shape {
    enum value_type type;
    uint32_t channels; /* the image's without alpha, image_colours(); all of a picture's */
    uint32_t length;   /* numbers of one channel */
    bool is_list;      /* a channel's value is a list, even of one number */
    uint32_t width;    /* columns of a text's picture; 0: the numbers are the result */
};

struct values {
    struct values_shape shape;
    void *numbers;
};

static inline size_t value_bytes(enum value_type type) {
    switch (type) {
    case VALUE_NONE: return 0;
    case VALUE_UINT8: return 1;
    case VALUE_UINT16: return 2;
    case VALUE_INT32:
    case VALUE_UINT32: return 4;
    default: return 8;
    }
}

static inline uint64_t values_count(const struct values_shape *shape) {
    return shape->type == VALUE_NONE ? 0 : (uint64_t)shape->channels * shape->length;
}

/* The number of results; a text counts as one. */
static inline uint64_t values_results(const struct values_shape *shape) {
    return shape->width ? 1 : values_count(shape);
}

static inline size_t values_bytes(const struct values_shape *shape) {
    return (size_t)values_count(shape) * value_bytes(shape->type);
}

#ifdef __cplusplus
}
#endif
#endif
