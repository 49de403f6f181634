// SPDX-License-Identifier: Apache-2.0
/* How it works. Rows are read one by one into their places, or into a band if they are turned.
 * libpng reads only IHDR, PLTE, tRNS, IDAT, IEND and, if wanted, iCCP: text and other chunks are
 * skipped and cost no memory. */
#include "pipeline/codecs/common/oriented_rows.h"
#include "pipeline/codecs/png/codec.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

enum { BAND_ROWS = 16, CHUNKS_MAX = 8, CHUNK_BYTES_MAX = 64 << 10 };

struct reader {
    png_structp png;
    png_infop info;
    const struct decoding *decoding;
    size_t at;     /* bytes that libpng has read */
    size_t memory; /* heap bytes that it may still take */
    struct oriented_rows rows;
    uint32_t rows_done; /* of all passes */
    bool salvaging;     /* libpng failed; the rows before are the result */
    enum status status; /* of a jump to `out` */
    jmp_buf out;
};

static __attribute__((noreturn)) void leave(struct reader *reader, enum status status) {
    reader->status = status;
    longjmp(reader->out, 1);
}

/* take_block() sets STATUS_NO_MEMORY and STATUS_TOO_LARGE before libpng calls this. */
static __attribute__((noreturn)) void on_error(png_structp png, png_const_charp text) {
    struct reader *reader = png_get_error_ptr(png);
    if (reader->status != STATUS_OK) longjmp(reader->out, 1);
    if (reader->decoding->limits->accept_damage && reader->rows_done && !reader->salvaging) {
        codec_damage(reader->decoding, text);
        reader->salvaging = true;
        leave(reader, STATUS_OK);
    }
    leave(reader, fail(reader->decoding->failure, STATUS_CORRUPT,
                       "the PNG is broken or cut off (%s); send an intact file", text));
}

/* A wrong checksum of the pixels, or data behind the last of them, means wrong bytes, too. Warnings
 * about other chunks (a profile with a wrong intent) are harmless. */
static void on_warning(png_structp png, png_const_charp text) {
    struct reader *reader = png_get_error_ptr(png);
    if (strncmp(text, "IDAT", 4) != 0 && !strstr(text, "CRC")) return;
    if (!reader->decoding->limits->accept_damage) on_error(png, text);
    codec_damage(reader->decoding, text);
}

static void on_read(png_structp png, png_bytep to, size_t wanted) {
    struct reader *reader = png_get_io_ptr(png);
    if (wanted > reader->decoding->length - reader->at) png_error(png, "no more bytes");
    memcpy(to, reader->decoding->bytes + reader->at, wanted);
    reader->at += wanted;
}

static png_voidp take_block(png_structp png, png_alloc_size_t size) {
    struct reader *reader = png_get_mem_ptr(png);
    if (size > reader->memory) {
        reader->status = fail(reader->decoding->failure, STATUS_TOO_LARGE,
                              "this PNG takes more memory to decode than is allowed "
                              "(codec_memory_bytes); send a smaller one");
        return NULL;
    }
    void *block = malloc(size);
    if (block)
        reader->memory -=
            malloc_usable_size(block) < reader->memory ? malloc_usable_size(block) : reader->memory;
    else
        reader->status = fail(reader->decoding->failure, STATUS_NO_MEMORY, "no memory for the PNG");
    return block;
}

static void give_block(png_structp png, png_voidp block) {
    struct reader *reader = png_get_mem_ptr(png);
    reader->memory += malloc_usable_size(block);
    free(block);
}

/* The limit for chunks that libpng keeps in memory. libpng checks an IDAT too, though it keeps
 * none, and an IDAT of noise is longer than it expects for the pixels. */
static size_t chunk_bytes_max(const struct probe *probe, size_t profile_max) {
    const size_t most = profile_max > CHUNK_BYTES_MAX ? profile_max : CHUNK_BYTES_MAX;
    return probe->data_bytes > most ? (size_t)probe->data_bytes : most;
}

static void set_limits(struct reader *reader) {
    const struct codec_limits *limits = reader->decoding->limits;
    const struct probe *probe = reader->decoding->probe;
    const size_t profile_max = probe->profile ? limits->profile_max : 0;
    png_structp png = reader->png;
    png_set_user_limits(png, limits->probe.side_max, limits->probe.side_max);
    png_set_chunk_cache_max(png, CHUNKS_MAX);
    png_set_chunk_malloc_max(png, chunk_bytes_max(probe, profile_max));
    const int action = limits->accept_damage ? PNG_CRC_WARN_USE : PNG_CRC_ERROR_QUIT;
    png_set_crc_action(png, action, action);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    if (profile_max)
        png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_AS_DEFAULT, (png_const_bytep) "iCCP", 1);
}

/* Asks for gray or RGB of 8 or 16 bits, with alpha if there is any, in the machine's byte order. */
static int set_transforms(struct reader *reader) {
    const uint16_t one = 1;
    png_set_expand(reader->png);
    if (*(const uint8_t *)&one) png_set_swap(reader->png); /* little endian */
    const int passes = png_set_interlace_handling(reader->png);
    png_read_update_info(reader->png, reader->info);
    return passes;
}

static void check_png_shape(struct reader *reader) {
    const struct probe *probe = reader->decoding->probe;
    png_structp png = reader->png;
    png_infop info = reader->info;
    if (png_get_image_width(png, info) == probe->width &&
        png_get_image_height(png, info) == probe->height &&
        png_get_channels(png, info) == probe->shape.channels &&
        png_get_bit_depth(png, info) == probe->shape.depth)
        return;
    png_error(png, "its header contradicts itself");
}

/* Interlaced rows are filled in seven passes; if not in place, the band keeps them all. */
static void take_png_memory(struct reader *reader) {
    const struct decoding *decoding = reader->decoding;
    const struct probe *probe = decoding->probe;
    const uint32_t band = probe->interlaced ? probe->height : BAND_ROWS;
    oriented_rows_plan(&reader->rows, decoding->into, probe->orientation, probe->width,
                       probe->height);
    if (oriented_rows_memory(&reader->rows, band) > reader->memory)
        leave(reader, fail(decoding->failure, STATUS_TOO_LARGE,
                           "turning this interlaced PNG takes %zu bytes and %zu are allowed "
                           "(codec_memory_bytes); send it upright or not interlaced",
                           oriented_rows_memory(&reader->rows, band), reader->memory));
    if (!oriented_rows_init(&reader->rows, band))
        leave(reader, fail(decoding->failure, STATUS_NO_MEMORY, "no memory for rows of the PNG"));
}

static void read_png_rows(struct reader *reader, int passes) {
    for (int pass = 0; pass < passes; pass++) {
        for (uint32_t y = 0; y < reader->decoding->probe->height; y++) {
            const enum status status = progress_check(reader->decoding->progress);
            if (status != STATUS_OK)
                leave(reader, codec_stopped(status, reader->decoding->failure));
            png_read_row(reader->png, oriented_rows_begin(&reader->rows, y), NULL);
            if (pass == passes - 1) oriented_rows_end(&reader->rows, y);
            reader->rows_done++;
        }
    }
}

static void keep_profile(struct reader *reader) {
    const struct decoding *decoding = reader->decoding;
    png_charp name;
    png_bytep profile;
    png_uint_32 length;
    int method;
    if (!decoding->probe->profile) return;
    if (!png_get_iCCP(reader->png, reader->info, &name, &method, &profile, &length) ||
        length > decoding->limits->profile_max) {
        *decoding->notes |= NOTE_PROFILE_DROPPED;
        return;
    }
    decoding->metadata->profile = malloc(length);
    if (!decoding->metadata->profile)
        leave(reader, fail(decoding->failure, STATUS_NO_MEMORY, "no memory for the PNG's profile"));
    memcpy(decoding->metadata->profile, profile, length);
    decoding->metadata->profile_length = length;
}

static void read_png(struct reader *reader) {
    reader->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, reader, on_error, on_warning,
                                           reader, take_block, give_block);
    if (reader->png) reader->info = png_create_info_struct(reader->png);
    if (!reader->info)
        leave(reader,
              fail(reader->decoding->failure, STATUS_NO_MEMORY, "no memory for the PNG codec"));
    png_set_read_fn(reader->png, reader, on_read);
    set_limits(reader);
    png_read_info(reader->png, reader->info);
    const int passes = set_transforms(reader);
    check_png_shape(reader);
    take_png_memory(reader);
    read_png_rows(reader, passes);
    png_read_end(reader->png, NULL); /* up to IEND, to find a cut there */
    keep_profile(reader);
}

/* Keeps the rows that were read. An interlaced picture has all rows, with some pixels still 0. */
static void salvage(struct reader *reader) {
    const struct probe *probe = reader->decoding->probe;
    if (probe->interlaced)
        oriented_rows_end(&reader->rows, probe->height - 1);
    else
        oriented_rows_flush(&reader->rows, reader->rows_done);
    keep_profile(reader);
}

/* setjmp stands in a function that changes no local variable: all state is in READER. */
static enum status guarded(struct reader *reader, void (*step)(struct reader *)) {
    if (setjmp(reader->out)) return reader->status;
    step(reader);
    return STATUS_OK;
}

enum status png_decode(const struct decoding *decoding) {
    struct reader reader = { .decoding = decoding, .memory = decoding->limits->memory_max };
    enum status status = guarded(&reader, read_png);
    if (reader.salvaging) status = guarded(&reader, salvage);
    png_destroy_read_struct(&reader.png, &reader.info, NULL);
    oriented_rows_release(&reader.rows);
    return status;
}
