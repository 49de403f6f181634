// SPDX-License-Identifier: Apache-2.0
/* How it works. A byte histogram is bound by a store that the next load of the same counter must
 * wait for, so successive bytes go to eight tables; equal neighbours then never meet. V of RGB is
 * found 32 pixels at a time, and counted a few blocks behind. */
#include "pipeline/rows/histogram.h"

#include "pipeline/rows/rgb_pairs.h"

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

static void add_values_plain(struct histogram *histogram, const uint8_t *rgb, size_t pixels) {
    for (size_t i = 0; i < 3 * pixels; i += 3)
        histogram->table[0][max3(rgb[i], rgb[i + 1], rgb[i + 2])]++;
}

#ifdef __x86_64__
/* Counts run LAG blocks behind the vectors, and beside them. The order of pixels is no matter. */
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
