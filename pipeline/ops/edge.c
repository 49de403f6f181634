// SPDX-License-Identifier: Apache-2.0
/* How it works. Levels are made once for each row, in a ring of rows that a window of three or five
 * moves down. 8-bit gray without added brightness is its own level, and is read in place.
 * pipeline/rows/sobel.c computes the magnitudes of a row. */
#include "pipeline/ops/edge.h"

#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/ops/brightness_row.h"
#include "pipeline/rows/rgb_luma.h"
#include "pipeline/rows/sobel.h"
#include "pipeline/rows/window.h"
#include "pipeline/sample.h"

#include <string.h>

static const struct param params[] = {
    [EDGE_KERNEL] = { .name = "kernel",
                      .summary = "Size of the Sobel kernel: 3x3 or 5x5",
                      .type = PARAM_CHOICE,
                      .choices = { "sobel3", "sobel5" } },
    [EDGE_BRIGHTNESS] = { .name = "brightness",
                          .summary = "Added to the luma before edges are looked for",
                          .unit = "levels of 255",
                          .type = PARAM_INT,
                          .min = -255,
                          .max = 255 },
    [EDGE_THRESHOLD] = { .name = "threshold",
                         .summary = "Edges not over it become 0",
                         .unit = "levels of 255",
                         .type = PARAM_INT,
                         .min = 0,
                         .max = 255 },
    [EDGE_BINARY] = { .name = "binary",
                      .summary = "Edges over the threshold become white",
                      .type = PARAM_BOOL },
    [EDGE_BORDER] = { .name = "border",
                      .summary = "Where the kernel leaves the image: continue its border, or put 0",
                      .type = PARAM_CHOICE,
                      .choices = { "replicate", "zero" } },
    [EDGE_BACKGROUND] = BACKGROUND_PARAM(BACKGROUND_LAID),
    { .name = NULL },
};

enum { BANDS_MAX = 16 };

/* The result is gray, with alpha if the input has it. */
static enum status edge_size(const struct params *values, const struct image *in, struct image *out,
                             struct failure *failure) {
    (void)values, (void)failure;
    *out = image_shape(in->width, in->height, image_has_alpha(in) ? 2 : 1, in->depth);
    return STATUS_OK;
}

static size_t sample_bytes(const struct image *image) {
    return image->depth / 8u;
}

/* Bytes of one band: its window of levels, and a row of edges before alpha is added. */
static size_t band_bytes(const struct image *in) {
    return window_bytes(in->width, sample_bytes(in)) +
           window_row_bytes(in->width, sample_bytes(in));
}

static size_t edge_scratch(const struct op_call *call) {
    return BANDS_MAX * band_bytes(&call->in);
}

static int edge_bands(const struct op_call *call) {
    const int threads = pool_threads(call->pool);
    return threads < BANDS_MAX ? threads : BANDS_MAX;
}

/* ---- levels */

static inline void luma_row(const uint8_t *in, uint8_t *out, uint32_t width,
                            const struct background *under, unsigned channels, unsigned depth) {
    const struct background mine = *under;
    for (size_t x = 0; x < width; x++)
        sample_put(out, x, depth, sample_luma_over(in, x * channels, channels, depth, &mine));
}

static void make_level_row(const struct image *in, const struct window *window, uint32_t y,
                           const struct edge_rule *rule) {
    const uint8_t *row = image_row(in, y);
    uint8_t *levels = window_row(window, y);
    if (in->channels == 1)
        memcpy(levels, row, image_row_bytes(in));
    else if (in->channels == 3 && in->depth == 8)
        rgb_luma(row, levels, in->width);
    else
        SPECIALISE(in->channels, in->depth, luma_row, row, levels, in->width, &rule->under);
    if (rule->shift.add)
        brightness_row(levels, levels, in->width * sample_bytes(in), rule->shift, 1, in->depth);
    window_pad(window, y);
}

/* The rows of levels: in a ring with padding, or in the image without any. */
struct levels {
    struct window window;
    const struct image *image; /* NULL: in the window */
};

static struct levels levels_make(const struct image *in, void *memory,
                                 const struct edge_rule *rule) {
    const bool stand =
        in->channels == 1 && in->depth == 8 && !rule->shift.add && in->width > 2 * rule->reach;
    return (struct levels){
        window_make(memory, in->width, in->height, sample_bytes(in), rule->reach),
        stand ? in : NULL,
    };
}

static const uint8_t *levels_row(const struct levels *levels, int64_t y) {
    if (!levels->image) return window_row(&levels->window, y);
    const int64_t last = (int64_t)levels->image->height - 1;
    return image_row(levels->image, (uint32_t)(y < 0 ? 0 : y > last ? last : y));
}

/* ---- edges */

/* Returns the edge of a pixel whose window leaves a row without padding. TAPS is a compile-time
 * constant. */
static inline uint8_t edge_end(const uint8_t *const rows[], int taps, int64_t x, int64_t width,
                               const struct edge_rule *rule) {
    static const int across[2][5] = { { 1, 2, 1 }, { 1, 4, 6, 4, 1 } };
    static const int along[2][5] = { { -1, 0, 1 }, { -1, -2, 0, 2, 1 } };
    const int large = taps == 5;
    int gx = 0, gy = 0;
    for (int j = 0; j < taps; j++) {
        const int64_t there = x + j - taps / 2;
        const int64_t column = there < 0 ? 0 : there < width ? there : width - 1;
        for (int i = 0; i < taps; i++) {
            gx += across[large][i] * along[large][j] * rows[i][column];
            gy += along[large][i] * across[large][j] * rows[i][column];
        }
    }
    return (uint8_t)edge_result(gx, gy, rule);
}

static void edge_bare_row(const uint8_t *const rows[], uint8_t *out, uint32_t width,
                          const struct sobel_rule *sobel, const struct edge_rule *rule) {
    const uint32_t reach = rule->reach;
    const uint8_t *inner[WINDOW_TAPS_MAX];
    for (int i = 0; i < sobel->taps; i++) inner[i] = rows[i] + reach;
    sobel_bytes(inner, out + reach, width - 2 * reach, sobel);
    for (uint32_t k = 0; k < 2 * reach; k++) {
        const uint32_t x = k < reach ? k : width - 2 * reach + k;
        out[x] = reach == 1 ? edge_end(rows, 3, x, width, rule) : edge_end(rows, 5, x, width, rule);
    }
}

/* Writes the edges of row Y to OUT without gaps; LEVELS has samples of DEPTH bits. */
static void edge_row(const struct levels *levels, uint32_t y, uint8_t *out,
                     const struct edge_rule *rule, unsigned depth) {
    const struct sobel_rule sobel = { .taps = 2 * (int)rule->reach + 1,
                                      .threshold = rule->threshold,
                                      .binary = rule->white != 0 };
    const uint32_t width = levels->window.width, height = levels->window.height;
    const uint32_t margin = rule->margin;
    const size_t sample = depth / 8;
    const uint8_t *rows[WINDOW_TAPS_MAX];
    if (y < margin || height - y <= margin || width <= 2 * margin) {
        memset(out, 0, width * sample);
        return;
    }
    for (int i = 0; i < sobel.taps; i++) rows[i] = levels_row(levels, (int64_t)y + i - rule->reach);
    if (levels->image)
        edge_bare_row(rows, out, width, &sobel, rule);
    else if (depth == 8)
        sobel_bytes(rows, out, width, &sobel);
    else
        sobel_words((const uint16_t *const *)(const void *)rows, (uint16_t *)(void *)out, width,
                    &sobel);
    memset(out, 0, margin * sample);
    memset(out + (width - margin) * sample, 0, margin * sample);
}

static inline void join_alpha(const uint8_t *edges, const uint8_t *in, uint8_t *out, uint32_t width,
                              unsigned channels, unsigned depth) {
    for (size_t x = 0; x < width; x++) {
        sample_put(out, 2 * x, depth, sample_get(edges, x, depth));
        sample_put(out, 2 * x + 1, depth, sample_get(in, x * channels + channels - 1, depth));
    }
}

static void edge_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct image *in = &call->in;
    const struct band band = band_of(in->height, index, edge_bands(call));
    const struct edge_rule rule = edge_rule_of(call->params, in->channels, in->depth);
    uint8_t *memory = (uint8_t *)call->scratch + (size_t)index * band_bytes(in);
    uint8_t *gray = memory + window_bytes(in->width, sample_bytes(in));
    const struct levels levels = levels_make(in, memory, &rule);
    uint32_t made = band.first < rule.reach ? 0 : band.first - rule.reach;
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++) {
        for (; !levels.image && made <= y + rule.reach && made < in->height; made++)
            make_level_row(in, &levels.window, made, &rule);
        uint8_t *out = image_row(&call->out, y);
        const bool direct = in->depth == 8 && call->out.channels == 1;
        edge_row(&levels, y, direct ? out : gray, &rule, in->depth);
        if (call->out.channels == 2)
            SPECIALISE(in->channels, in->depth, join_alpha, gray, image_row(in, y), out, in->width);
        else if (!direct) /* rows of 16 bit may start at any byte */
            memcpy(out, gray, image_row_bytes(&call->out));
    }
}

static enum status edge_run(struct op_call *call) {
    const int64_t start = clock_ns();
    pool_run(call->pool, edge_band, call, edge_bands(call));
    timing_span(call->timing, "edge", 1, ns_to_ms(clock_ns() - start));
    return progress_check(call->progress);
}

const struct op op_edge = {
    .name = "edge",
    .title = "Find edges",
    .group = OP_DETAIL,
    .summary = "Sobel edges of the luma, brightened before, cut off after; alpha is kept",
    .params = params,
    .size = edge_size,
    .scratch = edge_scratch,
    .run = edge_run,
};
