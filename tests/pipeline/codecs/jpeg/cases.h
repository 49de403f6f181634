// SPDX-License-Identifier: Apache-2.0
/* cases.h - baseline JPEGs of many kinds, made by libjpeg, whole and damaged, for the tests of
 * decoders that must give the CPU codec's samples or refuse.
 *
 * Used by:  tests/pipeline/codecs/jpeg/parallel.c as C, tests/cuda/codecs/jpeg_decode.cu as C++.
 * Owns:     what a function returns is the caller's; free() its bytes or pixels.
 */
#ifndef BURIN_JPEG_CASES_H
#define BURIN_JPEG_CASES_H

#include "pipeline/codec.h"
#include "tests/noise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

struct jpeg_file {
    uint8_t *data;
    size_t length;
};

static inline uint32_t cases_random(uint32_t *state) {
    return noise_next(state) >> 8;
}

enum jpeg_drawing {
    DRAW_WAVES,
    DRAW_NOISE,
    DRAW_BINARY,
    DRAW_RAMP,
    DRAW_WHITE,
    DRAW_TEXT,
    DRAW_STRIPES,
    DRAW_SPARSE, /* white with a few dots */
    DRAW_MIDDLE, /* 128: every coefficient is 0 */
    DRAWINGS,
};

enum jpeg_tables {
    TABLES_STANDARD,
    TABLES_OPTIMIZED,
    TABLES_EQUAL, /* chroma has luma's */
    TABLES_LONG,  /* every code of 16 bits */
    TABLES_ONE,   /* one code each; for DRAW_MIDDLE */
    TABLE_KINDS,
};

struct jpeg_case {
    uint32_t width, height;
    int channels, h, v, quality;
    enum jpeg_drawing drawing;
    enum jpeg_tables tables;
    unsigned interval, orientation, seed;
    bool steps_255;
};

static inline uint8_t draw_sample(const struct jpeg_case *made, uint32_t x, uint32_t y, uint32_t c,
                                  uint32_t *state) {
    const uint32_t noise = cases_random(state);
    switch (made->drawing) {
    case DRAW_WAVES: return (uint8_t)(128 + (x * (3 + c) + y * 2) % 97);
    case DRAW_NOISE: return (uint8_t)noise;
    case DRAW_BINARY: return noise & 64 ? 255 : 0;
    case DRAW_RAMP: return (uint8_t)(x * 2 + y + 40 * c);
    case DRAW_WHITE: return 255;
    case DRAW_TEXT:
        return y % 16 < 9 && x % 7 < 5 && (x / 7 * 5 + y / 16 * 3) % 4 && (noise & 96) ? 20 : 255;
    case DRAW_STRIPES: return (x / 3 + c) % 2 ? 230 : 30;
    case DRAW_SPARSE: return noise % 997 ? 255 : 0;
    default: return 128;
    }
}

static inline struct image draw_case(const struct jpeg_case *made) {
    struct image image = image_shape(made->width, made->height, (unsigned)made->channels, 8);
    image.pixels = (uint8_t *)calloc(1, image_bytes(&image));
    uint32_t state = made->seed * 977 + made->width;
    for (uint32_t y = 0; y < image.height; y++)
        for (uint32_t x = 0; x < image.width; x++)
            for (uint32_t c = 0; c < image.channels; c++)
                image_row(&image, y)[x * image.channels + c] = draw_sample(made, x, y, c, &state);
    return image;
}

static inline void set_code(JHUFF_TBL *table, int bits, int count) {
    memset(table->bits, 0, sizeof table->bits);
    table->bits[bits] = (UINT8)count;
}

static inline void set_case_tables(struct jpeg_compress_struct *cinfo,
                                   const struct jpeg_case *made) {
    cinfo->optimize_coding = made->tables == TABLES_OPTIMIZED;
    for (int c = 1; made->tables == TABLES_EQUAL && c < cinfo->num_components; c++)
        cinfo->comp_info[c].dc_tbl_no = cinfo->comp_info[c].ac_tbl_no = 0;
    for (int i = 0; i < 2; i++) {
        if (made->tables == TABLES_LONG) {
            set_code(cinfo->dc_huff_tbl_ptrs[i], 16, 12);
            set_code(cinfo->ac_huff_tbl_ptrs[i], 16, 162);
        } else if (made->tables == TABLES_ONE) {
            set_code(cinfo->dc_huff_tbl_ptrs[i], 1, 1);
            set_code(cinfo->ac_huff_tbl_ptrs[i], 1, 1);
            cinfo->dc_huff_tbl_ptrs[i]->huffval[0] = cinfo->ac_huff_tbl_ptrs[i]->huffval[0] = 0;
        }
    }
    unsigned steps[64];
    for (int i = 0; i < 64; i++) steps[i] = 255;
    for (int i = 0; made->steps_255 && i < 2; i++) jpeg_add_quant_table(cinfo, i, steps, 100, TRUE);
}

static inline struct jpeg_file make_case(const struct jpeg_case *made) {
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    unsigned char *data = NULL;
    unsigned long length = 0;
    struct image image = draw_case(made);
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &data, &length);
    cinfo.image_width = image.width;
    cinfo.image_height = image.height;
    cinfo.input_components = image.channels;
    cinfo.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&cinfo);
    jpeg_set_quality(&cinfo, made->quality ? made->quality : 85, TRUE);
    cinfo.comp_info[0].h_samp_factor = made->h;
    cinfo.comp_info[0].v_samp_factor = made->v;
    cinfo.restart_interval = made->interval;
    set_case_tables(&cinfo, made);
    jpeg_start_compress(&cinfo, TRUE);
    if (made->orientation) {
        uint8_t exif[32] = { 'E', 'x',  'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1,
                             1,   0x12, 0,   3,   0, 0, 0,   1,   0, 0,  0, 0, 0, 0, 0, 0 };
        exif[25] = (uint8_t)made->orientation;
        jpeg_write_marker(&cinfo, JPEG_APP0 + 1, exif, sizeof exif);
    }
    for (uint32_t y = 0; y < image.height; y++) {
        JSAMPROW row = image_row(&image, y);
        jpeg_write_scanlines(&cinfo, &row, 1);
    }
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    free(image.pixels);
    struct jpeg_file file = { data, length };
    return file;
}

/* A gray picture of one block, whose coefficients by row and column are DATA, of one step. */
static inline struct jpeg_file make_block_case(const JCOEF data[64], unsigned step) {
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long length = 0;
    unsigned steps[64];
    for (int i = 0; i < 64; i++) steps[i] = step;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &bytes, &length);
    cinfo.image_width = cinfo.image_height = 8;
    cinfo.input_components = 1;
    cinfo.in_color_space = JCS_GRAYSCALE;
    jpeg_set_defaults(&cinfo);
    jpeg_add_quant_table(&cinfo, 0, steps, 100, TRUE);
    jvirt_barray_ptr blocks =
        cinfo.mem->request_virt_barray((j_common_ptr)&cinfo, JPOOL_IMAGE, TRUE, 1, 1, 1);
    jpeg_write_coefficients(&cinfo, &blocks);
    JBLOCKARRAY rows = cinfo.mem->access_virt_barray((j_common_ptr)&cinfo, blocks, 0, 1, TRUE);
    memcpy(rows[0][0], data, sizeof rows[0][0]);
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    struct jpeg_file file = { bytes, length };
    return file;
}

/* A block of few coefficients in two columns, whose magnitudes add up to about 5900. */
static inline struct jpeg_file make_bound_case(uint32_t seed) {
    static const uint8_t pairs[][2] = {
        { 0, 4 }, { 1, 5 }, { 3, 7 }, { 2, 6 }, { 0, 1 }, { 2, 3 }
    };
    uint32_t state = seed * 2654435761u + 7;
    const uint8_t *pair = pairs[cases_random(&state) % 6];
    const unsigned step = 6 + cases_random(&state) % 40;
    const int count = 2 + (int)(cases_random(&state) % 5);
    const int size = (int)(5900 / step) * 2 / count;
    JCOEF data[64] = { 0 };
    for (int i = 0; i < count; i++) {
        const int value = size * (int)(70 + cases_random(&state) % 45) / 100;
        data[8 * (cases_random(&state) % 8) + pair[i % 2]] =
            (JCOEF)((cases_random(&state) & 1 ? 1 : -1) * (value > 1023 ? 1023 : value));
    }
    return make_block_case(data, step);
}

/* ---- damage */

static inline size_t scan_start(const struct jpeg_file *bytes) {
    for (size_t i = 2; i + 3 < bytes->length;) {
        const size_t size = (size_t)bytes->data[i + 2] << 8 | bytes->data[i + 3];
        if (bytes->data[i + 1] == 0xda && size < bytes->length - i - 2) return i + 2 + size;
        i += 2 + size;
    }
    return bytes->length;
}

/* The place of a restart marker's number, picked by WHICH; 0: there is none. */
static inline size_t find_restart(const struct jpeg_file *bytes, size_t from, uint32_t which) {
    size_t count = 0, found = 0;
    for (size_t i = from; i + 1 < bytes->length; i++)
        if (bytes->data[i] == 0xff && (bytes->data[i + 1] & 0xf8) == 0xd0 && which % ++count == 0)
            found = i + 1;
    return found;
}

static inline void move_tail(struct jpeg_file *bytes, size_t to, size_t from) {
    memmove(bytes->data + to, bytes->data + from, bytes->length - from);
    bytes->length = bytes->length - from + to;
}

static inline void put_in(struct jpeg_file *bytes, size_t at, const void *what, size_t length) {
    move_tail(bytes, at + length, at);
    memcpy(bytes->data + at, what, length);
}

/* An oddity that may be harmless, though libjpeg warns of it: in the header of a file of
 * make_case's, or before the restart marker whose number is at RESTART, or each. */
static inline void make_odd(struct jpeg_file *bytes, size_t scan, size_t restart, uint32_t *state) {
    static const char more[][4] = { { 0 }, { 0, 0, 0 }, "\xff", "\xff", "\1", { 0, 'a' } };
    static const size_t lengths[] = { 1, 3, 1, 2, 1, 2 };
    const uint32_t kind = cases_random(state) % 6, what = cases_random(state) % 6;
    if (kind == 0) bytes->data[scan - 1 - what % 3] ^= (uint8_t)(1u << cases_random(state) % 8);
    if (kind == 1) bytes->data[11] = (uint8_t)cases_random(state); /* JFIF's version */
    if (kind == 2) put_in(bytes, 20, "between two segments", 1 + cases_random(state) % 20);
    if (kind == 3) /* a marker loses its 0xff */
        move_tail(bytes, 20, 21);
    for (size_t at = bytes->length - 2; kind >= 4 && at > scan; at--)
        if (bytes->data[at] == 0xff && (bytes->data[at + 1] & 0xf8) == 0xd0 &&
            (kind == 5 || at + 1 == restart))
            put_in(bytes, at, more[what], lengths[what]);
}

/* A copy of BYTES with one kind of damage in its scan, or, now and then, in its header. */
static inline struct jpeg_file damaged_copy(const struct jpeg_file *bytes, uint32_t seed) {
    uint32_t state = seed * 2654435761u + 1;
    struct jpeg_file copy = { (uint8_t *)malloc(4 * bytes->length + 64), bytes->length };
    const size_t scan = scan_start(bytes), size = bytes->length - scan;
    const uint32_t drawn = cases_random(&state) % 16, kind = size > 2 ? drawn : 13;
    const size_t at = scan + cases_random(&state) % (size > 2 ? size - 2 : 1);
    const size_t restart = find_restart(bytes, scan, cases_random(&state) % 100 + 1);
    memcpy(copy.data, bytes->data, bytes->length);
    switch (kind) {
    case 0:
    case 1:
    case 2: copy.data[at] ^= (uint8_t)(1u << cases_random(&state) % 8); break;
    case 3: copy.data[at] = (uint8_t)cases_random(&state); break;
    case 4: copy.data[at] = 0xff; break;
    case 5: /* 0xff put in, with its 0 or without */
        move_tail(&copy, at + 2, at);
        memcpy(copy.data + at, cases_random(&state) & 1 ? "\xff\0" : "\xff\xff", 2);
        break;
    case 6: /* a hole */
        move_tail(&copy, at, at + 1 + cases_random(&state) % (copy.length - at - 1));
        break;
    case 7: copy.length = at; break;
    case 8: memset(copy.data + at, 0, copy.length - at < 9 ? copy.length - at : 9); break;
    case 9: /* a restart marker missing */
        if (restart) move_tail(&copy, restart - 1, restart + 1);
        break;
    case 10: /* doubled */
        if (restart) move_tail(&copy, restart + 1, restart - 1);
        break;
    case 11: /* out of order */
        if (restart) copy.data[restart] ^= (uint8_t)(1 + cases_random(&state) % 7);
        break;
    case 12: /* fill bits */
        copy.data[(restart ? restart : copy.length - 1) - 2] ^=
            (uint8_t)(1u << cases_random(&state) % 3);
        break;
    case 14:
    case 15: make_odd(&copy, scan, restart, &state); break;
    default:
        copy.data[2 + cases_random(&state) % (scan - 2)] ^=
            (uint8_t)(1u << cases_random(&state) % 8);
    }
    if (kind == 7 && cases_random(&state) & 1) { /* a cut that ends as a file should */
        memcpy(copy.data + copy.length, "\xff\xd9", 2);
        copy.length += 2;
    }
    return copy;
}

/* ---- what is expected */

/* The CPU codec's samples, and its NOTES; no pixels where it refuses. */
static inline struct image expected_image(const struct jpeg_file *bytes, const struct probe *probe,
                                          uint32_t *notes) {
    struct image image =
        image_shape(probe->shape.width, probe->shape.height, probe->shape.channels, 8);
    struct metadata metadata = { 0 };
    struct failure failure;
    *notes = 0;
    memset(&metadata, 0, sizeof metadata);
    image.pixels = (uint8_t *)calloc(1, image_bytes(&image));
    if (codec_decode(bytes->data, bytes->length, probe, &codec_limits_default, NULL, &image,
                     &metadata, notes, &failure) != STATUS_OK) {
        free(image.pixels);
        image.pixels = NULL;
    }
    metadata_release(&metadata);
    return image;
}

/* Row by row, so that what lies between rows does not count. */
static inline bool same_rows(const struct image *a, const struct image *b) {
    if (!image_same_shape(a, b)) return false;
    for (uint32_t y = 0; y < a->height; y++)
        if (memcmp(image_row(a, y), image_row(b, y), image_row_bytes(a)) != 0) return false;
    return true;
}

#endif
