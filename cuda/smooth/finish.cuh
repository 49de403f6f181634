// SPDX-License-Identifier: Apache-2.0
/* finish.cuh - finishes four adjacent blurred pixels: divides their colours by alpha, applies the
 * unsharp mask where it is wanted, and packs words of memory.
 *
 * Used by:  strip.cuh, passes.cuh.
 */
#ifndef BURIN_SMOOTH_FINISH_CUH
#define BURIN_SMOOTH_FINISH_CUH

#include "cuda/chunk.cuh"
#include "pipeline/ops/sharpen.h"
#include "pipeline/premultiply.h"

enum { FOUR = 4 };

struct finish_rule {
    bool sharpens;
    struct sharpen_rule sharpen;
};

template <int CHANNELS> struct four_pixels { uint32_t sample[CHANNELS][FOUR]; };

/* Words of four pixels. */
template <int CHANNELS, int DEPTH> static __host__ __device__ constexpr int four_words(void) {
    return CHANNELS * DEPTH / 8;
}

template <int CHANNELS, int DEPTH>
static __device__ __forceinline__ void divide_alpha(struct four_pixels<CHANNELS> &four) {
#pragma unroll
    for (int i = 0; i < FOUR; i++)
#pragma unroll
        for (int c = 0; c < CHANNELS - 1; c++)
            four.sample[c][i] =
                unpremultiply(four.sample[c][i], four.sample[CHANNELS - 1][i], DEPTH);
}

/* IN: COUNT pixels of the input, whose alpha is kept. */
template <int CHANNELS, int DEPTH>
static __device__ __forceinline__ void sharpen_four(struct four_pixels<CHANNELS> &four,
                                                    const struct sharpen_rule &rule,
                                                    const uint8_t *in, uint32_t count) {
    uint32_t words[four_words<CHANNELS, DEPTH>()];
    load_unaligned(words, in, count * CHANNELS * (DEPTH / 8));
#pragma unroll
    for (int i = 0; i < FOUR * CHANNELS; i++) {
        const uint32_t original = chunk_sample<DEPTH>(words, i);
        uint32_t &sample = four.sample[i % CHANNELS][i / CHANNELS];
        const bool is_alpha = CHANNELS % 2 == 0 && i % CHANNELS == CHANNELS - 1;
        sample = is_alpha ? original : sharpen_result(original, sample, rule);
    }
}

/* COUNT pixels exist. */
template <int CHANNELS, int DEPTH>
static __device__ __forceinline__ void
finish_four(uint32_t (&words)[four_words<CHANNELS, DEPTH>()], struct four_pixels<CHANNELS> &four,
            const struct finish_rule &rule, const uint8_t *in, uint32_t count) {
    if (CHANNELS % 2 == 0) divide_alpha<CHANNELS, DEPTH>(four);
    if (rule.sharpens) sharpen_four<CHANNELS, DEPTH>(four, rule.sharpen, in, count);
#pragma unroll
    for (int i = 0; i < FOUR * CHANNELS; i++)
        chunk_set_sample<DEPTH>(words, i, four.sample[i % CHANNELS][i / CHANNELS]);
}

/* ---- a word of 8-bit samples; with alpha, of whole pixels */

/* TOTALS have the blurred samples in their third bytes and zeros above; FACTORS divide colours by
 * an alpha: the results are the products' fourth bytes. */
template <int CHANNELS>
static __device__ __forceinline__ uint32_t finish_word(const uint32_t (&totals)[FOUR],
                                                       const uint32_t *factors) {
    uint32_t samples[FOUR];
#pragma unroll
    for (int i = 0; i < FOUR; i++) {
        const int alpha = i / CHANNELS * CHANNELS + CHANNELS - 1;
        samples[i] = totals[i];
        if (CHANNELS % 2 == 0)
            samples[i] = i == alpha ? totals[i] << 8
                                    : (totals[i] >> 16) * factors[totals[alpha % FOUR] >> 16];
    }
    const int byte = CHANNELS % 2 == 0 ? 3 : 2, two = byte | (4 + byte) << 4;
    return __byte_perm(__byte_perm(samples[0], samples[1], two),
                       __byte_perm(samples[2], samples[3], two), 0x5410);
}

template <int CHANNELS>
static __device__ __forceinline__ uint32_t sharpen_word(uint32_t original, uint32_t blurred,
                                                        const struct sharpen_rule &rule) {
    const uint32_t originals[1] = { original }, samples[1] = { blurred };
    uint32_t words[1] = { original };
#pragma unroll
    for (int i = 0; i < FOUR; i++)
        if (CHANNELS % 2 || i % CHANNELS != CHANNELS - 1)
            chunk_set_sample<8>(
                words, i,
                sharpen_result(chunk_sample<8>(originals, i), chunk_sample<8>(samples, i), rule));
    return words[0];
}

#endif
