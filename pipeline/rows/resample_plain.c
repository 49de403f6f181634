// SPDX-License-Identifier: Apache-2.0
/* Plain C, which defines the result of every way. A cell is one pixel; rows lie in the ring
 * unchanged. */
#include "pipeline/rows/resample_way.h"

#include "pipeline/sample.h"

#include <string.h>

enum { CHUNK = 256 }; /* samples whose sums stay in the first-level cache */

#define INLINE static inline __attribute__((always_inline))

/* ---- along a row: CHANNELS and DEPTH are constants wherever this is called */

INLINE void across(const struct resample_layout *layout, const uint8_t *from, uint8_t *to,
                   unsigned channels, unsigned depth) {
    const struct resample_side *side = &layout->x;
    const uint32_t max = depth == 8 ? 255 : 65535, targets = layout->job->x.count;
    for (uint32_t i = 0; i < targets; i++) {
        const struct resample_window window = side->windows[i];
        const int32_t *weights = side->weights + i * side->pitch;
        const uint8_t *at = from + (size_t)window.first * channels * (depth / 8);
        int32_t low[4] = { 0 };
        int64_t sums[4] = { 0 };
        for (uint32_t k = 0; k < window.count; k++)
            for (unsigned c = 0; c < channels; c++) {
                const int32_t sample = (int32_t)sample_get(at, (size_t)k * channels + c, depth);
                if (depth == 8)
                    low[c] += weights[k] * sample;
                else
                    sums[c] += (int64_t)weights[k] * sample;
            }
        for (unsigned c = 0; c < channels; c++)
            sample_put(to, (size_t)i * channels + c, depth, resample_result(low[c] + sums[c], max));
    }
}

static void across_plain(const struct resample_layout *layout, const uint8_t *const from[],
                         uint8_t *workspace, uint8_t *ring) {
    (void)workspace;
    const struct resample *job = layout->job;
    if (!layout->x.windows)
        memcpy(ring, from[0], layout->samples * (job->depth / 8));
    else
        SPECIALISE(job->in.channels, job->depth, across, layout, from[0], ring);
}

/* ---- down the columns, a chunk at a time */

INLINE void add_row(int32_t *restrict sums, const uint8_t *restrict from, int32_t weight,
                    size_t samples) {
    for (size_t i = 0; i < samples; i++) sums[i] += weight * from[i];
}

INLINE void add_wide_row(int64_t *restrict sums, const uint8_t *restrict from, int32_t weight,
                         size_t samples) {
    for (size_t i = 0; i < samples; i++)
        sums[i] += (int64_t)weight * (int32_t)sample_get(from, i, 16);
}

INLINE void down(const struct resample_layout *layout, const uint8_t *ring, uint32_t first,
                 uint32_t y, size_t start, size_t samples, uint8_t *out, unsigned depth) {
    const int32_t *weights = layout->y.weights + y * layout->y.pitch;
    const uint32_t count = layout->y.windows[y].count, max = depth == 8 ? 255 : 65535;
    int32_t sums[CHUNK] = { 0 };
    int64_t wide[CHUNK] = { 0 };
    for (uint32_t k = 0, slot = first; k < count; k++) {
        const uint8_t *from = ring + slot * layout->ring_step + start * (depth / 8);
        if (depth == 8)
            add_row(sums, from, weights[k], samples);
        else
            add_wide_row(wide, from, weights[k], samples);
        slot = slot + 1 < layout->ring_cells ? slot + 1 : 0;
    }
    for (size_t i = 0; i < samples; i++)
        sample_put(out, start + i, depth, resample_result(sums[i] + wide[i], max));
}

static void down_plain(const struct resample_layout *layout, const uint8_t *ring, uint32_t first,
                       uint32_t row, uint32_t y, uint8_t *out) {
    (void)row;
    const unsigned depth = layout->job->depth;
    if (!layout->y.windows) {
        memcpy(out, ring + first * layout->ring_step, layout->samples * (depth / 8));
        return;
    }
    for (size_t start = 0; start < layout->samples; start += CHUNK) {
        const size_t left = layout->samples - start, samples = left < CHUNK ? left : CHUNK;
        if (depth == 8)
            down(layout, ring, first, y, start, samples, out, 8);
        else
            down(layout, ring, first, y, start, samples, out, 16);
    }
}

static size_t ring_step(const struct resample_layout *layout) {
    return layout->samples * (layout->job->depth / 8);
}

static size_t workspace(const struct resample_layout *layout) {
    (void)layout;
    return 0;
}

const struct resample_way resample_plain = {
    .rows = 1,
    .cell = 1,
    .cell_words = 1,
    .ring_step = ring_step,
    .workspace = workspace,
    .across = across_plain,
    .down = down_plain,
};
