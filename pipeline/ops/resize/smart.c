// SPDX-License-Identifier: Apache-2.0
/* How it works. Each band of rows keeps the luma of two rows and adds the energies up as it goes
 * down. Sums of columns go into a row of the band's own; the bands' rows are added at the end. */
#include "pipeline/ops/resize/smart.h"

#include "pipeline/arena.h"
#include "pipeline/band.h"
#include "pipeline/ops/carve/luma_row.h"
#include "pipeline/rows/simd.h"

#include <string.h>

enum { BANDS_MAX = 16 };

#define INLINE static inline __attribute__((always_inline))

struct smart {
    struct image picture;
    struct background under;
    bool columns;
    int bands;
    uint32_t *sums;      /* for each column of each band, or for each row */
    uint8_t *luma;       /* two rows for each band, each with one more pixel */
    size_t sums_of_band; /* 0 for sums of rows */
    struct progress *progress;
};

/* ---- the window */

uint32_t smart_window(const uint32_t *sums, uint32_t n, uint32_t count) {
    const uint32_t slack = n - count;
    uint64_t sum = 0, best_sum = 0;
    uint32_t best = 0, best_apart = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        sum += (uint64_t)sums[i] * (i + 1 < n - i ? i + 1 : n - i);
        if (i + 1 < count) continue;
        const uint32_t first = i + 1 - count;
        const uint32_t apart =
            carve_apart(2 * first, slack); /* twice its distance from the middle */
        if (best_apart == UINT32_MAX || sum > best_sum || (sum == best_sum && apart < best_apart))
            best = first, best_sum = sum, best_apart = apart;
        sum -= (uint64_t)sums[first] * (first + 1 < n - first ? first + 1 : n - first);
    }
    return best;
}

/* ---- sums */

INLINE void add_to_columns(const uint8_t *here, const uint8_t *below, uint32_t width,
                           uint32_t *restrict sums) {
    for (uint32_t x = 0; x < width; x++)
        sums[x] += carve_gradient(here[x], here[x + 1], below[x], below[x + 1]);
}

INLINE uint32_t row_sum(const uint8_t *here, const uint8_t *below, uint32_t width) {
    uint32_t sum = 0;
    for (uint32_t x = 0; x < width; x++)
        sum += carve_gradient(here[x], here[x + 1], below[x], below[x + 1]);
    return sum;
}

/* SUMS has the columns' sums, or receives the row's. */
INLINE void add_row(const uint8_t *here, const uint8_t *below, uint32_t width, bool columns,
                    uint32_t *sums) {
    if (columns)
        add_to_columns(here, below, width, sums);
    else
        *sums = row_sum(here, below, width);
}

static void add_row_plain(const uint8_t *here, const uint8_t *below, uint32_t width, bool columns,
                          uint32_t *sums) {
    add_row(here, below, width, columns, sums);
}

#ifdef __x86_64__
AVX2 static void add_row_avx2(const uint8_t *here, const uint8_t *below, uint32_t width,
                              bool columns, uint32_t *sums) {
    add_row(here, below, width, columns, sums);
}
#else
#define add_row_avx2 add_row_plain
#endif

static void sum_band(void *argument, int index) {
    const struct smart *smart = argument;
    const uint32_t width = smart->picture.width, height = smart->picture.height;
    const struct band band = band_of(height, index, smart->bands);
    uint8_t *here = smart->luma + (size_t)index * 2 * (width + 1), *below = here + width + 1;
    uint32_t *sums = smart->sums + (size_t)index * smart->sums_of_band;
    if (smart->columns) memset(sums, 0, width * sizeof *sums);
    carve_luma_padded(&smart->picture, band.first, &smart->under, here);
    for (uint32_t y = band.first; y < band.end && !progress_check(smart->progress); y++) {
        if (y + 1 < height)
            carve_luma_padded(&smart->picture, y + 1, &smart->under, below);
        else
            memcpy(below, here, width + 1);
        (simd_has_avx2() ? add_row_avx2 : add_row_plain)(here, below, width, smart->columns,
                                                         smart->columns ? sums : sums + y);
        uint8_t *spare = here;
        here = below, below = spare;
    }
}

/* ---- all of it */

static size_t lay(struct smart *smart, const struct image *picture, bool columns, int bands,
                  void *memory) {
    struct arena arena = { .base = memory };
    *smart = (struct smart){ .picture = *picture, .columns = columns, .bands = bands };
    smart->sums_of_band = columns ? picture->width : 0;
    const size_t sums = columns ? (size_t)bands * picture->width : picture->height;
    smart->sums = arena_take(&arena, sums * sizeof *smart->sums);
    smart->luma = arena_take(&arena, (size_t)bands * 2 * (picture->width + 1));
    return arena.used;
}

size_t smart_bytes(const struct image *picture, bool columns) {
    struct smart smart;
    return lay(&smart, picture, columns, BANDS_MAX, NULL);
}

enum status smart_find(const struct image *picture, long background, bool columns, uint32_t count,
                       void *scratch, struct pool *pool, struct progress *progress,
                       uint32_t *first) {
    struct smart smart;
    lay(&smart, picture, columns, band_count(picture->height, pool_threads(pool), BANDS_MAX),
        scratch);
    smart.under = background_of(background, picture->channels, picture->depth);
    smart.progress = progress;
    pool_run(pool, sum_band, &smart, smart.bands);
    const enum status status = progress_check(progress);
    if (status) return status; /* then sums are incomplete */
    for (int b = 1; columns && b < smart.bands; b++)
        for (uint32_t x = 0; x < picture->width; x++)
            smart.sums[x] += smart.sums[(size_t)b * smart.sums_of_band + x];
    *first = smart_window(smart.sums, columns ? picture->width : picture->height, count);
    return STATUS_OK;
}
