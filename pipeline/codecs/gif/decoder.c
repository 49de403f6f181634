// SPDX-License-Identifier: Apache-2.0
/* How it works. The header ends with the first picture's descriptor and palette. Behind them its
 * data is skipped, without reading a code, up to the next picture, which makes the file an
 * animation; the next frames are found in the same way. The decoder reads codes across the data's
 * blocks, spells each as a string of indices, and lays these as colours into the rows, in the
 * order of the interlace.
 *
 * A picture is what browsers show first: the first frame on the canvas, which is as large as the
 * header says, or as far as the frame reaches beyond that. The canvas around the frame and pixels
 * of the transparent index are 0 in all channels; the background's index counts for nothing.
 * Colours are RGB, also of a gray palette, as from a PNG; indices that the palette lacks are
 * black. Further frames are drawn over what the frames before have left, and cut off at the
 * canvas; one that is disposed of leaves transparent pixels. A file needs no trailer; bytes behind
 * the first picture that are no block end the search. Pillow differs: to it the canvas around a
 * frame has the colour of index 0, unless there is a transparent one, and an index beyond the
 * palette is a gray. */
#include "pipeline/codecs/common/lzw.h"
#include "pipeline/codecs/gif/codec.h"

#include <stdlib.h>

enum {
    BLOCKS_MAX = 1 << 20,
    INTERLACED = 0x40,
    MS_OF_DELAY = 10,
};

/* ---- the header */

/* Skips blocks of up to 255 bytes, and the empty one that ends them. Returns their bytes. */
static uint64_t skip_blocks(struct gif_reader *reader) {
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

static const char *judge_blocks(const struct gif_reader *reader) {
    return reader->blocks < BLOCKS_MAX ? NULL : "it has 1048576 blocks or more";
}

/* Reads what an extension says about the next picture, or about all; LEFT bytes are there. */
static void read_extension(struct gif_reader *reader, const uint8_t *block, size_t left) {
    if (left >= 7 && block[1] == 0xf9 && block[2] >= 4) {
        reader->transparent = block[3] & 1 ? block[6] : -1;
        reader->disposal = block[3] >> 2 & 7;
        reader->delay = read_le16(block + 4);
    }
    const bool loop =
        left >= 18 && block[1] == 0xff && block[2] == 11 && block[14] >= 3 && block[15] == 1 &&
        (!memcmp(block + 3, "NETSCAPE2.0", 11) || !memcmp(block + 3, "ANIMEXTS1.0", 11));
    const uint32_t repeats = loop ? read_le16(block + 16) : 0;
    if (loop) reader->plays = repeats ? repeats + 1 : 0;
}

/* Goes to the next picture, past extensions, or stays at it. False: there is none. */
static bool find_picture(struct gif_reader *reader) {
    while (reader->at + 2 <= reader->length && reader->bytes[reader->at] == '!') {
        read_extension(reader, reader->bytes + reader->at, reader->length - reader->at);
        reader->at += 2;
        skip_blocks(reader);
    }
    return reader->at < reader->length && reader->bytes[reader->at] == ',';
}

/* Reads the palette of FLAGS, if they announce one. False: it is cut off. */
static bool read_palette(struct gif_reader *reader, uint8_t flags, struct gif_header *header) {
    if (!(flags & GIF_HAS_PALETTE)) return true;
    header->palette = reader->bytes + reader->at;
    header->colours = 2u << (flags & 7);
    if (reader->length - reader->at < 3 * (size_t)header->colours) return false;
    reader->at += 3 * (size_t)header->colours;
    return true;
}

/* Reads the head of the picture at which READER is. Returns what is wrong, or NULL. */
static const char *read_picture(struct gif_reader *reader, struct gif_header *header) {
    const uint8_t *frame = reader->bytes + reader->at;
    if (reader->length - reader->at < GIF_FRAME_HEAD) return "a picture is cut off";
    reader->at += GIF_FRAME_HEAD;
    header->left = read_le16(frame + 1);
    header->top = read_le16(frame + 3);
    header->columns = read_le16(frame + 5);
    header->rows = read_le16(frame + 7);
    header->interlaced = frame[9] & INTERLACED;
    if (!header->columns || !header->rows) return "a side of a picture is 0";
    header->palette = reader->palette;
    header->colours = reader->colours;
    if (!read_palette(reader, frame[9], header)) return "a picture's palette is cut off";
    if (!header->palette) return "it has no palette";
    if (reader->at == reader->length) return "a picture is cut off";
    header->literal_bits = reader->bytes[reader->at++];
    if (header->literal_bits < 2 || header->literal_bits > 8)
        return "a picture's codes begin with other than 2 to 8 bits";
    header->transparent = reader->transparent;
    header->disposal = reader->disposal;
    header->delay = reader->delay;
    header->data = reader->at;
    header->data_bytes = skip_blocks(reader);
    reader->transparent = -1; /* a control is for one picture */
    reader->disposal = reader->delay = 0;
    return judge_blocks(reader);
}

/* The canvas reaches as far as the first frame. */
static void widen(struct gif_header *header) {
    const uint32_t right = header->left + header->columns, bottom = header->top + header->rows;
    if (header->width < right) header->width = right;
    if (header->height < bottom) header->height = bottom;
}

const char *gif_begin(struct gif_reader *reader, const uint8_t *bytes, size_t length,
                      struct gif_header *header) {
    *reader = (struct gif_reader){
        .bytes = bytes, .length = length, .at = GIF_FILE_HEAD, .transparent = -1, .plays = 1
    };
    if (length < GIF_FILE_HEAD) return "its head is cut off";
    *header = (struct gif_header){ .width = read_le16(bytes + 6), .height = read_le16(bytes + 8) };
    if (!read_palette(reader, bytes[10], header)) return "its palette is cut off";
    reader->palette = header->palette;
    reader->colours = header->colours;
    const bool found = find_picture(reader);
    const char *fault = judge_blocks(reader);
    if (!fault) fault = found ? read_picture(reader, header) : "it has no picture";
    if (fault) return fault;
    widen(header);
    reader->animated = find_picture(reader);
    return judge_blocks(reader);
}

bool gif_next_picture(struct gif_reader *reader, struct gif_header *header, const char **fault) {
    const bool found = find_picture(reader);
    *fault = found ? read_picture(reader, header) : judge_blocks(reader);
    const uint64_t pixels = (uint64_t)header->columns * header->rows;
    if (found && !*fault && pixels > (uint64_t)header->width * header->height)
        *fault = "a later picture is larger than the canvas";
    return found && !*fault;
}

/* ---- codes */

struct source {
    const uint8_t *at, *end; /* of the file */
    unsigned block;          /* bytes left in it */
    uint64_t word;           /* bits that were read, the next in the lowest place */
    unsigned held;           /* their number */
};

struct picture {
    const struct decoding *decoding;
    struct gif_header header;
    enum status stopped; /* cancelled or over its deadline */
    lzw_string table[LZW_CODES];
    uint8_t string[LZW_CODES + LZW_PART]; /* of one code */
    uint8_t colours[256][4];
    bool over;                      /* transparent pixels leave what is there */
    uint32_t x, y, pass, rows_done; /* in the frame */
};

/* Reads one byte, or as many of a block as there is room for. False: the blocks or the file end, or
 * the picture is not wanted any more. */
static inline bool hold_bytes(struct picture *picture, struct source *source) {
    const size_t left = (size_t)(source->end - source->at);
    if (left >= 8 && source->block >= 8) {
        /* The first bits of a byte that has no room for all come once more, the same. */
        const unsigned bytes = (63 - source->held) / 8;
        source->word |= read_le64(source->at) << source->held;
        source->at += bytes;
        source->held += 8 * bytes;
        source->block -= bytes;
        return true;
    }
    if (!source->block) {
        picture->stopped = progress_check(picture->decoding->progress);
        if (!left || !*source->at || picture->stopped) return false;
        source->block = *source->at++;
        return true;
    }
    if (!left) return false;
    source->word |= (uint64_t)*source->at++ << source->held;
    source->held += 8;
    source->block--;
    return true;
}

/* The next code of BITS; -1: there is none. */
static inline int next_code(struct picture *picture, struct source *source, unsigned bits) {
    while (source->held < bits)
        if (!hold_bytes(picture, source)) return -1;
    const uint64_t code = source->word & ((1u << bits) - 1);
    source->word >>= bits;
    source->held -= bits;
    return (int)code;
}

/* ---- pixels */

static void make_colours(struct picture *picture) {
    const struct gif_header *header = &picture->header;
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

/* Lays RUN indices into the row; what reaches beyond the canvas is dropped. */
static void lay_run(const struct picture *picture, const uint8_t *indices, size_t run) {
    const struct image *into = picture->decoding->into;
    const uint64_t from = picture->header.left + picture->x, channels = into->channels;
    if (picture->header.top + picture->y >= into->height || from >= into->width) return;
    if (run > into->width - from) run = (size_t)(into->width - from);
    uint8_t *to = frame_pixel(picture, picture->x);
    for (size_t i = 0; i < run && picture->over; i++)
        if (picture->colours[indices[i]][3])
            memcpy(to + channels * i, picture->colours[indices[i]], channels);
    if (picture->over) return;
    for (size_t i = 0; i < run && channels == 3; i++)
        memcpy(to + 3 * i, picture->colours[indices[i]], 3);
    for (size_t i = 0; i < run && channels == 4; i++)
        memcpy(to + 4 * i, picture->colours[indices[i]], 4);
}

/* Lays LENGTH indices into the rows; those behind the last row are dropped. */
static void lay(struct picture *picture, const uint8_t *indices, size_t length) {
    while (length && picture->rows_done < picture->header.rows) {
        const size_t left = picture->header.columns - picture->x;
        const size_t run = length < left ? length : left;
        lay_run(picture, indices, run);
        indices += run;
        length -= run;
        picture->x += (uint32_t)run;
        if (run == left) next_row(picture);
    }
}

/* Decodes up to the last pixel; what comes behind is not read. Returns what is wrong, or NULL. */
static const char *unpack(struct picture *picture) {
    const struct decoding *decoding = picture->decoding;
    struct source source = { .at = decoding->bytes + picture->header.data,
                             .end = decoding->bytes + decoding->length };
    struct lzw lzw;
    lzw_begin(&lzw, picture->table, picture->header.literal_bits, false);
    while (picture->rows_done < picture->header.rows) {
        const int code = next_code(picture, &source, lzw.bits);
        if (code < 0 || (unsigned)code == lzw_end_code(&lzw))
            return "its data ends before the picture does";
        if ((unsigned)code == lzw_clear_code(&lzw)) {
            lzw_clear(&lzw);
            continue;
        }
        if (!lzw_take(&lzw, (unsigned)code)) return "its data has a code of no meaning";
        lzw_write(&lzw, picture->string);
        lay(picture, picture->string, lzw_length(lzw.last));
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

static void clear_canvas(const struct image *into) {
    for (uint32_t y = 0; y < into->height; y++)
        memset(image_row(into, y), 0, image_row_bytes(into));
}

/* Draws the picture of PICTURE's header. Returns what is wrong, or NULL. */
static const char *draw(struct picture *picture) {
    picture->x = picture->y = picture->pass = picture->rows_done = 0;
    make_colours(picture);
    return unpack(picture);
}

enum status gif_decode(const struct decoding *decoding) {
    struct picture picture = { .decoding = decoding };
    const struct gif_header *header = &picture.header;
    const struct image *into = decoding->into;
    struct gif_reader reader;
    if (gif_begin(&reader, decoding->bytes, decoding->length, &picture.header) ||
        header->width != into->width || header->height != into->height ||
        (header->transparent >= 0 || !gif_is_covered(header) ? 4 : 3) != into->channels)
        return fail(decoding->failure, STATUS_CORRUPT,
                    "the GIF's header is broken; send an intact file");
    if (!gif_is_covered(header)) clear_canvas(into);
    const char *fault = draw(&picture);
    if (picture.stopped) return codec_stopped(picture.stopped, decoding->failure);
    return fault ? salvage(&picture, fault) : STATUS_OK;
}

/* ---- all frames */

/* Copies the canvas to KEPT, or back. */
static void keep_canvas(const struct image *into, uint8_t *kept, bool back) {
    const size_t row = image_row_bytes(into);
    for (uint32_t y = 0; y < into->height; y++, kept += row)
        memcpy(back ? image_row(into, y) : kept, back ? kept : image_row(into, y), row);
}

/* The frame's part of the canvas becomes transparent. */
static void clear_frame(const struct gif_header *header, const struct image *into) {
    const uint32_t right = header->left + header->columns, bottom = header->top + header->rows;
    const size_t pixel = image_pixel_bytes(into);
    const uint32_t end = right < into->width ? right : into->width;
    for (uint32_t y = header->top; y < bottom && y < into->height && header->left < end; y++)
        memset(image_row(into, y) + header->left * pixel, 0, (end - header->left) * pixel);
}

/* Draws one frame, hands the canvas to SINK, and disposes of the frame. KEPT has room for the
 * canvas. */
static enum status show_frame(struct picture *picture, uint8_t *kept, const struct frame_sink *sink,
                              bool *last) {
    const struct decoding *decoding = picture->decoding;
    const struct gif_header *header = &picture->header;
    if (header->disposal == GIF_DISPOSE_TO_PREVIOUS) keep_canvas(decoding->into, kept, false);
    const char *fault = draw(picture);
    if (picture->stopped) return codec_stopped(picture->stopped, decoding->failure);
    if (fault && !decoding->limits->accept_damage)
        return fail(decoding->failure, STATUS_CORRUPT,
                    "a frame of the GIF is broken or cut off (%s); send an intact file", fault);
    if (fault) codec_damage(decoding, fault);
    *last |= fault != NULL;
    const enum status status = sink->take(sink->context, header->delay * MS_OF_DELAY);
    if (header->disposal == GIF_DISPOSE_TO_NOTHING) clear_frame(header, decoding->into);
    if (header->disposal == GIF_DISPOSE_TO_PREVIOUS) keep_canvas(decoding->into, kept, true);
    return status;
}

static enum status show_frames(struct picture *picture, struct gif_reader *reader, uint8_t *kept,
                               const struct frame_sink *sink) {
    const struct decoding *decoding = picture->decoding;
    enum status status = STATUS_OK;
    const char *fault = NULL;
    bool last = false;
    clear_canvas(decoding->into);
    for (uint32_t frame = 1; !status && !last; frame++) {
        status = show_frame(picture, kept, sink, &last);
        if (!last) last = !gif_next_picture(reader, &picture->header, &fault);
        last |= frame >= decoding->probe->frames;
    }
    if (status || !fault) return status;
    if (!decoding->limits->accept_damage)
        return fail(decoding->failure, STATUS_CORRUPT,
                    "the GIF is broken or cut off: %s; send an intact file", fault);
    codec_damage(decoding, fault);
    return STATUS_OK;
}

enum status gif_decode_frames(const struct decoding *decoding, const struct frame_sink *sink) {
    struct picture picture = { .decoding = decoding, .over = true };
    const struct image *into = decoding->into;
    const uint64_t bytes = image_row_bytes(into) * (uint64_t)into->height;
    struct gif_reader reader;
    if (gif_begin(&reader, decoding->bytes, decoding->length, &picture.header) ||
        picture.header.width != into->width || picture.header.height != into->height)
        return fail(decoding->failure, STATUS_CORRUPT,
                    "the GIF's header is broken; send an intact file");
    if (bytes > decoding->limits->memory_max)
        return fail(decoding->failure, STATUS_TOO_LARGE,
                    "a canvas of this GIF takes %llu bytes and %zu are allowed "
                    "(codec_memory_bytes); send a smaller one",
                    (unsigned long long)bytes, decoding->limits->memory_max);
    uint8_t *kept = malloc((size_t)bytes);
    if (!kept)
        return fail(decoding->failure, STATUS_NO_MEMORY, "no memory for a canvas of the GIF");
    const enum status status = show_frames(&picture, &reader, kept, sink);
    free(kept);
    return status;
}
