// SPDX-License-Identifier: Apache-2.0
/* work_pixels.cuh - pixels on their way from an image into planes, and from sums into an image.
 *
 * Used by:  stage.cuh, which reads; down.cuh, which writes.
 *
 * How it works. Four neighbouring pixels are a few words; their bytes are sorted into one word for
 * each plane. Where 16 bits of alpha are multiplied in, or light is made linear, samples are first
 * taken out of the words, changed as pipeline/ops/resize/definition.h says, and put into planes one
 * by one. Alpha of 8 bits, which is always multiplied in, has quicker ways to the same bytes.
 */
#ifndef BURIN_RESIZE_WORK_PIXELS_CUH
#define BURIN_RESIZE_WORK_PIXELS_CUH

#include "cuda/chunk.cuh"
#include "cuda/ops/resize/axis_sum.cuh"
#include "pipeline/ops/resize/definition.h"

/* Changes of samples on the way, the same for a batch. */
struct work_rule {
    bool multiplied;          /* by alpha */
    const uint16_t *to_light; /* linear light of each sample; NULL: unchanged */
    const void *from_light;   /* the sample of each linear light, in the image's depth */
};

/* An image of CHANNELS and DEPTH, processed with 16 bits if it is WIDE. */
template <int CHANNELS_, int DEPTH_, bool WIDE_> struct work_kind : work_layout<CHANNELS_, WIDE_> {
    static constexpr int DEPTH = DEPTH_, PIXEL_BYTES = CHANNELS_ * DEPTH / 8;
    static constexpr int WORDS = PIXEL_BYTES; /* of four pixels */
    static constexpr int COLOURS = CHANNELS_ < 3 ? 1 : 3;
    static constexpr bool ALPHA = CHANNELS_ % 2 == 0;
    static constexpr uint32_t MAX = WIDE_ ? 65535 : 255;   /* of a sample between */
    static constexpr bool BYTEWISE = DEPTH == 8 && !WIDE_; /* the planes hold the image's bytes */
    static constexpr bool PLAIN = BYTEWISE && !ALPHA;      /* which are summed unchanged, */
    static constexpr bool PAIRED = BYTEWISE && ALPHA;      /* or multiplied by alpha before */
};

/* ---- reading */

/* Loads four pixels, or the BYTES that exist of them. With 0 bytes nothing is read. */
template <int WORDS>
static __device__ __forceinline__ void work_load(uint32_t (&words)[WORDS], const uint8_t *from,
                                                 uint32_t bytes, bool aligned) {
    if (bytes == 4 * WORDS && aligned) {
#pragma unroll
        for (int i = 0; i < WORDS; i++) words[i] = __ldg((const uint32_t *)from + i);
    } else if (bytes) {
        load_unaligned(words, from, bytes);
    } else {
#pragma unroll
        for (int i = 0; i < WORDS; i++) words[i] = 0;
    }
}

/* Bytes AT[0..3] of WORDS as one word; two permutations are enough if they are in three adjacent
 * words. Numbers are constants once loops are unrolled. */
template <int WORDS>
static __device__ __forceinline__ uint32_t pick_bytes(const uint32_t (&words)[WORDS],
                                                      const int (&at)[4]) {
    const int first = min(min(at[0], at[1]), min(at[2], at[3])) / 4;
    const int end = 4 * first + 8; /* of the first two words */
    if (max(max(at[0], at[1]), max(at[2], at[3])) < end + 4) {
        const uint32_t second = words[min(first + 1, WORDS - 1)];
        const uint32_t third = words[min(first + 2, WORDS - 1)];
        uint32_t lower = 0, upper = 0;
#pragma unroll
        for (int b = 0; b < 4; b++) {
            lower |= (at[b] < end ? at[b] - 4 * first : 0) << 4 * b;
            upper |= (at[b] < end ? b : at[b] - end + 4) << 4 * b;
        }
        const uint32_t some = __byte_perm(words[first], second, lower);
        return upper == 0x3210 ? some : __byte_perm(some, third, upper);
    }
    const uint32_t low =
        __byte_perm(words[at[0] / 4], words[at[1] / 4], at[0] % 4 | (4 + at[1] % 4) << 4);
    const uint32_t high =
        __byte_perm(words[at[2] / 4], words[at[3] / 4], at[2] % 4 | (4 + at[3] % 4) << 4);
    return __byte_perm(low, high, 0x5410);
}

/* Bytes FIRST, FIRST + STEP and so on of WORDS, four of them. */
template <int WORDS>
static __device__ __forceinline__ uint32_t gather_bytes(const uint32_t (&words)[WORDS], int first,
                                                        int step) {
    return pick_bytes(words, { first, first + step, first + 2 * step, first + 3 * step });
}

/* Prepares one pixel's samples. */
template <class K>
static __device__ __forceinline__ void work_prepare(uint32_t (&samples)[K::CHANNELS],
                                                    const struct work_rule &rule) {
    uint32_t &alpha = samples[K::CHANNELS - 1];
    if (K::ALPHA && K::WIDE && K::DEPTH == 8) alpha = resize_alpha_to_16(alpha);
#pragma unroll
    for (int c = 0; c < K::COLOURS; c++) {
        if (rule.to_light) samples[c] = __ldg(rule.to_light + samples[c]);
        if (K::ALPHA && rule.multiplied) samples[c] = resize_multiply(samples[c], alpha, K::MAX);
    }
}

/* Sorts four pixels into a word of each plane. */
template <class K>
static __device__ __forceinline__ void work_planes(uint32_t (&planes)[K::PLANES],
                                                   const uint32_t (&words)[K::WORDS],
                                                   const struct work_rule &rule) {
    if (K::DEPTH == 8 * K::BYTES && !rule.to_light && !rule.multiplied) {
#pragma unroll
        for (int p = 0; p < K::PLANES; p++)
            planes[p] = gather_bytes(words, p / K::BYTES * K::BYTES + K::BYTES - 1 - p % K::BYTES,
                                     K::PIXEL_BYTES);
        return;
    }
#pragma unroll
    for (int p = 0; p < K::PLANES; p++) planes[p] = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        uint32_t samples[K::CHANNELS];
#pragma unroll
        for (int c = 0; c < K::CHANNELS; c++)
            samples[c] = chunk_sample<K::DEPTH>(words, i * K::CHANNELS + c);
        work_prepare<K>(samples, rule);
#pragma unroll
        for (int p = 0; p < K::PLANES; p++)
            planes[p] |= (samples[p / K::BYTES] >> 8 * (K::BYTES - 1 - p % K::BYTES) & 255)
                         << 8 * i;
    }
}

/* ---- alpha of 8 bits */

/* Byte AT of WORDS times 257 ALPHA, rounded: byte 2 of it is resize_multiply()'s result, as ((t >>
 * 8) + t) >> 8 = 257 t >> 16 and 257 (255 * 255 + 128) fits 24 bits. FACTOR is 257 ALPHA. */
template <int WORDS>
static __device__ __forceinline__ uint32_t work_product(const uint32_t (&words)[WORDS], int at,
                                                        uint32_t factor) {
    const uint32_t half = at % 2 ? factor << 16 : factor, word = words[at / 4];
    return at % 4 < 2 ? __dp2a_lo(half, word, 128u * 257) : __dp2a_hi(half, word, 128u * 257);
}

/* Sorts four pixels into a word of each plane, with colours multiplied by alpha. */
template <class K>
static __device__ __forceinline__ void work_multiply(uint32_t (&planes)[K::PLANES],
                                                     const uint32_t (&words)[K::WORDS]) {
    constexpr int ALPHA = K::CHANNELS - 1;
    uint32_t factors[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int at = i * K::CHANNELS + ALPHA;
        factors[i] = __byte_perm(words[at / 4], 0, 0x4400 | at % 4 * 0x11);
    }
#pragma unroll
    for (int c = 0; c < ALPHA; c++) {
        uint32_t products[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            products[i] = work_product(words, i * K::CHANNELS + c, factors[i]);
        planes[c] = gather_bytes(products, 2, 4);
    }
    planes[ALPHA] = gather_bytes(words, ALPHA, K::CHANNELS);
}

/* The reciprocal, within 1 of the last place. */
static __device__ __forceinline__ float work_reciprocal(float value) {
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
    return result;
}

/* Multiplication by this factor divides colours, which are at most ALPHA, by it: quotients are the
 * products' highest bytes. The factor is above 255 * 2^24 / ALPHA by less than 2^-17 of that; so a
 * product's excess is less than 2^24 / ALPHA, and no quotient is nearer than that to the next whole
 * number. */
static __device__ __forceinline__ uint32_t work_factor(uint32_t alpha) {
    return (uint32_t)(work_reciprocal((float)alpha) * ((255 << 10 | 1) * 16384.0f));
}

/* Divides colours as resize_divide() does; each is the highest byte of its word. */
template <class K>
static __device__ __forceinline__ void work_divide(uint32_t (&samples)[K::CHANNELS]) {
    const uint32_t alpha = samples[K::CHANNELS - 1];
    const bool some = alpha - 1 < 254;
    const uint32_t most = some ? alpha : 255, factor = some ? work_factor(alpha) : 1 << 24;
#pragma unroll
    for (int c = 0; c < K::COLOURS; c++) samples[c] = min(samples[c], most) * factor;
}

/* ---- writing */

/* Pixel INDEX of the four in PLANES. */
template <class K>
static __device__ __forceinline__ void
work_samples(uint32_t (&samples)[K::CHANNELS], const uint32_t (&planes)[K::PLANES], int index) {
#pragma unroll
    for (int c = 0; c < K::CHANNELS; c++) {
        const uint32_t high = planes[c * K::BYTES], low = planes[c * K::BYTES + K::BYTES - 1];
        samples[c] = K::WIDE ? __byte_perm(low, high, (4 + index) << 4 | index) & 0xffff
                             : high >> 8 * index & 255;
    }
}

/* Bytes FIRST to FIRST + 3 of pixels of PLANES bytes. */
template <int PLANES>
static __device__ __forceinline__ uint32_t interleave_bytes(const uint32_t (&planes)[PLANES],
                                                            int first) {
    int at[4];
#pragma unroll
    for (int b = 0; b < 4; b++) at[b] = (first + b) % PLANES * 4 + (first + b) / PLANES;
    return pick_bytes(planes, at);
}

/* Converts one pixel's samples to the image's range. */
template <class K>
static __device__ __forceinline__ void work_finish(uint32_t (&samples)[K::CHANNELS],
                                                   const struct work_rule &rule) {
    if constexpr (K::BYTEWISE) {
        if (K::ALPHA) work_divide<K>(samples);
#pragma unroll
        for (int c = 0; K::ALPHA && c < K::COLOURS; c++) samples[c] >>= 24;
        return;
    }
    uint32_t &alpha = samples[K::CHANNELS - 1];
#pragma unroll
    for (int c = 0; c < K::COLOURS; c++) {
        if (K::ALPHA && rule.multiplied) samples[c] = resize_divide(samples[c], alpha, K::MAX);
        if (rule.from_light)
            samples[c] = load_sample<K::DEPTH>((const uint8_t *)rule.from_light, samples[c]);
    }
    if (K::ALPHA && K::WIDE && K::DEPTH == 8) alpha = resize_alpha_to_8(alpha);
}

template <int DEPTH>
static __device__ __forceinline__ void store_sample(uint8_t *pixel, int index, uint32_t sample) {
    if (DEPTH == 8)
        pixel[index] = (uint8_t)sample;
    else
        ((uint16_t *)pixel)[index] = (uint16_t)sample;
}

/* Makes the words of four pixels from a word of each plane, in the image's range. */
template <class K>
static __device__ __forceinline__ void work_pack(uint32_t (&words)[K::WORDS],
                                                 const uint32_t (&planes)[K::PLANES],
                                                 const struct work_rule &rule) {
    if constexpr (K::PLAIN) {
#pragma unroll
        for (int w = 0; w < K::WORDS; w++) words[w] = interleave_bytes(planes, 4 * w);
    } else if constexpr (K::BYTEWISE) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            uint32_t samples[K::CHANNELS];
            work_samples<K>(samples, planes, i);
            work_divide<K>(samples);
            samples[K::CHANNELS - 1] = planes[K::CHANNELS - 1] << 8 * (3 - i);
#pragma unroll
            for (int c = 0; c < K::CHANNELS; c++)
                chunk_set_byte<3>(words, i * K::CHANNELS + c, samples[c]);
        }
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            uint32_t samples[K::CHANNELS];
            work_samples<K>(samples, planes, i);
            work_finish<K>(samples, rule);
#pragma unroll
            for (int c = 0; c < K::CHANNELS; c++)
                chunk_set_sample<K::DEPTH>(words, i * K::CHANNELS + c, samples[c]);
        }
    }
}

/* Stores a pixel of CHANNELS, at least as many as there are samples: gray becomes RGB, alpha
 * opaque. */
template <class K>
static __device__ __forceinline__ void work_store(uint8_t *pixel, unsigned channels,
                                                  const uint32_t (&samples)[K::CHANNELS]) {
    if (channels == K::CHANNELS) {
#pragma unroll
        for (int c = 0; c < K::CHANNELS; c++) store_sample<K::DEPTH>(pixel, c, samples[c]);
        return;
    }
    const int colours = channels < 3 ? 1 : 3;
    for (int c = 0; c < colours; c++)
        store_sample<K::DEPTH>(pixel, c, samples[K::COLOURS == 1 ? 0 : min(c, K::COLOURS - 1)]);
    if (channels % 2 == 0)
        store_sample<K::DEPTH>(pixel, colours,
                               K::ALPHA ? samples[K::CHANNELS - 1] : (1u << K::DEPTH) - 1);
}

#endif
