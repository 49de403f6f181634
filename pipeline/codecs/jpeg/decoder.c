// SPDX-License-Identifier: Apache-2.0
/* How it works. libjpeg reads the file row by row. Most of its warnings mean wrong pixels. Where no
 * pixel depends on what a warning is about, there is a note: fields of the header that libjpeg
 * knows better; AC before DC, if DC comes; bytes skipped before the first scan, unless a segment
 * that matters, or a scan, is lost with them. Within a scan only padding may be skipped, zeros and
 * 0xff: other bytes are the rest of what was misread, which no other warning shows. Many zeros
 * behind a scan are that too, since a hole in a file looks so; before a restart, its marker shows
 * that nothing is missing. libjpeg warns of bytes before a restart late or never: hence a function
 * that is put before libjpeg's own. */
#include "pipeline/codecs/common/oriented_rows.h"
#include "pipeline/codecs/jpeg/codec.h"
#include "pipeline/codecs/jpeg/guard.h"
#include "pipeline/codecs/jpeg/lost.h"
#include "pipeline/codecs/jpeg/segment.h"
#include "pipeline/srgb_table.h"

#include <limits.h>
#include <stdlib.h>

#include <jerror.h>
#include <jpegint.h>

enum { BAND_ROWS = 16, PADDING_MAX = 15 /* bytes behind a scan */ };

struct reader {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_guard guard;
    struct jpeg_progress_mgr watch;
    jpeg_marker_parser_method read_restart_marker; /* libjpeg's */
    const struct decoding *decoding;
    struct oriented_rows rows;
    struct cmyk_rows *by_profile; /* NULL: CMYK becomes RGB by cmyk_to_rgb */
    uint8_t *cmyk_row;            /* one row; NULL: the JPEG is not CMYK */
    size_t length;                /* bytes given to libjpeg */
    uint32_t rows_done;           /* stored rows */
    int scans;                    /* begun when libjpeg failed before the first row; else 0 */
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

/* Behind an arithmetic code 0xff is no padding: a decoder may have read some of that as code. */
static bool is_padding(const struct reader *reader, const uint8_t *from, const uint8_t *to) {
    const uint8_t fill = reader->cinfo.arith_code ? 0 : 0xff;
    while (from < to && (*from == 0 || *from == fill)) from++;
    return from >= to;
}

/* The bytes that libjpeg has just skipped, SKIPPED of them, matter to no pixel. There are that many
 * before its position: SOI comes first. */
static bool are_spare(const struct reader *reader, int skipped) {
    const uint8_t *here = position(reader);
    if (!here) return false;
    return reader->cinfo.input_scan_number == 0 ||
           (skipped <= PADDING_MAX && is_padding(reader, here - skipped, here));
}

/* The note for the warning at hand; 0: it means damage. */
static uint32_t harmless_note(const struct reader *reader) {
    const struct jpeg_error_mgr *errors = &reader->guard.errors;
    const int *numbers = errors->msg_parm.i;
    switch (errors->msg_code) {
    case JWRN_JFIF_MAJOR:
    case JWRN_ADOBE_XFORM: /* YCbCr or YCCK is taken, as the probe has it */
    case JWRN_NOT_SEQUENTIAL: return NOTE_HEADER_ODD;
    case JWRN_BOGUS_PROGRESSION: /* AC before DC; else a scan is missing or there twice */
        return reader->cinfo.Ss && numbers[1] == 0 ? NOTE_HEADER_ODD : 0;
    case JWRN_EXTRANEOUS_DATA: return are_spare(reader, numbers[0]) ? NOTE_BYTES_SKIPPED : 0;
    default: return 0;
    }
}

static void note_damage(struct reader *reader) {
    char text[JMSG_LENGTH_MAX];
    reader->guard.errors.format_message((j_common_ptr)&reader->cinfo, text);
    codec_damage(reader->decoding, text);
}

static bool tolerates(struct jpeg_guard *guard) {
    struct reader *reader = reader_of(guard);
    const uint32_t note = harmless_note(reader);
    *reader->decoding->notes |= note;
    if (note) return true;
    if (reader->decoding->limits->accept_damage) note_damage(reader);
    return reader->decoding->limits->accept_damage;
}

/* ---- damage that libjpeg does not see */

static void found_damage(struct reader *reader, const char *text) {
    if (!reader->decoding->limits->accept_damage) jpeg_leave_broken(&reader->guard, text);
    codec_damage(reader->decoding, text);
}

/* Back over COUNT bytes of a scan; one that is 0xff has a 0 behind it. */
static const uint8_t *scan_bytes_before(const uint8_t *at, unsigned count) {
    while (count--) at -= at[-1] == 0 && at[-2] == 0xff ? 2 : 1;
    return at;
}

/* Passes over what stands before the marker. libjpeg counts the whole bytes that are left of its
 * bits, and may have come upon the marker already, and be behind that. */
static boolean read_restart_marker(j_decompress_ptr cinfo) {
    struct jpeg_guard *guard = cinfo->client_data;
    struct reader *reader = reader_of(guard);
    const struct decoding *decoding = reader->decoding;
    struct jpeg_source_mgr *source = cinfo->src;
    const uint8_t *here = position(reader);
    if (!here) return reader->read_restart_marker(cinfo);
    const size_t at = (size_t)(here - decoding->bytes);
    const bool met = cinfo->unread_marker != 0;
    const uint8_t *to =
        decoding->bytes + (met ? at - 1 : jpeg_marker(decoding->bytes, reader->length, at));
    while (to[-1] == 0xff) to--;
    const uint8_t *from = scan_bytes_before(met ? to : here, cinfo->marker->discarded_bytes);
    cinfo->marker->discarded_bytes = 0;
    if (!met) {
        source->next_input_byte = to;
        source->bytes_in_buffer = (size_t)(decoding->bytes + reader->length - to);
    }
    if (!is_padding(reader, from, to))
        found_damage(reader, "foreign bytes before a restart marker");
    else if (from < to)
        *decoding->notes |= NOTE_BYTES_SKIPPED;
    return reader->read_restart_marker(cinfo);
}

/* A component without a scan is black or gray. Where bytes were skipped, its scan may be lost with
 * them; where AC came before DC, DC may be missing. */
static void check_components(struct reader *reader) {
    const struct jpeg_decompress_struct *cinfo = &reader->cinfo;
    if (!(*reader->decoding->notes & (NOTE_BYTES_SKIPPED | NOTE_HEADER_ODD))) return;
    for (int c = 0; c < cinfo->num_components; c++)
        if (cinfo->coef_bits ? cinfo->coef_bits[c][0] < 0 : !cinfo->comp_info[c].quant_table)
            found_damage(reader, "a component without a scan");
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
    reader->read_restart_marker = cinfo->marker->read_restart_marker;
    cinfo->marker->read_restart_marker = read_restart_marker;
    jpeg_read_header(cinfo, TRUE);
    check_jpeg_shape(reader);
    if (*reader->decoding->notes & NOTE_BYTES_SKIPPED &&
        jpeg_lost_matters(reader->decoding->bytes, reader->length, reader->decoding->probe))
        found_damage(reader, "a segment whose marker has no 0xff");
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

/* Ink c under black k leaves light of (255 - c)(255 - k) / 255. Samples hold 255 - ink, as Adobe
 * has it, and all readers also where Adobe's segment is missing. */
static void cmyk_to_rgb(const uint8_t *cmyk, uint32_t width, uint8_t *rgb) {
    for (uint32_t x = 0; x < width; x++, cmyk += 4, rgb += 3)
        for (unsigned c = 0; c < 3; c++) rgb[c] = (uint8_t)((cmyk[c] * cmyk[3] + 127) / 255);
}

static void read_jpeg_rows(struct reader *reader) {
    struct jpeg_decompress_struct *cinfo = &reader->cinfo;
    for (uint32_t y = 0; y < cinfo->output_height; y++) {
        uint8_t *row = oriented_rows_begin(&reader->rows, y);
        JSAMPROW lines[1] = { reader->cmyk_row ? reader->cmyk_row : row };
        jpeg_read_scanlines(cinfo, lines, 1);
        if (reader->cmyk_row && reader->by_profile)
            cmyk_rows_convert(reader->by_profile, reader->cmyk_row, cinfo->output_width, row);
        else if (reader->cmyk_row)
            cmyk_to_rgb(reader->cmyk_row, cinfo->output_width, row);
        oriented_rows_end(&reader->rows, y);
        reader->rows_done = y + 1;
    }
}

static void read_jpeg(void *argument) {
    struct reader *reader = argument;
    open_jpeg(reader);
    take_jpeg_memory(reader);
    jpeg_start_decompress(&reader->cinfo);
    check_components(reader);
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

/* Opens the profile of a CMYK picture that is to be converted by it; *ROWS is NULL without one. */
static enum status open_cmyk(const struct decoding *decoding, struct cmyk_rows **rows) {
    struct metadata *metadata = decoding->metadata;
    *rows = NULL;
    if (decoding->probe->components != 4 || !decoding->limits->cmyk_to_srgb) return STATUS_OK;
    const enum status status = jpeg_profile(decoding);
    if (!metadata->profile_length) return status;
    *rows = cmyk_rows_open(metadata->profile, metadata->profile_length);
    if (!*rows) *decoding->notes |= NOTE_PROFILE_UNUSABLE;
    free(metadata->profile); /* pixels are RGB now */
    metadata->profile = NULL;
    metadata->profile_length = 0;
    return STATUS_OK;
}

/* libjpeg writes no row before the last of several scans. If it fails in one of them, it is started
 * again with the bytes of the scans before. */
enum status jpeg_decode(const struct decoding *decoding) {
    struct cmyk_rows *rows;
    enum status status = open_cmyk(decoding, &rows);
    if (status) return status;
    struct reader reader = { .decoding = decoding, .length = decoding->length, .by_profile = rows };
    status = read_guarded(&reader);
    if (reader.scans) {
        const size_t length = scan_end(decoding, reader.scans);
        reader = (struct reader){ .decoding = decoding, .length = length, .by_profile = rows };
        status = read_guarded(&reader);
    }
    cmyk_rows_close(rows);
    if (status == STATUS_OK && decoding->failure) decoding->failure->status = STATUS_OK;
    const bool cmyk = decoding->probe->components == 4;
    if (status == STATUS_OK && !(cmyk && decoding->limits->cmyk_to_srgb))
        status = jpeg_profile(decoding);
    if (status == STATUS_OK && cmyk && !rows) *decoding->notes |= NOTE_CMYK_CONVERTED;
    return status;
}
