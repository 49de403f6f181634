// SPDX-License-Identifier: Apache-2.0
/* Besides what all codecs are asked: what libpng reads without a complaint has libpng's pixels. */
#include "tests/fuzz/codec_fuzz.h"

#include <setjmp.h>
#include <string.h>

#include <isa-l/crc.h>
#include <png.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static uint32_t be32(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Right checksums, or nearly all inputs would end at the first chunk. */
static void mend_checksums(uint8_t *bytes, size_t length) {
    for (size_t at = 8; at + 12 <= length;) {
        const size_t size = be32(bytes + at);
        if (size > length - at - 12) return;
        const uint32_t crc = crc32_gzip_refl(0, bytes + at + 4, size + 4);
        for (int i = 0; i < 4; i++)
            bytes[at + 8 + size + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
        at += 12 + size;
    }
}

struct judge {
    const uint8_t *bytes;
    size_t left;
    struct image image; /* as libpng has it; upright, for there is no EXIF for libpng */
    jmp_buf out;
};

static void complain(png_structp png, png_const_charp text) {
    (void)text;
    struct judge *judge = png_get_error_ptr(png);
    longjmp(judge->out, 1);
}

static void take(png_structp png, png_bytep to, size_t count) {
    struct judge *judge = png_get_io_ptr(png);
    if (count > judge->left) png_error(png, "end");
    memcpy(to, judge->bytes, count);
    judge->bytes += count;
    judge->left -= count;
}

/* Decodes into the pixels of JUDGE's image, which are none where libpng complains. */
static void read_by_libpng(struct judge *judge, png_structp png, png_infop info) {
    if (setjmp(judge->out)) {
        free(judge->image.pixels);
        judge->image.pixels = NULL;
        return;
    }
    png_set_read_fn(png, judge, take);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_read_info(png, info);
    png_set_expand(png);
    png_set_swap(png);
    const int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    if (png_get_image_height(png, info) != judge->image.height ||
        png_get_rowbytes(png, info) != image_row_bytes(&judge->image))
        png_error(png, "its shape is not that of the probe");
    for (int pass = 0; pass < passes; pass++)
        for (uint32_t y = 0; y < judge->image.height; y++)
            png_read_row(png, image_row(&judge->image, y), NULL);
    png_read_end(png, NULL);
}

static void judge_by_libpng(const uint8_t *bytes, size_t length) {
    struct judge judge = { .bytes = bytes, .left = length };
    struct probe probe;
    struct image image;
    if (probe_format(bytes, length) != FORMAT_PNG ||
        probe_image(bytes, length, &fuzz_limits.probe, &probe, NULL) || probe.orientation != 1)
        return;
    judge.image = probe.shape;
    judge.image.stride = image_row_bytes(&judge.image);
    judge.image.pixels = calloc(1, image_bytes(&judge.image));
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &judge, complain, complain);
    png_infop info = png_create_info_struct(png);
    read_by_libpng(&judge, png, info);
    png_destroy_read_struct(&png, &info, NULL);
    if (judge.image.pixels) {
        if (!fuzz_decode(bytes, length, &probe, &image, NULL)) abort();
        if (image_digest(&image) != image_digest(&judge.image)) abort();
        free(image.pixels);
    }
    free(judge.image.pixels);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    fuzz_codec(bytes, length, FORMAT_PNG);
    uint8_t *mended = malloc(length + !length);
    memcpy(mended, bytes, length);
    mend_checksums(mended, length);
    fuzz_codec(mended, length, FORMAT_PNG);
    judge_by_libpng(bytes, length);
    judge_by_libpng(mended, length);
    free(mended);
    return 0;
}
