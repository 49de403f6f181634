// SPDX-License-Identifier: Apache-2.0
/* animation_file.h - an animation that is being written, frame by frame.
 *
 * Used by:  animation.c; the formats that have `begin_animation` (format.h).
 * Owns:     nothing; the bytes are the caller's.
 * Threads:  one at a time.
 */
#ifndef BURIN_ANIMATION_FILE_H
#define BURIN_ANIMATION_FILE_H

#include "pipeline/codec.h"

#include <string.h>

struct animation_file {
    const struct image *canvas;      /* shape alone; with alpha, a frame may be transparent */
    const struct metadata *metadata; /* of the input */
    const struct encode_options *options;
    uint32_t *notes;
    uint32_t plays; /* 0: without end */
    uint8_t *bytes;
    size_t capacity, length;
    uint64_t shown_ms; /* of the frames so far */
};

/* Makes room for LENGTH bytes at the end. NULL: there is none. */
static inline uint8_t *animation_room(struct animation_file *file, size_t length) {
    if (length > file->capacity - file->length) return NULL;
    uint8_t *room = file->bytes + file->length;
    file->length += length;
    return room;
}

#endif
