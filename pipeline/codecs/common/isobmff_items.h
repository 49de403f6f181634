// SPDX-License-Identifier: Apache-2.0
/* isobmff_items.h - the boxes of a file, and its items: type, properties, references, place.
 *
 * A cursor reads numbers from a box; behind its end it gives 0 and has failed. The first fault of a
 * reader stays and ends everything.
 *
 * Used by:  isobmff.c.
 * Owns:     nothing; cursors point into the caller's bytes.
 * Fails:    false, with the reader's fault where there was one.
 * Threads:  one at a time.
 * Limits:   ISOBMFF_ITEMS_MAX items (isobmff.h); a million boxes and entries are looked at.
 */
#ifndef BURIN_ISOBMFF_ITEMS_H
#define BURIN_ISOBMFF_ITEMS_H

#include "pipeline/codecs/common/isobmff.h"

#include <string.h>

struct cursor {
    const uint8_t *at;
    size_t left;
    bool failed;
};

struct box {
    const uint8_t *type; /* 4 letters */
    struct cursor body;
};

struct isobmff_item {
    uint32_t id;
    char type[5];
    bool counted;             /* its bytes are in a sum already */
    bool wide;                /* an index of a property takes two bytes */
    struct cursor properties; /* of ipma, from their number on */
    struct cursor extents;    /* of iloc, behind the item's number; not there: no place */
};

struct isobmff_reader {
    const uint8_t *bytes;
    size_t length;
    unsigned steps;
    const char *fault;
    uint32_t primary;
    struct cursor iref, ipco, idat;    /* no bytes: not there */
    unsigned iloc_version, iloc_sizes; /* bytes of an offset, a length, a base, an index */
    unsigned count, found;             /* items; the place of the one found last */
    struct isobmff_item items[ISOBMFF_ITEMS_MAX];
};

/* Coded bytes of an item. */
struct isobmff_extent {
    struct isobmff_place place; /* what the file has of them; length 0 if they lie in pieces */
    uint64_t stated, there;
};

/* ---- numbers */

static inline uint64_t take(struct cursor *cursor, unsigned bytes) {
    uint64_t value = 0;
    if (cursor->left < bytes) *cursor = (struct cursor){ .failed = true };
    if (!bytes || cursor->failed) return 0;
    for (unsigned i = 0; i < bytes; i++) value = value << 8 | cursor->at[i];
    cursor->at += bytes;
    cursor->left -= bytes;
    return value;
}

static inline uint32_t take_u32(struct cursor *cursor, unsigned bytes) {
    return (uint32_t)take(cursor, bytes);
}

/* Returns the version of a full box; FLAGS may be NULL. */
static inline unsigned take_version(struct cursor *cursor, uint32_t *flags) {
    const unsigned version = (unsigned)take(cursor, 1);
    const uint32_t bits = take_u32(cursor, 3);
    if (flags) *flags = bits;
    return version;
}

/* ---- the file */

/* Returns false. The first fault stays. */
bool isobmff_blame(struct isobmff_reader *reader, const char *fault);

/* Fills READER, which may be anything before. *ANIMATED: there is a track, too. */
bool isobmff_open(struct isobmff_reader *reader, const uint8_t *bytes, size_t length,
                  bool *animated);

/* NULL: there is none; that is no fault. */
struct isobmff_item *isobmff_find(struct isobmff_reader *reader, uint32_t id);

/* The item's NUMBER-th property of that TYPE, from 0. */
bool isobmff_property(struct isobmff_reader *reader, const struct isobmff_item *item,
                      const char *type, unsigned number, struct cursor *body);

/* Walks the references of that TYPE, from one item to another. WALK begins zeroed. */
struct isobmff_walk {
    bool begun;
    unsigned left; /* references in the box */
    uint32_t from;
    struct cursor boxes, ids;
};
bool isobmff_reference(struct isobmff_reader *reader, const char *type, struct isobmff_walk *walk,
                       uint32_t *from, uint32_t *to);

/* Finds the coded bytes of ITEM. */
bool isobmff_locate(struct isobmff_reader *reader, const struct isobmff_item *item,
                    struct isobmff_extent *extent);

#endif
