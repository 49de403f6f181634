// SPDX-License-Identifier: Apache-2.0
/* table.cuh - the weights of one axis as kernels read them: made by the host, kept by
 * device_tables.cuh.
 *
 * Used by:  group.cuh, which asks for them; across.cuh and down.cuh, which read them.
 * Limits:   those of resample_weights.h.
 *
 * How it works. Four neighbouring samples are one word, multiplied by four weights at once (dp4a),
 * which takes signed bytes: a weight is d2 * 2^16 + d1 * 2^8 + d0, each -128..127, as |weight| <=
 * 2^22. So a target pixel has an entry for each word that its window touches: x, y and z are its
 * four weights' d0, d1 and d2, weights outside the window being 0; w says which words these are
 * (table_first, table_words). Each target has room for equally many entries. An axis that keeps
 * its size is one more table: windows of one pixel that weighs 2^22, which leaves every sample as
 * it is.
 */
#ifndef BURIN_RESIZE_TABLE_CUH
#define BURIN_RESIZE_TABLE_CUH

#include "cuda/device_tables.cuh"
#include "pipeline/rows/resample_weights.h"

#include <stdlib.h>

/* Of an entry's w: the number of the target's first word, and how many it has. */
static __host__ __device__ inline uint32_t table_first(uint32_t w) {
    return w & 0xffff;
}

static __host__ __device__ inline uint32_t table_words(uint32_t w) {
    return w >> 16;
}

/* Words that a window of TAPS pixels touches at most. */
static inline uint32_t table_words_max(uint32_t taps) {
    return (taps + 3 + 3) / 4;
}

/* An axis that keeps its size, as one that is resampled. */
static inline struct resample_axis table_axis(const struct resample_axis *axis) {
    struct resample_axis changed = *axis;
    if (!resample_changes(axis)) changed.kernel = RESAMPLE_BOX;
    return changed;
}

static inline size_t table_bytes(const struct resample_axis *axis) {
    const struct resample_axis changed = table_axis(axis);
    return (size_t)axis->count * table_words_max(resample_pitch(&changed)) * sizeof(uint4);
}

static inline struct device_table_key table_key(const struct resample_axis *axis) {
    const struct resample_axis changed = table_axis(axis);
    return { { changed.from, changed.to, changed.first, changed.count, (uint32_t)changed.kernel } };
}

/* The three signed bytes of a weight, the lowest first. */
static inline uint32_t table_digits(int32_t weight) {
    return ((uint32_t)weight + 0x808080u) ^ 0x808080u;
}

static inline uint32_t table_words_of(const struct resample_window *window) {
    return (window->first % 4 + window->count + 3) / 4;
}

/* The entries of one target. */
static inline void table_fill(uint4 *entries, const struct resample_window *window,
                              const int32_t *weights) {
    const uint32_t skipped = window->first % 4, words = table_words_of(window);
    for (uint32_t k = 0; k < words; k++) {
        uint32_t digits[3] = {};
        for (uint32_t b = 0; b < 4; b++) {
            const uint32_t place = 4 * k + b;
            if (place < skipped || place - skipped >= window->count) continue;
            const uint32_t all = table_digits(weights[place - skipped]);
            for (int d = 0; d < 3; d++) digits[d] |= (all >> 8 * d & 255) << 8 * b;
        }
        entries[k] = make_uint4(digits[0], digits[1], digits[2], words << 16 | window->first / 4);
    }
}

/* A device_table_make; returns how many entries each target has room for. */
static uint32_t table_make(const struct device_table_key *key, void *memory) {
    const uint32_t *const n = key->numbers;
    const struct resample_axis axis = { n[0], n[1], n[2], n[3], (enum resample_kernel)n[4] };
    void *const room = malloc(resample_weights_bytes(&axis));
    if (!room) return 0;
    const struct resample_weights made = resample_weights_make(room, &axis);
    uint32_t words = 1;
    for (uint32_t i = 0; i < made.count; i++) {
        const uint32_t own = table_words_of(&made.windows[i]);
        words = own > words ? own : words;
    }
    for (uint32_t i = 0; i < made.count; i++)
        table_fill((uint4 *)memory + (size_t)i * words, &made.windows[i],
                   made.weights + (size_t)i * made.pitch);
    free(room);
    return words;
}

#endif
