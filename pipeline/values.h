// SPDX-License-Identifier: Apache-2.0
/* values.h - numbers that an operator tells of an image: for every colour channel one, or a list.
 *
 * They lie channel after channel without a gap, in the machine's own byte order.
 *
 * Used by:  op.h, run.c; the server, which writes them as JSON.
 * Owns:     nothing; whoever made the memory frees it.
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
    VALUE_NONE, /* nothing is told */
    VALUE_INT32,
    VALUE_UINT32,
    VALUE_INT64,
    VALUE_UINT64,
    VALUE_DOUBLE
};

struct values_shape {
    enum value_type type;
    uint32_t channels; /* the image's without alpha: image_colours() */
    uint32_t length;   /* numbers of one channel */
    bool is_list;      /* a channel's value is a list, even of one number */
};

struct values {
    struct values_shape shape;
    void *numbers;
};

static inline size_t value_bytes(enum value_type type) {
    return type == VALUE_NONE ? 0 : type <= VALUE_UINT32 ? 4 : 8;
}

/* All numbers of all channels. */
static inline uint64_t values_count(const struct values_shape *shape) {
    return shape->type == VALUE_NONE ? 0 : (uint64_t)shape->channels * shape->length;
}

static inline size_t values_bytes(const struct values_shape *shape) {
    return (size_t)values_count(shape) * value_bytes(shape->type);
}

#ifdef __cplusplus
}
#endif
#endif
