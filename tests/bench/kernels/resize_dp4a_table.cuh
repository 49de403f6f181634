// SPDX-License-Identifier: Apache-2.0
/* resize_dp4a_table.cuh - sums of weights and samples by dp4a, and the weights for it.
 *
 * Used by:  resize_dp4a.cuh.
 * Limits:   those of resample_weights.h.
 */
#ifndef BURIN_RESIZE_DP4A_TABLE_CUH
#define BURIN_RESIZE_DP4A_TABLE_CUH

#include "cuda/ops/resize/weigh.cuh"

namespace dp4a {

/* ---- sums */

template <class W> struct axis_sums { int32_t part[W::CHANNELS][W::PARTS]; };

/* Four unsigned bytes times four signed ones. */
static __device__ __forceinline__ int32_t dot4(uint32_t samples, uint32_t weights, int32_t sum) {
    int32_t result;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(samples), "r"(weights), "r"(sum));
    return result;
}

/* One word of each plane. */
template <class W>
static __device__ __forceinline__ void
axis_add(struct axis_sums<W> &sums, const uint32_t (&planes)[W::PLANES], const uint4 &weights) {
#pragma unroll
    for (int p = 0; p < W::PLANES; p++) {
        int32_t *const part = sums.part[p / W::BYTES];
        const int byte = W::BYTES - 1 - p % W::BYTES;
        part[byte] = dot4(planes[p], weights.x, part[byte]);
        part[byte + 1] = dot4(planes[p], weights.y, part[byte + 1]);
        part[byte + 2] = dot4(planes[p], weights.z, part[byte + 2]);
    }
}

/* The sample of one channel. */
template <class W>
static __device__ __forceinline__ uint32_t axis_sample(const struct axis_sums<W> &sums,
                                                       int channel) {
    const int32_t *const part = sums.part[channel];
    const uint32_t sum = (uint32_t)part[0] + ((uint32_t)part[1] << 8) + ((uint32_t)part[2] << 16);
    const int32_t value = (int32_t)(sum + (1u << (RESAMPLE_BITS - 1))) >> RESAMPLE_BITS;
    return (uint32_t)min(max(value, 0), 255);
}

/* ---- weights: an entry for each word of a window, x, y and z its digits */

/* Fields of an entry's w: the number of the target's first word, and the count of its words. */
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

static inline size_t table_bytes(const struct resample_axis *axis) {
    return (size_t)axis->count * table_words_max(resample_pitch(axis)) * sizeof(uint4);
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

} // namespace dp4a

#endif
