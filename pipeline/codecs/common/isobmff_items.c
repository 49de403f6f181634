// SPDX-License-Identifier: Apache-2.0
/* How it works. One pass over iinf fills the table of items, one each over iloc and ipma says where
 * in these boxes an item's entry is; entries are read when they are asked for. Files list items in
 * one order everywhere, so a search begins behind the item that was found last. */
#include "pipeline/codecs/common/isobmff_items.h"

enum { STEPS_MAX = 1 << 20, COMPARES = 16 }; /* COMPARES: of items' numbers, count as a step */

#define TOO_MANY_ITEMS "it has more than 1024 items"

bool isobmff_blame(struct isobmff_reader *reader, const char *fault) {
    if (!reader->fault) reader->fault = fault;
    return false;
}

/* False: there was a fault, or this is one step too many. */
static bool may_go_on(struct isobmff_reader *reader) {
    if (++reader->steps > STEPS_MAX) isobmff_blame(reader, "it has too many boxes and entries");
    return !reader->fault;
}

/* ---- boxes */

static bool is(const struct box *box, const char *type) {
    return memcmp(box->type, type, 4) == 0;
}

/* False: there is no further box. CUT: the last may be longer than what is there, as in a file that
 * is cut off. */
static bool next_box(struct isobmff_reader *reader, struct cursor *from, bool cut,
                     struct box *box) {
    if (!from->left || !may_go_on(reader)) return false;
    uint64_t size = take(from, 4), head = 8;
    box->type = from->at;
    take(from, 4);
    if (size == 1) {
        size = take(from, 8);
        head = 16;
    }
    if (from->failed) return cut ? false : isobmff_blame(reader, "a box is cut off");
    if (size && size < head) return isobmff_blame(reader, "a box is shorter than its head");
    uint64_t body = size ? size - head : from->left; /* 0: up to the end */
    if (body > from->left && !cut)
        return isobmff_blame(reader, "a box is longer than what it is in");
    if (body > from->left) body = from->left;
    box->body = (struct cursor){ from->at, (size_t)body, false };
    from->at += body;
    from->left -= (size_t)body;
    return true;
}

/* ---- the table of items */

struct isobmff_item *isobmff_find(struct isobmff_reader *reader, uint32_t id) {
    for (unsigned i = 1; i <= reader->count; i++) {
        const unsigned at = (reader->found + i) % reader->count;
        if (reader->items[at].id != id) continue;
        reader->found = at;
        reader->steps += i / COMPARES;
        return &reader->items[at];
    }
    reader->steps += reader->count / COMPARES;
    return NULL;
}

static bool read_items(struct isobmff_reader *reader, struct cursor at) {
    struct box box;
    take(&at, take_version(&at, NULL) ? 4 : 2);
    while (next_box(reader, &at, false, &box)) {
        const unsigned version = take_version(&box.body, NULL);
        if (!is(&box, "infe") || version < 2) continue;
        const uint32_t id = take_u32(&box.body, version == 2 ? 2 : 4);
        take(&box.body, 2); /* protection */
        if (box.body.left < 4) return isobmff_blame(reader, "an infe is cut off");
        if (reader->count == ISOBMFF_ITEMS_MAX) return isobmff_blame(reader, TOO_MANY_ITEMS);
        struct isobmff_item *item = &reader->items[reader->count++];
        *item = (struct isobmff_item){ .id = id };
        memcpy(item->type, box.body.at, 4);
    }
    reader->found = reader->count - !!reader->count; /* the first comes next */
    return !reader->fault;
}

/* Passes over an item's entry from its method or first number on. */
static void pass_extents(struct isobmff_reader *reader, struct cursor *at) {
    const unsigned sizes = reader->iloc_sizes, index = reader->iloc_version ? sizes & 15 : 0;
    take(at, reader->iloc_version ? 4 : 2);
    take(at, sizes >> 4 & 15);
    const unsigned extents = (unsigned)take(at, 2);
    for (unsigned e = 0; e < extents && !at->failed && may_go_on(reader); e++) {
        take(at, index);
        take(at, sizes >> 12);
        take(at, sizes >> 8 & 15);
    }
}

static bool read_places(struct isobmff_reader *reader, struct cursor at) {
    const unsigned version = reader->iloc_version = take_version(&at, NULL);
    const unsigned sizes = reader->iloc_sizes = (unsigned)take(&at, 2);
    if (version > 2 || sizes >> 12 > 8 || (sizes >> 8 & 15) > 8 || (sizes >> 4 & 15) > 8 ||
        (version && (sizes & 15) > 8))
        return isobmff_blame(reader, "its iloc has another version, or sizes above 8");
    const uint32_t entries = take_u32(&at, version < 2 ? 2 : 4);
    if (entries > ISOBMFF_ITEMS_MAX) return isobmff_blame(reader, TOO_MANY_ITEMS);
    for (uint32_t i = 0; i < entries && !at.failed && may_go_on(reader); i++) {
        struct isobmff_item *item = isobmff_find(reader, take_u32(&at, version < 2 ? 2 : 4));
        const struct cursor begin = at;
        pass_extents(reader, &at);
        if (item && !item->extents.at && !at.failed) item->extents = begin;
    }
    return !reader->fault;
}

static bool read_associations(struct isobmff_reader *reader, struct cursor iprp) {
    struct box box;
    uint32_t all = 0;
    while (next_box(reader, &iprp, false, &box)) {
        struct cursor *at = &box.body;
        uint32_t flags;
        if (is(&box, "ipco")) reader->ipco = box.body;
        if (!is(&box, "ipma")) continue;
        const unsigned version = take_version(at, &flags);
        const uint32_t entries = take_u32(at, 4);
        for (uint32_t e = 0; e < entries && !at->failed && may_go_on(reader); e++) {
            if (++all > ISOBMFF_ITEMS_MAX) return isobmff_blame(reader, TOO_MANY_ITEMS);
            struct isobmff_item *item = isobmff_find(reader, take_u32(at, version ? 4 : 2));
            const struct cursor begin = *at;
            const unsigned count = (unsigned)take(at, 1);
            for (unsigned i = 0; i < count && !at->failed; i++) take(at, flags & 1 ? 2 : 1);
            if (!item || item->properties.at || at->failed) continue;
            item->properties = begin;
            item->wide = flags & 1;
        }
    }
    return !reader->fault;
}

static bool read_meta(struct isobmff_reader *reader, struct cursor meta) {
    struct box box;
    struct cursor iinf = { .left = 0 }, iloc = { .left = 0 }, iprp = { .left = 0 };
    take_version(&meta, NULL);
    while (next_box(reader, &meta, false, &box)) {
        if (is(&box, "pitm"))
            reader->primary = take_u32(&box.body, take_version(&box.body, NULL) ? 4 : 2);
        if (is(&box, "iinf")) iinf = box.body;
        if (is(&box, "iloc")) iloc = box.body;
        if (is(&box, "iref")) reader->iref = box.body;
        if (is(&box, "iprp")) iprp = box.body;
        if (is(&box, "idat")) reader->idat = box.body;
    }
    return !reader->fault && read_items(reader, iinf) && read_places(reader, iloc) &&
           read_associations(reader, iprp);
}

bool isobmff_open(struct isobmff_reader *reader, const uint8_t *bytes, size_t length,
                  bool *animated) {
    struct cursor file = { bytes, length, false }, meta = { .at = NULL };
    struct box box;
    memset(reader, 0, offsetof(struct isobmff_reader, items));
    reader->bytes = bytes;
    reader->length = length;
    *animated = false;
    while (next_box(reader, &file, true, &box)) {
        if (is(&box, "meta") && !meta.at) meta = box.body;
        *animated |= is(&box, "moov");
    }
    if (!meta.at) return isobmff_blame(reader, "it has no still picture (meta)");
    return !reader->fault && read_meta(reader, meta);
}

/* ---- properties and references */

/* The INDEX-th property, from 1. */
static bool property_at(struct isobmff_reader *reader, unsigned index, struct box *box) {
    struct cursor at = reader->ipco;
    bool found = index != 0;
    for (unsigned i = 0; i < index && found; i++) found = next_box(reader, &at, false, box);
    return found;
}

bool isobmff_property(struct isobmff_reader *reader, const struct isobmff_item *item,
                      const char *type, unsigned number, struct cursor *body) {
    struct cursor at = item->properties;
    struct box box;
    const unsigned count = at.at ? (unsigned)take(&at, 1) : 0;
    for (unsigned i = 0; i < count; i++) {
        const unsigned index =
            item->wide ? (unsigned)take(&at, 2) & 0x7fff : (unsigned)take(&at, 1) & 0x7f;
        if (!property_at(reader, index, &box) || !is(&box, type) || number--) continue;
        *body = box.body;
        return true;
    }
    return false;
}

bool isobmff_reference(struct isobmff_reader *reader, const char *type, struct isobmff_walk *walk,
                       uint32_t *from, uint32_t *to) {
    struct cursor all = reader->iref;
    const unsigned wide = take_version(&all, NULL) ? 4 : 2;
    struct box box;
    if (!walk->begun) *walk = (struct isobmff_walk){ .begun = true, .boxes = all };
    while (!walk->left) {
        if (!next_box(reader, &walk->boxes, false, &box)) return false;
        if (!is(&box, type)) continue;
        walk->from = take_u32(&box.body, wide);
        walk->left = (unsigned)take(&box.body, 2);
        walk->ids = box.body;
    }
    if (!may_go_on(reader)) return false;
    walk->left--;
    *from = walk->from;
    *to = take_u32(&walk->ids, wide);
    return !walk->ids.failed || isobmff_blame(reader, "a reference is cut off");
}

/* ---- where the coded bytes are */

static uint64_t bytes_there(uint64_t offset, uint64_t length, uint64_t all) {
    if (offset >= all) return 0;
    return length < all - offset ? length : all - offset;
}

bool isobmff_locate(struct isobmff_reader *reader, const struct isobmff_item *item,
                    struct isobmff_extent *extent) {
    struct cursor at = item->extents;
    const unsigned sizes = reader->iloc_sizes;
    *extent = (struct isobmff_extent){ .stated = 0 };
    if (!at.at) return isobmff_blame(reader, "an item has no place in it");
    const unsigned method = reader->iloc_version ? (unsigned)take(&at, 2) & 15 : 0;
    if (method > 1) return isobmff_blame(reader, "an item is built from other items");
    const uint64_t all = method ? reader->idat.left : reader->length;
    const uint64_t start = method && all ? (uint64_t)(reader->idat.at - reader->bytes) : 0;
    take(&at, 2); /* index of another file */
    const uint64_t base = take(&at, sizes >> 4 & 15);
    const unsigned extents = (unsigned)take(&at, 2);
    uint64_t next = 0;
    bool pieces = false;
    for (unsigned e = 0; e < extents && may_go_on(reader); e++) {
        take(&at, reader->iloc_version ? sizes & 15 : 0);
        const uint64_t offset = base + take(&at, sizes >> 12);
        const uint64_t stated = take(&at, sizes >> 8 & 15);
        const uint64_t length = stated ? stated : all - (offset < all ? offset : all);
        if (offset < base || length > UINT32_MAX)
            return isobmff_blame(reader, "an item lies beyond any file");
        if (!e) extent->place.at = (size_t)(start + (offset < all ? offset : 0));
        pieces |= e && offset != next;
        next = offset + length;
        extent->stated += length;
        extent->there += bytes_there(offset, length, all);
    }
    if (!pieces) extent->place.length = (size_t)extent->there;
    return !reader->fault;
}
