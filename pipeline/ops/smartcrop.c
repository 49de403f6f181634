// SPDX-License-Identifier: Apache-2.0
/* How it works. smartcrop.h defines which part is kept. First, bands of rows compute the energy of
 * every pixel, in 16 bits. Then bands of upper edges are searched: each band keeps the weighed sums
 * of all columns within the rows of a part. To move down by one it adds a row below and subtracts
 * one above, and it slides along the sums for all parts of one height. A band begins by summing the
 * rows of a whole part, so there are no more bands than make that worthwhile. */
#include "pipeline/ops/smartcrop.h"

#include "pipeline/arena.h"
#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/ops/carve/luma_row.h"
#include "pipeline/ops/rectangle.h"

#include <string.h>

static const struct param params[] = {
    [SMARTCROP_WIDTH] = { .name = "width",
                          .summary = "Columns to keep; all if not given",
                          .unit = "pixels",
                          .type = PARAM_INT,
                          .share = SHARE_OF_WIDTH,
                          .min = 1,
                          .max = IMAGE_SIDE_MAX,
                          .example = 8 },
    [SMARTCROP_HEIGHT] = { .name = "height",
                           .summary = "Rows to keep; all if not given",
                           .unit = "pixels",
                           .type = PARAM_INT,
                           .share = SHARE_OF_HEIGHT,
                           .min = 1,
                           .max = IMAGE_SIDE_MAX,
                           .example = 6 },
    [SMARTCROP_BACKGROUND] = BACKGROUND_PARAM(BACKGROUND_LAID),
    { .name = NULL },
};

static enum status smartcrop_size(const struct params *values, const struct image *in,
                                  struct image *out, struct failure *failure) {
    if (image_pixels(in) > SMARTCROP_PIXELS_MAX)
        return fail(failure, STATUS_TOO_LARGE,
                    "smartcrop takes at most %d pixels, and the image is %u x %u",
                    SMARTCROP_PIXELS_MAX, in->width, in->height);
    return rectangle_size("smartcrop", values->number[SMARTCROP_WIDTH],
                          values->number[SMARTCROP_HEIGHT], in, out, failure);
}

enum { BANDS_MAX = 16 };

struct search {
    const struct op_call *call;
    int bands;
    uint16_t *energy; /* of all pixels, without gaps */
    struct background under;
    uint8_t *luma[BANDS_MAX];     /* two rows, each with a pixel behind its end */
    uint64_t *columns[BANDS_MAX]; /* weighed sums */
    struct smartcrop_part best[BANDS_MAX];
};

/* ---- memory */

static size_t lay_out(struct search *search, const struct image *in, void *memory) {
    struct arena arena = { .base = memory };
    search->energy = arena_take(&arena, image_pixels(in) * sizeof(uint16_t));
    for (int b = 0; b < BANDS_MAX; b++) {
        search->luma[b] = arena_take(&arena, 2 * ((size_t)in->width + 1));
        search->columns[b] = arena_take(&arena, in->width * sizeof(uint64_t));
    }
    return arena.used;
}

static size_t smartcrop_scratch(const struct op_call *call) {
    struct search search;
    return lay_out(&search, &call->in, NULL);
}

/* ---- energy */

static void fill_energy(const uint8_t *here, const uint8_t *below, uint16_t *restrict energy,
                        uint32_t width) {
    for (uint32_t x = 0; x < width; x++)
        energy[x] = (uint16_t)carve_gradient(here[x], here[x + 1], below[x], below[x + 1]);
}

static void energy_band(void *argument, int index) {
    const struct search *search = argument;
    const struct image *in = &search->call->in;
    const struct band band = band_of(in->height, index, search->bands);
    uint8_t *here = search->luma[index], *below = here + in->width + 1;
    carve_luma_padded(in, band.first, &search->under, here);
    for (uint32_t y = band.first; y < band.end && !progress_check(search->call->progress); y++) {
        if (y + 1 < in->height)
            carve_luma_padded(in, y + 1, &search->under, below);
        else
            memcpy(below, here, in->width + 1);
        fill_energy(here, below, search->energy + (size_t)y * in->width, in->width);
        uint8_t *spare = here;
        here = below, below = spare;
    }
}

/* ---- parts */

/* Adds row Y of the weighed energies to COLUMNS, or subtracts it. A product is below 2^25. */
static void add_row(const struct search *search, uint32_t y, uint64_t *restrict columns,
                    bool drop) {
    const struct image *in = &search->call->in;
    const uint16_t *energy = search->energy + (size_t)y * in->width;
    const uint32_t weight = smartcrop_weight(y, in->height, search->call->out.height);
    if (drop)
        for (uint32_t x = 0; x < in->width; x++) columns[x] -= weight * energy[x];
    else
        for (uint32_t x = 0; x < in->width; x++) columns[x] += weight * energy[x];
}

static void look_along(const struct search *search, uint32_t top, const uint64_t *columns,
                       struct smartcrop_part *best) {
    const struct image *in = &search->call->in, *out = &search->call->out;
    const uint32_t width = in->width, count = out->width;
    struct smartcrop_part part = { .sum = 0, .top = top };
    for (uint32_t x = 0; x < width; x++) {
        part.sum += columns[x] * smartcrop_weight(x, width, count);
        if (x + 1 < count) continue;
        part.left = x + 1 - count;
        part.apart = smartcrop_apart(part.left, top, width - count, in->height - out->height);
        if (smartcrop_better(&part, best)) *best = part;
        part.sum -= columns[part.left] * smartcrop_weight(part.left, width, count);
    }
}

static void part_band(void *argument, int index) {
    struct search *search = argument;
    const uint32_t rows = search->call->out.height;
    const struct band band = band_of(search->call->in.height - rows + 1, index, search->bands);
    uint64_t *columns = search->columns[index];
    struct smartcrop_part best = { .sum = 0, .apart = UINT32_MAX };
    memset(columns, 0, search->call->in.width * sizeof *columns);
    for (uint32_t y = band.first; y < band.first + rows; y++) add_row(search, y, columns, false);
    for (uint32_t top = band.first; top < band.end; top++) {
        if (progress_check(search->call->progress)) break;
        if (top > band.first) {
            add_row(search, top - 1, columns, true);
            add_row(search, top + rows - 1, columns, false);
        }
        look_along(search, top, columns, &best);
    }
    search->best[index] = best;
}

static enum status search_best(const struct op_call *call, struct smartcrop_part *best) {
    struct search search = { .call = call };
    const uint32_t tops = call->in.height - call->out.height + 1;
    const uint32_t worth = 1 + tops / call->out.height;
    const int threads = pool_threads(call->pool);
    lay_out(&search, &call->in, call->scratch);
    search.under = background_of(call->params->number[SMARTCROP_BACKGROUND], call->in.channels,
                                 call->in.depth);
    search.bands = band_count(call->in.height, threads, BANDS_MAX);
    pool_run(call->pool, energy_band, &search, search.bands);
    search.bands = band_count(tops < worth ? tops : worth, threads, BANDS_MAX);
    pool_run(call->pool, part_band, &search, search.bands);
    *best = search.best[0];
    for (int b = 1; b < search.bands; b++)
        if (smartcrop_better(&search.best[b], best)) *best = search.best[b];
    return progress_check(call->progress);
}

/* ---- run */

static enum status smartcrop_run(struct op_call *call) {
    struct smartcrop_part best;
    const enum status status = search_best(call, &best);
    return status ? status : rectangle_copy(call, (struct rectangle){ best.left, best.top });
}

const struct op op_smartcrop = {
    .name = "smartcrop",
    .title = "Smart crop",
    .group = OP_SIZE,
    .summary = "The part of the image with the most detail near its middle",
    .params = params,
    .size = smartcrop_size,
    .scratch = smartcrop_scratch,
    .run = smartcrop_run,
};
