// SPDX-License-Identifier: Apache-2.0
/* table.cuh - the weights of one axis as kernels read them: made by the host, kept by
 * device_tables.cuh.
 *
 * Used by:  group.cuh, which requests them; across.cuh and down.cuh, which read them.
 * Limits:   those of resample_weights.h.
 *
 * How it works. Eight neighbouring targets are a group. Four neighbouring samples are a word; a
 * group's words are all that its targets' windows touch, from `first` on, and are multiplied
 * MATRIX_WORDS at a time, a step. Tensor cores take signed bytes: a weight is d2 * 2^16 + d1 * 2^8
 * + d0, each -128..127, as |weight| <= 2^22. So a step has three pieces of 32 pairs of words, one
 * for each digit, a pair for each lane as matrix.cuh takes it: the weights, for target lane / 4, of
 * the step's words lane % 4 and lane % 4 + 4. Weights outside a target's window are 0, for any
 * sample, even after the group's last word, where there may be no samples. Each group keeps its own
 * weights, though many are equal: shared ones are slower, since all multiprocessors then read the
 * same few lines of the L2 cache at once.
 *
 * An axis that keeps its size has a table too: windows of one pixel with weight 2^22, which leaves
 * every sample unchanged.
 */
#ifndef BURIN_RESIZE_TABLE_CUH
#define BURIN_RESIZE_TABLE_CUH

#include "cuda/device_tables.cuh"
#include "cuda/ops/resize/matrix.cuh"
#include "pipeline/rows/resample_weights.h"

#include <stdlib.h>

enum { TABLE_GROUP = MATRIX_COLUMNS, TABLE_STEP_PAIRS = 3 * 32 };

struct alignas(16) table_group {
    uint32_t first, words;
    uint32_t offset; /* of its first step, in bytes from here */
};

static __host__ __device__ inline uint32_t table_groups(uint32_t targets) {
    return (targets + TABLE_GROUP - 1) / TABLE_GROUP;
}

static __host__ __device__ inline uint32_t table_steps(uint32_t words) {
    return (words + MATRIX_WORDS - 1) / MATRIX_WORDS;
}

/* The lane's pair of a group's first step and digit; that of the next digit is 32 further. */
static __device__ __forceinline__ const uint2 *table_pairs(const struct table_group *group,
                                                           const struct table_group &own) {
    return (const uint2 *)((const uint8_t *)group + own.offset) + threadIdx.x % 32;
}

static __device__ __forceinline__ struct table_group table_load(const struct table_group *group) {
    const uint4 words = __ldg((const uint4 *)group);
    return { words.x, words.y, words.z };
}

/* ---- the host's side */

/* An axis that keeps its size, as one that is resampled. */
static inline struct resample_axis table_axis(const struct resample_axis *axis) {
    struct resample_axis changed = *axis;
    if (!resample_changes(axis)) changed.kernel = RESAMPLE_BOX;
    return changed;
}

/* Words of the longest group, or some more. */
static inline uint32_t table_words_most(const struct resample_axis *axis) {
    const struct resample_axis changed = table_axis(axis);
    const uint64_t apart = (uint64_t)(TABLE_GROUP - 1) * axis->from / axis->to + 2;
    const uint64_t pixels = apart + resample_pitch(&changed);
    return (uint32_t)((pixels < axis->from ? pixels : axis->from) + 3 + 3) / 4;
}

static inline size_t table_bytes(const struct resample_axis *axis) {
    return table_groups(axis->count) *
           (sizeof(struct table_group) +
            table_steps(table_words_most(axis)) * TABLE_STEP_PAIRS * sizeof(uint2));
}

static inline struct device_table_key table_key(const struct resample_axis *axis) {
    const struct resample_axis changed = table_axis(axis);
    return { { changed.from, changed.to, changed.first, changed.count, (uint32_t)changed.kernel } };
}

/* The three signed bytes of a weight, the lowest first. */
static inline uint32_t table_digits(int32_t weight) {
    return ((uint32_t)weight + 0x808080u) ^ 0x808080u;
}

/* The weights of target I for the four samples of WORD. */
static inline void table_word(const struct resample_weights *made, uint32_t i, uint32_t word,
                              uint32_t digits[3]) {
    digits[0] = digits[1] = digits[2] = 0;
    if (i >= made->count) return;
    for (uint32_t b = 0; b < 4; b++) {
        const uint32_t place = 4 * word + b - made->windows[i].first;
        if (place >= made->windows[i].count) continue;
        const uint32_t all = table_digits(made->weights[(size_t)i * made->pitch + place]);
        for (int d = 0; d < 3; d++) digits[d] |= (all >> 8 * d & 255) << 8 * b;
    }
}

/* The step of targets I to I + 7 that begins with WORD. */
static inline void table_fill(const struct resample_weights *made, uint32_t i, uint32_t word,
                              uint2 *pairs) {
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint32_t x[3], y[3];
        table_word(made, i + lane / 4, word + lane % 4, x);
        table_word(made, i + lane / 4, word + lane % 4 + 4, y);
        for (int d = 0; d < 3; d++) pairs[32 * d + lane] = make_uint2(x[d], y[d]);
    }
}

/* The group of targets I to I + 7, with all words that they touch. */
static inline struct table_group table_group_of(const struct resample_weights *made, uint32_t i) {
    const uint32_t behind = i + TABLE_GROUP < made->count ? i + TABLE_GROUP : made->count;
    const struct resample_window *const last = &made->windows[behind - 1];
    const uint32_t first = made->windows[i].first / 4;
    return { first, (last->first + last->count + 3) / 4 - first, 0 };
}

/* A device_table_make; returns the words of the longest group. */
static uint32_t table_make(const struct device_table_key *key, void *memory) {
    const uint32_t *const n = key->numbers;
    const struct resample_axis axis = { n[0], n[1], n[2], n[3], (enum resample_kernel)n[4] };
    void *const room = malloc(resample_weights_bytes(&axis));
    if (!room) return 0;
    const struct resample_weights made = resample_weights_make(room, &axis);
    struct table_group *const groups = (struct table_group *)memory;
    uint2 *pairs = (uint2 *)(groups + table_groups(axis.count));
    uint32_t most = 1;
    for (uint32_t g = 0; g < table_groups(axis.count); g++) {
        groups[g] = table_group_of(&made, g * TABLE_GROUP);
        groups[g].offset = (uint32_t)((uint8_t *)pairs - (uint8_t *)&groups[g]);
        for (uint32_t s = 0; s < table_steps(groups[g].words); s++, pairs += TABLE_STEP_PAIRS)
            table_fill(&made, g * TABLE_GROUP, groups[g].first + s * MATRIX_WORDS, pairs);
        most = groups[g].words > most ? groups[g].words : most;
    }
    free(room);
    return most;
}

#endif
