// SPDX-License-Identifier: Apache-2.0
/* How it works, 8 bit. Vectors multiply words, alpha itself by 255, which leaves it unchanged;
 * plain C multiplies two colours of RGBA at a time, in the halves of 32 bits. The quotient 255 c /
 * a is a whole number, or at least 1 / a below the next. Plain C makes it by a product and cuts it,
 * c * (floor(255 * 2^16 / a) + 1) >> 16: the excess, at most c / 2^16, is less than 1 / a. Vectors
 * work in single precision: the addition of c / 512 a is less than 1 / a too, and more than all
 * rounding takes away. */
#include "pipeline/rows/alpha.h"

#include "pipeline/premultiply.h"
#include "pipeline/rows/intrinsics.h"
#include "pipeline/rows/prefetch.h"
#include "pipeline/sample.h"

#define INLINE static inline __attribute__((always_inline))

/* ---- plain C, 8 bit */

/* Multiplies the two numbers 0..255 in the halves of PAIR by alpha / 255. */
INLINE uint32_t multiply_pair(uint32_t pair, uint32_t alpha) {
    const uint32_t product = pair * alpha + 0x00800080;
    return (product + (product >> 8 & 0x00ff00ff)) >> 8 & 0x00ff00ff;
}

INLINE void multiply_pairs(const uint8_t *from, uint8_t *to, size_t pixels) {
    for (size_t i = 0; i < pixels; i++) {
        uint32_t pixel;
        memcpy(&pixel, from + 4 * i, 4);
        const uint32_t alpha = pixel >> 24;
        const uint32_t outer = multiply_pair(pixel & 0x00ff00ff, alpha);
        const uint32_t inner = multiply_pair(pixel >> 8 & 0xff, alpha);
        pixel = outer | inner << 8 | alpha << 24;
        memcpy(to + 4 * i, &pixel, 4);
    }
}

/* floor(255 * 2^16 / alpha) + 1, or 2^16 where colours stay unchanged. */
static const uint32_t reciprocals[256] = {
#define R(a)   ((a) == 0 || (a) == 255 ? 65536u : 255u * 65536 / ((a) + ((a) == 0)) + 1)
#define R4(a)  R(a), R((a) + 1), R((a) + 2), R((a) + 3)
#define R16(a) R4(a), R4((a) + 4), R4((a) + 8), R4((a) + 12)
#define R64(a) R16(a), R16((a) + 16), R16((a) + 32), R16((a) + 48)
    R64(0), R64(64), R64(128), R64(192)
};

INLINE void divide_bytes(const uint8_t *from, uint8_t *to, size_t pixels, unsigned channels) {
    for (size_t i = 0; i < pixels * channels; i += channels) {
        const uint32_t alpha = from[i + channels - 1], by = reciprocals[alpha];
        for (unsigned c = 0; c < channels - 1; c++) {
            const uint32_t quotient = from[i + c] * by >> 16;
            to[i + c] = (uint8_t)(quotient < 255 ? quotient : 255);
        }
        to[i + channels - 1] = (uint8_t)alpha;
    }
}

/* ---- plain C: the last two arguments are constants (SPECIALISE_ALPHA) */

INLINE void multiply(const uint8_t *from, uint8_t *to, size_t pixels, unsigned channels,
                     unsigned depth) {
    if (channels == 4 && depth == 8) {
        multiply_pairs(from, to, pixels);
        return;
    }
    for (size_t i = 0; i < pixels * channels; i += channels) {
        const uint32_t alpha = sample_get(from, i + channels - 1, depth);
        for (unsigned c = 0; c < channels - 1; c++)
            sample_put(to, i + c, depth, premultiply(sample_get(from, i + c, depth), alpha, depth));
        sample_put(to, i + channels - 1, depth, alpha);
    }
}

INLINE void divide(const uint8_t *from, uint8_t *to, size_t pixels, unsigned channels,
                   unsigned depth) {
    if (depth == 8) {
        divide_bytes(from, to, pixels, channels);
        return;
    }
    for (size_t i = 0; i < pixels * channels; i += channels) {
        const uint32_t alpha = sample_get(from, i + channels - 1, 16);
        for (unsigned c = 0; c < channels - 1; c++)
            sample_put(to, i + c, 16, unpremultiply(sample_get(from, i + c, 16), alpha, 16));
        sample_put(to, i + channels - 1, 16, alpha);
    }
}

INLINE void keep(const uint8_t *in, uint8_t *out, size_t pixels, unsigned channels,
                 unsigned depth) {
    for (size_t i = channels - 1; i < pixels * channels; i += channels)
        sample_put(out, i, depth, sample_get(in, i, depth));
}

INLINE void lay(const uint8_t *restrict from, uint8_t *restrict to, size_t pixels,
                const struct background *laid_on, unsigned channels, unsigned depth) {
    const struct background under = *laid_on;
    for (size_t i = 0; i < pixels * channels; i += channels) {
        const uint32_t alpha = sample_get(from, i + channels - 1, depth);
        for (unsigned c = 0; c < channels - 1; c++)
            sample_put(
                to, i + c, depth,
                background_lay(sample_get(from, i + c, depth), alpha, under.sample[c], depth));
        sample_put(to, i + channels - 1, depth, alpha);
    }
}

INLINE void hide(const uint8_t *from, uint8_t *to, size_t pixels, uint32_t fill, size_t *visible,
                 unsigned channels, unsigned depth) {
    for (size_t i = 0; i < pixels * channels; i += channels) {
        const uint32_t alpha = sample_get(from, i + channels - 1, depth);
        for (unsigned c = 0; c < channels - 1; c++)
            sample_put(to, i + c, depth, alpha ? sample_get(from, i + c, depth) : fill);
        sample_put(to, i + channels - 1, depth, alpha);
        *visible += alpha > 0;
    }
}

/* ---- 8 bit by AVX2: whole vectors of a row; functions return the pixels done */

#ifdef __x86_64__
#define INLINE_AVX2 INLINE AVX2

INLINE_AVX2 __m256i load(const uint8_t *from) {
    return _mm256_loadu_si256((const __m256i *)from);
}

INLINE_AVX2 void store(uint8_t *to, __m256i value) {
    _mm256_storeu_si256((__m256i *)to, value);
}

/* Returns, for words, the pixel's alpha at each colour and 255 at alpha itself. */
INLINE_AVX2 __m256i factors_of(__m256i words, unsigned channels) {
    if (channels == 2) {
        const __m256i alphas = _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(words, 0xf5), 0xf5);
        return _mm256_blend_epi16(alphas, _mm256_set1_epi16(255), 0xaa);
    }
    const __m256i alphas = _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(words, 0xff), 0xff);
    return _mm256_blend_epi16(alphas, _mm256_set1_epi16(255), 0x88);
}

/* 257 t >> 16 is ((t >> 8) + t) >> 8 (premultiply.h). */
INLINE_AVX2 __m256i multiplied(__m256i words, unsigned channels) {
    const __m256i product = _mm256_mullo_epi16(words, factors_of(words, channels));
    const __m256i half_up = _mm256_add_epi16(product, _mm256_set1_epi16(128));
    return _mm256_mulhi_epu16(half_up, _mm256_set1_epi16(257));
}

INLINE_AVX2 size_t multiply_avx2(const uint8_t *from, uint8_t *to, size_t pixels,
                                 unsigned channels) {
    const __m256i zero = _mm256_setzero_si256();
    const size_t step = 32 / channels;
    size_t done = 0;
    for (; done + step <= pixels; done += step) {
        const __m256i bytes = load(from + done * channels);
        prefetch(from + done * channels);
        const __m256i low = multiplied(_mm256_unpacklo_epi8(bytes, zero), channels);
        const __m256i high = multiplied(_mm256_unpackhi_epi8(bytes, zero), channels);
        store(to + done * channels, _mm256_packus_epi16(low, high));
    }
    return done;
}

/* Returns slightly more than 255 / alpha. Where alpha is 0, colours stay unchanged, as with 255. */
INLINE_AVX2 __m256 reciprocals_of(__m256i alphas) {
    const __m256i none = _mm256_cmpeq_epi32(alphas, _mm256_setzero_si256());
    const __m256i by = _mm256_blendv_epi8(alphas, _mm256_set1_epi32(255), none);
    return _mm256_div_ps(_mm256_set1_ps(255 + 1 / 512.0f), _mm256_cvtepi32_ps(by));
}

INLINE_AVX2 __m256i divided(__m256i colours, __m256 by) {
    const __m256 quotients = _mm256_mul_ps(_mm256_cvtepi32_ps(colours), by);
    return _mm256_min_epi32(_mm256_cvttps_epi32(quotients), _mm256_set1_epi32(255));
}

AVX2 static size_t divide_rgba(const uint8_t *from, uint8_t *to, size_t pixels) {
    const __m256i byte = _mm256_set1_epi32(255);
    size_t done = 0;
    for (; done + 8 <= pixels; done += 8) {
        const __m256i rgba = load(from + 4 * done), alphas = _mm256_srli_epi32(rgba, 24);
        if (_mm256_movemask_epi8(_mm256_cmpeq_epi32(alphas, byte)) == -1) {
            store(to + 4 * done, rgba); /* opaque */
            continue;
        }
        const __m256 by = reciprocals_of(alphas);
        const __m256i r = divided(_mm256_and_si256(rgba, byte), by);
        const __m256i g = divided(_mm256_and_si256(_mm256_srli_epi32(rgba, 8), byte), by);
        const __m256i b = divided(_mm256_and_si256(_mm256_srli_epi32(rgba, 16), byte), by);
        const __m256i rg = _mm256_or_si256(r, _mm256_slli_epi32(g, 8));
        const __m256i ba = _mm256_or_si256(b, _mm256_slli_epi32(alphas, 8));
        store(to + 4 * done, _mm256_or_si256(rg, _mm256_slli_epi32(ba, 16)));
    }
    return done;
}

AVX2 static size_t divide_gray(const uint8_t *from, uint8_t *to, size_t pixels) {
    size_t done = 0;
    for (; done + 8 <= pixels; done += 8) {
        const __m256i pairs =
            _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(from + 2 * done)));
        const __m256i alphas = _mm256_srli_epi32(pairs, 8);
        const __m256i colours =
            divided(_mm256_and_si256(pairs, _mm256_set1_epi32(255)), reciprocals_of(alphas));
        const __m256i results = _mm256_or_si256(colours, _mm256_slli_epi32(alphas, 8));
        const __m256i packed =
            _mm256_permute4x64_epi64(_mm256_packus_epi32(results, results), 0x08);
        _mm_storeu_si128((__m128i *)(to + 2 * done), _mm256_castsi256_si128(packed));
    }
    return done;
}

AVX2 static size_t multiply_vectors(const uint8_t *from, uint8_t *to, size_t pixels,
                                    unsigned channels) {
    return channels == 4 ? multiply_avx2(from, to, pixels, 4) : multiply_avx2(from, to, pixels, 2);
}

AVX2 static size_t divide_vectors(const uint8_t *from, uint8_t *to, size_t pixels,
                                  unsigned channels) {
    return channels == 4 ? divide_rgba(from, to, pixels) : divide_gray(from, to, pixels);
}
#else
#define multiply_vectors(from, to, pixels, channels) 0
#define divide_vectors(from, to, pixels, channels)   0
#endif

/* ---- entry points */

void alpha_multiply(const uint8_t *from, uint8_t *to, size_t pixels, unsigned channels,
                    unsigned depth) {
    const bool vectors = depth == 8 && simd_has_avx2();
    const size_t done = vectors ? multiply_vectors(from, to, pixels, channels) : 0;
    const size_t start = done * channels * (depth / 8);
    SPECIALISE_ALPHA(channels, depth, multiply, from + start, to + start, pixels - done);
}

void alpha_divide(const uint8_t *from, uint8_t *to, size_t pixels, unsigned channels,
                  unsigned depth) {
    const bool vectors = depth == 8 && simd_has_avx2();
    const size_t done = vectors ? divide_vectors(from, to, pixels, channels) : 0;
    const size_t start = done * channels * (depth / 8);
    SPECIALISE_ALPHA(channels, depth, divide, from + start, to + start, pixels - done);
}

static void lay_plain(const uint8_t *from, uint8_t *to, size_t pixels, unsigned channels,
                      unsigned depth, const struct background *under) {
    SPECIALISE_ALPHA(channels, depth, lay, from, to, pixels, under);
}

#ifdef __x86_64__
AVX2 static void lay_avx2(const uint8_t *from, uint8_t *to, size_t pixels, unsigned channels,
                          unsigned depth, const struct background *under) {
    SPECIALISE_ALPHA(channels, depth, lay, from, to, pixels, under);
}
#else
#define lay_avx2 lay_plain
#endif

void alpha_lay(const uint8_t *from, uint8_t *to, size_t pixels, unsigned channels, unsigned depth,
               const struct background *under) {
    (simd_has_avx2() ? lay_avx2 : lay_plain)(from, to, pixels, channels, depth, under);
}

size_t alpha_hide(const uint8_t *from, uint8_t *to, size_t pixels, unsigned channels,
                  unsigned depth, uint32_t fill) {
    size_t visible = 0;
    SPECIALISE_ALPHA(channels, depth, hide, from, to, pixels, fill, &visible);
    return visible;
}

void alpha_keep(const uint8_t *in, uint8_t *out, size_t pixels, unsigned channels, unsigned depth) {
    SPECIALISE_ALPHA(channels, depth, keep, in, out, pixels);
}
