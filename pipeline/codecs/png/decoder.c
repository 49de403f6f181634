// SPDX-License-Identifier: Apache-2.0
/* How it works. The stream gives a filtered row, which is unfiltered beside the row before,
 * expanded to samples, and laid where it belongs: in its place, in a band if rows are turned, or
 * pixel by pixel if the picture is interlaced. Bytes behind the last row are noted; they are damage
 * if they cannot be unpacked, have a wrong checksum, or are more than all rows again. */
#include "pipeline/codecs/common/oriented_rows.h"
#include "pipeline/codecs/png/codec.h"
#include "pipeline/codecs/png/expand.h"
#include "pipeline/codecs/png/stream.h"
#include "pipeline/rows/unfilter.h"

#include <stdio.h>
#include <stdlib.h>

#include <zlib.h>

enum { BAND_ROWS = 16 };

struct reader {
    const struct decoding *decoding;
    struct png_parts parts;
    struct png_expansion expansion;
    struct png_stream stream;
    struct oriented_rows rows;
    uint8_t *memory;      /* of the three */
    uint8_t *row, *above; /* unfiltered, and UNFILTER_PAD bytes behind */
    uint8_t *samples;     /* of a row of a pass */
    uint32_t rows_done;   /* of all passes */
    bool cut;             /* rows are missing; the stream says why */
};

static enum status out_of_memory(const struct reader *reader) {
    return fail(reader->decoding->failure, STATUS_NO_MEMORY, "no memory for the PNG codec");
}

static enum status broken(const struct reader *reader, const char *damage) {
    return fail(reader->decoding->failure, STATUS_CORRUPT,
                "the PNG is broken or cut off (%s); send an intact file", damage);
}

static enum status check_parts(const struct reader *reader) {
    const struct probe *probe = reader->decoding->probe;
    const struct png_parts *parts = &reader->parts;
    char damage[40];
    if (parts->width != probe->width || parts->height != probe->height ||
        parts->orientation != probe->orientation || parts->interlaced != probe->interlaced ||
        reader->expansion.channels != probe->shape.channels ||
        (parts->bits == 16) != (probe->shape.depth == 16))
        return broken(reader, "its header contradicts itself");
    if (!*parts->damaged) return STATUS_OK;
    snprintf(damage, sizeof damage, "the checksum of %s is wrong", parts->damaged);
    if (!reader->decoding->limits->accept_damage) return broken(reader, damage);
    codec_damage(reader->decoding, damage);
    return STATUS_OK;
}

/* Rows of an interlaced picture are laid pixel by pixel, and need no band. */
static enum status take_memory(struct reader *reader, size_t row_bytes) {
    const struct decoding *decoding = reader->decoding;
    const struct probe *probe = decoding->probe;
    const size_t row = row_bytes + UNFILTER_PAD;
    const size_t own = 2 * row + probe->width * image_pixel_bytes(&probe->shape);
    oriented_rows_plan(&reader->rows, decoding->into, probe->orientation, probe->width,
                       probe->height);
    const size_t band = probe->interlaced ? 0 : oriented_rows_memory(&reader->rows, BAND_ROWS);
    const size_t all = own + band + png_stream_memory(row_bytes + 1);
    if (all > decoding->limits->memory_max)
        return fail(decoding->failure, STATUS_TOO_LARGE,
                    "this PNG takes %zu bytes of memory to decode and %zu are allowed "
                    "(codec_memory_bytes); send a smaller one",
                    all, decoding->limits->memory_max);
    reader->memory = calloc(1, own);
    if (!reader->memory || (!probe->interlaced && !oriented_rows_init(&reader->rows, BAND_ROWS)) ||
        !png_stream_open(&reader->stream, decoding, reader->parts.data_at, row_bytes + 1))
        return out_of_memory(reader);
    reader->row = reader->memory;
    reader->above = reader->row + row;
    reader->samples = reader->above + row;
    return STATUS_OK;
}

/* ---- rows */

static void put_row(struct reader *reader, const struct png_pass *pass, uint32_t index) {
    const uint32_t y = pass->first_y + index * pass->step_y;
    if (reader->parts.interlaced) {
        png_expand(&reader->expansion, reader->row, reader->samples, pass->width);
        oriented_rows_put(&reader->rows, pass->first_x, pass->step_x, y, reader->samples,
                          pass->width);
    } else {
        png_expand(&reader->expansion, reader->row, oriented_rows_begin(&reader->rows, y),
                   pass->width);
        oriented_rows_end(&reader->rows, y);
    }
    reader->rows_done++;
}

static void read_pass(struct reader *reader, const struct png_pass *pass) {
    memset(reader->above, 0, pass->row_bytes);
    for (uint32_t y = 0; y < pass->height; y++) {
        const uint8_t *filtered = png_stream_take(&reader->stream, pass->row_bytes + 1);
        reader->cut =
            !filtered || !unfilter_row(filtered[0], filtered + 1, reader->above, reader->row,
                                       pass->row_bytes, reader->expansion.pixel);
        if (reader->cut && filtered) reader->stream.damage = "a row in IDAT has an unknown filter";
        if (reader->cut) return;
        put_row(reader, pass, y);
        uint8_t *row = reader->row;
        reader->row = reader->above;
        reader->above = row;
    }
}

/* A row too many, or twice all rows, is only too much; more is not worth the time. */
static enum status read_rows(struct reader *reader) {
    const struct decoding *decoding = reader->decoding;
    struct png_stream *stream = &reader->stream;
    struct png_pass pass;
    for (int i = 0; !reader->cut && png_pass(&reader->parts, i, &pass); i++)
        read_pass(reader, &pass);
    if (!reader->cut) png_stream_finish(stream, png_filtered_bytes(&reader->parts));
    if (stream->status) return codec_stopped(stream->status, decoding->failure);
    if (stream->damage && (!decoding->limits->accept_damage || !reader->rows_done))
        return broken(reader, stream->damage);
    if (reader->cut && !reader->parts.interlaced)
        oriented_rows_flush(&reader->rows, reader->rows_done);
    if (stream->damage)
        codec_damage(decoding, stream->damage);
    else if (stream->surplus || reader->parts.left_out)
        *decoding->notes |= NOTE_PARTS_LEFT_OUT;
    return STATUS_OK;
}

/* ---- what goes along */

/* An iCCP has a name with its NUL, a method (0), and the profile as zlib packs it. */
static enum status keep_profile(const struct reader *reader) {
    const struct decoding *decoding = reader->decoding;
    const struct png_chunk *chunk = &reader->parts.profile;
    if (!chunk->name) return STATUS_OK;
    const uint8_t *end = memchr(chunk->data, 0, chunk->length);
    const size_t head = end ? (size_t)(end - chunk->data) + 2 : SIZE_MAX;
    uLongf length = decoding->limits->profile_max;
    uint8_t *profile = malloc(length + !length);
    if (!profile) return out_of_memory(reader);
    /* A stream longer than any packer makes of so much has empty blocks. */
    if (head > chunk->length || end[1] || chunk->length - head > compressBound(length) ||
        uncompress(profile, &length, chunk->data + head, chunk->length - head) != Z_OK) {
        *decoding->notes |= NOTE_PROFILE_DROPPED;
        free(profile);
        return STATUS_OK;
    }
    uint8_t *cut = realloc(profile, length + !length);
    decoding->metadata->profile = cut ? cut : profile;
    decoding->metadata->profile_length = length;
    return STATUS_OK;
}

enum status png_decode(const struct decoding *decoding) {
    struct reader reader = { .decoding = decoding };
    struct png_parts *parts = &reader.parts;
    struct png_pass widest = { .row_bytes = 0 };
    enum status status =
        png_read_parts(decoding->bytes, decoding->length, parts, decoding->failure);
    if (status != STATUS_OK) return status;
    png_expansion_init(&reader.expansion, parts);
    status = check_parts(&reader);
    for (int i = 0; png_pass(parts, i, &widest);) i++; /* the last has the most */
    if (!status) status = take_memory(&reader, widest.row_bytes);
    if (!status) status = read_rows(&reader);
    if (!status) status = keep_profile(&reader);
    memcpy(decoding->metadata->colour, parts->colour, parts->colour_length);
    decoding->metadata->colour_length = parts->colour_length;
    png_stream_close(&reader.stream);
    oriented_rows_release(&reader.rows);
    free(reader.memory);
    return status;
}
