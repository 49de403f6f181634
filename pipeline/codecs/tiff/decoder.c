// SPDX-License-Identifier: Apache-2.0
/* How it works. Blocks are read one after another, and each row by row: the streams, of all planes
 * beside each other, give the bytes of a row, which become values, one a stored sample, and these
 * pixels. So a block takes no more memory than one of its rows. Rows of a tile that lie below the
 * picture are not unpacked.
 *
 * Gray of few bits is scaled to 255, of a palette the higher eight bits of a colour count; of one
 * whose numbers are all below 256 these are the colours, as in libtiff. Alpha that has multiplied
 * the colours is divided out of stored samples, palettes excepted (premultiply.h). CMYK becomes RGB
 * as from a JPEG. */
#include "pipeline/codecs/common/oriented_rows.h"
#include "pipeline/codecs/tiff/stream.h"
#include "pipeline/premultiply.h"

#include <stdlib.h>

enum { BAND_ROWS = 16, STREAMS_MAX = 5 };

struct reader {
    const struct decoding *decoding;
    struct tiff_header header;
    struct oriented_rows rows;
    struct tiff_stream *streams;
    unsigned planes[STREAMS_MAX], plane_count; /* the sample of each stream; one stream: all */
    uint8_t *row;                              /* unpacked */
    uint16_t *values;
    uint8_t *pixels; /* of a tile's row, where it cannot be laid in place */
    uint8_t colours[256][3];
    uint64_t rows_done; /* of all blocks */
};

static enum status broken(const struct reader *reader, const char *damage) {
    return fail(reader->decoding->failure, STATUS_CORRUPT,
                "the TIFF is broken or cut off (%s); send an intact file", damage);
}

/* ---- stored samples */

static unsigned sample_mask(const struct tiff_header *header) {
    return (1u << header->bits) - 1;
}

/* The I-th of ROW. */
static inline unsigned sample_at(const struct tiff_header *header, const uint8_t *row, size_t i) {
    const unsigned bits = header->bits;
    if (bits == 8) return row[i];
    if (bits == 16) return header->big_endian ? read_be16(row + 2 * i) : read_le16(row + 2 * i);
    return row[i * bits / 8] >> (8 - bits - i * bits % 8) & sample_mask(header);
}

/* COUNT samples of ROW become every STEP-th of VALUES. */
static void expand(const struct tiff_header *header, const uint8_t *row, uint16_t *values,
                   size_t count, size_t step) {
    const unsigned mask = sample_mask(header), before = header->samples;
    for (size_t i = 0; i < count; i++) {
        const size_t at = i * step;
        unsigned value = sample_at(header, row, i);
        if (header->differences && at >= before) value += values[at - before];
        values[at] = (uint16_t)(value & mask);
    }
}

/* ---- pixels */

static void list_colours(struct reader *reader) {
    const struct tiff_header *header = &reader->header;
    const uint64_t count = UINT64_C(1) << header->bits;
    uint64_t all = 0;
    for (uint64_t i = 0; i < 3 * count; i++) all |= tiff_value(header, &header->palette, i);
    for (uint64_t i = 0; i < 3 * count; i++) {
        const uint64_t colour = tiff_value(header, &header->palette, i);
        reader->colours[i % count][i / count] = (uint8_t)(all < 256 ? colour : colour >> 8);
    }
}

/* The samples of a pixel from its VALUES. */
static void make_pixel(const struct reader *reader, const uint16_t *values, uint32_t pixel[4]) {
    const struct tiff_header *header = &reader->header;
    const struct image *into = reader->decoding->into;
    const uint32_t most = image_max(into), unit = most / sample_mask(header); /* whole */
    const unsigned samples = tiff_colour_samples(header), colours = image_colours(into);
    const uint32_t alpha = values[header->alpha] * unit;
    uint32_t stored[4];
    for (unsigned c = 0; c < samples; c++) {
        stored[c] = values[c] * unit;
        if (header->premultiplied) stored[c] = unpremultiply(stored[c], alpha, into->depth);
    }
    for (unsigned c = 0; c < colours; c++) {
        switch (header->colours) {
        case TIFF_WHITE_IS_ZERO: pixel[c] = most - stored[c]; break;
        case TIFF_PALETTE: pixel[c] = reader->colours[values[0]][c]; break;
        case TIFF_CMYK:
            pixel[c] = ((most - stored[c]) * (most - stored[3]) + most / 2) / most;
            break;
        default: pixel[c] = stored[c];
        }
    }
    if (header->alpha) pixel[colours] = alpha;
}

/* The stored samples are those of the result. */
static bool is_plain(const struct reader *reader) {
    const struct tiff_header *header = &reader->header;
    return header->bits >= 8 && header->samples == reader->decoding->into->channels &&
           !header->premultiplied &&
           (header->colours == TIFF_BLACK_IS_ZERO || header->colours == TIFF_RGB);
}

/* And they are bytes, in their order: unpacked rows are rows of the result. */
static bool is_plain_bytes(const struct reader *reader) {
    return reader->header.bits == 8 && !reader->header.separate && is_plain(reader);
}

static void make_pixels(const struct reader *reader, uint8_t *to, uint32_t count) {
    const struct image *into = reader->decoding->into;
    const uint16_t *values = reader->values;
    uint16_t *wide = (uint16_t *)(void *)to;
    const size_t channels = into->channels, samples = reader->header.samples;
    if (is_plain_bytes(reader)) {
        memcpy(to, reader->row, count * channels);
        return;
    }
    if (is_plain(reader) && into->depth == 16) {
        memcpy(to, values, count * channels * sizeof *values);
        return;
    }
    if (is_plain(reader)) {
        for (size_t i = 0; i < count * channels; i++) to[i] = (uint8_t)values[i];
        return;
    }
    for (size_t x = 0; x < count; x++) {
        uint32_t pixel[4];
        make_pixel(reader, values + x * samples, pixel);
        for (size_t c = 0; c < channels; c++) {
            if (into->depth == 16)
                wide[x * channels + c] = (uint16_t)pixel[c];
            else
                to[x * channels + c] = (uint8_t)pixel[c];
        }
    }
}

/* Lays COUNT pixels into row Y, from column X on. */
static void lay(struct reader *reader, uint32_t x, uint32_t y, uint32_t count) {
    struct oriented_rows *rows = &reader->rows;
    uint8_t *to = reader->pixels;
    if (!to) to = oriented_rows_begin(rows, y) + x * image_pixel_bytes(reader->decoding->into);
    make_pixels(reader, to, count);
    if (reader->pixels)
        oriented_rows_put(rows, x, 1, y, to, count);
    else if (reader->header.across == 1)
        oriented_rows_end(rows, y);
    reader->rows_done++;
}

/* ---- blocks */

static void open_streams(struct reader *reader, uint64_t block) {
    const struct tiff_header *header = &reader->header;
    const uint64_t blocks = (uint64_t)header->across * header->down;
    for (unsigned i = 0; i < reader->plane_count; i++) {
        size_t at;
        const size_t size = tiff_find_block(header, reader->planes[i] * blocks + block, &at);
        tiff_stream_open(reader->streams + i, header->compression, header->bytes + at, size);
    }
}

static void add_differences(uint8_t *row, size_t count, size_t before) {
    for (size_t i = before; i < count; i++) row[i] = (uint8_t)(row[i] + row[i - before]);
}

/* False: a stream is damaged or stopped. */
static bool read_row(struct reader *reader) {
    const struct tiff_header *header = &reader->header;
    const unsigned samples = header->samples;
    if (is_plain_bytes(reader)) {
        const size_t bytes = tiff_row_bytes(header);
        const bool whole = tiff_stream_take(reader->streams, reader->row, bytes);
        if (whole && header->differences) add_differences(reader->row, bytes, samples);
        return whole;
    }
    for (unsigned i = 0; i < reader->plane_count; i++) {
        if (!tiff_stream_take(reader->streams + i, reader->row, tiff_row_bytes(header)))
            return false;
        expand(header, reader->row, reader->values + reader->planes[i],
               (size_t)header->block_width * (header->separate ? 1 : samples),
               header->separate ? samples : 1);
    }
    return true;
}

/* Judges the streams: of those that are damaged the rows from Y to END are 0. */
static enum status close_streams(struct reader *reader, uint32_t y, uint32_t end) {
    const struct decoding *decoding = reader->decoding;
    for (unsigned i = 0; i < reader->plane_count; i++) {
        struct tiff_stream *stream = reader->streams + i;
        if (y == end) tiff_stream_finish(stream);
        if (stream->status) return codec_stopped(stream->status, decoding->failure);
        if (!stream->damage) continue;
        if (!decoding->limits->accept_damage) return broken(reader, stream->damage);
        codec_damage(decoding, stream->damage);
    }
    for (; y < end && reader->header.across == 1; y++) {
        memset(oriented_rows_begin(&reader->rows, y), 0, image_row_bytes(&reader->rows.band));
        oriented_rows_end(&reader->rows, y);
    }
    return STATUS_OK;
}

static enum status read_block(struct reader *reader, uint32_t column, uint32_t row) {
    const struct tiff_header *header = &reader->header;
    const uint32_t x = column * header->block_width, left = header->width - x;
    const uint32_t count = left < header->block_width ? left : header->block_width;
    uint32_t y = row * header->block_height;
    const uint32_t end = y + tiff_block_rows(header, row);
    open_streams(reader, (uint64_t)row * header->across + column);
    for (; y < end && read_row(reader); y++) {
        const enum status status = progress_check(reader->decoding->progress);
        if (status) return codec_stopped(status, reader->decoding->failure);
        lay(reader, x, y, count);
    }
    return close_streams(reader, y, end);
}

static enum status read_blocks(struct reader *reader) {
    const struct tiff_header *header = &reader->header;
    for (uint32_t row = 0; row < header->down; row++)
        for (uint32_t column = 0; column < header->across; column++) {
            const enum status status = read_block(reader, column, row);
            if (status) return status;
        }
    return reader->rows_done ? STATUS_OK : broken(reader, reader->decoding->metadata->warning);
}

/* ---- all of it */

/* The rows of a block, unpacked, as values and as pixels. */
static uint64_t row_memory(uint64_t width, uint64_t samples) {
    return width * (2 * samples * sizeof(uint16_t) + 4 * sizeof(uint16_t));
}

static enum status take_memory(struct reader *reader) {
    const struct decoding *decoding = reader->decoding;
    const struct tiff_header *header = &reader->header;
    const bool in_place = header->orientation == 1 || header->orientation == 4;
    const size_t width = header->block_width, own = row_memory(width, header->samples);
    oriented_rows_plan(&reader->rows, decoding->into, header->orientation, header->width,
                       header->height);
    const size_t band = header->across > 1 ? 0 : oriented_rows_memory(&reader->rows, BAND_ROWS);
    const size_t all = own + band + reader->plane_count * sizeof *reader->streams;
    if (all > decoding->limits->memory_max)
        return fail(decoding->failure, STATUS_TOO_LARGE,
                    "this TIFF takes %zu bytes of memory to decode and %zu are allowed "
                    "(codec_memory_bytes); send a smaller one",
                    all, decoding->limits->memory_max);
    reader->values = calloc(1, own); /* no bytes of others, whatever comes */
    reader->streams = calloc(reader->plane_count, sizeof *reader->streams);
    if (!reader->values || !reader->streams ||
        (header->across == 1 && !oriented_rows_init(&reader->rows, BAND_ROWS)))
        return fail(decoding->failure, STATUS_NO_MEMORY, "no memory for the TIFF codec");
    uint8_t *behind = (uint8_t *)(reader->values + width * header->samples);
    if (header->across > 1 && !in_place) reader->pixels = behind;
    reader->row = behind + width * 4 * sizeof(uint16_t);
    for (unsigned i = 0; i < reader->plane_count; i++)
        reader->streams[i].progress = decoding->progress;
    return STATUS_OK;
}

uint64_t tiff_decode_memory(const struct probe *probe) {
    const uint64_t band = codec_turned_bytes(probe) ? BAND_ROWS * UINT64_C(8) * probe->width : 0;
    return row_memory((uint64_t)probe->width + TIFF_PADDING_MAX, probe->components) + band +
           STREAMS_MAX * sizeof(struct tiff_stream);
}

static bool is_as_probed(const struct tiff_header *header, const struct probe *probe) {
    const bool gray = header->colours <= TIFF_BLACK_IS_ZERO;
    return header->width == probe->width && header->height == probe->height &&
           header->orientation == probe->orientation &&
           (gray ? 1u : 3u) + (header->alpha > 0) == probe->shape.channels &&
           (header->bits == 16 ? 16 : 8) == probe->shape.depth;
}

/* A profile of CMYK is none of what the pixels are now. */
static enum status keep_rest(const struct reader *reader) {
    const struct decoding *decoding = reader->decoding;
    const struct tiff_values *profile = &reader->header.profile;
    if (reader->header.left_out) *decoding->notes |= NOTE_SAMPLES_LEFT_OUT;
    if (reader->header.colours != TIFF_CMYK)
        return codec_keep_profile(decoding, (size_t)profile->at, (size_t)profile->count);
    *decoding->notes |= NOTE_CMYK_CONVERTED | (profile->count ? NOTE_PROFILE_DROPPED : 0);
    return STATUS_OK;
}

enum status tiff_decode(const struct decoding *decoding) {
    struct reader reader = { .decoding = decoding, .plane_count = 1 };
    struct tiff_header *header = &reader.header;
    enum status status =
        tiff_read_header(decoding->bytes, decoding->length, header, decoding->failure);
    if (status) return status;
    if (!is_as_probed(header, decoding->probe))
        return broken(&reader, "its header contradicts itself");
    if (header->separate) {
        reader.plane_count = 0;
        for (unsigned plane = 0; plane < header->samples; plane++)
            if (tiff_needs(header, plane)) reader.planes[reader.plane_count++] = plane;
    }
    if (header->colours == TIFF_PALETTE) list_colours(&reader);
    status = take_memory(&reader);
    if (!status) status = read_blocks(&reader);
    if (!status) status = keep_rest(&reader);
    oriented_rows_release(&reader.rows);
    free(reader.streams);
    free(reader.values);
    return status;
}
