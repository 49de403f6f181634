// SPDX-License-Identifier: Apache-2.0
/* nvjpeg_photo.h - JPEG files as Burin's own codec and libjpeg-turbo read them, how far another
 * decoder's samples are off.
 *
 * Owns:   a photo its bytes, pixels and planes; photo_close frees them.
 * Shape:  pixels and planes stand as the file stores them: EXIF orientation is left out on both
 *         sides, for it moves samples and changes none.
 */
#ifndef BURIN_NVJPEG_PHOTO_H
#define BURIN_NVJPEG_PHOTO_H

#include "pipeline/codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

enum { PLANES = 3, BLOCK = 8 };

struct photo {
    const char *name; /* of the path's last part */
    uint8_t *bytes;
    size_t length;
    struct probe probe;
    char kind[24];              /* "4:2:0", "gray"... */
    struct image pixels;        /* gray or RGB, by Burin's codec */
    struct image plane[PLANES]; /* Y, Cb, Cr before upsampling, by libjpeg-turbo; or no pixels */
};

static void die(const char *what, const char *why) {
    fprintf(stderr, "nvjpeg: %s: %s\n", what, why);
    exit(1);
}

static void *take(size_t size) {
    void *memory = malloc(size);
    if (!memory) die("memory", "there is too little");
    memset(memory, 0, size); /* touched before a clock runs */
    return memory;
}

static struct image take_image(struct image shape) {
    shape.pixels = take(image_bytes(&shape));
    return shape;
}

static void decode_into(const uint8_t *bytes, size_t length, const struct probe *probe,
                        const struct image *into) {
    struct failure failure;
    uint32_t notes = 0;
    if (codec_decode(bytes, length, probe, &codec_limits_default, NULL, into, NULL, &notes,
                     &failure))
        die("decode", failure.message);
}

static void read_file(const char *path, struct photo *photo) {
    FILE *in = fopen(path, "rb");
    const long length = in && !fseek(in, 0, SEEK_END) ? ftell(in) : 0;
    if (length <= 0) die(path, "cannot be read");
    rewind(in);
    photo->bytes = take((size_t)length);
    photo->length = fread(photo->bytes, 1, (size_t)length, in);
    fclose(in);
    const char *slash = strrchr(path, '/');
    photo->name = slash ? slash + 1 : path;
}

/* Sampling factors of the first two components: 2x2 beside 1x1 is 4:2:0. */
static void name_kind(struct photo *photo, const struct jpeg_decompress_struct *cinfo) {
    const jpeg_component_info *a = &cinfo->comp_info[0], *b = a + (cinfo->num_components > 1);
    const int across = a->h_samp_factor / b->h_samp_factor,
              down = a->v_samp_factor / b->v_samp_factor;
    const char *sampling = across == 2 && down == 2   ? "4:2:0"
                           : across == 2 && down == 1 ? "4:2:2"
                           : across == 1 && down == 2 ? "4:4:0"
                           : across == 1 && down == 1 ? "4:4:4"
                           : across == 4 && down == 1 ? "4:1:1"
                                                      : "other";
    const bool ycbcr = cinfo->jpeg_color_space == JCS_YCbCr;
    snprintf(photo->kind, sizeof photo->kind, "%s%s", ycbcr ? sampling : photo->probe.space,
             photo->probe.progressive ? " prog" : "");
}

static void take_planes(struct photo *photo, const struct jpeg_decompress_struct *cinfo) {
    for (int c = 0; c < PLANES; c++) {
        const jpeg_component_info *part = &cinfo->comp_info[c];
        const size_t rows = (size_t)cinfo->total_iMCU_rows * (size_t)part->v_samp_factor * BLOCK;
        struct image *plane = &photo->plane[c];
        *plane = image_shape(part->downsampled_width, part->downsampled_height, 1, 8);
        plane->stride = (size_t)part->width_in_blocks * BLOCK;
        plane->pixels = take(plane->stride * rows); /* whole blocks, the image's last rows too */
    }
}

/* Dequantized, transformed, clamped; neither upsampled nor converted. */
static void read_planes(struct photo *photo, struct jpeg_decompress_struct *cinfo) {
    cinfo->raw_data_out = TRUE;
    cinfo->dct_method = JDCT_ISLOW;
    cinfo->out_color_space = cinfo->jpeg_color_space;
    jpeg_start_decompress(cinfo);
    take_planes(photo, cinfo);
    for (uint32_t step = 0; cinfo->output_scanline < cinfo->output_height; step++) {
        JSAMPROW rows[PLANES][MAX_SAMP_FACTOR * BLOCK];
        JSAMPARRAY planes[PLANES] = { rows[0], rows[1], rows[2] };
        for (int c = 0; c < PLANES; c++) {
            const uint32_t count = (uint32_t)cinfo->comp_info[c].v_samp_factor * BLOCK;
            for (uint32_t i = 0; i < count; i++)
                rows[c][i] = image_row(&photo->plane[c], step * count + i);
        }
        jpeg_read_raw_data(cinfo, planes, (JDIMENSION)(cinfo->max_v_samp_factor * BLOCK));
    }
    jpeg_finish_decompress(cinfo);
}

/* After Burin's own codec has found the file sound, so that libjpeg may end the program. */
static void look_inside(struct photo *photo) {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&cinfo);
    jpeg_mem_src(&cinfo, photo->bytes, photo->length);
    jpeg_read_header(&cinfo, TRUE);
    name_kind(photo, &cinfo);
    if (cinfo.jpeg_color_space == JCS_YCbCr) read_planes(photo, &cinfo);
    jpeg_destroy_decompress(&cinfo);
}

static void photo_open(const char *path, struct photo *photo) {
    struct failure failure;
    read_file(path, photo);
    if (probe_image(photo->bytes, photo->length, &codec_limits_default.probe, &photo->probe,
                    &failure))
        die(path, failure.message);
    if (photo->probe.format != FORMAT_JPEG) die(path, "it is no JPEG");
    photo->probe.orientation = 1;
    photo->probe.shape =
        image_shape(photo->probe.width, photo->probe.height, photo->probe.shape.channels, 8);
    photo->pixels = take_image(photo->probe.shape);
    decode_into(photo->bytes, photo->length, &photo->probe, &photo->pixels);
    look_inside(photo);
}

static void photo_close(struct photo *photo) {
    for (int c = 0; c < PLANES; c++) free(photo->plane[c].pixels);
    free(photo->pixels.pixels);
    free(photo->bytes);
}

struct difference {
    uint64_t samples, off, sum; /* those that differ, and by how much all together */
    unsigned greatest;
};

static void difference_add(struct difference *d, const struct image *a, const struct image *b) {
    for (uint32_t y = 0; y < a->height; y++) {
        const uint8_t *p = image_row(a, y), *q = image_row(b, y);
        for (size_t x = 0; x < image_row_bytes(a); x++) {
            const unsigned by = (unsigned)abs(p[x] - q[x]);
            d->off += by > 0;
            d->sum += by;
            if (by > d->greatest) d->greatest = by;
        }
    }
    d->samples += image_pixels(a) * a->channels;
}

static struct difference difference_of(const struct image *a, const struct image *b) {
    struct difference difference = { 0 };
    difference_add(&difference, a, b);
    return difference;
}

static double difference_mean(const struct difference *d) {
    return d->samples ? (double)d->sum / (double)d->samples : 0;
}

#endif
