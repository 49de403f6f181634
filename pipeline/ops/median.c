// SPDX-License-Identifier: Apache-2.0
/* How it works. The rows of the window are copied into a ring with continued borders. A row of
 * results is made a chunk at a time: first its sorted columns, rank by rank, so that every loop
 * runs over neighbours and has no branch; they stay in the first-level cache. */
#include "pipeline/ops/median.h"

#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/ops/laid_window.h"
#include "pipeline/rows/simd.h"

static const struct param params[] = {
    [MEDIAN_SIZE] = { .name = "size",
                      .summary = "Side of the square that is looked at",
                      .unit = "pixels",
                      .type = PARAM_CHOICE,
                      .choices = { "3", "5" } },
    [MEDIAN_BACKGROUND] = BACKGROUND_PARAM(BACKGROUND_LAID),
    { .name = NULL },
};

enum { BANDS_MAX = 16, CHUNK = 1024, SIDE_MAX = 5, WHOLE = 32 /* samples */ };

/* A window, and what is read behind its last row. */
static size_t band_bytes(const struct op_call *call) {
    return window_bytes(call->in.width, image_pixel_bytes(&call->in)) + WHOLE * sizeof(uint16_t);
}

static size_t median_scratch(const struct op_call *call) {
    return BANDS_MAX * band_bytes(call);
}

static int median_bands(const struct op_call *call) {
    return band_count(call->in.height, pool_threads(call->pool), BANDS_MAX);
}

/* ---- a chunk of samples from START on */

#define EXCHANGE(a, b)                                                                             \
    {                                                                                              \
        const __typeof__(*v) lesser = v[a] < v[b] ? v[a] : v[b];                                   \
        v[b] = v[a] < v[b] ? v[b] : v[a];                                                          \
        v[a] = lesser;                                                                             \
    }

/* SORTED has the columns from START - SIDE / 2 pixels on. A whole number of vectors is sorted; what
 * is then read behind the last column, from the band's scratch, is not used. */
#define DEFINE_CHUNK(NAME, ATTRIBUTES, SAMPLE, SIDE)                                               \
    ATTRIBUTES static void NAME(const uint8_t *const rows[], uint8_t *restrict out,                \
                                ptrdiff_t start, int samples, int channels) {                      \
        SAMPLE sorted[SIDE][CHUNK + WHOLE], *restrict to = (SAMPLE *)out;                          \
        const int columns = samples + (SIDE - 1) * channels;                                       \
        const SAMPLE *from[SIDE];                                                                  \
        for (int r = 0; r < SIDE; r++)                                                             \
            from[r] = (const SAMPLE *)rows[r] + start - SIDE / 2 * channels;                       \
        for (int i = 0; i < (columns + WHOLE - 1) / WHOLE * WHOLE; i++) {                          \
            SAMPLE v[SIDE];                                                                        \
            for (int r = 0; r < SIDE; r++) v[r] = from[r][i];                                      \
            MEDIAN_SORT_##SIDE(EXCHANGE);                                                          \
            for (int r = 0; r < SIDE; r++) sorted[r][i] = v[r];                                    \
        }                                                                                          \
        for (int i = 0; i < samples; i++) {                                                        \
            SAMPLE v[SIDE * SIDE];                                                                 \
            for (int r = 0; r < SIDE; r++)                                                         \
                for (int c = 0; c < SIDE; c++) v[r * SIDE + c] = sorted[r][i + c * channels];      \
            MEDIAN_OF_##SIDE(EXCHANGE);                                                            \
            to[i] = v[MEDIAN_AT_##SIDE];                                                           \
        }                                                                                          \
    }

typedef void chunk_function(const uint8_t *const rows[], uint8_t *restrict out, ptrdiff_t start,
                            int samples, int channels);

DEFINE_CHUNK(bytes3_plain, , uint8_t, 3)
DEFINE_CHUNK(bytes5_plain, , uint8_t, 5)
DEFINE_CHUNK(words3_plain, , uint16_t, 3)
DEFINE_CHUNK(words5_plain, , uint16_t, 5)
#ifdef __x86_64__
DEFINE_CHUNK(bytes3_avx2, AVX2, uint8_t, 3)
DEFINE_CHUNK(bytes5_avx2, AVX2, uint8_t, 5)
DEFINE_CHUNK(words3_avx2, AVX2, uint16_t, 3)
DEFINE_CHUNK(words5_avx2, AVX2, uint16_t, 5)
#else
#define bytes3_avx2 bytes3_plain
#define bytes5_avx2 bytes5_plain
#define words3_avx2 words3_plain
#define words5_avx2 words5_plain
#endif

static chunk_function *chunk_of(unsigned depth, uint32_t side) {
    static chunk_function *const functions[2][2][2] = {
        { { bytes3_plain, bytes5_plain }, { words3_plain, words5_plain } },
        { { bytes3_avx2, bytes5_avx2 }, { words3_avx2, words5_avx2 } },
    };
    return functions[simd_has_avx2()][depth == 16][side == 5];
}

/* ---- rows */

static void median_row(const struct image *in, const struct window *window, uint32_t y,
                       uint8_t *out) {
    const uint8_t *rows[SIDE_MAX];
    const size_t samples = (size_t)in->width * in->channels, sample = in->depth / 8u;
    const uint32_t side = 2 * window->reach + 1;
    chunk_function *const chunk = chunk_of(in->depth, side);
    for (uint32_t i = 0; i < side; i++)
        rows[i] = window_row(window, (int64_t)y + i - window->reach);
    for (size_t i = 0; i < samples; i += CHUNK)
        chunk(rows, out + i * sample, (ptrdiff_t)i,
              samples - i < CHUNK ? (int)(samples - i) : CHUNK, in->channels);
    if (image_has_alpha(in)) alpha_keep(image_row(in, y), out, in->width, in->channels, in->depth);
}

static void median_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct image *in = &call->in;
    const struct band band = band_of(in->height, index, median_bands(call));
    const struct background under =
        background_of(call->params->number[MEDIAN_BACKGROUND], in->channels, in->depth);
    const uint32_t reach = call->params->number[MEDIAN_SIZE] == MEDIAN_5 ? 2 : 1;
    const size_t pixel = image_pixel_bytes(in);
    uint8_t *memory = (uint8_t *)call->scratch + (size_t)index * band_bytes(call);
    const struct window window = window_make(memory, in->width, in->height, pixel, reach);
    uint32_t made = band.first < reach ? 0 : band.first - reach;
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++) {
        for (; made <= y + reach && made < in->height; made++)
            laid_window_take(&window, in, made, &under);
        median_row(in, &window, y, image_row(&call->out, y));
    }
}

static enum status median_run(struct op_call *call) {
    pool_run(call->pool, median_band, call, median_bands(call));
    return progress_check(call->progress);
}

const struct op op_median = {
    .name = "median",
    .title = "Remove specks",
    .group = OP_DETAIL,
    .summary = "Each sample becomes the median of those around it, borders replicated; alpha is "
               "kept",
    .params = params,
    .scratch = median_scratch,
    .run = median_run,
};
