// SPDX-License-Identifier: Apache-2.0
/* How it works. The table of items (isobmff_items.h) is filled anew by each call, and each question
 * is put to it: the picture is the primary item, and its alpha an item that refers to that. Either
 * is coded in one piece, or a grid that refers to coded items. */
#include "pipeline/codecs/common/isobmff_items.h"

enum { SIDE_MAX = 65535, OVERHANG = 4, SPARE_PIXELS = 1 << 20 };

/* ---- one item */

static bool is_grid(const struct isobmff_item *item) {
    return strcmp(item->type, "grid") == 0;
}

static bool read_sides(struct isobmff_reader *reader, const struct isobmff_item *item,
                       uint32_t *width, uint32_t *height) {
    struct cursor ispe;
    if (!isobmff_property(reader, item, "ispe", 0, &ispe))
        return isobmff_blame(reader, "its picture has no sides (ispe)");
    take_version(&ispe, NULL);
    *width = take_u32(&ispe, 4);
    *height = take_u32(&ispe, 4);
    return *width && *height ? true : isobmff_blame(reader, "a side of its picture is 0");
}

static struct isobmff_place place_of(const struct isobmff_reader *reader,
                                     const struct cursor *body) {
    return (struct isobmff_place){ (size_t)(body->at - reader->bytes), body->left };
}

static struct isobmff_place configuration_of(struct isobmff_reader *reader,
                                             const struct isobmff_item *item) {
    struct cursor body;
    const char *type = strcmp(item->type, "hvc1") == 0 ? "hvcC" : "av1C";
    return isobmff_property(reader, item, type, 0, &body) ? place_of(reader, &body)
                                                          : (struct isobmff_place){ .length = 0 };
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

static bool read_clap(struct isobmff_reader *reader, const struct isobmff_item *item,
                      struct isobmff_picture *picture) {
    struct cursor sizes, offsets;
    picture->across = picture->width;
    picture->down = picture->height;
    if (!isobmff_property(reader, item, "clap", 0, &sizes)) return true;
    offsets = sizes;
    take(&offsets, 8);
    take(&offsets, 8);
    if (!read_crop(&sizes, &offsets, picture->width, &picture->left, &picture->across) ||
        !read_crop(&sizes, &offsets, picture->height, &picture->top, &picture->down))
        return isobmff_blame(reader, "its crop (clap) is not of whole pixels within the picture");
    if (2 * (uint64_t)picture->across * picture->down < (uint64_t)picture->width * picture->height)
        return isobmff_blame(reader, "its crop (clap) leaves less than half of the picture");
    return true;
}

/* irot turns by 90 degrees times its number, counterclockwise; then imir exchanges top and bottom
 * (0) or left and right (1). */
static uint8_t read_orientation(struct isobmff_reader *reader, const struct isobmff_item *item) {
    static const uint8_t orientations[4][3] = {
        { 1, 4, 2 }, { 8, 5, 7 }, { 3, 2, 4 }, { 6, 7, 5 }
    };
    struct cursor irot = { .left = 0 }, imir = { .left = 0 };
    const bool turned = isobmff_property(reader, item, "irot", 0, &irot);
    const bool mirrored = isobmff_property(reader, item, "imir", 0, &imir);
    const unsigned angle = turned ? (unsigned)take(&irot, 1) & 3 : 0;
    const unsigned mirror = mirrored ? 1 + ((unsigned)take(&imir, 1) & 1) : 0;
    return orientations[angle][mirror];
}

static void read_pixi(struct isobmff_reader *reader, const struct isobmff_item *item,
                      struct isobmff_picture *picture) {
    struct cursor pixi;
    if (picture->bits || !isobmff_property(reader, item, "pixi", 0, &pixi)) return;
    take_version(&pixi, NULL);
    picture->samples = (uint8_t)take(&pixi, 1);
    picture->bits = (uint8_t)take(&pixi, 1);
}

/* An item may have a colr of each kind. */
static void read_colr(struct isobmff_reader *reader, const struct isobmff_item *item,
                      struct isobmff_picture *picture) {
    struct cursor colr;
    for (unsigned i = 0; isobmff_property(reader, item, "colr", i, &colr); i++) {
        if (colr.left < 4) continue;
        const uint8_t *kind = colr.at;
        take(&colr, 4);
        if (memcmp(kind, "prof", 4) == 0 || memcmp(kind, "rICC", 4) == 0) {
            if (!picture->profile.length) picture->profile = place_of(reader, &colr);
        } else if (memcmp(kind, "nclx", 4) == 0 && !picture->nclx.there && colr.left >= 7) {
            picture->nclx.there = true;
            picture->nclx.primaries = (uint16_t)take(&colr, 2);
            picture->nclx.transfer = (uint16_t)take(&colr, 2);
            picture->nclx.matrix = (uint16_t)take(&colr, 2);
            picture->nclx.full = take(&colr, 1) >> 7;
        }
    }
}

/* ---- alpha */

static bool is_alpha(struct isobmff_reader *reader, const struct isobmff_item *item) {
    static const char *const names[] = { "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha",
                                         "urn:mpeg:hevc:2015:auxid:1" };
    struct cursor auxc;
    if (!isobmff_property(reader, item, "auxC", 0, &auxc)) return false;
    take_version(&auxc, NULL);
    for (int i = 0; i < 2; i++) {
        const size_t bytes = strlen(names[i]) + 1;
        if (auxc.left >= bytes && memcmp(auxc.at, names[i], bytes) == 0) return true;
    }
    return false;
}

/* NULL: the picture has no alpha. */
static struct isobmff_item *find_alpha(struct isobmff_reader *reader) {
    struct isobmff_walk walk = { .begun = false };
    uint32_t from, to;
    while (isobmff_reference(reader, "auxl", &walk, &from, &to)) {
        struct isobmff_item *item = to == reader->primary ? isobmff_find(reader, from) : NULL;
        if (item && is_alpha(reader, item)) return item;
    }
    return NULL;
}

static bool is_premultiplied(struct isobmff_reader *reader) {
    struct isobmff_walk walk = { .begun = false };
    uint32_t from, to;
    while (isobmff_reference(reader, "prem", &walk, &from, &to))
        if (from == reader->primary) return true;
    return false;
}

/* ---- the picture */

/* Reads what is the same of an item and of each tile of a grid. */
static bool read_coded(struct isobmff_reader *reader, struct isobmff_item *item,
                       struct isobmff_picture *picture) {
    struct isobmff_extent extent;
    if (!item) return isobmff_blame(reader, "an item has no entry that says what it is");
    if (!picture->codec[0]) {
        memcpy(picture->codec, item->type, sizeof picture->codec);
        picture->configuration = configuration_of(reader, item);
        read_pixi(reader, item, picture);
        read_colr(reader, item, picture);
    }
    if (strcmp(picture->codec, item->type) != 0)
        return isobmff_blame(reader, "its tiles are coded in two ways");
    if (item->counted) return true;
    item->counted = true;
    if (!isobmff_locate(reader, item, &extent)) return false;
    picture->stated_bytes += extent.stated;
    picture->there_bytes += extent.there;
    return true;
}

static bool read_grid(struct isobmff_reader *reader, const struct isobmff_item *grid,
                      struct isobmff_picture *picture) {
    struct isobmff_walk walk = { .begun = false };
    uint32_t from, to;
    unsigned tiles = 0;
    while (isobmff_reference(reader, "dimg", &walk, &from, &to)) {
        if (from != grid->id) continue;
        if (++tiles > ISOBMFF_ITEMS_MAX)
            return isobmff_blame(reader, "its grid has more than 1024 tiles");
        if (!read_coded(reader, isobmff_find(reader, to), picture)) return false;
    }
    return tiles ? !reader->fault : isobmff_blame(reader, "its grid has no tiles");
}

static bool read_layer(struct isobmff_reader *reader, struct isobmff_item *item,
                       struct isobmff_picture *picture) {
    return is_grid(item) ? read_grid(reader, item, picture) : read_coded(reader, item, picture);
}

static bool read_primary(struct isobmff_reader *reader, struct isobmff_picture *picture) {
    struct isobmff_item *item = isobmff_find(reader, reader->primary);
    if (!item) return isobmff_blame(reader, "it has no primary item");
    if (!read_sides(reader, item, &picture->width, &picture->height) ||
        !read_clap(reader, item, picture))
        return false;
    picture->orientation = read_orientation(reader, item);
    read_pixi(reader, item, picture);
    read_colr(reader, item, picture);
    struct isobmff_item *alpha = find_alpha(reader);
    picture->alpha = alpha != NULL;
    picture->premultiplied = picture->alpha && is_premultiplied(reader);
    picture->tiled = is_grid(item);
    return read_layer(reader, item, picture) && (!alpha || read_layer(reader, alpha, picture));
}

const char *isobmff_read(const uint8_t *bytes, size_t length, struct isobmff_picture *picture) {
    struct isobmff_reader reader;
    *picture = (struct isobmff_picture){ .orientation = 1 };
    if (isobmff_open(&reader, bytes, length, &picture->animated)) read_primary(&reader, picture);
    return reader.fault;
}

/* ---- its brand */

static bool has_brand(const uint8_t *bytes, size_t length, const char *brands) {
    struct cursor at = { bytes, length, false };
    const size_t size = (size_t)take(&at, 4);
    for (size_t i = 8; i + 4 <= length && (i == 8 || i + 4 <= size) && i < SIDE_MAX;
         i += i == 8 ? 8 : 4) /* behind the first is a version */
        for (const char *brand = brands; *brand; brand += 4)
            if (memcmp(bytes + i, brand, 4) == 0) return true;
    return false;
}

bool isobmff_is(const uint8_t *bytes, size_t length, const char *brands, const char *codec) {
    struct isobmff_picture picture;
    if (length < 12 || memcmp(bytes + 4, "ftyp", 4) != 0) return false;
    if (has_brand(bytes, length, brands)) return true;
    return has_brand(bytes, length, "mif1msf1") && !isobmff_read(bytes, length, &picture) &&
           strcmp(picture.codec, codec) == 0;
}

/* ---- tiles */

/* Reads a grid's own bytes: how many tiles it has, and the sides that it must have. */
static bool read_grid_bytes(struct isobmff_reader *reader, const struct isobmff_item *grid,
                            const struct isobmff_picture *picture, struct isobmff_tiling *tiling) {
    struct isobmff_extent extent;
    if (!isobmff_locate(reader, grid, &extent)) return false;
    struct cursor at = { reader->bytes + extent.place.at, extent.place.length, false };
    take(&at, 1);
    const unsigned wide = take(&at, 1) & 1 ? 4 : 2;
    tiling->rows = take_u32(&at, 1) + 1;
    tiling->columns = take_u32(&at, 1) + 1;
    const uint32_t width = take_u32(&at, wide), height = take_u32(&at, wide);
    if (at.failed) return isobmff_blame(reader, "its grid is cut off");
    if (width != picture->width || height != picture->height)
        return isobmff_blame(reader, "its grid and its ispe differ in the sides of the picture");
    return true;
}

static bool read_tile(struct isobmff_reader *reader, const struct isobmff_item *item,
                      const struct isobmff_picture *picture, struct isobmff_tiling *tiling,
                      struct isobmff_tile *tile) {
    struct isobmff_extent extent;
    uint32_t width, height;
    if (!item || strcmp(item->type, picture->codec) != 0)
        return isobmff_blame(reader, "its tiles are coded in two ways");
    if (!read_sides(reader, item, &width, &height)) return false;
    if (!tiling->width) {
        tiling->width = width;
        tiling->height = height;
    }
    if (width != tiling->width || height != tiling->height)
        return isobmff_blame(reader, "the tiles of its grid differ in size");
    if (!isobmff_locate(reader, item, &extent)) return false;
    tile->configuration = configuration_of(reader, item);
    tile->coded = extent.place;
    return true;
}

/* Each tile shows a part, and they leave no gap. */
static bool check_tiling(struct isobmff_reader *reader, const struct isobmff_picture *picture,
                         const struct isobmff_tiling *tiling) {
    const uint64_t across = (uint64_t)tiling->columns * tiling->width;
    const uint64_t down = (uint64_t)tiling->rows * tiling->height;
    const uint64_t pixels = (uint64_t)picture->width * picture->height;
    if (picture->width > SIDE_MAX || picture->height > SIDE_MAX || tiling->width > SIDE_MAX ||
        tiling->height > SIDE_MAX)
        return isobmff_blame(reader, "a side is longer than 65535 pixels");
    if (across < picture->width || down < picture->height ||
        across - tiling->width >= picture->width || down - tiling->height >= picture->height)
        return isobmff_blame(reader, "its tiles do not cover the picture, or lie beside it");
    if (across * down > OVERHANG * pixels + SPARE_PIXELS ||
        (uint64_t)tiling->width * tiling->height > pixels + SPARE_PIXELS)
        return isobmff_blame(reader, "its tiles have far more pixels than the picture");
    return true;
}

static bool read_tiles(struct isobmff_reader *reader, const struct isobmff_item *item,
                       const struct isobmff_picture *picture, struct isobmff_tiling *tiling,
                       struct isobmff_tile *tiles) {
    struct isobmff_walk walk = { .begun = false };
    struct isobmff_tile tile;
    uint32_t from, to, count = 0;
    *tiling = (struct isobmff_tiling){ .columns = 1, .rows = 1 };
    if (!item) return isobmff_blame(reader, "it has no such item");
    if (!is_grid(item)) {
        if (!read_tile(reader, item, picture, tiling, tiles ? tiles : &tile)) return false;
        if (tiling->width != picture->width || tiling->height != picture->height)
            return isobmff_blame(reader, "its alpha has other sides than its colours");
        return check_tiling(reader, picture, tiling);
    }
    if (!read_grid_bytes(reader, item, picture, tiling)) return false;
    const uint32_t all = tiling->columns * tiling->rows;
    if (all > ISOBMFF_ITEMS_MAX) return isobmff_blame(reader, "its grid has more than 1024 tiles");
    while (isobmff_reference(reader, "dimg", &walk, &from, &to)) {
        if (from != item->id) continue;
        if (count == all) return isobmff_blame(reader, "its grid refers to too many tiles");
        if (!read_tile(reader, isobmff_find(reader, to), picture, tiling,
                       tiles ? &tiles[count] : &tile))
            return false;
        count++;
    }
    if (count < all) return isobmff_blame(reader, "its grid refers to too few tiles");
    return check_tiling(reader, picture, tiling);
}

const char *isobmff_tiles(const uint8_t *bytes, size_t length,
                          const struct isobmff_picture *picture, bool alpha,
                          struct isobmff_tiling *tiling, struct isobmff_tile *tiles) {
    struct isobmff_reader reader;
    bool animated;
    if (isobmff_open(&reader, bytes, length, &animated))
        read_tiles(&reader, alpha ? find_alpha(&reader) : isobmff_find(&reader, reader.primary),
                   picture, tiling, tiles);
    return reader.fault;
}
