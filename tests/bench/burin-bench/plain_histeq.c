// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/burin-bench/plain.h"

#include "pipeline/sample.h"

#include <string.h>

enum { BINS = 256 }; /* the default; so are channel=value and scale=minmax */

static uint32_t rounded_ratio(uint64_t value, uint64_t divisor) {
    return (uint32_t)((2 * value + divisor) / (2 * divisor));
}

/* The greatest colour of pixel X. */
static uint32_t value_at(const struct image *image, const uint8_t *row, size_t x) {
    uint32_t value = 0;
    for (unsigned c = 0; c < image_colours(image); c++) {
        const uint32_t sample = sample_get(row, x * image->channels + c, image->depth);
        if (sample > value) value = sample;
    }
    return value;
}

static size_t bin_of(const struct image *image, uint32_t value) {
    return (size_t)value * BINS / (image_max(image) + 1);
}

/* False where one bin holds all pixels: nothing is to be changed then. */
static bool find_levels(const struct image *image, uint32_t levels[BINS]) {
    const uint64_t pixels = image_pixels(image);
    uint64_t counts[BINS] = { 0 }, first = 0, sum = 0;
    for (uint32_t y = 0; y < image->height; y++)
        for (size_t x = 0; x < image->width; x++)
            counts[bin_of(image, value_at(image, image_row(image, y), x))]++;
    for (int bin = 0; bin < BINS; bin++) {
        sum += counts[bin];
        if (!first) first = sum;
        levels[bin] =
            sum > first ? rounded_ratio(image_max(image) * (sum - first), pixels - first) : 0;
    }
    return first < pixels;
}

static void map_pixel(const struct image *image, uint8_t *row, size_t x, const uint32_t *levels) {
    const uint32_t value = value_at(image, row, x), level = levels[bin_of(image, value)];
    for (unsigned c = 0; c < image_colours(image); c++) {
        const size_t at = x * image->channels + c;
        const uint64_t scaled = (uint64_t)sample_get(row, at, image->depth) * level;
        sample_put(row, at, image->depth, value ? rounded_ratio(scaled, value) : level);
    }
}

bool plain_histeq(const struct image *in, const struct image *out) {
    uint32_t levels[BINS];
    const bool changes = find_levels(in, levels);
    for (uint32_t y = 0; y < in->height; y++) {
        uint8_t *row = image_row(out, y);
        memcpy(row, image_row(in, y), image_row_bytes(in));
        for (size_t x = 0; changes && x < in->width; x++) map_pixel(in, row, x, levels);
    }
    return true;
}
