// SPDX-License-Identifier: Apache-2.0
/* How it works. The places of the boxes in `meta` are kept, and each question about an item looks
 * through them again: no table is filled, so none can overflow. A cursor reads numbers from a box;
 * behind its end it gives 0 and has failed. The first fault ends everything. */
#include "pipeline/codecs/common/isobmff.h"

#include <string.h>

enum { STEPS_MAX = 1 << 20, SIDE_MAX = 65535 };

struct cursor {
    const uint8_t *at;
    size_t left;
    bool failed;
};

struct box {
    const uint8_t *type; /* 4 letters */
    struct cursor body;
};

struct reader {
    const uint8_t *bytes;
    size_t length;
    unsigned steps;
    struct cursor iinf, iloc, iref, iprp, ipco, idat; /* no bytes: not there */
    uint32_t primary;
    bool has_meta;
    const char *fault;
};

/* Returns false. The first fault stays. */
static bool blame(struct reader *reader, const char *fault) {
    if (!reader->fault) reader->fault = fault;
    return false;
}

/* False: there was a fault, or this is one step too many. */
static bool may_go_on(struct reader *reader) {
    if (++reader->steps > STEPS_MAX) blame(reader, "it has too many boxes and entries");
    return !reader->fault;
}

/* ---- numbers and boxes */

static uint64_t take(struct cursor *cursor, unsigned bytes) {
    uint64_t value = 0;
    if (cursor->left < bytes) {
        *cursor = (struct cursor){ .failed = true };
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++) value = value << 8 | cursor->at[i];
    cursor->at += bytes;
    cursor->left -= bytes;
    return value;
}

static uint32_t take_u32(struct cursor *cursor, unsigned bytes) {
    return (uint32_t)take(cursor, bytes);
}

/* Returns the version of a full box; FLAGS may be NULL. */
static unsigned take_version(struct cursor *cursor, uint32_t *flags) {
    const unsigned version = (unsigned)take(cursor, 1);
    const uint32_t bits = take_u32(cursor, 3);
    if (flags) *flags = bits;
    return version;
}

static bool is(const struct box *box, const char *type) {
    return memcmp(box->type, type, 4) == 0;
}

/* False: there is no further box. CUT: the last may be longer than what is there, as in a file that
 * is cut off. */
static bool next_box(struct reader *reader, struct cursor *from, bool cut, struct box *box) {
    if (!from->left || !may_go_on(reader)) return false;
    uint64_t size = take(from, 4), head = 8;
    box->type = from->at;
    take(from, 4);
    if (size == 1) {
        size = take(from, 8);
        head = 16;
    }
    if (from->failed) return cut ? false : blame(reader, "a box is cut off");
    if (size && size < head) return blame(reader, "a box is shorter than its head");
    uint64_t body = size ? size - head : from->left; /* 0: up to the end */
    if (body > from->left && !cut) return blame(reader, "a box is longer than what it is in");
    if (body > from->left) body = from->left;
    box->body = (struct cursor){ from->at, (size_t)body, false };
    from->at += body;
    from->left -= (size_t)body;
    return true;
}

/* ---- what an item is */

static bool item_type(struct reader *reader, uint32_t item, char type[5]) {
    struct cursor at = reader->iinf;
    struct box box;
    unsigned items = 0;
    take(&at, take_version(&at, NULL) ? 4 : 2);
    while (next_box(reader, &at, false, &box)) {
        const unsigned version = take_version(&box.body, NULL);
        if (!is(&box, "infe") || version < 2) continue;
        if (++items > ISOBMFF_ITEMS_MAX) return blame(reader, "it has more than 256 items");
        const uint32_t id = take_u32(&box.body, version == 2 ? 2 : 4);
        take(&box.body, 2); /* protection */
        if (box.body.left < 4) return blame(reader, "an infe is cut off");
        memcpy(type, box.body.at, 4);
        type[4] = '\0';
        if (id == item) return true;
    }
    return false;
}

/* The INDEX-th property, from 1. */
static bool property_at(struct reader *reader, unsigned index, struct box *box) {
    struct cursor at = reader->ipco;
    bool found = index != 0;
    for (unsigned i = 0; i < index && found; i++) found = next_box(reader, &at, false, box);
    return found;
}

/* The item's property of that TYPE; of colr one with a profile. */
static bool property_of(struct reader *reader, uint32_t item, const char *type,
                        struct cursor *body) {
    struct cursor all = reader->iprp;
    struct box ipma, box;
    while (next_box(reader, &all, false, &ipma)) {
        struct cursor *at = &ipma.body;
        uint32_t flags;
        if (!is(&ipma, "ipma")) continue;
        const unsigned version = take_version(at, &flags);
        const uint32_t entries = take_u32(at, 4);
        for (uint32_t e = 0; e < entries && !at->failed && may_go_on(reader); e++) {
            const uint32_t id = take_u32(at, version ? 4 : 2);
            const unsigned count = (unsigned)take(at, 1);
            for (unsigned i = 0; i < count && !at->failed; i++) {
                const unsigned index =
                    flags & 1 ? (unsigned)take(at, 2) & 0x7fff : (unsigned)take(at, 1) & 0x7f;
                if (id != item || !property_at(reader, index, &box) || !is(&box, type)) continue;
                const bool profile = box.body.left > 4 && (memcmp(box.body.at, "prof", 4) == 0 ||
                                                           memcmp(box.body.at, "rICC", 4) == 0);
                if (is(&box, "colr") && !profile) continue;
                *body = box.body;
                return true;
            }
        }
    }
    return false;
}

/* Calls of the form "the NUMBER-th reference of that TYPE": from one item to another. */
static bool reference(struct reader *reader, const char *type, unsigned number, uint32_t *from,
                      uint32_t *to) {
    struct cursor all = reader->iref;
    struct box box;
    const unsigned wide = take_version(&all, NULL) ? 4 : 2;
    while (next_box(reader, &all, false, &box)) {
        if (!is(&box, type)) continue;
        *from = take_u32(&box.body, wide);
        const unsigned count = (unsigned)take(&box.body, 2);
        if (count > ISOBMFF_ITEMS_MAX) return blame(reader, "an item refers to more than 256");
        for (unsigned i = 0; i < count && may_go_on(reader); i++) {
            *to = take_u32(&box.body, wide);
            if (box.body.failed) return blame(reader, "a reference is cut off");
            if (!number--) return true;
        }
    }
    return false;
}

/* ---- where the coded bytes are */

static uint64_t bytes_there(uint64_t offset, uint64_t length, uint64_t all) {
    if (offset >= all) return 0;
    return length < all - offset ? length : all - offset;
}

/* Adds ITEM's extents to PICTURE. */
static bool add_bytes(struct reader *reader, uint32_t item, struct isobmff_picture *picture) {
    struct cursor at = reader->iloc;
    const unsigned version = take_version(&at, NULL), sizes = (unsigned)take(&at, 2);
    const unsigned offset_size = sizes >> 12, length_size = sizes >> 8 & 15;
    const unsigned base_size = sizes >> 4 & 15, index_size = version ? sizes & 15 : 0;
    if (version > 2 || offset_size > 8 || length_size > 8 || base_size > 8 || index_size > 8)
        return blame(reader, "its iloc has another version, or sizes above 8");
    const uint32_t items = take_u32(&at, version < 2 ? 2 : 4);
    if (items > ISOBMFF_ITEMS_MAX) return blame(reader, "it has more than 256 items");
    for (uint32_t i = 0; i < items && !at.failed; i++) {
        const uint32_t id = take_u32(&at, version < 2 ? 2 : 4);
        const unsigned method = version ? (unsigned)take(&at, 2) & 15 : 0;
        take(&at, 2); /* index of another file */
        const uint64_t base = take(&at, base_size);
        const unsigned extents = (unsigned)take(&at, 2);
        const uint64_t all = method ? reader->idat.left : reader->length;
        if (id == item && method > 1) return blame(reader, "an item is built from other items");
        for (unsigned e = 0; e < extents && !at.failed && may_go_on(reader); e++) {
            take(&at, index_size);
            const uint64_t offset = base + take(&at, offset_size);
            const uint64_t stated = take(&at, length_size);
            const uint64_t length = stated ? stated : all - (offset < all ? offset : all);
            if (id != item) continue;
            if (offset < base || length > UINT32_MAX)
                return blame(reader, "an item lies beyond any file");
            picture->stated_bytes += length;
            picture->there_bytes += bytes_there(offset, length, all);
        }
        if (id == item && !at.failed) return !reader->fault;
    }
    return blame(reader, "an item has no place in it");
}

/* ---- the primary item */

static bool read_sides(struct reader *reader, struct isobmff_picture *picture) {
    struct cursor ispe;
    if (!property_of(reader, reader->primary, "ispe", &ispe))
        return blame(reader, "its picture has no sides (ispe)");
    take_version(&ispe, NULL);
    picture->across = picture->width = take_u32(&ispe, 4);
    picture->down = picture->height = take_u32(&ispe, 4);
    return picture->width && picture->height ? true : blame(reader, "a side of its picture is 0");
}

/* One direction of a clap: *SIZE of the ALL pixels are shown, from *FIRST on. */
static bool read_crop(struct cursor *size_of, struct cursor *offset_of, uint32_t all,
                      uint32_t *first, uint32_t *size) {
    const int64_t above = take_u32(size_of, 4), below = take_u32(size_of, 4);
    const int64_t offset = (int32_t)take_u32(offset_of, 4), part = take_u32(offset_of, 4);
    if (!below || !part || above % below || all > SIDE_MAX) return false;
    const int64_t shown = above / below;
    if (shown < 1 || shown > all) return false;
    const int64_t twice = 2 * offset + (all - shown) * part; /* the first one, times 2 * part */
    if (twice < 0 || twice % (2 * part)) return false;
    *first = (uint32_t)(twice / (2 * part) <= all ? twice / (2 * part) : all);
    *size = (uint32_t)shown;
    return *first + *size <= all;
}

static bool read_clap(struct reader *reader, struct isobmff_picture *picture) {
    struct cursor sizes, offsets;
    if (!property_of(reader, reader->primary, "clap", &sizes)) return true;
    offsets = sizes;
    take(&offsets, 8);
    take(&offsets, 8);
    if (!read_crop(&sizes, &offsets, picture->width, &picture->left, &picture->across) ||
        !read_crop(&sizes, &offsets, picture->height, &picture->top, &picture->down))
        return blame(reader, "its crop (clap) is not of whole pixels within the picture");
    if (2 * (uint64_t)picture->across * picture->down < (uint64_t)picture->width * picture->height)
        return blame(reader, "its crop (clap) leaves less than half of the picture");
    return true;
}

/* irot turns by 90 degrees times its number, counterclockwise; then imir exchanges top and bottom
 * (0) or left and right (1). */
static uint8_t read_orientation(struct reader *reader) {
    static const uint8_t orientations[4][3] = {
        { 1, 4, 2 }, { 8, 5, 7 }, { 3, 2, 4 }, { 6, 7, 5 }
    };
    struct cursor irot = { .left = 0 }, imir = { .left = 0 };
    const bool turned = property_of(reader, reader->primary, "irot", &irot);
    const bool mirrored = property_of(reader, reader->primary, "imir", &imir);
    const unsigned angle = turned ? (unsigned)take(&irot, 1) & 3 : 0;
    const unsigned mirror = mirrored ? 1 + ((unsigned)take(&imir, 1) & 1) : 0;
    return orientations[angle][mirror];
}

static void read_pixi(struct reader *reader, uint32_t item, struct isobmff_picture *picture) {
    struct cursor pixi;
    if (!property_of(reader, item, "pixi", &pixi)) return;
    take_version(&pixi, NULL);
    picture->samples = (uint8_t)take(&pixi, 1);
    picture->bits = (uint8_t)take(&pixi, 1);
}

static bool is_alpha(struct reader *reader, uint32_t item) {
    static const char *const names[] = { "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha",
                                         "urn:mpeg:hevc:2015:auxid:1" };
    struct cursor auxc;
    if (!property_of(reader, item, "auxC", &auxc)) return false;
    take_version(&auxc, NULL);
    for (int i = 0; i < 2; i++) {
        const size_t bytes = strlen(names[i]) + 1;
        if (auxc.left >= bytes && memcmp(auxc.at, names[i], bytes) == 0) return true;
    }
    return false;
}

static void read_alpha(struct reader *reader, struct isobmff_picture *picture) {
    uint32_t from, to;
    for (unsigned i = 0; reference(reader, "auxl", i, &from, &to); i++)
        picture->alpha |= to == reader->primary && is_alpha(reader, from);
    for (unsigned i = 0; picture->alpha && reference(reader, "prem", i, &from, &to); i++)
        picture->premultiplied |= from == reader->primary;
}

static struct isobmff_place place_of(const struct reader *reader, const struct cursor *body) {
    return (struct isobmff_place){ (size_t)(body->at - reader->bytes), body->left };
}

/* Reads what is the same of an item and of each tile of a grid. */
static bool read_coded(struct reader *reader, uint32_t item, struct isobmff_picture *picture) {
    struct cursor body;
    if (!item_type(reader, item, picture->codec))
        return blame(reader, "an item has no entry that says what it is");
    if (property_of(reader, item, strcmp(picture->codec, "hvc1") == 0 ? "hvcC" : "av1C", &body))
        picture->configuration = place_of(reader, &body);
    return add_bytes(reader, item, picture);
}

static bool read_tiles(struct reader *reader, struct isobmff_picture *picture) {
    uint32_t from, to;
    unsigned tiles = 0;
    for (unsigned i = 0; reference(reader, "dimg", i, &from, &to); i++) {
        if (from != reader->primary) continue;
        if (!read_coded(reader, to, picture)) return false;
        if (!tiles++ && !picture->bits) read_pixi(reader, to, picture);
    }
    return tiles ? true : blame(reader, "its grid has no tiles");
}

static bool read_primary(struct reader *reader, struct isobmff_picture *picture) {
    char type[5] = "";
    struct cursor colr;
    if (!item_type(reader, reader->primary, type)) return blame(reader, "it has no primary item");
    if (!read_sides(reader, picture) || !read_clap(reader, picture)) return false;
    picture->orientation = read_orientation(reader);
    read_pixi(reader, reader->primary, picture);
    read_alpha(reader, picture);
    if (property_of(reader, reader->primary, "colr", &colr)) {
        take(&colr, 4);
        picture->profile = place_of(reader, &colr);
    }
    picture->tiled = strcmp(type, "grid") == 0;
    return picture->tiled ? read_tiles(reader, picture)
                          : read_coded(reader, reader->primary, picture);
}

/* ---- the file */

static void read_meta(struct reader *reader, struct cursor meta) {
    struct box box;
    take_version(&meta, NULL);
    reader->has_meta = true;
    while (next_box(reader, &meta, false, &box)) {
        if (is(&box, "pitm"))
            reader->primary = take_u32(&box.body, take_version(&box.body, NULL) ? 4 : 2);
        if (is(&box, "iinf")) reader->iinf = box.body;
        if (is(&box, "iloc")) reader->iloc = box.body;
        if (is(&box, "iref")) reader->iref = box.body;
        if (is(&box, "iprp")) reader->iprp = box.body;
        if (is(&box, "idat")) reader->idat = box.body;
    }
    struct cursor iprp = reader->iprp;
    while (next_box(reader, &iprp, false, &box))
        if (is(&box, "ipco")) reader->ipco = box.body;
}

bool isobmff_has_brand(const uint8_t *bytes, size_t length, const char *brand) {
    struct cursor at = { bytes, length, false };
    const size_t size = (size_t)take(&at, 4);
    if (length < 12 || memcmp(bytes + 4, "ftyp", 4) != 0) return false;
    if (memcmp(bytes + 8, brand, 4) == 0) return true;
    for (size_t i = 16; i + 4 <= size && i + 4 <= length && i < SIDE_MAX; i += 4)
        if (memcmp(bytes + i, brand, 4) == 0) return true;
    return false;
}

const char *isobmff_read(const uint8_t *bytes, size_t length, struct isobmff_picture *picture) {
    struct reader reader = { .bytes = bytes, .length = length };
    struct cursor file = { bytes, length, false };
    struct box box;
    *picture = (struct isobmff_picture){ .orientation = 1 };
    while (next_box(&reader, &file, true, &box)) {
        if (is(&box, "meta") && !reader.has_meta) read_meta(&reader, box.body);
        picture->animated |= is(&box, "moov");
    }
    if (!reader.has_meta) blame(&reader, "it has no still picture (meta)");
    if (!reader.fault) read_primary(&reader, picture);
    return reader.fault;
}
