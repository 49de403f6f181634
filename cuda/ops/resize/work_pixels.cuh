// SPDX-License-Identifier: Apache-2.0
/* work_pixels.cuh - pixels on their way from an image into planes, and from sums into an image.
 *
 * Used by:  stage.cuh, which reads; down.cuh, which writes.
 *
 * How it works. Four neighbouring pixels are a few words; their bytes are sorted into one word for
 * each plane. Where light is made linear, or there is alpha, samples are first taken out of the
 * words and changed as pipeline/ops/resize/definition.h says; with alpha they become the counts of
 * pipeline/rows/resample_alpha.h, of 16 bits, or 32 if the samples have 16.
 */
#ifndef BURIN_RESIZE_WORK_PIXELS_CUH
#define BURIN_RESIZE_WORK_PIXELS_CUH

#include "cuda/chunk.cuh"
#include "cuda/ops/resize/axis_sum.cuh"
#include "pipeline/ops/resize/definition.h"

/* Changes of samples on the way, the same for a batch. */
struct work_rule {
    const uint16_t *to_light; /* linear light of each sample; NULL: unchanged */
    const void *from_light;   /* the sample of each linear light, in the image's depth */
};

/* Bytes of a number before the pass across, and after it, of samples of BYTES; with alpha those of
 * resample_alpha.h. */
static __host__ __device__ constexpr int work_bytes(bool alpha, int bytes) {
    return alpha ? 2 * bytes : bytes;
}

static __host__ __device__ constexpr int between_bytes_of(bool alpha, int bytes) {
    return alpha ? 2 * bytes + 1 : bytes;
}

/* An image of CHANNELS and DEPTH, processed with 16 bits if it is DEEP. */
template <int CHANNELS_, int DEPTH_, bool DEEP_>
struct work_kind
    : work_layout<CHANNELS_, work_bytes(CHANNELS_ % 2 == 0, 1 + DEEP_), CHANNELS_ % 2 == 0> {
    static constexpr int DEPTH = DEPTH_, PIXEL_BYTES = CHANNELS_ * DEPTH / 8;
    static constexpr int WORDS = PIXEL_BYTES; /* of four pixels */
    static constexpr int COLOURS = CHANNELS_ < 3 ? 1 : 3;
    static constexpr bool ALPHA = CHANNELS_ % 2 == 0;
    static constexpr unsigned WORK_DEPTH = DEEP_ ? 16 : 8;
    static constexpr bool BYTEWISE = DEPTH == 8 && !DEEP_; /* results are the image's bytes */
    static constexpr bool PLAIN = BYTEWISE && !ALPHA;      /* and are summed so */

    /* The layouts between the passes and of results. */
    typedef work_layout<CHANNELS_, between_bytes_of(ALPHA, 1 + DEEP_), ALPHA> between;
    typedef work_layout<CHANNELS_, 1 + DEEP_> finished;
};

/* One channel of a kind with alpha, before the pass across. */
template <class K> struct work_channel : work_layout<1, K::BYTES, K::SIGNED> {
    static constexpr bool PLAIN = false;
    static constexpr int WORDS = 1;
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
    if (K::ALPHA && K::WORK_DEPTH > K::DEPTH) alpha = resize_alpha_to_16(alpha);
#pragma unroll
    for (int c = 0; c < K::COLOURS; c++) {
        if (rule.to_light) samples[c] = __ldg(rule.to_light + samples[c]);
        if (K::ALPHA) samples[c] = (uint32_t)resample_count(samples[c], alpha, K::WORK_DEPTH);
    }
    if (K::ALPHA) alpha = (uint32_t)resample_count_alpha(alpha, K::WORK_DEPTH);
}

/* Sorts four pixels into a word of each plane. */
template <class K>
static __device__ __forceinline__ void work_planes(uint32_t (&planes)[K::PLANES],
                                                   const uint32_t (&words)[K::WORDS],
                                                   const struct work_rule &rule) {
    if (!K::ALPHA && K::DEPTH == 8 * K::BYTES && !rule.to_light) {
#pragma unroll
        for (int p = 0; p < K::PLANES; p++)
            planes[p] = gather_bytes(words, p / K::BYTES * K::BYTES + K::BYTES - 1 - p % K::BYTES,
                                     K::PIXEL_BYTES);
        return;
    }
    uint32_t four[K::CHANNELS][4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        uint32_t samples[K::CHANNELS];
#pragma unroll
        for (int c = 0; c < K::CHANNELS; c++)
            samples[c] = chunk_sample<K::DEPTH>(words, i * K::CHANNELS + c);
        work_prepare<K>(samples, rule);
#pragma unroll
        for (int c = 0; c < K::CHANNELS; c++) four[c][i] = samples[c];
    }
#pragma unroll
    for (int p = 0; p < K::PLANES; p++)
        planes[p] = gather_bytes(four[p / K::BYTES], K::BYTES - 1 - p % K::BYTES, 4);
}

/* ---- writing */

/* Pixel INDEX of the four in PLANES. */
template <class K>
static __device__ __forceinline__ void work_samples(uint32_t (&samples)[K::CHANNELS],
                                                    const uint32_t (&planes)[K::finished::PLANES],
                                                    int index) {
    constexpr int BYTES = K::finished::BYTES;
#pragma unroll
    for (int c = 0; c < K::CHANNELS; c++) {
        const uint32_t high = planes[c * BYTES], low = planes[c * BYTES + BYTES - 1];
        samples[c] = BYTES > 1 ? __byte_perm(low, high, (4 + index) << 4 | index) & 0xffff
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
    if (K::BYTEWISE) return;
    uint32_t &alpha = samples[K::CHANNELS - 1];
#pragma unroll
    for (int c = 0; c < K::COLOURS; c++)
        if (rule.from_light)
            samples[c] = load_sample<K::DEPTH>((const uint8_t *)rule.from_light, samples[c]);
    if (K::ALPHA && K::WORK_DEPTH > K::DEPTH) alpha = resize_alpha_to_8(alpha);
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
                                                 const uint32_t (&planes)[K::finished::PLANES],
                                                 const struct work_rule &rule) {
    if constexpr (K::BYTEWISE) {
#pragma unroll
        for (int w = 0; w < K::WORDS; w++) words[w] = interleave_bytes(planes, 4 * w);
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
