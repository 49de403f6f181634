// SPDX-License-Identifier: Apache-2.0
/* replay.h - what a row of seams of one direction does to the pixels, all at once.
 *
 * A line is a row where seams are vertical, a column where they are horizontal. Seams say where
 * they cross a line at the time they are taken; replayed on the line's positions they tell which
 * pixels stay.
 *
 * Used by:  picture.c; seam_search.c paints with it.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE.
 * Threads:  shares lines out among the pool's.
 */
#ifndef BURIN_CARVE_REPLAY_H
#define BURIN_CARVE_REPLAY_H

#include "pipeline/image.h"
#include "pipeline/pool.h"
#include "pipeline/progress.h"

#include <string.h>

/* The id of a pixel of the operator's input is y * width + x; that of an inserted one: */
#define CARVE_NEW UINT32_MAX

enum carve_how {
    CARVE_TAKE, /* pixels that stay, from FROM to TO; TO may lack FROM's alpha */
    CARVE_TELL, /* ids of pixels that stay, to TO of 4 bytes a pixel; FROM gives the shape alone */
    CARVE_MEAN, /* in TO, a new pixel is the rounded mean of its neighbours */
    CARVE_COPY, /* in TO, a new pixel is a copy of the seam's */
    CARVE_BLANK /* in TO, a new pixel is all ones */
};

struct carve_edit {
    enum carve_how how;
    struct image from, to; /* big enough; strides are their own, sizes not looked at */
};

enum { CARVE_EDITS_MAX = 3 };

struct carve_replay {
    const uint16_t *seams; /* seam s crosses line l at seams[s * lines + l] */
    uint32_t count, lines, length;
    bool across; /* lines are columns */
    struct carve_edit edits[CARVE_EDITS_MAX];
    int edit_count;
    const struct image *red; /* paints the pixels of seams here; NULL: nowhere */
    const struct image *ids; /* which they are; NULL: their positions are their ids */
    const struct image *map; /* 16-bit gray: seam s writes s + 1 where it goes; NULL: nowhere */
    uint16_t *origins;       /* carve_origins_bytes of scratch */
    struct pool *pool;
    struct progress *progress;
};

size_t carve_origins_bytes(uint32_t lines, uint32_t length);

/* Edits that take or tell may not share memory with each other; those in place want TO's lines
 * filled. */
enum status carve_replay(const struct carve_replay *replay);

/* BYTES: of a pixel. */
static inline void carve_copy_pixel(uint8_t *to, const uint8_t *from, size_t bytes) {
    switch (bytes) {
    case 1: *to = *from; break;
    case 2: memcpy(to, from, 2); break;
    case 3: memcpy(to, from, 3); break;
    case 4: memcpy(to, from, 4); break;
    case 6: memcpy(to, from, 6); break;
    default: memcpy(to, from, 8); break;
    }
}

/* Makes pixel ID of RED red, alpha kept. */
void carve_paint(const struct image *red, uint32_t id);

#endif
