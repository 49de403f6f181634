// SPDX-License-Identifier: Apache-2.0
/* Plain C for pixels with alpha: resample_alpha.h as it stands, for either depth. A cell is one
 * pixel; the ring has 64 bits for each sample, whose products are an instruction of AVX-512. */
#include "pipeline/rows/resample_way.h"

#include "pipeline/rows/resample_alpha.h"
#include "pipeline/rows/simd.h"
#include "pipeline/sample.h"

enum { CHUNK = 256 }; /* samples whose sums stay in the first-level cache */

#define INLINE static inline __attribute__((always_inline))

static const int32_t whole = 1 << RESAMPLE_BITS;

/* CHANNELS and DEPTH are constants wherever these are called. */

INLINE void count_row(const uint8_t *from, int32_t *counts, size_t pixels, unsigned channels,
                      unsigned depth) {
    for (size_t i = 0; i < pixels * channels; i += channels) {
        const uint32_t alpha = sample_get(from, i + channels - 1, depth);
        for (unsigned c = 0; c < channels - 1; c++)
            counts[i + c] = resample_count(sample_get(from, i + c, depth), alpha, depth);
        counts[i + channels - 1] = resample_count_alpha(alpha, depth);
    }
}

INLINE void sum_row(const struct resample_layout *layout, const int32_t *counts, int64_t *to,
                    unsigned channels) {
    const struct resample_side *side = &layout->x;
    for (uint32_t i = 0; i < layout->job->x.count; i++, to += channels) {
        const struct resample_window window =
            side->windows ? side->windows[i] : (struct resample_window){ i, 1 };
        const int32_t *weights = side->windows ? side->weights + i * side->pitch : &whole;
        const int32_t *at = counts + (size_t)window.first * channels;
        int64_t sums[4] = { 0 };
        for (uint32_t k = 0; k < window.count; k++, at += channels)
            for (unsigned c = 0; c < channels; c++) sums[c] += (int64_t)weights[k] * at[c];
        for (unsigned c = 0; c < channels; c++) to[c] = resample_across(sums[c]);
    }
}

INLINE void across(const struct resample_layout *layout, const uint8_t *from, int32_t *counts,
                   int64_t *to, unsigned channels, unsigned depth) {
    count_row(from, counts, layout->columns.count, channels, depth);
    sum_row(layout, counts, to, channels);
}

/* Finishes the pixels of SAMPLES sums. */
INLINE void divide(const int64_t *sums, size_t samples, uint8_t *out, size_t start,
                   unsigned channels, unsigned depth) {
    for (size_t i = 0; i < samples; i += channels) {
        const int64_t a = resample_down(sums[i + channels - 1]);
        for (unsigned c = 0; c < channels - 1; c++)
            sample_put(out, start + i + c, depth,
                       resample_colour(resample_down(sums[i + c]), a, depth));
        sample_put(out, start + i + channels - 1, depth, resample_alpha(a, depth));
    }
}

INLINE void add_row(int64_t *restrict sums, const int64_t *restrict from, int64_t weight,
                    size_t samples) {
    for (size_t i = 0; i < samples; i++) sums[i] += weight * from[i];
}

INLINE void down_alpha(const struct resample_layout *layout, const uint8_t *ring, uint32_t first,
                       uint32_t row, uint32_t y, uint8_t *out) {
    (void)row;
    const struct resample_side *side = &layout->y;
    const uint32_t count = side->windows ? side->windows[y].count : 1;
    const int32_t *weights = side->windows ? side->weights + y * side->pitch : &whole;
    for (size_t start = 0; start < layout->samples; start += CHUNK) {
        const size_t left = layout->samples - start, samples = left < CHUNK ? left : CHUNK;
        int64_t sums[CHUNK] = { 0 };
        for (uint32_t k = 0, slot = first; k < count; k++) {
            add_row(sums, (const int64_t *)(ring + slot * layout->ring_step) + start, weights[k],
                    samples);
            slot = slot + 1 < layout->ring_cells ? slot + 1 : 0;
        }
        SPECIALISE_ALPHA(layout->job->in.channels, layout->job->depth, divide, sums, samples, out,
                         start);
    }
}

INLINE void across_alpha(const struct resample_layout *layout, const uint8_t *const from[],
                         uint8_t *workspace, uint8_t *ring) {
    SPECIALISE_ALPHA(layout->job->in.channels, layout->job->depth, across, layout, from[0],
                     (int32_t *)workspace, (int64_t *)ring);
}

static size_t ring_step(const struct resample_layout *layout) {
    return layout->samples * sizeof(int64_t);
}

static size_t workspace(const struct resample_layout *layout) {
    return (size_t)layout->columns.count * layout->job->in.channels * sizeof(int32_t);
}

/* A way by the compiler for TARGET. */
#define ALPHA_WAY(name, target)                                                                    \
    target static void across_##name(const struct resample_layout *layout,                         \
                                     const uint8_t *const from[], uint8_t *workspace,              \
                                     uint8_t *ring) {                                              \
        across_alpha(layout, from, workspace, ring);                                               \
    }                                                                                              \
    target static void down_##name(const struct resample_layout *layout, const uint8_t *ring,      \
                                   uint32_t first, uint32_t row, uint32_t y, uint8_t *out) {       \
        down_alpha(layout, ring, first, row, y, out);                                              \
    }                                                                                              \
    const struct resample_way resample_alpha_##name = { .rows = 1,                                 \
                                                        .cell = 1,                                 \
                                                        .cell_words = 1,                           \
                                                        .ring_step = ring_step,                    \
                                                        .workspace = workspace,                    \
                                                        .across = across_##name,                   \
                                                        .down = down_##name }

ALPHA_WAY(plain, );
#ifdef __x86_64__
ALPHA_WAY(wide, AVX512_VNNI);
#endif
