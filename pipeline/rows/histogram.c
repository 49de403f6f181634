// SPDX-License-Identifier: Apache-2.0
/* How it works. A byte histogram is limited by stores for which the next load of the same counter
 * must wait, so successive bytes go to eight tables: equal neighbours never meet. V of RGB is found
 * 32 pixels at a time and counted a few blocks later. */
#include "pipeline/rows/histogram.h"

#include "pipeline/rows/rgb_pairs.h"
#include "pipeline/sample.h"

#include <string.h>

void histogram_counts(const struct histogram *histogram, uint32_t counts[256]) {
    memset(counts, 0, 256 * sizeof *counts);
    for (int k = 0; k < 8; k++)
        for (int v = 0; v < 256; v++) counts[v] += histogram->table[k][v];
}

static inline void add_16(struct histogram *histogram, const uint8_t bytes[16]) {
    uint64_t a, b;
    memcpy(&a, bytes, 8);
    memcpy(&b, bytes + 8, 8);
    for (int k = 0; k < 8; k++) {
        histogram->table[k][(a >> (8 * k)) & 255]++;
        histogram->table[k][(b >> (8 * k)) & 255]++;
    }
}

static void add_plain(struct histogram *histogram, const uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) histogram->table[0][bytes[i]]++;
}

static void add_fast(struct histogram *histogram, const uint8_t *bytes, size_t length) {
    size_t i = 0;
    for (; i + 16 <= length; i += 16) add_16(histogram, bytes + i);
    add_plain(histogram, bytes + i, length - i);
}

void histogram_add(struct histogram *histogram, const uint8_t *bytes, size_t length) {
    (simd_allowed() ? add_fast : add_plain)(histogram, bytes, length);
}

/* Counts PIXELS one by one, eight neighbours in different tables. CHANNELS is a compile-time
 * constant. */
static inline void add_pixels(struct histogram *histograms, const uint8_t *bytes, size_t pixels,
                              unsigned channels) {
    const unsigned colours = channels < 3 ? 1 : 3;
    size_t i = 0;
    for (; i + 8 <= pixels; i += 8, bytes += 8 * channels)
        for (unsigned p = 0; p < 8; p++)
            for (unsigned c = 0; c < colours; c++)
                histograms[c].table[p][bytes[p * channels + c]] +=
                    sample_visible(bytes, p * channels, channels, 8);
    for (; i < pixels; i++, bytes += channels)
        for (unsigned c = 0; c < colours; c++)
            histograms[c].table[0][bytes[c]] += sample_visible(bytes, 0, channels, 8);
}

void histogram_add_channels(struct histogram *histograms, const uint8_t *bytes, size_t pixels,
                            unsigned channels) {
    switch (channels) {
    case 1: histogram_add(histograms, bytes, pixels); break;
    case 2: add_pixels(histograms, bytes, pixels, 2); break;
    case 3: add_pixels(histograms, bytes, pixels, 3); break;
    default: add_pixels(histograms, bytes, pixels, 4); break;
    }
}

static void add_values_plain(struct histogram *histogram, const uint8_t *rgb, size_t pixels) {
    for (size_t i = 0; i < 3 * pixels; i += 3)
        histogram->table[0][max3(rgb[i], rgb[i + 1], rgb[i + 2])]++;
}

#ifdef __x86_64__
/* Counting runs LAG blocks behind the vectors, interleaved with them. The order of pixels does not
 * matter. */
AVX2 static void add_values_avx2(struct histogram *histogram, const uint8_t *rgb, size_t pixels) {
    uint8_t values[BLOCKS][32];
    const size_t blocks = pixels / 32, done = 32 * blocks;
    for (size_t i = 0; blocks && i < blocks + LAG; i++) {
        if (i < blocks) {
            prefetch_block(rgb + 96 * i);
            _mm256_storeu_si256((__m256i *)values[i % BLOCKS],
                                pairs_value(pairs_load(rgb + 96 * i)));
        }
        for (int half = 0; i - LAG < blocks && half < 32; half += 16)
            add_16(histogram, values[(i - LAG) % BLOCKS] + half);
    }
    add_values_plain(histogram, rgb + 3 * done, pixels - done);
}
#else
#define add_values_avx2 add_values_plain
#endif

void histogram_add_values(struct histogram *histogram, const uint8_t *rgb, size_t pixels) {
    (simd_has_avx2() ? add_values_avx2 : add_values_plain)(histogram, rgb, pixels);
}

/* ---- 16 bits */

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { TABLES_MAX = 4 };

/* Counts PIXELS, at most TABLES_MAX, each in a table of its own. CHANNELS and TABLES are
 * compile-time constants. */
ALWAYS_INLINE void add_few16(uint32_t *counts, uint32_t bins, const uint8_t *bytes, size_t pixels,
                             unsigned channels, unsigned tables) {
    const unsigned colours = channels < 3 ? 1 : 3;
    for (unsigned p = 0; p < pixels; p++)
        for (unsigned c = 0; c < colours; c++) {
            const uint32_t bin = sample_get(bytes, p * channels + c, 16) * bins >> 16;
            counts[(size_t)(p % tables * colours + c) * bins + bin] +=
                sample_visible(bytes, p * channels, channels, 16);
        }
}

ALWAYS_INLINE void add_pixels16(uint32_t *counts, uint32_t bins, const uint8_t *bytes,
                                size_t pixels, unsigned channels, unsigned tables) {
    size_t i = 0;
    for (; i + TABLES_MAX <= pixels; i += TABLES_MAX, bytes += TABLES_MAX * channels * 2)
        add_few16(counts, bins, bytes, TABLES_MAX, channels, tables);
    add_few16(counts, bins, bytes, pixels - i, channels, tables);
}

void histogram16_add(uint32_t *counts, uint32_t bins, const uint8_t *bytes, size_t pixels,
                     unsigned channels) {
    const unsigned several = histogram16_tables(bins) > 1;
    switch (2 * channels + several) {
    case 2: add_pixels16(counts, bins, bytes, pixels, 1, 1); break;
    case 3: add_pixels16(counts, bins, bytes, pixels, 1, TABLES_MAX); break;
    case 4: add_pixels16(counts, bins, bytes, pixels, 2, 1); break;
    case 5: add_pixels16(counts, bins, bytes, pixels, 2, TABLES_MAX); break;
    case 6: add_pixels16(counts, bins, bytes, pixels, 3, 1); break;
    case 7: add_pixels16(counts, bins, bytes, pixels, 3, TABLES_MAX); break;
    case 8: add_pixels16(counts, bins, bytes, pixels, 4, 1); break;
    default: add_pixels16(counts, bins, bytes, pixels, 4, TABLES_MAX); break;
    }
}
