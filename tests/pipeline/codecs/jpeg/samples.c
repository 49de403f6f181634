// SPDX-License-Identifier: Apache-2.0
/* Pixels made of raw planes by samples.h, beside what the codec makes of the same file: every
 * side from 1 to 33, so that all remainders of blocks and of chroma rows occur, and larger ones. */
#include "pipeline/codecs/jpeg/samples.h"

#include "tests/pipeline/codecs/made_files.h"

enum { BLOCK = 8, SIDES = 33 };

/* Luma samples a chroma sample; 0, 0: gray. */
static const struct kind {
    uint8_t across, down;
} kinds[] = { { 0, 0 }, { 1, 1 }, { 2, 1 }, { 2, 2 } };
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- planes, by libjpeg */

/* Rows are tight: a read beside a row hits the next row or memory outside the plane. */
struct raw {
    struct jpeg_planes planes;
    uint8_t *memory[JPEG_PLANES];
};

static void raw_release(struct raw *raw) {
    for (int c = 0; c < JPEG_PLANES; c++) free(raw->memory[c]);
}

static void take_planes(struct raw *raw, const struct jpeg_decompress_struct *cinfo) {
    const jpeg_component_info *parts = cinfo->comp_info;
    raw->planes.width = cinfo->image_width;
    raw->planes.height = cinfo->image_height;
    raw->planes.across = raw->planes.down = 1;
    for (int c = 0; c < cinfo->num_components; c++) {
        raw->memory[c] = malloc((size_t)parts[c].downsampled_width * parts[c].downsampled_height);
        assert_non_null(raw->memory[c]);
        raw->planes.samples[c] = raw->memory[c];
    }
    raw->planes.luma_stride = parts[0].downsampled_width;
    if (cinfo->num_components == 1) return;
    raw->planes.across = (uint8_t)(parts[0].h_samp_factor / parts[1].h_samp_factor);
    raw->planes.down = (uint8_t)(parts[0].v_samp_factor / parts[1].v_samp_factor);
    raw->planes.chroma_stride = parts[1].downsampled_width;
    assert_int_equal(jpeg_chroma_length(raw->planes.width, raw->planes.across),
                     parts[1].downsampled_width);
    assert_int_equal(jpeg_chroma_length(raw->planes.height, raw->planes.down),
                     parts[1].downsampled_height);
}

/* One row of MCUs: libjpeg gives whole blocks, of which the plane takes what is real. */
static void read_step(struct raw *raw, struct jpeg_decompress_struct *cinfo, uint32_t step) {
    JSAMPROW rows[JPEG_PLANES][MAX_SAMP_FACTOR * BLOCK];
    JSAMPARRAY planes[JPEG_PLANES] = { rows[0], rows[1], rows[2] };
    uint8_t *blocks[JPEG_PLANES] = { NULL };
    for (int c = 0; c < cinfo->num_components; c++) {
        const jpeg_component_info *part = &cinfo->comp_info[c];
        const size_t stride = (size_t)part->width_in_blocks * BLOCK;
        const uint32_t count = (uint32_t)part->v_samp_factor * BLOCK;
        blocks[c] = malloc(stride * count);
        for (uint32_t i = 0; i < count; i++) rows[c][i] = blocks[c] + i * stride;
    }
    const JDIMENSION lines = (JDIMENSION)(cinfo->max_v_samp_factor * BLOCK);
    assert_int_equal(jpeg_read_raw_data(cinfo, planes, lines), lines);
    for (int c = 0; c < cinfo->num_components; c++) {
        const jpeg_component_info *part = &cinfo->comp_info[c];
        const uint32_t count = (uint32_t)part->v_samp_factor * BLOCK,
                       width = part->downsampled_width;
        for (uint32_t i = 0, y = step * count; i < count && y < part->downsampled_height; i++, y++)
            memcpy(raw->memory[c] + (size_t)y * width, rows[c][i], width);
        free(blocks[c]);
    }
}

static struct raw read_raw(const struct bytes *bytes) {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    struct raw raw = { .planes.width = 0 };
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&cinfo);
    jpeg_mem_src(&cinfo, bytes->data, bytes->length);
    jpeg_read_header(&cinfo, TRUE);
    cinfo.raw_data_out = TRUE;
    cinfo.dct_method = JDCT_ISLOW;
    cinfo.out_color_space = cinfo.jpeg_color_space;
    jpeg_start_decompress(&cinfo);
    take_planes(&raw, &cinfo);
    for (uint32_t step = 0; cinfo.output_scanline < cinfo.output_height; step++)
        read_step(&raw, &cinfo, step);
    jpeg_finish_decompress(&cinfo);
    jpeg_destroy_decompress(&cinfo);
    return raw;
}

/* ---- the same pixels */

static struct image paint(const struct raw *raw, const struct image *shape, uint8_t orientation) {
    struct image image = new_image(shape->width, shape->height, shape->channels, 8);
    for (uint32_t y = 0; y < image.height; y++) {
        uint8_t *to = image_row(&image, y);
        for (uint32_t x = 0; x < image.width; x++) {
            const struct jpeg_place from =
                jpeg_stored_place(orientation, raw->planes.width, raw->planes.height, x, y);
            const uint32_t value = image.channels == 1 ? jpeg_luma(&raw->planes, from.x, from.y)
                                                       : jpeg_pixel(&raw->planes, from.x, from.y);
            for (int c = 0; c < image.channels; c++) *to++ = (uint8_t)(value >> 8 * c);
        }
    }
    return image;
}

/* The codec turns by what the probe says, so one file serves all orientations. */
static void check_orientation(const struct bytes *bytes, const struct raw *raw,
                              uint8_t orientation) {
    struct probe probe;
    struct failure failure = { .message = "" };
    uint32_t notes = 0;
    assert_int_equal(
        probe_image(bytes->data, bytes->length, &codec_limits_default.probe, &probe, &failure),
        STATUS_OK);
    const bool turned = orientation >= 5;
    probe.orientation = orientation;
    probe.shape = image_shape(turned ? probe.height : probe.width,
                              turned ? probe.width : probe.height, probe.shape.channels, 8);
    struct image wanted = new_image(probe.shape.width, probe.shape.height, probe.shape.channels, 8);
    assert_int_equal(codec_decode(bytes->data, bytes->length, &probe, &codec_limits_default, NULL,
                                  &wanted, NULL, &notes, &failure),
                     STATUS_OK);
    struct image found = paint(raw, &probe.shape, orientation);
    if (memcmp(found.pixels, wanted.pixels, image_bytes(&wanted)) != 0)
        print_error("%u x %u, a chroma sample for %u x %u, orientation %u\n", probe.width,
                    probe.height, raw->planes.across, raw->planes.down, orientation);
    assert_same(&found, &wanted);
    free(found.pixels);
    free(wanted.pixels);
}

/* Orientations FIRST..8. */
static void check(const struct image *image, const struct kind *kind, uint8_t last) {
    const struct jpeg_recipe recipe = { .image = image, .h = kind->across, .v = kind->down };
    struct bytes bytes = make_jpeg(&recipe);
    struct raw raw = read_raw(&bytes);
    if (kind->across) assert_int_equal(raw.planes.across, kind->across);
    if (kind->across) assert_int_equal(raw.planes.down, kind->down);
    for (uint8_t orientation = 1; orientation <= last; orientation++)
        check_orientation(&bytes, &raw, orientation);
    raw_release(&raw);
    free(bytes.data);
}

static void check_kinds(uint32_t width, uint32_t height, bool noise, uint8_t last) {
    for (int k = 0; k < KINDS; k++) {
        const unsigned channels = kinds[k].across ? 3 : 1;
        struct image image = noise ? new_noise(width, height, channels, 8, width * 64 + height)
                                   : new_waves(width, height, channels);
        check(&image, &kinds[k], last);
        free(image.pixels);
    }
}

static void test_every_small_size(void **state) {
    (void)state;
    for (uint32_t height = 1; height <= SIDES; height++)
        for (uint32_t width = 1; width <= SIDES; width++) check_kinds(width, height, true, 8);
}

static void test_larger_sizes(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = { { 161, 119 }, { 160, 120 }, { 333, 1 },   { 1, 333 },
                                         { 4, 257 },   { 5, 257 },   { 257, 127 }, { 1023, 17 } };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        check_kinds(sizes[s][0], sizes[s][1], false, 8);
        check_kinds(sizes[s][0], sizes[s][1], true, 8);
    }
}

/* ---- the conversion of every chroma */

/* YCbCr of 4:4:4 at quality 100, in blocks of one colour, whose samples come back nearly as they
 * were. Block (i, j) has Cb i and Cr j; Y wanders over its whole range. */
static struct bytes make_colours(void) {
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    struct image row = new_image(256 * BLOCK, 1, 3, 8);
    unsigned char *data = NULL;
    unsigned long length = 0;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &data, &length);
    cinfo.image_width = cinfo.image_height = 256 * BLOCK;
    cinfo.input_components = 3;
    cinfo.in_color_space = JCS_YCbCr;
    jpeg_set_defaults(&cinfo);
    jpeg_set_quality(&cinfo, 100, TRUE);
    cinfo.comp_info[0].h_samp_factor = cinfo.comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(&cinfo, TRUE);
    for (uint32_t y = 0; y < cinfo.image_height; y++) {
        for (uint32_t x = 0; x < row.width; x++) {
            const uint32_t cb = x / BLOCK, cr = y / BLOCK;
            row.pixels[3 * x] = (uint8_t)(cb * 37 + cr * 101);
            row.pixels[3 * x + 1] = (uint8_t)cb;
            row.pixels[3 * x + 2] = (uint8_t)cr;
        }
        JSAMPROW line = row.pixels;
        jpeg_write_scanlines(&cinfo, &line, 1);
    }
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    free(row.pixels);
    return (struct bytes){ data, length };
}

static void test_every_chroma(void **state) {
    (void)state;
    struct bytes bytes = make_colours();
    struct raw raw = read_raw(&bytes);
    uint8_t *seen = calloc(256, 256);
    const uint32_t count = raw.planes.width * raw.planes.height;
    uint32_t different = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *pair = &seen[raw.planes.samples[1][i] * 256 + raw.planes.samples[2][i]];
        different += !*pair;
        *pair = 1;
    }
    assert_int_equal(different, 256 * 256);
    check_orientation(&bytes, &raw, 1);
    free(seen);
    raw_release(&raw);
    free(bytes.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_small_size),
        cmocka_unit_test(test_larger_sizes),
        cmocka_unit_test(test_every_chroma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
