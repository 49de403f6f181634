// SPDX-License-Identifier: Apache-2.0
/* How it works. The header gives shape, palette or masks, and where the pixels begin. Rows without
 * compression are one block, whose size is known before a pixel is read; samples of 16 bits and of
 * masks are scaled to the full range, rounded half up, by tables. Runs write pixels into an image
 * that has the palette's first colour.
 *
 * Rows come bottom up, or top down where the height is negative. Colours are RGB, also of a gray
 * palette, as from a PNG; indices that the palette lacks are black. Alpha counts where a mask names
 * it and the pixels have masks (BI_BITFIELDS with a header of 56 bytes or more, or
 * BI_ALPHABITFIELDS); else the fourth byte means nothing, as in Pillow. Runs beyond a row are cut,
 * pixels that they skip have index 0. The stated sizes of file and pixels are often wrong and count
 * for nothing. Pillow differs: it rounds five bits down, drops empty rows between runs, and has a
 * gray for indices beyond the palette. Chrome differs: it takes an alpha mask without BI_BITFIELDS,
 * too, and pixels that runs skip are black. */
#include "pipeline/codecs/codecs.h"

enum {
    FILE_HEAD = 14,
    CORE_HEAD = 12, /* sides of 16 bits, a palette of three bytes a colour */
    INFO_HEAD = 40,
    OS2_HEAD = 64,   /* knows other compressions by the same numbers */
    ALPHA_HEAD = 56, /* from here on there is an alpha mask */
    V5_HEAD = 124,
    MASKS_AT = 40, /* in the header, or directly behind one of 40 bytes */
    RUN_RATIO = 32768,
};

enum compression { RAW, RLE8, RLE4, BITFIELDS, ALPHABITFIELDS = 6 };

/* A channel of a pixel. */
struct field {
    uint32_t mask;
    unsigned shift;
    uint32_t most; /* the largest value */
    uint8_t scaled[256];
};

struct header {
    uint32_t width, height;
    bool top_down;
    unsigned bits; /* a pixel */
    uint32_t compression;
    const uint8_t *palette;
    unsigned colours, colour_bytes;
    uint32_t masks[4]; /* red, green, blue, alpha */
    size_t raster;     /* where the pixels begin; the file's length if they are not there */
    uint64_t profile_at, profile_length;
};

/* ---- the header */

static bool is_head_length(uint32_t length) {
    static const uint8_t known[] = { CORE_HEAD, INFO_HEAD, 52, ALPHA_HEAD, OS2_HEAD, 108, V5_HEAD };
    return length <= V5_HEAD && memchr(known, (int)length, sizeof known);
}

static bool has_masks(const struct header *header) {
    return header->compression == BITFIELDS || header->compression == ALPHABITFIELDS;
}

static bool has_runs(const struct header *header) {
    return header->compression == RLE4 || header->compression == RLE8;
}

static bool is_kind(const struct header *header, uint32_t head) {
    const unsigned bits = header->bits;
    const bool deep = bits == 16 || bits == 24 || bits == 32;
    if (has_masks(header)) return deep && head != OS2_HEAD;
    if (has_runs(header)) return bits == (header->compression == RLE8 ? 8 : 4);
    return header->compression == RAW && (deep || bits == 1 || bits == 2 || bits == 4 || bits == 8);
}

/* Returns what is wrong, or NULL. INFO has the bytes of the masks. */
static const char *read_masks(const uint8_t *info, uint32_t head, struct header *header) {
    const bool alpha =
        head == INFO_HEAD ? header->compression == ALPHABITFIELDS : head >= ALPHA_HEAD;
    for (int i = 0; i < 3 + alpha; i++) header->masks[i] = read_le32(info + MASKS_AT + 4 * i);
    for (int i = 0; i < 4; i++) {
        const uint32_t mask = header->masks[i], low = mask & -mask;
        if ((mask + low) & mask) return "one of its masks has a hole";
    }
    return header->masks[0] | header->masks[1] | header->masks[2] ? NULL : "its masks are all 0";
}

/* Finds the palette behind the header, which ends at AT, and the pixels; USED: colours, as stated.
 * A file may say that the pixels begin where the palette does, and mean behind that; or within the
 * palette, of whose colours it needs but the first. */
static const char *find_pixels(const uint8_t *bytes, size_t length, size_t at, uint64_t used,
                               struct header *header) {
    const unsigned possible = header->bits <= 8 ? 1u << header->bits : 0;
    uint64_t raster = read_le32(bytes + 10);
    if (!used || !possible) used = possible;
    if (!raster || (raster == at && possible)) raster = at + used * header->colour_bytes;
    if (raster < at) return "its pixels begin in its header";
    header->raster = raster < length ? (size_t)raster : length;
    header->palette = bytes + at;
    header->colours = used < possible ? (unsigned)used : possible;
    const size_t room = (length - at) / header->colour_bytes;
    if (header->colours > room) header->colours = (unsigned)room;
    return possible && !header->colours ? "it has no palette" : NULL;
}

/* Returns what is wrong, or NULL. */
static const char *read_bmp_header(const uint8_t *bytes, size_t length, struct header *header) {
    *header = (struct header){ .masks = { 0xff0000, 0xff00, 0xff } };
    const uint8_t *info = bytes + FILE_HEAD;
    if (length < FILE_HEAD + 4) return "its head is cut off";
    const uint32_t head = read_le32(info);
    if (!is_head_length(head)) return "its head has an unknown length";
    if (length - FILE_HEAD < head) return "its head is cut off";
    const bool core = head == CORE_HEAD;
    const int64_t width = core ? (int32_t)read_le16(info + 4) : (int32_t)read_le32(info + 4);
    const int64_t height = core ? (int32_t)read_le16(info + 6) : (int32_t)read_le32(info + 8);
    if (width <= 0 || !height) return "a side is 0 or below";
    header->width = (uint32_t)width;
    header->height = (uint32_t)(height < 0 ? -height : height);
    header->top_down = height < 0;
    header->bits = read_le16(info + (core ? 10 : 14));
    header->compression = core ? RAW : read_le32(info + 16);
    header->colour_bytes = core ? 3 : 4;
    if (!is_kind(header, head)) return "it has an unknown kind of pixels";
    size_t at = FILE_HEAD + head;
    if (has_masks(header)) {
        at += head > INFO_HEAD ? 0 : header->compression == BITFIELDS ? 12 : 16;
        if (at > length) return "its masks are cut off";
        const char *fault = read_masks(info, head, header);
        if (fault) return fault;
    } else if (header->bits == 16) {
        memcpy(header->masks, (const uint32_t[]){ 0x7c00, 0x3e0, 0x1f }, 12);
    }
    if (head == V5_HEAD && memcmp(info + 56, "DEBM", 4) == 0) { /* 'MBED': it is in the file */
        header->profile_at = FILE_HEAD + (uint64_t)read_le32(info + 112);
        header->profile_length = read_le32(info + 116);
        if (header->profile_at + header->profile_length > length) header->profile_length = 0;
    }
    return find_pixels(bytes, length, at, core ? 0 : read_le32(info + 32), header);
}

/* ---- the probe */

static uint64_t row_bytes(const struct header *header) {
    return ((uint64_t)header->width * header->bits + 31) / 32 * 4;
}

/* Rows are padded to four bytes, the last one perhaps not. Two bytes can end the picture in runs,
 * and skip any part of it: such a file must have the bytes that other formats' best ratio takes. */
static uint64_t least_bytes(const struct header *header) {
    if (has_runs(header)) return (uint64_t)header->width * header->height / RUN_RATIO;
    return row_bytes(header) * (header->height - 1) +
           ((uint64_t)header->width * header->bits + 7) / 8;
}

static uint8_t channels_of(const struct header *header) {
    return header->masks[3] ? 4 : 3;
}

static enum status bmp_probe(const uint8_t *bytes, size_t length, struct probe *probe,
                             struct failure *failure) {
    struct header header;
    const char *fault = read_bmp_header(bytes, length, &header);
    if (fault)
        return fail(failure, STATUS_CORRUPT,
                    "the BMP is broken or cut off: %s; send an intact file, or another type",
                    fault);
    probe->width = header.width;
    probe->height = header.height;
    probe->palette = header.bits <= 8;
    probe->components = probe->palette ? 1 : channels_of(&header);
    probe->bits = (uint8_t)(probe->palette ? header.bits : header.bits == 16 ? 5 : 8);
    probe->profile = header.profile_length > 0;
    probe->shape.channels = channels_of(&header);
    probe->shape.depth = 8;
    probe->data_bytes = has_runs(&header) ? length : length - header.raster;
    probe->data_bytes_least = least_bytes(&header);
    strcpy(probe->space, "rgb");
    return STATUS_OK;
}

/* ---- pixels */

struct picture {
    const struct decoding *decoding;
    struct header header;
    uint8_t colours[256][3]; /* red first */
    struct field fields[4];
};

static uint8_t scale(uint32_t value, uint32_t most) {
    return most ? (uint8_t)((UINT64_C(510) * value + most) / (UINT64_C(2) * most)) : 0;
}

static void make_tables(struct picture *picture) {
    const struct header *header = &picture->header;
    for (unsigned i = 0; i < header->colours && header->bits <= 8; i++)
        for (unsigned c = 0; c < 3; c++)
            picture->colours[i][c] = header->palette[i * header->colour_bytes + 2 - c];
    for (unsigned c = 0; c < 4; c++) {
        struct field *field = &picture->fields[c];
        field->mask = header->masks[c];
        while (field->mask && !(field->mask >> field->shift & 1)) field->shift++;
        field->most = field->mask >> field->shift;
        for (uint32_t i = 0; i < 256 && i <= field->most; i++)
            field->scaled[i] = scale(i, field->most);
    }
}

/* The row that is the Y-th in the file. */
static uint8_t *stored_row(const struct picture *picture, uint32_t y) {
    const struct image *into = picture->decoding->into;
    return image_row(into, picture->header.top_down ? y : into->height - 1 - y);
}

static void read_indices(const struct picture *picture, const uint8_t *from, uint8_t *to) {
    const unsigned bits = picture->header.bits, most = (1u << bits) - 1, in_byte = 8 / bits;
    for (uint32_t x = 0; x < picture->header.width; x++) {
        const unsigned shift = 8 - bits - x % in_byte * bits;
        memcpy(to + 3 * (size_t)x, picture->colours[from[x / in_byte] >> shift & most], 3);
    }
}

static void read_colours(const struct picture *picture, const uint8_t *from, uint8_t *to) {
    const size_t bytes = picture->header.bits / 8;
    for (uint32_t x = 0; x < picture->header.width; x++, from += bytes, to += 3) {
        to[0] = from[2];
        to[1] = from[1];
        to[2] = from[0];
    }
}

static void read_fields(const struct picture *picture, const uint8_t *from, uint8_t *to) {
    const unsigned bytes = picture->header.bits / 8, channels = channels_of(&picture->header);
    for (uint32_t x = 0; x < picture->header.width; x++, from += bytes, to += channels) {
        const uint32_t pixel = bytes == 2   ? read_le16(from)
                               : bytes == 3 ? read_le24(from)
                                            : read_le32(from);
        for (unsigned c = 0; c < channels; c++) {
            const struct field *field = &picture->fields[c];
            const uint32_t value = (pixel & field->mask) >> field->shift;
            to[c] = field->most < 256 ? field->scaled[value] : scale(value, field->most);
        }
    }
}

/* STATUS_OK if the caller accepts damage from row Y of the file on. */
static enum status end_at_row(const struct decoding *decoding, uint32_t y) {
    if (!decoding->limits->accept_damage || !y)
        return fail(decoding->failure, STATUS_CORRUPT,
                    "the BMP is cut off in the %u. of its rows; send the whole file", y + 1);
    codec_damage(decoding, "the BMP's data ends before the picture does");
    return STATUS_OK;
}

static enum status read_rows(const struct picture *picture) {
    const struct decoding *decoding = picture->decoding;
    const struct header *header = &picture->header;
    const uint64_t bytes = row_bytes(header);
    const uint64_t needed = ((uint64_t)header->width * header->bits + 7) / 8;
    const bool plain = header->compression == RAW && header->bits >= 24;
    for (uint32_t y = 0; y < header->height; y++) {
        const uint64_t at = header->raster + y * bytes;
        const enum status status = progress_check(decoding->progress);
        if (status) return codec_stopped(status, decoding->failure);
        if (at + needed > decoding->length) return end_at_row(decoding, y);
        (header->bits <= 8 ? read_indices
         : plain           ? read_colours
                           : read_fields)(picture, decoding->bytes + at, stored_row(picture, y));
    }
    return STATUS_OK;
}

/* ---- runs */

struct place {
    uint32_t x, y; /* y as stored */
};

/* Lays COUNT pixels behind one another, as far as the row goes: those of the bytes FROM, or, with
 * ONE, of its first byte again and again. Four bits a pixel: two a byte, the higher first. */
static void lay(const struct picture *picture, struct place *place, unsigned count,
                const uint8_t *from, bool one) {
    const uint32_t left = picture->header.width - place->x;
    const bool halves = picture->header.compression == RLE4;
    uint8_t *to = stored_row(picture, place->y) + 3 * (size_t)place->x;
    if (count > left) count = left;
    for (unsigned i = 0; i < count; i++) {
        const uint8_t byte = from[one ? 0 : halves ? i / 2 : i];
        const unsigned index = !halves ? byte : i % 2 ? byte & 15u : byte >> 4;
        memcpy(to + 3 * (size_t)i, picture->colours[index], 3);
    }
    place->x += count;
}

/* Goes right, at most to the row's end, and up. */
static void skip(const struct picture *picture, struct place *place, const uint8_t *delta) {
    const uint32_t left = picture->header.width - place->x;
    place->x += delta[0] < left ? delta[0] : left;
    place->y += delta[1];
}

/* Row Y is not whole, and those behind it have only been prepared: they become 0. */
static enum status end_runs(const struct picture *picture, uint32_t y) {
    const struct image *into = picture->decoding->into;
    for (uint32_t after = y; after < into->height; after++)
        memset(stored_row(picture, after), 0, image_row_bytes(into));
    return end_at_row(picture->decoding, y);
}

static enum status read_runs(const struct picture *picture) {
    const struct decoding *decoding = picture->decoding;
    const struct header *header = &picture->header;
    const uint8_t *at = decoding->bytes + header->raster, *end = decoding->bytes + decoding->length;
    struct place place = { 0, 0 };
    for (uint32_t y = 0; y < header->height; y++)
        for (uint32_t x = 0; x < header->width; x++)
            memcpy(stored_row(picture, y) + 3 * (size_t)x, picture->colours[0], 3);
    for (unsigned codes = 0; place.y + (place.x == header->width) < header->height; codes++) {
        const enum status status = codes & 1023 ? STATUS_OK : progress_check(decoding->progress);
        if (status) return codec_stopped(status, decoding->failure);
        if (end - at < 2) return end_runs(picture, place.y);
        const unsigned count = at[0], what = at[1];
        const uint8_t *more = at + 2;
        at = more;
        if (count) {
            lay(picture, &place, count, more - 1, true);
        } else if (what == 0) {
            place = (struct place){ 0, place.y + 1 };
        } else if (what == 1) {
            return STATUS_OK;
        } else if (what == 2) {
            if (end - at < 2) return end_runs(picture, place.y);
            skip(picture, &place, more);
            at += 2;
        } else {
            const size_t bytes = header->compression == RLE4 ? (what + 1) / 2 : what;
            if ((size_t)(end - at) < bytes) return end_runs(picture, place.y);
            lay(picture, &place, what, more, false);
            at += (size_t)(end - at) > bytes ? bytes + bytes % 2 : bytes;
        }
    }
    return STATUS_OK;
}

/* ---- decoding */

static enum status bmp_decode(const struct decoding *decoding) {
    struct picture picture = { .decoding = decoding };
    const struct header *header = &picture.header;
    if (read_bmp_header(decoding->bytes, decoding->length, &picture.header) ||
        header->width != decoding->into->width || header->height != decoding->into->height ||
        channels_of(header) != decoding->into->channels)
        return fail(decoding->failure, STATUS_CORRUPT,
                    "the BMP's header is broken; send an intact file");
    make_tables(&picture);
    const enum status status = (has_runs(header) ? read_runs : read_rows)(&picture);
    return status ? status
                  : codec_keep_profile(decoding, header->profile_at, header->profile_length);
}

/* ---- the record */

static bool is_bmp(const uint8_t *bytes, size_t length) {
    return codec_has_magic(bytes, length, 0, "BM", 2);
}

const struct format_record format_bmp = {
    .name = "bmp",
    .title = "BMP",
    .media_types = { "image/bmp" },
    .endings = { "bmp" },
    .places = { [FORMATS_DESCRIBED] = 5 },
    .recognizes = is_bmp,
    .probe = bmp_probe,
    .decode = bmp_decode,
    .decode_costs = { { .cpu = { 0.01f, 0.1f, 0.3f } } },
};
