// SPDX-License-Identifier: Apache-2.0
/* How it works. The rows of a row of blocks are added up, sample by sample, then the sums of each
 * block's columns. The first row of the result is copied to the others. */
#include "pipeline/ops/pixelate.h"

#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/rows/simd.h"
#include "pipeline/sample.h"

static const struct param params[] = {
    [PIXELATE_SIZE] = { .name = "size",
                        .summary = "Side of a block",
                        .unit = "pixels",
                        .type = PARAM_INT,
                        .min = 2,
                        .max = PIXELATE_MAX,
                        .def = 16 },
    { .name = NULL },
};

enum { BANDS_MAX = 16 };

#define INLINE static inline __attribute__((always_inline))

static size_t sums_bytes(const struct image *in) {
    return ((size_t)in->width * in->channels * sizeof(uint64_t) + 63) / 64 * 64;
}

static size_t pixelate_scratch(const struct op_call *call) {
    return BANDS_MAX * sums_bytes(&call->in);
}

/* ---- a row added to the sums of its samples */

INLINE void add_samples(const uint8_t *restrict row, uint64_t *restrict sums, size_t pixels,
                        unsigned channels, unsigned depth) {
    for (size_t i = 0; i < pixels * channels; i += channels) {
        const uint32_t alpha = channels % 2 ? 1 : sample_get(row, i + channels - 1, depth);
        for (unsigned c = 0; c < channels; c++)
            sums[i + c] += sample_get(row, i + c, depth) *
                           (channels % 2 == 0 && c == channels - 1 ? 1 : alpha);
    }
}

static void add_plain(const uint8_t *row, uint64_t *sums, size_t pixels, unsigned channels,
                      unsigned depth) {
    if (channels % 2)
        add_samples(row, sums, pixels * channels, 1, depth);
    else
        add_samples(row, sums, pixels, channels, depth);
}

#ifdef __x86_64__
AVX2 static void add_avx2(const uint8_t *row, uint64_t *sums, size_t pixels, unsigned channels,
                          unsigned depth) {
    if (channels % 2 == 0)
        SPECIALISE_ALPHA(channels, depth, add_samples, row, sums, pixels);
    else if (depth == 8)
        add_samples(row, sums, pixels * channels, 1, 8);
    else
        add_samples(row, sums, pixels * channels, 1, 16);
}
#else
#define add_avx2 add_plain
#endif

/* ---- blocks */

/* The block of COUNT pixels in all whose sums are the WIDTH columns at SUMS. */
static void fill_block(const uint64_t *sums, uint8_t *out, uint32_t width, uint32_t count,
                       const struct image *in) {
    const unsigned channels = in->channels;
    const size_t pixel = image_pixel_bytes(in);
    uint64_t block[4] = { 0 };
    for (size_t i = 0; i < (size_t)width * channels; i++) block[i % channels] += sums[i];
    for (unsigned c = 0; c < channels; c++)
        sample_put(out, c, in->depth, pixelate_sample(block, count, c, channels));
    for (uint32_t x = 1; x < width; x++) memcpy(out + x * pixel, out, pixel);
}

static void pixelate_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct image *in = &call->in, *out = &call->out;
    const uint32_t size = (uint32_t)call->params->number[PIXELATE_SIZE];
    const uint32_t rows = (in->height + size - 1) / size;
    const struct band band =
        band_of(rows, index, band_count(rows, pool_threads(call->pool), BANDS_MAX));
    const size_t bytes = sums_bytes(in);
    uint64_t *sums = (uint64_t *)((uint8_t *)call->scratch + (size_t)index * bytes);
    for (uint32_t r = band.first; r < band.end && !progress_check(call->progress); r++) {
        const uint32_t top = r * size, left = in->height - top, height = left < size ? left : size;
        uint8_t *first = image_row(out, top);
        memset(sums, 0, bytes);
        for (uint32_t y = top; y < top + height; y++)
            (simd_has_avx2() ? add_avx2 : add_plain)(image_row(in, y), sums, in->width,
                                                     in->channels, in->depth);
        for (uint32_t x = 0; x < in->width; x += size) {
            const uint32_t width = in->width - x < size ? in->width - x : size;
            fill_block(sums + (size_t)x * in->channels, first + x * image_pixel_bytes(in), width,
                       width * height, in);
        }
        for (uint32_t y = top + 1; y < top + height; y++)
            memcpy(image_row(out, y), first, image_row_bytes(out));
    }
}

static enum status pixelate_run(struct op_call *call) {
    const uint32_t size = (uint32_t)call->params->number[PIXELATE_SIZE];
    const uint32_t rows = (call->in.height + size - 1) / size;
    pool_run(call->pool, pixelate_band, call,
             band_count(rows, pool_threads(call->pool), BANDS_MAX));
    return progress_check(call->progress);
}

const struct op op_pixelate = {
    .name = "pixelate",
    .title = "Mosaic",
    .group = OP_DETAIL,
    .summary = "Square blocks of one colour, the mean of their pixels",
    .params = params,
    .scratch = pixelate_scratch,
    .run = pixelate_run,
};
