// SPDX-License-Identifier: Apache-2.0
/* How it works. Rows are looked at from the top and from the bottom until one is not border alone;
 * then the rows between, from both ends, up to the columns that are known to be kept. So the time
 * depends on the border. Samples are compared in blocks of BLOCK pixels, which the compiler does
 * with vectors, and pixel by pixel only in a block that is not the border's colour throughout. */
#include "pipeline/ops/find_trim.h"

#include "pipeline/cut.h"
#include "pipeline/sample.h"

static const struct param params[] = TRIM_PARAMS;

static const char *const sides[CUT_SIDES] = { "left", "top", "right", "bottom" };

enum { BLOCK = 64 };

/* The border's range for each sample of a block. */
struct search {
    const struct image *in;
    struct trim_border border;
    uint8_t low8[4 * BLOCK], span8[4 * BLOCK];
    uint16_t low16[4 * BLOCK], span16[4 * BLOCK];
};

static struct values_shape find_trim_values(const struct op *op, const struct params *values,
                                            const struct image *in) {
    (void)op, (void)values, (void)in;
    return (struct values_shape){ VALUE_UINT32, 1, CUT_SIDES, true, 0 };
}

static void begin(struct search *search, const struct op_call *call) {
    const struct image *in = &call->in;
    uint32_t first[4] = { 0 };
    for (unsigned c = 0; c < in->channels; c++) first[c] = sample_get(in->pixels, c, in->depth);
    search->in = in;
    search->border =
        trim_border_of(call->params->number[TRIM_COLOR], call->params->number[TRIM_TOLERANCE],
                       first, in->channels, in->depth);
    for (unsigned i = 0; i < BLOCK * (unsigned)in->channels; i++) {
        const unsigned c = i % in->channels;
        search->low8[i] = (uint8_t)search->border.low[c];
        search->span8[i] = (uint8_t)search->border.span[c];
        search->low16[i] = (uint16_t)search->border.low[c];
        search->span16[i] = (uint16_t)search->border.span[c];
    }
}

/* ---- a row: pixels FROM to END - 1 */

/* Whether the COUNT samples at SAMPLES, the first of a pixel, are all in the border's range. */
static inline bool is_within(const struct search *search, const uint8_t *samples, uint32_t count,
                             unsigned depth) {
    uint32_t beyond = search->border.none;
    for (uint32_t i = 0; depth == 8 && i < count; i++)
        beyond |= (uint8_t)(samples[i] - search->low8[i]) > search->span8[i];
    for (uint32_t i = 0; depth == 16 && i < count; i++)
        beyond |= (uint16_t)(sample_get(samples, i, 16) - search->low16[i]) > search->span16[i];
    return !beyond;
}

static inline bool is_border(const struct search *search, const uint8_t *row, size_t x,
                             unsigned channels, unsigned depth) {
    uint32_t samples[4];
    for (unsigned c = 0; c < channels; c++) samples[c] = sample_get(row, x * channels + c, depth);
    return trim_is_border(&search->border, samples, channels);
}

/* Sets *FOUND to the first pixel that is not border, or END. */
static inline void find_first(const struct search *search, const uint8_t *row, uint32_t from,
                              uint32_t end, uint32_t *found, unsigned channels, unsigned depth) {
    for (uint32_t x = from; x < end; x += BLOCK) {
        const uint32_t pixels = end - x < BLOCK ? end - x : BLOCK;
        const uint8_t *samples = row + (size_t)x * channels * (depth / 8);
        if (is_within(search, samples, pixels * channels, depth)) continue;
        for (uint32_t i = x; i < x + pixels; i++)
            if (!is_border(search, row, i, channels, depth)) {
                *found = i;
                return;
            }
    }
    *found = end;
}

/* Sets *FOUND to the pixel behind the last one that is not border, or FROM. */
static inline void find_last(const struct search *search, const uint8_t *row, uint32_t from,
                             uint32_t end, uint32_t *found, unsigned channels, unsigned depth) {
    while (end > from) {
        const uint32_t pixels = end - from < BLOCK ? end - from : BLOCK, x = end - pixels;
        const uint8_t *samples = row + (size_t)x * channels * (depth / 8);
        const bool within = is_within(search, samples, pixels * channels, depth);
        for (; !within && end > x; end--)
            if (!is_border(search, row, end - 1, channels, depth)) {
                *found = end;
                return;
            }
        end = x;
    }
    *found = from;
}

static uint32_t first_of(const struct search *search, uint32_t y, uint32_t from, uint32_t end) {
    const struct image *in = search->in;
    uint32_t found = end;
    SPECIALISE(in->channels, in->depth, find_first, search, image_row(in, y), from, end, &found);
    return found;
}

static uint32_t last_of(const struct search *search, uint32_t y, uint32_t from, uint32_t end) {
    const struct image *in = search->in;
    uint32_t found = from;
    SPECIALISE(in->channels, in->depth, find_last, search, image_row(in, y), from, end, &found);
    return found;
}

/* ---- all rows */

static enum status find_trim_run(struct op_call *call) {
    const struct image *in = &call->in;
    struct search search;
    uint32_t top = 0, end = in->height, left = in->width, right = 0;
    begin(&search, call);
    const uint32_t width = in->width;
    while (top < end && first_of(&search, top, 0, width) == width &&
           !progress_check(call->progress))
        top++;
    while (top < end && first_of(&search, end - 1, 0, width) == width &&
           !progress_check(call->progress))
        end--;
    for (uint32_t y = top; y < end && !progress_check(call->progress); y++) {
        if (!left && right == width) break;
        left = first_of(&search, y, 0, left);
        right = last_of(&search, y, right, width);
    }
    *(struct cut *)call->values = (struct cut){ left, top, width - right, in->height - end };
    if (!right) *(struct cut *)call->values = (struct cut){ width, in->height, 0, 0 };
    return progress_check(call->progress);
}

const struct op op_find_trim = {
    .name = "find_trim",
    .title = "Find the border",
    .group = OP_VALUES,
    .summary = "The columns and rows that trim would cut off; passes the image on",
    .params = params,
    .values = find_trim_values,
    .value_names = sides,
    .run = find_trim_run,
};
