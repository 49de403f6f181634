// SPDX-License-Identifier: Apache-2.0
/* How it works. libjpeg reads the file row by row, and most of its warnings mean wrong pixels. A
 * few skipped bytes do not: a lost segment that matters for pixels is longer, or causes another
 * error. Before the first scan such bytes may be anything. Behind a scan they must be zeros, which
 * pad a file: other bytes are the rest of a scan that was misread, which no other warning shows. */
#include "pipeline/codecs/common/oriented_rows.h"
#include "pipeline/codecs/jpeg/codec.h"
#include "pipeline/codecs/jpeg/guard.h"
#include "pipeline/codecs/jpeg/segment.h"

#include <limits.h>
#include <stdlib.h>

#include <jerror.h>

enum { BAND_ROWS = 16, SKIPPED_MAX = 15 /* bytes at one place */ };

struct reader {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_guard guard;
    struct jpeg_progress_mgr watch;
    const struct decoding *decoding;
    struct oriented_rows rows;
    uint8_t *cmyk_row;  /* one row; NULL: the JPEG is not CMYK */
    size_t length;      /* bytes given to libjpeg */
    uint32_t rows_done; /* stored rows */
    int scans;          /* begun when libjpeg failed before the first row; else 0 */
};

static struct reader *reader_of(struct jpeg_guard *guard) {
    return (struct reader *)(void *)((char *)guard - offsetof(struct reader, guard));
}

/* ---- warnings */

/* The next byte that libjpeg reads; NULL: it reads an EOI of its own behind the file. */
static const uint8_t *position(const struct reader *reader) {
    const struct jpeg_source_mgr *source = reader->cinfo.src;
    const uint8_t *end = reader->decoding->bytes + reader->length;
    return source->next_input_byte + source->bytes_in_buffer == end ? source->next_input_byte
                                                                    : NULL;
}

/* The COUNT bytes before POSITION, which libjpeg skipped. There are that many: SOI comes first. */
static bool are_zeros(const uint8_t *position, int count) {
    for (int i = 1; i <= count; i++)
        if (*(position - i)) return false;
    return true;
}

static bool is_harmless(const struct reader *reader) {
    const struct jpeg_error_mgr *errors = &reader->guard.errors;
    const int skipped = errors->msg_parm.i[0];
    const uint8_t *here = position(reader);
    if (errors->msg_code != JWRN_EXTRANEOUS_DATA || skipped > SKIPPED_MAX || !here) return false;
    return reader->cinfo.input_scan_number == 0 || are_zeros(here, skipped);
}

static void note_damage(struct reader *reader) {
    char text[JMSG_LENGTH_MAX];
    reader->guard.errors.format_message((j_common_ptr)&reader->cinfo, text);
    codec_damage(reader->decoding, text);
}

static bool tolerates(struct jpeg_guard *guard) {
    struct reader *reader = reader_of(guard);
    if (is_harmless(reader)) {
        *reader->decoding->notes |= NOTE_BYTES_SKIPPED;
        return true;
    }
    if (reader->decoding->limits->accept_damage) note_damage(reader);
    return reader->decoding->limits->accept_damage;
}

/* ---- limits */

static void check_scans(struct reader *reader) {
    const struct codec_limits *limits = reader->decoding->limits;
    const uint64_t scans = (uint64_t)reader->cinfo.input_scan_number;
    const uint64_t pixels = (uint64_t)reader->cinfo.image_width * reader->cinfo.image_height;
    if (scans > limits->scans_max)
        jpeg_leave(&reader->guard,
                   fail(reader->decoding->failure, STATUS_TOO_LARGE,
                        "the JPEG has more than %u scans (scans_max); send one with fewer",
                        limits->scans_max));
    if (scans * pixels > limits->scan_pixels_max)
        jpeg_leave(&reader->guard,
                   fail(reader->decoding->failure, STATUS_TOO_LARGE,
                        "the JPEG has %llu scans of %llu pixels and %llu in all are allowed "
                        "(scan_pixels_max); send one with fewer scans",
                        (unsigned long long)scans, (unsigned long long)pixels,
                        (unsigned long long)limits->scan_pixels_max));
}

/* libjpeg calls this for each row of blocks read and of pixels written. */
static void on_progress(j_common_ptr common) {
    struct jpeg_guard *guard = common->client_data;
    struct reader *reader = reader_of(guard);
    const enum status status = progress_check(reader->decoding->progress);
    if (status != STATUS_OK) jpeg_leave(guard, codec_stopped(status, guard->failure));
    check_scans(reader);
}

/* The pixels were laid out for the shape that the probe found: libjpeg must find the same. */
static void check_jpeg_shape(struct reader *reader) {
    const struct jpeg_decompress_struct *cinfo = &reader->cinfo;
    const struct probe *probe = reader->decoding->probe;
    if (cinfo->image_width == probe->width && cinfo->image_height == probe->height &&
        cinfo->num_components == probe->components)
        return;
    jpeg_leave(&reader->guard, fail(reader->decoding->failure, STATUS_CORRUPT,
                                    "the JPEG's header contradicts itself; send an intact file"));
}

/* ---- reading */

static void open_jpeg(struct reader *reader) {
    struct jpeg_decompress_struct *cinfo = &reader->cinfo;
    jpeg_create_decompress(cinfo);
    const size_t memory = reader->decoding->limits->memory_max;
    cinfo->mem->max_memory_to_use = memory < LONG_MAX ? (long)memory : LONG_MAX;
    reader->watch.progress_monitor = on_progress;
    cinfo->progress = &reader->watch;
    jpeg_mem_src(cinfo, reader->decoding->bytes, reader->length);
    jpeg_read_header(cinfo, TRUE);
    check_jpeg_shape(reader);
    cinfo->dct_method = JDCT_ISLOW;
    cinfo->do_fancy_upsampling = TRUE;
    cinfo->out_color_space = cinfo->num_components == 1   ? JCS_GRAYSCALE
                             : cinfo->num_components == 4 ? JCS_CMYK
                                                          : JCS_RGB;
}

static void take_jpeg_memory(struct reader *reader) {
    const struct decoding *decoding = reader->decoding;
    oriented_rows_plan(&reader->rows, decoding->into, decoding->probe->orientation,
                       decoding->probe->width, decoding->probe->height);
    const bool cmyk = reader->cinfo.num_components == 4;
    if (cmyk) reader->cmyk_row = malloc((size_t)decoding->probe->width * 4);
    if (!oriented_rows_init(&reader->rows, BAND_ROWS) || (cmyk && !reader->cmyk_row))
        jpeg_leave(&reader->guard,
                   fail(decoding->failure, STATUS_NO_MEMORY, "no memory for rows of the JPEG"));
}

/* Ink c under black k leaves light of (255 - c)(255 - k) / 255. Adobe's files hold 255 - ink. */
static void cmyk_to_rgb(const uint8_t *cmyk, uint32_t width, bool inverted, uint8_t *rgb) {
    const unsigned flip = inverted ? 0 : 255;
    for (uint32_t x = 0; x < width; x++, cmyk += 4, rgb += 3) {
        const unsigned black = cmyk[3] ^ flip;
        for (unsigned c = 0; c < 3; c++) rgb[c] = (uint8_t)(((cmyk[c] ^ flip) * black + 127) / 255);
    }
}

static void read_jpeg_rows(struct reader *reader) {
    struct jpeg_decompress_struct *cinfo = &reader->cinfo;
    for (uint32_t y = 0; y < cinfo->output_height; y++) {
        uint8_t *row = oriented_rows_begin(&reader->rows, y);
        JSAMPROW lines[1] = { reader->cmyk_row ? reader->cmyk_row : row };
        jpeg_read_scanlines(cinfo, lines, 1);
        if (reader->cmyk_row)
            cmyk_to_rgb(reader->cmyk_row, cinfo->output_width, cinfo->saw_Adobe_marker, row);
        oriented_rows_end(&reader->rows, y);
        reader->rows_done = y + 1;
    }
}

static void read_jpeg(void *argument) {
    struct reader *reader = argument;
    open_jpeg(reader);
    take_jpeg_memory(reader);
    jpeg_start_decompress(&reader->cinfo);
    read_jpeg_rows(reader);
    jpeg_finish_decompress(&reader->cinfo); /* reads up to EOI, so it finds a cut there */
    if (position(reader) && reader->cinfo.src->bytes_in_buffer)
        *reader->decoding->notes |= NOTE_BYTES_SKIPPED;
}

/* ---- damage */

/* The end of scan number SCANS: the first marker behind it that is no restart, or the marker of the
 * segment in which the file ends. */
static size_t scan_end(const struct decoding *decoding, int scans) {
    struct segment segment = { .marker = MARKER_RST0 };
    size_t at = 2, before = at;
    while (scans || (segment.marker >= MARKER_RST0 && segment.marker <= MARKER_RST7)) {
        before = at;
        if (!jpeg_segment(decoding->bytes, decoding->length, &at, &segment)) break;
        if (scans && segment.marker == MARKER_SOS && --scans == 0) segment.marker = MARKER_RST0;
    }
    return jpeg_marker(decoding->bytes, decoding->length, before) - 1;
}

static enum status read_guarded(struct reader *reader) {
    jpeg_guard_init(&reader->guard, reader->decoding->failure);
    reader->guard.tolerates = tolerates;
    reader->cinfo.err = &reader->guard.errors;
    reader->cinfo.client_data = &reader->guard;
    enum status status = jpeg_guarded(&reader->guard, read_jpeg, reader);
    const bool accepted = status == STATUS_CORRUPT && reader->decoding->limits->accept_damage;
    if (accepted && reader->rows_done) { /* the rows before the damage are the result */
        oriented_rows_flush(&reader->rows, reader->rows_done);
        note_damage(reader);
        status = STATUS_OK;
    } else if (accepted && reader->cinfo.input_scan_number > 0) {
        note_damage(reader);
        reader->scans = reader->cinfo.input_scan_number;
    }
    jpeg_destroy_decompress(&reader->cinfo);
    oriented_rows_release(&reader->rows);
    free(reader->cmyk_row);
    return status;
}

/* libjpeg writes no row before the last of several scans. If it fails in one of them, it is started
 * again with the bytes of the scans before. */
enum status jpeg_decode(const struct decoding *decoding) {
    struct reader reader = { .decoding = decoding, .length = decoding->length };
    enum status status = read_guarded(&reader);
    if (reader.scans) {
        const size_t length = scan_end(decoding, reader.scans);
        reader = (struct reader){ .decoding = decoding, .length = length };
        status = read_guarded(&reader);
    }
    if (status == STATUS_OK && decoding->failure) decoding->failure->status = STATUS_OK;
    if (status == STATUS_OK) status = jpeg_profile(decoding);
    if (status == STATUS_OK && decoding->probe->components == 4)
        *decoding->notes |= NOTE_CMYK_CONVERTED;
    return status;
}
