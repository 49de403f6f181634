// SPDX-License-Identifier: Apache-2.0
/* How it works. The planes of Y, Cb, Cr and alpha are made here, in integers, and lent to libavif,
 * which has libaom encode them on this thread and packs them. Neither remembers anything between
 * calls, so the bytes depend on nothing but pixels and options.
 *
 * Colours are JPEG's: BT.601, full range, 4:2:0 from the mean of four pixels. At equal SSIM of the
 * luma that is two thirds of a JPEG's bytes; 4:4:4 takes a tenth more for chroma that is better by
 * 3 dB, which who asks for a quality of 90 and more gets. Gray is luma alone. Lossless are the
 * samples themselves, as the matrix "identity" has them. Alpha loses nothing.
 *
 * libavif cannot be stopped, so a daemon runs it in a process that it kills. Where it looks for
 * copies within the picture its time grows with the square of the pixels: a megapixel of a
 * checkerboard takes 18 s. So it does not look for them. Without memory its version 0.11 ends the
 * process. */
#include "pipeline/codecs/avif/codec.h"
#include "pipeline/codecs/avif/library.h"

enum {
    /* A pixel of noise takes little more than its samples, however it is coded. */
    PIXEL_BYTES_MAX = 6,
    HEADERS = 8192,
};

static size_t avif_bound(const struct image *image, size_t profile_length) {
    return (size_t)image_pixels(image) * PIXEL_BYTES_MAX + HEADERS + profile_length;
}

enum { EFFORTS = 7, FINE_QUALITY = 90 };

/* Chroma of each pixel. */
static bool is_fine(const struct encode_options *options) {
    return options->lossless || options->quality >= FINE_QUALITY;
}

#ifdef BURIN_WITH_AVIF

#include "pipeline/codecs/common/argb_row.h"

#include <stdlib.h>
#include <string.h>

enum { QUANTIZER_POINTS = 9 };

struct writer {
    const struct encoding *encoding;
    avifImage *image;
    avifEncoder *encoder;
    uint8_t *planes;
    uint32_t *words[2]; /* rows of the image */
    bool gray, exact, fine;
};

/* ---- options */

/* At these points the luma's SSIM equals that of a JPEG of the same quality, on four photographs.
 * Qualities in between are interpolated. */
static int quantizer_of(int quality) {
    static const int points[QUANTIZER_POINTS][2] = { { 1, 63 },  { 30, 39 }, { 50, 34 },
                                                     { 70, 30 }, { 80, 25 }, { 85, 21 },
                                                     { 90, 15 }, { 95, 8 },  { 100, 1 } };
    int i = 1;
    while (i < QUANTIZER_POINTS - 1 && points[i][0] < quality) i++;
    const int *low = points[i - 1], *high = points[i], span = high[0] - low[0];
    return low[1] - ((low[1] - high[1]) * (quality - low[0]) + span / 2) / span;
}

/* libavif's speed of each effort. 10 is 9; 5 and less take ten times 6 and are no smaller. */
static const int speeds[EFFORTS] = { 9, 9, 8, 8, 8, 7, 6 };

static void configure(struct writer *writer) {
    const struct encode_options *options = writer->encoding->options;
    const int quantizer = writer->exact ? 0 : quantizer_of(options->quality);
    avifEncoder *encoder = writer->encoder;
    encoder->codecChoice = AVIF_CODEC_CHOICE_AOM;
    encoder->maxThreads = 1;
    encoder->speed = speeds[options->effort];
    avif.set_option(encoder, "enable-intrabc", "0");
    encoder->minQuantizer = encoder->maxQuantizer = quantizer;
    encoder->minQuantizerAlpha = encoder->maxQuantizerAlpha = 0;
}

/* ---- planes */

/* JFIF's constants times 65536. Of chroma the colours are sums of 1 << SHIFT pixels. */
static uint8_t luma(uint32_t red, uint32_t green, uint32_t blue) {
    return (uint8_t)((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16);
}

static uint8_t chroma(int32_t red, int32_t green, int32_t blue, const int32_t weights[3],
                      int shift) {
    const int32_t sum = weights[0] * red + weights[1] * green + weights[2] * blue;
    return (uint8_t)((sum + (128 << (16 + shift)) + (32768 << shift) - 1) >> (16 + shift));
}

static void fill_luma(const struct writer *writer, uint32_t y, const uint32_t *words) {
    const avifImage *image = writer->image;
    uint8_t *row = image->yuvPlanes[AVIF_CHAN_Y] + (size_t)y * image->yuvRowBytes[AVIF_CHAN_Y];
    uint8_t *alpha =
        image->alphaPlane ? image->alphaPlane + (size_t)y * image->alphaRowBytes : NULL;
    for (uint32_t x = 0; x < image->width; x++) {
        const uint32_t word = words[x], green = word >> 8 & 255;
        row[x] = writer->exact || writer->gray ? (uint8_t)green
                                               : luma(word >> 16 & 255, green, word & 255);
        if (alpha) alpha[x] = (uint8_t)(word >> 24);
    }
}

/* With the identity matrix, Cb and Cr hold blue and red. */
static void fill_exact(const struct writer *writer, uint32_t y, const uint32_t *words) {
    const avifImage *image = writer->image;
    const size_t at = (size_t)y * image->yuvRowBytes[AVIF_CHAN_U];
    for (uint32_t x = 0; x < image->width; x++) {
        image->yuvPlanes[AVIF_CHAN_U][at + x] = (uint8_t)words[x];
        image->yuvPlanes[AVIF_CHAN_V][at + x] = (uint8_t)(words[x] >> 16);
    }
}

/* Row Y of both planes; of 4:2:0 from two rows and columns each, of which the last may be one. */
static void fill_chroma(const struct writer *writer, uint32_t y, const uint32_t *above,
                        const uint32_t *below) {
    static const int32_t cb[3] = { -11059, -21709, 32768 }, cr[3] = { 32768, -27439, -5329 };
    const avifImage *image = writer->image;
    const int step = writer->fine ? 1 : 2, shift = writer->fine ? 0 : 2;
    const size_t at = (size_t)y * image->yuvRowBytes[AVIF_CHAN_U];
    for (uint32_t x = 0; x < image->width; x += (uint32_t)step) {
        const uint32_t right = x + 1 < image->width ? x + 1 : x;
        const uint32_t four[4] = { above[x], above[right], below[x], below[right] };
        int32_t sums[3] = { 0 };
        for (int i = 0; i < 1 << shift; i++)
            for (int c = 0; c < 3; c++) sums[c] += (int32_t)(four[i] >> (16 - 8 * c) & 255);
        const size_t to = at + x / (uint32_t)step;
        image->yuvPlanes[AVIF_CHAN_U][to] = chroma(sums[0], sums[1], sums[2], cb, shift);
        image->yuvPlanes[AVIF_CHAN_V][to] = chroma(sums[0], sums[1], sums[2], cr, shift);
    }
}

static enum status fill_planes(const struct writer *writer) {
    const struct image *from = writer->encoding->image;
    for (uint32_t y = 0; y < from->height; y++) {
        const enum status status = progress_check(writer->encoding->progress);
        if (status) return codec_stopped(status, writer->encoding->failure);
        uint32_t *words = writer->words[y & 1];
        const bool last = y + 1 == from->height;
        argb_row(from, y, words);
        fill_luma(writer, y, words);
        if (writer->gray) continue;
        if (writer->exact)
            fill_exact(writer, y, words);
        else if (writer->fine)
            fill_chroma(writer, y, words, words);
        else if (y & 1 || last)
            fill_chroma(writer, y / 2, writer->words[0], words);
    }
    return STATUS_OK;
}

/* ---- memory */

/* All planes in one block; libavif is lent them. */
static bool take_planes(struct writer *writer) {
    avifImage *image = writer->image;
    const bool halved = !writer->fine && !writer->gray;
    const size_t width = image->width, height = image->height, luma_bytes = width * height;
    const size_t across = halved ? (width + 1) / 2 : width,
                 down = halved ? (height + 1) / 2 : height;
    const size_t chroma_bytes = writer->gray ? 0 : across * down;
    const bool alpha = image_has_alpha(writer->encoding->image);
    writer->planes = malloc(luma_bytes * (1 + alpha) + 2 * chroma_bytes);
    for (int i = 0; i < 2; i++) writer->words[i] = malloc(width * sizeof **writer->words);
    if (!writer->planes || !writer->words[0] || !writer->words[1]) return false;
    image->yuvPlanes[AVIF_CHAN_Y] = writer->planes;
    image->yuvRowBytes[AVIF_CHAN_Y] = (uint32_t)width;
    for (int c = 0; c < 2 && !writer->gray; c++) {
        image->yuvPlanes[AVIF_CHAN_U + c] = writer->planes + luma_bytes + (size_t)c * chroma_bytes;
        image->yuvRowBytes[AVIF_CHAN_U + c] = (uint32_t)across;
    }
    if (alpha) {
        image->alphaPlane = writer->planes + luma_bytes + 2 * chroma_bytes;
        image->alphaRowBytes = (uint32_t)width;
    }
    return true;
}

/* Sets shape and meaning of the samples; a profile says more of colours where there is one. */
static void describe(struct writer *writer, bool profile) {
    const struct image *from = writer->encoding->image;
    avifImage *image = writer->image;
    image->width = from->width;
    image->height = from->height;
    image->depth = 8;
    image->yuvFormat = writer->gray   ? AVIF_PIXEL_FORMAT_YUV400
                       : writer->fine ? AVIF_PIXEL_FORMAT_YUV444
                                      : AVIF_PIXEL_FORMAT_YUV420;
    image->yuvRange = AVIF_RANGE_FULL;
    image->colorPrimaries = profile ? AVIF_COLOR_PRIMARIES_UNSPECIFIED : AVIF_COLOR_PRIMARIES_BT709;
    image->transferCharacteristics =
        profile ? AVIF_TRANSFER_CHARACTERISTICS_UNSPECIFIED : AVIF_TRANSFER_CHARACTERISTICS_SRGB;
    image->matrixCoefficients = writer->exact && !writer->gray ? AVIF_MATRIX_COEFFICIENTS_IDENTITY
                                                               : AVIF_MATRIX_COEFFICIENTS_BT601;
    const struct metadata *metadata = writer->encoding->metadata;
    if (profile) avif.set_profile(image, metadata->profile, metadata->profile_length);
}

static enum status no_memory(const struct writer *writer) {
    return fail(writer->encoding->failure, STATUS_NO_MEMORY, "no memory for the AVIF codec");
}

/* ---- all of it */

static enum status take_file(const struct encoding *encoding, const avifRWData *file) {
    if (file->size > encoding->capacity) return codec_overflow(encoding);
    memcpy(encoding->bytes, file->data, file->size);
    *encoding->length = file->size;
    if (encoding->image->depth == 16) *encoding->notes |= NOTE_DEPTH_CUT;
    return STATUS_OK;
}

static enum status write_avif(struct writer *writer, bool profile) {
    const struct encoding *encoding = writer->encoding;
    writer->image = avif.image_create();
    writer->encoder = avif.encoder_create();
    if (!writer->image || !writer->encoder) return no_memory(writer);
    describe(writer, profile);
    if (!take_planes(writer)) return no_memory(writer);
    enum status status = fill_planes(writer);
    if (status) return status;
    configure(writer);
    avifRWData file = AVIF_DATA_EMPTY;
    const avifResult result = avif.encoder_write(writer->encoder, writer->image, &file);
    status = result == AVIF_RESULT_OK ? take_file(encoding, &file)
                                      : fail(encoding->failure, STATUS_INTERNAL,
                                             "the AVIF codec failed: %s", avif.result_text(result));
    avif.data_free(&file);
    return status;
}

static enum status avif_encode(const struct encoding *encoding) {
    const char *missing = avif_library_missing();
    if (missing) return fail(encoding->failure, STATUS_BAD_PARAM, "%s", missing);
    const struct encode_options *options = encoding->options;
    struct writer writer = { .encoding = encoding,
                             .gray = image_colours(encoding->image) == 1,
                             .exact = options->lossless };
    writer.fine = is_fine(options);
    const struct carried carried =
        codec_carried(encoding->metadata, options, image_colours(encoding->image), encoding->notes);
    const bool profile = carried.profile_length > 0;
    const enum status status = write_avif(&writer, profile);
    if (writer.encoder) avif.encoder_destroy(writer.encoder);
    if (writer.image) avif.image_destroy(writer.image);
    free(writer.planes);
    free(writer.words[0]);
    free(writer.words[1]);
    return status;
}

#else

static enum status avif_encode(const struct encoding *encoding) {
    return fail(encoding->failure, STATUS_BAD_PARAM, "%s", avif_library_missing());
}

#endif

/* ---- the record */

/* Bytes a pixel, measured on noise of 4 MP with libavif 0.11 and rounded up. */
enum { USUAL = 30, THOROUGH = 60, THOROUGH_EFFORT = 5, COLOURS = 3 };

static uint64_t avif_encode_memory(const struct image *image,
                                   const struct encode_options *options) {
    const bool thorough = options->lossless || options->effort >= THOROUGH_EFFORT;
    return image_pixels(image) * (thorough ? THOROUGH : USUAL);
}

static int avif_encode_kind(const struct encode_options *options) {
    return options->max_bytes && !options->lossless;
}

/* Times each effort takes beside that of 4, for which the costs are. */
static double avif_megabytes(const struct image *image, const struct encode_options *options) {
    static const double efforts[EFFORTS] = { 0.3, 0.3, 1, 1, 1, 1.5, 2.5 };
    return (double)image_pixels(image) * COLOURS / 1e6 * efforts[options->effort] *
           (options->lossless ? 2.5 : 1);
}

const struct format_record format_avif = {
    .name = "avif",
    .title = "AVIF",
    .media_types = { "image/avif" },
    .endings = { "avif" },
    .places = { [FORMATS_DESCRIBED] = 7, [FORMATS_OFFERED] = 4, [FORMATS_PREFERRED] = 5 },
    .abilities = FORMAT_QUALITY | FORMAT_LOSSLESS | FORMAT_EFFORT,
    .recognizes = is_avif,
    .unreadable = avif_reading_missing,
    .probe = avif_probe,
    .decode = avif_decode,
    .turns = true,
    .contained = true,
    .decode_memory = avif_decode_memory,
    .decode_costs = { { .cpu = { 0.1f, 80, 7 } } },
    .depth = 8,
    .slow = true,
    .missing = avif_library_missing,
    .encode = avif_encode,
    .bound = avif_bound,
    .encode_memory = avif_encode_memory,
    .encode_costs = { { .cpu = { 3, 87 } }, { .cpu = { 12, 348 } } }, /* within max_bytes */
    .encode_kind = avif_encode_kind,
    .encode_megabytes = avif_megabytes,
};
