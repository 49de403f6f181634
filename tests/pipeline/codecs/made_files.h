// SPDX-License-Identifier: Apache-2.0
/* made_files.h - images for the codec tests: made, and read back, by libjpeg and libpng directly.
 *
 * Owns:   what a function returns is the caller's; free() its bytes or pixels.
 */
#ifndef BURIN_MADE_FILES_H
#define BURIN_MADE_FILES_H

#include "pipeline/codec.h"
#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <jpeglib.h>
#include <png.h>

struct bytes {
    uint8_t *data;
    size_t length;
};

/* Returns this thread's processor time, which does not depend on how busy the machine is. */
static inline double thread_cpu_ms(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e3 + (double)used.tv_nsec / 1e6;
}

static inline uint32_t next_random(uint32_t *state) {
    noise_next(state);
    return *state >> 8;
}

static inline void fill_noise(uint8_t *bytes, size_t length, uint32_t seed) {
    for (size_t i = 0; i < length; i++) bytes[i] = (uint8_t)next_random(&seed);
}

static inline struct image new_image(uint32_t width, uint32_t height, unsigned channels,
                                     unsigned depth) {
    struct image image = image_shape(width, height, channels, depth);
    image.pixels = calloc(1, image_bytes(&image));
    assert_non_null(image.pixels);
    return image;
}

static inline struct image new_noise(uint32_t width, uint32_t height, unsigned channels,
                                     unsigned depth, uint32_t seed) {
    struct image image = new_image(width, height, channels, depth);
    for (uint32_t y = 0; y < height; y++)
        fill_noise(image_row(&image, y), image_row_bytes(&image), seed + y);
    return image;
}

/* Waves: something between a photograph and nothing, so that JPEG comes close to it. */
static inline struct image new_waves(uint32_t width, uint32_t height, unsigned channels) {
    struct image image = new_image(width, height, channels, 8);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width * channels; x++)
            image_row(&image, y)[x] =
                (uint8_t)(128 + (x / channels * (3 + x % channels) + y * 2) % 97);
    return image;
}

static inline void assert_same(const struct image *a, const struct image *b) {
    assert_true(image_same_shape(a, b));
    for (uint32_t y = 0; y < a->height; y++)
        assert_memory_equal(image_row(a, y), image_row(b, y), image_row_bytes(a));
}

/* A profile that is one by its header only. */
static inline struct bytes new_profile(size_t length, const char *space) {
    struct bytes profile = { calloc(1, length), length };
    assert_non_null(profile.data);
    fill_noise(profile.data + 132, length - 132, 7);
    memset(profile.data + 132, 0, length - 132 < 64 ? length - 132 : 64);
    for (int i = 0; i < 4; i++) profile.data[i] = (uint8_t)(length >> (24 - 8 * i));
    profile.data[8] = 2; /* version 2 */
    memcpy(profile.data + 12, "mntr", 4);
    memcpy(profile.data + 16, space, 4);
    memcpy(profile.data + 20, "XYZ ", 4);
    memcpy(profile.data + 36, "acsp", 4);
    memcpy(profile.data + 68, "\0\0\xf6\xd6\0\1\0\0\0\0\xd3\x2d", 12); /* D50, as libpng demands */
    return profile;
}

/* Writes an APP1 or eXIf body with ORIENTATION: 26 bytes of TIFF. */
static inline void write_tiff(uint8_t tiff[26], unsigned orientation, bool big_endian) {
    static const uint8_t big[26] = { 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0,
                                     3,   0,   0, 0,  1, 0, 0, 0, 0, 0, 0, 0,    0 };
    static const uint8_t little[26] = { 'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3,
                                        0,   1,   0,  0, 0, 0, 0, 0, 0, 0, 0,    0, 0 };
    memcpy(tiff, big_endian ? big : little, 26);
    tiff[big_endian ? 19 : 18] = (uint8_t)orientation;
}

struct jpeg_recipe {
    const struct image *image; /* 1, 3 or 4 (CMYK) channels */
    J_COLOR_SPACE space;       /* as stored; JCS_UNKNOWN: libjpeg's choice */
    int h, v;                  /* sampling of the first component; 0: libjpeg's choice */
    int chroma_v;              /* of the second and third, down; 0: 1 */
    unsigned interval;         /* MCUs from restart to restart; 0: none */
    bool progressive, arithmetic, no_adobe, little_endian;
    bool optimal;         /* Huffman codes made for the picture; progressive ones always are */
    unsigned orientation; /* 0: no EXIF */
    const struct bytes *profile;
    const jpeg_scan_info *scans;
    int scan_count;
};

static inline struct bytes make_jpeg(const struct jpeg_recipe *recipe) {
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    unsigned char *data = NULL;
    unsigned long length = 0;
    const int channels = recipe->image->channels;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &data, &length);
    cinfo.image_width = recipe->image->width;
    cinfo.image_height = recipe->image->height;
    cinfo.input_components = channels;
    cinfo.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&cinfo);
    if (recipe->space != JCS_UNKNOWN) jpeg_set_colorspace(&cinfo, recipe->space);
    if (recipe->no_adobe) cinfo.write_Adobe_marker = FALSE;
    if (recipe->h) cinfo.comp_info[0].h_samp_factor = recipe->h;
    if (recipe->v) cinfo.comp_info[0].v_samp_factor = recipe->v;
    for (int c = 1; recipe->chroma_v && c < cinfo.num_components; c++)
        cinfo.comp_info[c].v_samp_factor = recipe->chroma_v;
    cinfo.restart_interval = recipe->interval;
    cinfo.optimize_coding = recipe->optimal;
    if (recipe->progressive) jpeg_simple_progression(&cinfo);
    if (recipe->scans) {
        cinfo.scan_info = recipe->scans;
        cinfo.num_scans = recipe->scan_count;
    }
    cinfo.arith_code = recipe->arithmetic;
    jpeg_start_compress(&cinfo, TRUE);
    if (recipe->orientation) {
        uint8_t exif[32] = "Exif\0";
        write_tiff(exif + 6, recipe->orientation, !recipe->little_endian);
        jpeg_write_marker(&cinfo, JPEG_APP0 + 1, exif, sizeof exif);
    }
    if (recipe->profile)
        jpeg_write_icc_profile(&cinfo, recipe->profile->data, (unsigned)recipe->profile->length);
    for (uint32_t y = 0; y < cinfo.image_height; y++) {
        JSAMPROW row = image_row(recipe->image, y);
        jpeg_write_scanlines(&cinfo, &row, 1);
    }
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    return (struct bytes){ data, length };
}

static inline void say_nothing(j_common_ptr common) {
    (void)common;
}

/* Plain libjpeg decodes the file: gray, RGB, or CMYK in 4 channels. */
static inline struct image plain_jpeg(const struct bytes *bytes) {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    cinfo.err = jpeg_std_error(&errors);
    errors.output_message = say_nothing; /* of a damaged file */
    jpeg_create_decompress(&cinfo);
    jpeg_mem_src(&cinfo, bytes->data, bytes->length);
    jpeg_read_header(&cinfo, TRUE);
    jpeg_start_decompress(&cinfo);
    struct image image =
        new_image(cinfo.output_width, cinfo.output_height, (unsigned)cinfo.output_components, 8);
    while (cinfo.output_scanline < cinfo.output_height) {
        JSAMPROW row = image_row(&image, cinfo.output_scanline);
        jpeg_read_scanlines(&cinfo, &row, 1);
    }
    jpeg_finish_decompress(&cinfo);
    jpeg_destroy_decompress(&cinfo);
    return image;
}

struct png_recipe {
    uint32_t width, height;
    int type, depth;
    bool interlaced, transparent;
    bool blank;  /* all samples 0, packed as well as can be */
    bool stored; /* not packed at all */
    unsigned orientation, seed;
    const struct bytes *profile;
    size_t text_bytes; /* of a zTXt; 0: none */
};

static inline void append_png(png_structp png, png_bytep from, size_t length) {
    struct bytes *bytes = png_get_io_ptr(png);
    bytes->data = realloc(bytes->data, bytes->length + length);
    assert_non_null(bytes->data);
    memcpy(bytes->data + bytes->length, from, length);
    bytes->length += length;
}

static inline void flush_png(png_structp png) {
    (void)png;
}

static inline void add_png_extras(png_structp png, png_infop info,
                                  const struct png_recipe *recipe) {
    png_color palette[256];
    uint8_t alphas[256], tiff[26];
    const int colours = 1 << (recipe->depth < 8 ? recipe->depth : 8);
    fill_noise((uint8_t *)palette, sizeof palette, recipe->seed + 1);
    fill_noise(alphas, sizeof alphas, recipe->seed + 2);
    png_color_16 key = { .index = 0, .red = 1, .green = 2, .blue = 3, .gray = 1 };
    if (recipe->type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, colours);
    if (recipe->transparent) png_set_tRNS(png, info, alphas, colours > 2 ? colours - 1 : 1, &key);
    if (recipe->profile)
        png_set_iCCP(png, info, "test", 0, recipe->profile->data,
                     (png_uint_32)recipe->profile->length);
    write_tiff(tiff, recipe->orientation, false);
    if (recipe->orientation) png_set_eXIf_1(png, info, sizeof tiff, tiff);
    char *blank = calloc(1, recipe->text_bytes + 1);
    memset(blank, 'a', recipe->text_bytes);
    png_text text = { .compression = PNG_TEXT_COMPRESSION_zTXt,
                      .key = (char[]){ "Comment" },
                      .text = blank,
                      .text_length = recipe->text_bytes };
    if (recipe->text_bytes) png_set_text(png, info, &text, 1);
    free(blank);
}

/* Noise of the type and depth, or nothing but 0, written by libpng. */
static inline struct bytes make_png(const struct png_recipe *recipe) {
    struct bytes bytes = { 0 };
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(png, &bytes, append_png, flush_png);
    if (recipe->blank) png_set_compression_level(png, 9);
    if (recipe->blank) png_set_filter(png, 0, PNG_FILTER_NONE);
    if (recipe->stored) png_set_compression_level(png, 0);
    png_set_IHDR(png, info, recipe->width, recipe->height, recipe->depth, recipe->type,
                 recipe->interlaced, 0, 0);
    add_png_extras(png, info, recipe);
    png_write_info(png, info);
    const size_t row = png_get_rowbytes(png, info);
    uint8_t *pixels = malloc(row * recipe->height);
    png_bytep *rows = calloc(recipe->height, sizeof *rows);
    assert_true(pixels && rows);
    fill_noise(pixels, row * recipe->height, recipe->seed + 3);
    if (recipe->blank) memset(pixels, 0, row * recipe->height);
    for (uint32_t y = 0; y < recipe->height; y++) rows[y] = pixels + y * row;
    png_write_image(png, rows);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    free(pixels);
    free(rows);
    return bytes;
}

static inline uint32_t chunk_crc(const uint8_t *bytes, size_t length) {
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < length; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

/* BYTES with TIMES chunks more before the first IDAT. */
static inline struct bytes insert_chunk(const struct bytes *bytes, const char *name,
                                        const uint8_t *data, size_t length, size_t times) {
    const uint8_t *idat = memmem(bytes->data, bytes->length, "IDAT", 4);
    const size_t at = (size_t)(idat - 4 - bytes->data), size = length + 12;
    struct bytes more = { malloc(bytes->length + size * times), bytes->length + size * times };
    uint8_t *chunk = more.data + at;
    assert_non_null(more.data);
    memcpy(more.data, bytes->data, at);
    for (int i = 0; i < 4; i++) chunk[i] = (uint8_t)(length >> (24 - 8 * i));
    memcpy(chunk + 4, name, 4);
    memcpy(chunk + 8, data, length);
    const uint32_t crc = chunk_crc(chunk + 4, length + 4);
    for (int i = 0; i < 4; i++) chunk[8 + length + i] = (uint8_t)(crc >> (24 - 8 * i));
    for (size_t i = 1; i < times; i++) memcpy(chunk + i * size, chunk, size);
    memcpy(chunk + times * size, idat - 4, bytes->length - at);
    return more;
}

static inline void take_png(png_structp png, png_bytep to, size_t length) {
    struct bytes *left = png_get_io_ptr(png);
    if (length > left->length) png_error(png, "end");
    memcpy(to, left->data, length);
    left->data += length;
    left->length -= length;
}

/* libpng decodes the file with its own expansion; 16 bits are in this machine's order. */
static inline struct image plain_png(const struct bytes *bytes) {
    struct bytes left = *bytes;
    const uint16_t one = 1;
    const int swap = *(const uint8_t *)&one ? PNG_TRANSFORM_SWAP_ENDIAN : 0;
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_set_read_fn(png, &left, take_png);
    png_read_png(png, info, PNG_TRANSFORM_EXPAND | swap, NULL);
    struct image image = new_image(png_get_image_width(png, info), png_get_image_height(png, info),
                                   png_get_channels(png, info), png_get_bit_depth(png, info));
    png_bytepp rows = png_get_rows(png, info);
    for (uint32_t y = 0; y < image.height; y++)
        memcpy(image_row(&image, y), rows[y], image_row_bytes(&image));
    png_destroy_read_struct(&png, &info, NULL);
    return image;
}

/* Probes and decodes by the code under test; IMAGE has pixels only where it worked. */
static inline enum status try_decode(const struct bytes *bytes, const struct codec_limits *limits,
                                     struct image *image, struct metadata *metadata,
                                     uint32_t *notes, struct failure *failure) {
    struct probe probe;
    *image = (struct image){ 0 };
    enum status status = probe_image(bytes->data, bytes->length, &limits->probe, &probe, failure);
    if (status != STATUS_OK) return status;
    *image =
        new_image(probe.shape.width, probe.shape.height, probe.shape.channels, probe.shape.depth);
    memset(image->pixels, 0xa5, image_bytes(image)); /* of someone before */
    status = codec_decode(bytes->data, bytes->length, &probe, limits, NULL, image, metadata, notes,
                          failure);
    if (status != STATUS_OK) {
        free(image->pixels);
        image->pixels = NULL;
    }
    return status;
}

static inline struct image must_decode(const struct bytes *bytes, struct metadata *metadata,
                                       uint32_t *notes) {
    struct image image;
    struct failure failure = { .message = "" };
    uint32_t ignored = 0;
    const enum status status = try_decode(bytes, &codec_limits_default, &image, metadata,
                                          notes ? notes : &ignored, &failure);
    if (status != STATUS_OK) print_error("%s\n", failure.message);
    assert_int_equal(status, STATUS_OK);
    return image;
}

/* With what can be had of a damaged image. Memory held something else before; where nothing comes,
 * 0 is to be in it. WARNING_MAX bytes of WARNING are what the codec said. */
static inline enum status take_damaged(const struct bytes *bytes, struct image *image,
                                       uint32_t *notes, char *warning) {
    struct codec_limits limits = codec_limits_default;
    struct metadata metadata = { 0 };
    struct failure failure = { .status = STATUS_OK };
    struct probe probe;
    limits.accept_damage = true;
    *image = (struct image){ 0 };
    *notes = 0;
    enum status status = probe_image(bytes->data, bytes->length, &limits.probe, &probe, &failure);
    if (status != STATUS_OK) return status;
    *image =
        new_image(probe.shape.width, probe.shape.height, probe.shape.channels, probe.shape.depth);
    memset(image->pixels, 0xa5, image_bytes(image));
    status = codec_decode(bytes->data, bytes->length, &probe, &limits, NULL, image, &metadata,
                          notes, &failure);
    assert_int_equal(failure.status, status); /* no failure where there is an image */
    memcpy(warning, metadata.warning, WARNING_MAX);
    metadata_release(&metadata);
    if (status == STATUS_OK) return status;
    free(image->pixels);
    image->pixels = NULL;
    return status;
}

/* BYTES with LENGTH bytes of EXTRA at AT. */
static inline struct bytes insert_bytes(const struct bytes *bytes, size_t at, const void *extra,
                                        size_t length) {
    struct bytes more = { malloc(bytes->length + length), bytes->length + length };
    assert_non_null(more.data);
    memcpy(more.data, bytes->data, at);
    memcpy(more.data + at, extra, length);
    memcpy(more.data + at + length, bytes->data + at, bytes->length - at);
    return more;
}

/* Pixel (x, y) of the upright picture lies at this stored place. */
static inline void stored_place(unsigned orientation, uint32_t width, uint32_t height, uint32_t x,
                                uint32_t y, uint32_t *stored_x, uint32_t *stored_y) {
    const uint32_t w = width - 1, h = height - 1; /* of the upright picture */
    const uint32_t places[9][2] = { { 0, 0 },         { x, y },         { w - x, y },
                                    { w - x, h - y }, { x, h - y },     { y, x },
                                    { y, w - x },     { h - y, w - x }, { h - y, x } };
    *stored_x = places[orientation][0];
    *stored_y = places[orientation][1];
}

static inline void assert_turned(const struct image *upright, const struct image *stored,
                                 unsigned orientation) {
    const size_t pixel = image_pixel_bytes(stored);
    for (uint32_t y = 0; y < upright->height; y++) {
        for (uint32_t x = 0; x < upright->width; x++) {
            uint32_t from_x, from_y;
            stored_place(orientation, upright->width, upright->height, x, y, &from_x, &from_y);
            assert_memory_equal(image_row(upright, y) + x * pixel,
                                image_row(stored, from_y) + from_x * pixel, pixel);
        }
    }
}

/* Cut at every 64th byte, and within the last 64 at each: never STATUS_OK. */
static inline void assert_every_cut_corrupt(const struct bytes *bytes) {
    for (size_t length = 12; length < bytes->length;
         length += length + 64 < bytes->length ? 64 : 1) {
        struct bytes cut = { malloc(length), length }; /* its own block: sanitizers see overreads */
        struct image image;
        struct failure failure = { .message = "" };
        uint32_t notes = 0;
        memcpy(cut.data, bytes->data, length);
        const enum status status =
            try_decode(&cut, &codec_limits_default, &image, NULL, &notes, &failure);
        if (status != STATUS_CORRUPT) print_error("cut at %zu: %s\n", length, failure.message);
        assert_int_equal(status, STATUS_CORRUPT);
        assert_true(strlen(failure.message) > 10);
        free(cut.data);
    }
}

#endif
