// SPDX-License-Identifier: Apache-2.0
#include "pipeline/rows/histogram16.h"

#include "pipeline/sample.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { TABLES_MAX = 4 };

/* PIXELS, at most TABLES_MAX, a table each. CHANNELS and TABLES are constants where this is called.
 */
ALWAYS_INLINE void add_few(uint32_t *counts, uint32_t bins, const uint8_t *bytes, size_t pixels,
                           unsigned channels, unsigned tables) {
    const unsigned colours = channels < 3 ? 1 : 3;
    for (unsigned p = 0; p < pixels; p++)
        for (unsigned c = 0; c < colours; c++) {
            const uint32_t bin = sample_get(bytes, p * channels + c, 16) * bins >> 16;
            counts[(size_t)(p % tables * colours + c) * bins + bin]++;
        }
}

ALWAYS_INLINE void add_pixels(uint32_t *counts, uint32_t bins, const uint8_t *bytes, size_t pixels,
                              unsigned channels, unsigned tables) {
    size_t i = 0;
    for (; i + TABLES_MAX <= pixels; i += TABLES_MAX, bytes += TABLES_MAX * channels * 2)
        add_few(counts, bins, bytes, TABLES_MAX, channels, tables);
    add_few(counts, bins, bytes, pixels - i, channels, tables);
}

void histogram16_add(uint32_t *counts, uint32_t bins, const uint8_t *bytes, size_t pixels,
                     unsigned channels) {
    const unsigned several = histogram16_tables(bins) > 1;
    switch (2 * channels + several) {
    case 2: add_pixels(counts, bins, bytes, pixels, 1, 1); break;
    case 3: add_pixels(counts, bins, bytes, pixels, 1, TABLES_MAX); break;
    case 4: add_pixels(counts, bins, bytes, pixels, 2, 1); break;
    case 5: add_pixels(counts, bins, bytes, pixels, 2, TABLES_MAX); break;
    case 6: add_pixels(counts, bins, bytes, pixels, 3, 1); break;
    case 7: add_pixels(counts, bins, bytes, pixels, 3, TABLES_MAX); break;
    case 8: add_pixels(counts, bins, bytes, pixels, 4, 1); break;
    default: add_pixels(counts, bins, bytes, pixels, 4, TABLES_MAX); break;
    }
}
