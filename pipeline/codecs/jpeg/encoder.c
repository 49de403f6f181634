// SPDX-License-Identifier: Apache-2.0
/* How it works. Each row is flattened, and libjpeg writes into the caller's memory. Bytes that do
 * not fit go into a few spare ones, and the file is too large; the encoder never takes more memory.
 * Each call has a new cinfo: optimized or progressive tables of an earlier one would change the
 * bytes. */
#include "pipeline/codecs/common/flatten.h"
#include "pipeline/codecs/jpeg/codec.h"
#include "pipeline/codecs/jpeg/guard.h"
#include "pipeline/codecs/jpeg/segment.h"

#include <stdlib.h>

enum {
    FULL_CHROMA_QUALITY = 95, /* and above: 4:4:4, below: 4:2:0 */
    /* The bytes a block of 8 x 8 samples can take at quality 100, where coefficients are not
     * quantized. Parseval: their mean square is at most 128^2. The standard tables spend 18 bits on
     * a coefficient of 128, and among all ways to share out that energy no other costs more than 27
     * bits on average, 8 of them for the zero byte stuffed after 0xff, that a code can cause once
     * (of 256 and more, twice). In colour, the corners of the RGB cube bound the energy of Y, Cb
     * and Cr together to 26626 a pixel, not 3 x 128^2: 73 bits for the three coefficients. */
    GRAY_BLOCK = 64 * 27 / 8,
    COLOUR_BLOCKS = 64 * 73 / 8,
    /* SOI to SOS with the standard tables: 623 bytes; of a progressive file, before each of ten
     * scans, one table of up to 277. */
    HEADERS = 4096,
    PROFILE_PIECE = 65519,  /* of an ICC profile in an APP2 segment */
    PROFILE_PIECE_HEAD = 18 /* marker, length, name, number, count */
};

struct writer {
    struct jpeg_compress_struct cinfo;
    struct jpeg_guard guard;
    struct jpeg_destination_mgr sink;
    struct jpeg_progress_mgr passes; /* of a progressive file, behind the last row */
    const struct encoding *encoding;
    unsigned colours;
    uint8_t *row;  /* one, flattened */
    bool spilling; /* the output's bytes are full */
    uint8_t spill[16];
};

size_t jpeg_bound(const struct image *image, size_t profile_length) {
    /* An MCU of 4:2:0 is 16 x 16; gray with alpha may become colour, on a coloured background. */
    const size_t across = (image->width + 15) / 16 * 2, down = (image->height + 15) / 16 * 2;
    const size_t block = image->channels == 1 ? GRAY_BLOCK : COLOUR_BLOCKS;
    const size_t pieces = (profile_length + PROFILE_PIECE - 1) / PROFILE_PIECE;
    return across * down * block + HEADERS + profile_length + pieces * PROFILE_PIECE_HEAD;
}

static void on_sink_edge(j_compress_ptr cinfo) {
    (void)cinfo; /* nothing to do at start and end */
}

static struct writer *writer_of(j_compress_ptr cinfo) {
    return (struct writer *)(void *)((char *)cinfo->client_data - offsetof(struct writer, guard));
}

static void start_spill(struct writer *writer) {
    writer->spilling = true;
    writer->sink.next_output_byte = writer->spill;
    writer->sink.free_in_buffer = sizeof writer->spill;
}

/* libjpeg calls this as soon as the room is full, even if no byte follows. A byte that follows goes
 * into the spill and makes the file too large. */
static boolean on_sink_full(j_compress_ptr cinfo) {
    struct writer *writer = writer_of(cinfo);
    if (writer->spilling) jpeg_leave(&writer->guard, codec_overflow(writer->encoding));
    start_spill(writer);
    return TRUE;
}

static void check_time(struct writer *writer) {
    const enum status status = progress_check(writer->encoding->progress);
    if (status != STATUS_OK)
        jpeg_leave(&writer->guard, codec_stopped(status, writer->encoding->failure));
}

static void on_pass(j_common_ptr common) {
    check_time(writer_of((j_compress_ptr)common));
}

static void set_up(struct writer *writer) {
    struct jpeg_compress_struct *cinfo = &writer->cinfo;
    const struct encoding *encoding = writer->encoding;
    jpeg_create_compress(cinfo);
    writer->sink = (struct jpeg_destination_mgr){
        .next_output_byte = encoding->bytes,
        .free_in_buffer = encoding->capacity,
        .init_destination = on_sink_edge,
        .empty_output_buffer = on_sink_full,
        .term_destination = on_sink_edge,
    };
    if (!encoding->capacity) start_spill(writer);
    cinfo->dest = &writer->sink;
    cinfo->image_width = encoding->image->width;
    cinfo->image_height = encoding->image->height;
    cinfo->input_components = (int)writer->colours;
    cinfo->in_color_space = writer->colours == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(cinfo);
    jpeg_set_quality(cinfo, encoding->options->quality, TRUE);
    cinfo->dct_method = JDCT_ISLOW;
    if (encoding->options->quality >= FULL_CHROMA_QUALITY)
        cinfo->comp_info[0].h_samp_factor = cinfo->comp_info[0].v_samp_factor = 1;
    if (encoding->options->progressive) { /* ten scans: libjpeg keeps all coefficients */
        writer->passes.progress_monitor = on_pass;
        cinfo->progress = &writer->passes;
        jpeg_simple_progression(cinfo);
    }
}

static void write_jpeg_rows(struct writer *writer) {
    const struct encoding *encoding = writer->encoding;
    for (uint32_t y = 0; y < encoding->image->height; y++) {
        check_time(writer);
        const uint8_t *row = flatten_row(encoding->image, y, writer->colours, 8,
                                         encoding->options->background, writer->row);
        JSAMPROW lines[1] = { (JSAMPROW)row }; /* libjpeg reads it only */
        jpeg_write_scanlines(&writer->cinfo, lines, 1);
    }
}

static void write_app1(struct writer *writer, const char *name, size_t name_length,
                       const uint8_t *bytes, size_t length) {
    if (!length) return;
    jpeg_write_m_header(&writer->cinfo, MARKER_APP1, (unsigned)(name_length + length));
    for (size_t i = 0; i < name_length; i++) jpeg_write_m_byte(&writer->cinfo, name[i]);
    for (size_t i = 0; i < length; i++) jpeg_write_m_byte(&writer->cinfo, bytes[i]);
}

static void write_jpeg(void *argument) {
    struct writer *writer = argument;
    const struct encoding *encoding = writer->encoding;
    const struct carried carried =
        codec_carried(encoding->metadata, encoding->options, writer->colours, encoding->notes);
    set_up(writer);
    jpeg_start_compress(&writer->cinfo, TRUE);
    write_app1(writer, JPEG_EXIF_NAME, sizeof JPEG_EXIF_NAME, carried.exif, carried.exif_length);
    write_app1(writer, JPEG_XMP_NAME, sizeof JPEG_XMP_NAME, carried.xmp, carried.xmp_length);
    if (carried.profile_length)
        jpeg_write_icc_profile(&writer->cinfo, carried.profile, (unsigned)carried.profile_length);
    write_jpeg_rows(writer);
    jpeg_finish_compress(&writer->cinfo);
    if (!writer->spilling)
        *writer->encoding->length = writer->encoding->capacity - writer->sink.free_in_buffer;
    else if (writer->sink.free_in_buffer == sizeof writer->spill)
        *writer->encoding->length = writer->encoding->capacity;
    else
        jpeg_leave(&writer->guard, codec_overflow(writer->encoding));
}

enum status jpeg_encode(const struct encoding *encoding) {
    struct writer writer = { .encoding = encoding };
    writer.colours = flatten_colours(encoding->image, encoding->options->background);
    writer.row = malloc((size_t)encoding->image->width * 3);
    if (!writer.row)
        return fail(encoding->failure, STATUS_NO_MEMORY, "no memory for a row of the JPEG");
    jpeg_guard_init(&writer.guard, encoding->failure);
    writer.cinfo.err = &writer.guard.errors;
    writer.cinfo.client_data = &writer.guard;
    const enum status status = jpeg_guarded(&writer.guard, write_jpeg, &writer);
    jpeg_destroy_compress(&writer.cinfo);
    free(writer.row);
    if (status == STATUS_OK && encoding->image->depth == 16) *encoding->notes |= NOTE_DEPTH_CUT;
    if (status == STATUS_OK && image_has_alpha(encoding->image))
        *encoding->notes |= NOTE_ALPHA_FLATTENED;
    return status;
}
