// SPDX-License-Identifier: Apache-2.0
/* How it works. The rows of the window are copied into a ring with continued borders. A row of
 * results is made a chunk at a time, tap by tap, so that the sums stay in the first-level cache and
 * every loop runs over neighbours. */
#include "pipeline/ops/convolve.h"

#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/ops/laid_window.h"
#include "pipeline/rows/simd.h"
#include "pipeline/sample.h"

static const struct param params[] = {
    [CONVOLVE_TAPS] = { .name = "taps",
                        .summary = "The kernel, 3x3 or 5x5, row by row",
                        .type = PARAM_TAPS,
                        .min = -1024,
                        .max = 1024,
                        .required = true },
    [CONVOLVE_DIVISOR] = { .name = "divisor",
                           .summary = "Divides the weighted sum; 0: the sum of the taps, or 1",
                           .type = PARAM_INT,
                           .min = 0,
                           .max = 1048576 },
    [CONVOLVE_OFFSET] = { .name = "offset",
                          .summary = "Added after the division",
                          .unit = "levels of 255",
                          .type = PARAM_INT,
                          .min = -255,
                          .max = 255 },
    [CONVOLVE_ABS] = { .name = "abs",
                       .summary = "Take the sum's absolute value",
                       .type = PARAM_BOOL },
    [CONVOLVE_BACKGROUND] = BACKGROUND_PARAM(BACKGROUND_LAID),
    { .name = NULL },
};

enum { BANDS_MAX = 16, CHUNK = 1024 };

#define INLINE static inline __attribute__((always_inline))

static size_t convolve_scratch(const struct op_call *call) {
    return BANDS_MAX * window_bytes(call->in.width, image_pixel_bytes(&call->in));
}

static int convolve_bands(const struct op_call *call) {
    const int threads = pool_threads(call->pool);
    return threads < BANDS_MAX ? threads : BANDS_MAX;
}

/* ---- a chunk of samples from START on */

INLINE void add_tap(int32_t *restrict sums, const uint8_t *restrict from, int32_t tap, int samples,
                    unsigned depth) {
    for (int i = 0; i < samples; i++) sums[i] += tap * (int32_t)sample_get(from, (size_t)i, depth);
}

INLINE void chunk(const uint8_t *const rows[], uint8_t *restrict out, ptrdiff_t start, int samples,
                  unsigned channels, const struct convolve_rule *rule, unsigned depth) {
    const struct convolve_rule mine = *rule;
    const int side = 2 * mine.reach + 1;
    int32_t sums[CHUNK] = { 0 };
    for (int i = 0; i < side * side; i++) {
        const ptrdiff_t first = start + (i % side - mine.reach) * (ptrdiff_t)channels;
        if (mine.taps[i])
            add_tap(sums, rows[i / side] + first * (ptrdiff_t)(depth / 8), mine.taps[i], samples,
                    depth);
    }
    for (int i = 0; i < samples; i++)
        sample_put(out, (size_t)i, depth, (uint32_t)convolve_result(sums[i], &mine));
}

static void chunk_plain(const uint8_t *const rows[], uint8_t *out, ptrdiff_t start, int samples,
                        unsigned channels, const struct convolve_rule *rule, unsigned depth) {
    if (depth == 8)
        chunk(rows, out, start, samples, channels, rule, 8);
    else
        chunk(rows, out, start, samples, channels, rule, 16);
}

#ifdef __x86_64__
AVX2 static void chunk_avx2(const uint8_t *const rows[], uint8_t *out, ptrdiff_t start, int samples,
                            unsigned channels, const struct convolve_rule *rule, unsigned depth) {
    if (depth == 8)
        chunk(rows, out, start, samples, channels, rule, 8);
    else
        chunk(rows, out, start, samples, channels, rule, 16);
}
#else
#define chunk_avx2 chunk_plain
#endif

/* ---- rows */

static void convolve_row(const struct image *in, const struct window *window, uint32_t y,
                         uint8_t *out, const struct convolve_rule *rule) {
    const uint8_t *rows[WINDOW_TAPS_MAX];
    const size_t samples = (size_t)in->width * in->channels, sample = in->depth / 8u;
    for (int i = 0; i <= 2 * rule->reach; i++)
        rows[i] = window_row(window, (int64_t)y + i - rule->reach);
    for (size_t i = 0; i < samples; i += CHUNK)
        (simd_has_avx2() ? chunk_avx2 : chunk_plain)(
            rows, out + i * sample, (ptrdiff_t)i, samples - i < CHUNK ? (int)(samples - i) : CHUNK,
            in->channels, rule, in->depth);
    if (image_has_alpha(in)) alpha_keep(image_row(in, y), out, in->width, in->channels, in->depth);
}

static void convolve_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct image *in = &call->in;
    const struct band band = band_of(in->height, index, convolve_bands(call));
    const struct convolve_rule rule = convolve_rule_of(call->params, in->depth);
    const struct background under =
        background_of(call->params->number[CONVOLVE_BACKGROUND], in->channels, in->depth);
    const uint32_t reach = (uint32_t)rule.reach;
    const size_t pixel = image_pixel_bytes(in);
    uint8_t *memory = (uint8_t *)call->scratch + (size_t)index * window_bytes(in->width, pixel);
    const struct window window = window_make(memory, in->width, in->height, pixel, reach);
    uint32_t made = band.first < reach ? 0 : band.first - reach;
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++) {
        for (; made <= y + reach && made < in->height; made++)
            laid_window_take(&window, in, made, &under);
        convolve_row(in, &window, y, image_row(&call->out, y), &rule);
    }
}

static enum status convolve_run(struct op_call *call) {
    pool_run(call->pool, convolve_band, call, convolve_bands(call));
    return progress_check(call->progress);
}

const struct op op_convolve = {
    .name = "convolve",
    .title = "Custom filter",
    .group = OP_DETAIL,
    .summary = "A 3x3 or 5x5 kernel over each colour channel, borders replicated; alpha is kept",
    .params = params,
    .scratch = convolve_scratch,
    .run = convolve_run,
};
