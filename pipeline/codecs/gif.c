// SPDX-License-Identifier: Apache-2.0
/* How it works. The header ends with the first picture's descriptor and palette. Behind them its
 * data is skipped, without reading a code, up to the next picture, which makes the file an
 * animation. The decoder reads codes across the data's blocks, spells each as a string of indices,
 * and lays these as colours into the rows, in the order of the interlace.
 *
 * A picture is what browsers show first: the first frame on the canvas, which is as large as the
 * header says, or as far as the frame reaches beyond that. The canvas around the frame and pixels
 * of the transparent index are 0 in all channels; the background's index counts for nothing.
 * Colours are RGB, also of a gray palette, as from a PNG; indices that the palette lacks are black.
 * A file needs no trailer; bytes behind the first picture that are no block end the search.
 * Pillow differs: to it the canvas around a frame has the colour of index 0, unless there is a
 * transparent one, and an index beyond the palette is a gray. */
#include "pipeline/codecs/codecs.h"
#include "pipeline/codecs/common/lzw.h"

enum {
    FILE_HEAD = 13,
    FRAME_HEAD = 10, /* comma, place, sides, flags */
    BLOCKS_MAX = 1 << 20,
    CANVAS_RATIO = 32768,
    HAS_PALETTE = 0x80, /* of flags, whose lowest three bits are then the palette's size */
    INTERLACED = 0x40,
};

struct header {
    uint32_t width, height;            /* of the canvas */
    uint32_t left, top, columns, rows; /* of the first frame */
    const uint8_t *palette;
    unsigned colours; /* of the palette: 2 to 256 */
    int transparent;  /* an index; -1: none */
    bool interlaced;
    unsigned literal_bits; /* 2 to 8 */
    size_t data;           /* where the frame's blocks begin */
    uint64_t data_bytes;   /* in these blocks */
    bool animated;
};

/* ---- the header */

struct reader {
    const uint8_t *bytes;
    size_t length, at;
    unsigned blocks;
    int transparent; /* by the last control */
};

/* Skips blocks of up to 255 bytes, and the empty one that ends them. Returns their bytes. */
static uint64_t skip_blocks(struct reader *reader) {
    uint64_t sum = 0;
    while (reader->at < reader->length && reader->blocks < BLOCKS_MAX) {
        const size_t size = reader->bytes[reader->at++], left = reader->length - reader->at;
        const size_t there = size < left ? size : left;
        reader->blocks++;
        reader->at += there;
        sum += there;
        if (!size) break;
    }
    return sum;
}

/* Goes to the next picture's descriptor, past extensions, of which the control counts. */
static bool find_picture(struct reader *reader) {
    while (reader->at + 2 <= reader->length && reader->bytes[reader->at] == '!') {
        const uint8_t *block = reader->bytes + reader->at;
        if (reader->length - reader->at >= 7 && block[1] == 0xf9 && block[2] >= 4)
            reader->transparent = block[3] & 1 ? block[6] : -1;
        reader->at += 2;
        skip_blocks(reader);
    }
    return reader->at < reader->length && reader->bytes[reader->at] == ',';
}

/* Reads the palette of FLAGS, if they announce one. False: it is cut off. */
static bool read_palette(struct reader *reader, uint8_t flags, struct header *header) {
    if (!(flags & HAS_PALETTE)) return true;
    header->palette = reader->bytes + reader->at;
    header->colours = 2u << (flags & 7);
    if (reader->length - reader->at < 3 * (size_t)header->colours) return false;
    reader->at += 3 * (size_t)header->colours;
    return true;
}

static bool is_covered(const struct header *header) {
    return header->columns == header->width && header->rows == header->height;
}

static void read_frame(const uint8_t *frame, struct header *header) {
    header->left = read_le16(frame + 1);
    header->top = read_le16(frame + 3);
    header->columns = read_le16(frame + 5);
    header->rows = read_le16(frame + 7);
    header->interlaced = frame[9] & INTERLACED;
    const uint32_t right = header->left + header->columns, bottom = header->top + header->rows;
    if (header->width < right) header->width = right;
    if (header->height < bottom) header->height = bottom;
}

/* Returns what is wrong, or NULL. */
static const char *read_gif_header(const uint8_t *bytes, size_t length, struct header *header) {
    struct reader reader = { .bytes = bytes, .length = length, .at = FILE_HEAD, .transparent = -1 };
    if (length < FILE_HEAD) return "its head is cut off";
    *header = (struct header){ .width = read_le16(bytes + 6), .height = read_le16(bytes + 8) };
    if (!read_palette(&reader, bytes[10], header)) return "its palette is cut off";
    if (!find_picture(&reader))
        return reader.blocks < BLOCKS_MAX ? "it has no picture" : "it has 1048576 blocks or more";
    if (length - reader.at < FRAME_HEAD) return "its first picture is cut off";
    const uint8_t *frame = bytes + reader.at;
    reader.at += FRAME_HEAD;
    read_frame(frame, header);
    if (!header->columns || !header->rows) return "a side of its first picture is 0";
    if (!read_palette(&reader, frame[9], header)) return "the first picture's palette is cut off";
    if (!header->palette) return "it has no palette";
    if (reader.at == length) return "its first picture is cut off";
    header->literal_bits = bytes[reader.at++];
    if (header->literal_bits < 2 || header->literal_bits > 8)
        return "the first picture's codes begin with other than 2 to 8 bits";
    header->transparent = reader.transparent;
    header->data = reader.at;
    header->data_bytes = skip_blocks(&reader);
    header->animated = find_picture(&reader);
    return reader.blocks < BLOCKS_MAX ? NULL : "it has 1048576 blocks or more";
}

/* ---- the probe */

/* A code has two entries of the table less than its value allows, so the longest string, that of
 * code 4095, has 4095 - 2^literal_bits indices, and its code 12 bits. Shorter codes stand for fewer
 * indices a bit. A canvas around the frame has no data: for it the file must have the bytes that
 * other formats' best ratio would take. */
static uint64_t least_bytes(const struct header *header) {
    if (!is_covered(header)) return (uint64_t)header->width * header->height / CANVAS_RATIO;
    const uint64_t pixels = (uint64_t)header->columns * header->rows;
    const uint64_t longest = LZW_CODES - 1 - (1u << header->literal_bits);
    return (pixels * LZW_BITS_MAX + longest * 8 - 1) / (longest * 8);
}

static enum status gif_probe(const uint8_t *bytes, size_t length, struct probe *probe,
                             struct failure *failure) {
    struct header header;
    const char *fault = read_gif_header(bytes, length, &header);
    if (fault)
        return fail(failure, STATUS_CORRUPT,
                    "the GIF is broken or cut off: %s; send an intact file", fault);
    const bool covered = is_covered(&header);
    probe->width = header.width;
    probe->height = header.height;
    probe->components = 1;
    while (1u << probe->bits < header.colours) probe->bits++;
    probe->interlaced = header.interlaced;
    probe->palette = true;
    probe->animated = header.animated;
    probe->shape.channels = header.transparent >= 0 || !covered ? 4 : 3;
    probe->shape.depth = 8;
    probe->data_bytes = covered ? header.data_bytes : length;
    probe->data_bytes_least = least_bytes(&header);
    strcpy(probe->space, "rgb");
    return STATUS_OK;
}

/* ---- codes */

struct source {
    const uint8_t *at, *end; /* of the file */
    unsigned block;          /* bytes left in it */
    uint32_t word;           /* bits that were read, the next in the lowest place */
    unsigned held;           /* their number */
};

struct picture {
    const struct decoding *decoding;
    struct header header;
    struct source source;
    enum status stopped; /* cancelled or over its deadline */
    struct lzw lzw;
    uint8_t colours[256][4];
    uint32_t x, y, pass, rows_done; /* in the frame */
};

/* The next code of BITS; -1: the blocks or the file end, or the picture is not wanted any more. */
static int next_code(struct picture *picture, unsigned bits) {
    struct source *source = &picture->source;
    while (source->held < bits) {
        if (!source->block) {
            picture->stopped = progress_check(picture->decoding->progress);
            if (source->at == source->end || !*source->at || picture->stopped) return -1;
            source->block = *source->at++;
        }
        if (source->at == source->end) return -1;
        source->word |= (uint32_t)*source->at++ << source->held;
        source->held += 8;
        source->block--;
    }
    const uint32_t code = source->word & ((1u << bits) - 1);
    source->word >>= bits;
    source->held -= bits;
    return (int)code;
}

/* ---- pixels */

static void make_colours(struct picture *picture) {
    const struct header *header = &picture->header;
    for (unsigned i = 0; i < 256; i++) {
        const uint8_t black[] = { 0, 0, 0 };
        memcpy(picture->colours[i], i < header->colours ? header->palette + 3 * i : black, 3);
        picture->colours[i][3] = 255;
    }
    if (header->transparent >= 0) memset(picture->colours[header->transparent], 0, 4);
}

static uint8_t *frame_pixel(const struct picture *picture, uint32_t x) {
    const struct image *into = picture->decoding->into;
    return image_row(into, picture->header.top + picture->y) +
           (picture->header.left + x) * image_pixel_bytes(into);
}

/* Rows of a pass are eight apart, then eight, four and two. */
static void next_row(struct picture *picture) {
    static const uint8_t starts[] = { 0, 4, 2, 1 }, steps[] = { 8, 8, 4, 2 };
    picture->rows_done++;
    picture->x = 0;
    picture->y += picture->header.interlaced ? steps[picture->pass] : 1;
    while (picture->header.interlaced && picture->y >= picture->header.rows && picture->pass < 3)
        picture->y = starts[++picture->pass];
}

/* Lays LENGTH indices into the rows; those behind the last row are dropped. */
static void lay(struct picture *picture, const uint8_t *indices, size_t length) {
    const size_t channels = picture->decoding->into->channels;
    while (length && picture->rows_done < picture->header.rows) {
        const size_t left = picture->header.columns - picture->x;
        const size_t run = length < left ? length : left;
        uint8_t *to = frame_pixel(picture, picture->x);
        for (size_t i = 0; i < run && channels == 3; i++)
            memcpy(to + 3 * i, picture->colours[indices[i]], 3);
        for (size_t i = 0; i < run && channels == 4; i++)
            memcpy(to + 4 * i, picture->colours[indices[i]], 4);
        indices += run;
        length -= run;
        picture->x += (uint32_t)run;
        if (run == left) next_row(picture);
    }
}

/* Decodes up to the last pixel; what comes behind is not read. Returns what is wrong, or NULL. */
static const char *unpack(struct picture *picture) {
    struct lzw *lzw = &picture->lzw;
    lzw->literal_bits = picture->header.literal_bits;
    lzw_clear(lzw);
    while (picture->rows_done < picture->header.rows) {
        const int code = next_code(picture, lzw->bits);
        size_t length;
        if (code < 0 || code == lzw_end_code(lzw)) return "its data ends before the picture does";
        if (code == lzw_clear_code(lzw)) {
            lzw_clear(lzw);
            continue;
        }
        const uint8_t *string = lzw_string(lzw, code, &length);
        if (!string) return "its data has a code of no meaning";
        lay(picture, string, length);
    }
    return NULL;
}

/* ---- decoding */

/* The rows that are whole stay, the others are 0. */
static enum status salvage(const struct picture *picture, const char *fault) {
    const struct decoding *decoding = picture->decoding;
    if (!decoding->limits->accept_damage || !picture->rows_done)
        return fail(decoding->failure, STATUS_CORRUPT,
                    "the GIF is broken or cut off (%s); send an intact file", fault);
    memset(frame_pixel(picture, 0), 0, picture->x * image_pixel_bytes(decoding->into));
    codec_damage(decoding, fault);
    return STATUS_OK;
}

static enum status gif_decode(const struct decoding *decoding) {
    struct picture picture = { .decoding = decoding };
    const struct header *header = &picture.header;
    const struct image *into = decoding->into;
    if (read_gif_header(decoding->bytes, decoding->length, &picture.header) ||
        header->width != into->width || header->height != into->height ||
        (header->transparent >= 0 || !is_covered(header) ? 4 : 3) != into->channels)
        return fail(decoding->failure, STATUS_CORRUPT,
                    "the GIF's header is broken; send an intact file");
    for (uint32_t y = 0; y < into->height && !is_covered(header); y++)
        memset(image_row(into, y), 0, image_row_bytes(into));
    picture.source.at = decoding->bytes + header->data;
    picture.source.end = decoding->bytes + decoding->length;
    make_colours(&picture);
    const char *fault = unpack(&picture);
    if (picture.stopped) return codec_stopped(picture.stopped, decoding->failure);
    return fault ? salvage(&picture, fault) : STATUS_OK;
}

/* ---- the record */

static bool is_gif(const uint8_t *bytes, size_t length) {
    return codec_has_magic(bytes, length, 0, "GIF87a", 6) ||
           codec_has_magic(bytes, length, 0, "GIF89a", 6);
}

const struct format_record format_gif = {
    .name = "gif",
    .title = "GIF",
    .media_types = { "image/gif" },
    .endings = { "gif" },
    .places = { [FORMATS_DESCRIBED] = 4 },
    .recognizes = is_gif,
    .probe = gif_probe,
    .decode = gif_decode,
    .decode_costs = { { .cpu = { 0.05f, 3, 1.5f } } },
};
