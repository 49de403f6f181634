// SPDX-License-Identifier: Apache-2.0
/* How it works. Of 64 pixels at a time the map says by a bit each where a seam goes through; where
 * none does they are copied. Else groups of two or four pixels, 16 bytes at most, are shuffled into
 * their result as a table says, without a branch; where the row grows the means for all of them are
 * made too, and come in by a second shuffle. What is stored behind a result is written again by the
 * next one. */
#include "pipeline/ops/carve/retarget_row.h"

#include "pipeline/rows/intrinsics.h"

#include <string.h>

enum { PIXEL_BYTES_SMALL = 4, NOWHERE = 128 };

static size_t put_pixel(uint8_t *table, uint32_t pixel, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) table[i] = (uint8_t)(pixel * bytes + i);
    return bytes;
}

void retarget_shuffles_make(struct retarget_shuffles *shuffles, size_t bytes, bool grows) {
    shuffles->group = bytes <= PIXEL_BYTES_SMALL ? 4 : 2;
    memset(shuffles->pixels, NOWHERE, sizeof shuffles->pixels);
    memset(shuffles->means, NOWHERE, sizeof shuffles->means);
    for (uint32_t mask = 0; mask < 1u << shuffles->group; mask++) {
        size_t at = 0;
        for (uint32_t p = 0; p < shuffles->group; p++) {
            const bool crossed = mask >> p & 1;
            if (!crossed || grows) at += put_pixel(shuffles->pixels[mask] + at, p, bytes);
            if (crossed && grows) at += put_pixel(shuffles->means[mask] + at, p, bytes);
        }
        shuffles->length[mask] = (uint8_t)at;
    }
}

#ifdef __x86_64__

#define INLINE static inline __attribute__((always_inline)) AVX2

enum { BLOCK = 64, VECTOR = 16 };

INLINE __m128i load(const void *from) {
    return _mm_loadu_si128((const __m128i *)from);
}

INLINE void store(void *to, __m128i value) {
    _mm_storeu_si128((__m128i *)to, value);
}

/* Of 32 pixels: whether SEAMS less NUMBER - 1, but no less than 0, is anything. */
INLINE uint32_t crossed_32(const uint16_t *map, __m256i seams) {
    const __m256i one = _mm256_set1_epi16(1), zero = _mm256_setzero_si256();
    const __m256i a = _mm256_sub_epi16(_mm256_loadu_si256((const __m256i *)map), one);
    const __m256i b = _mm256_sub_epi16(_mm256_loadu_si256((const __m256i *)(map + 16)), one);
    const __m256i out_a = _mm256_cmpeq_epi16(_mm256_subs_epu16(seams, a), zero);
    const __m256i out_b = _mm256_cmpeq_epi16(_mm256_subs_epu16(seams, b), zero);
    const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi16(out_a, out_b), 0xd8);
    return ~(uint32_t)_mm256_movemask_epi8(both);
}

/* floor((l + s + r + 1) / 3), which is the rounded mean of three: of bytes by 21846 / 2^16, right
 * below 2^15; of 16 bits by the float next to 1/3, right as long as sums are exact. */
INLINE __m128i third_8(__m128i left, __m128i here, __m128i right) {
    const __m128i sum = _mm_add_epi16(_mm_add_epi16(left, here), right);
    return _mm_mulhi_epu16(_mm_add_epi16(sum, _mm_set1_epi16(1)), _mm_set1_epi16(21846));
}

INLINE __m128i means_8(const uint8_t *at, size_t step) {
    const __m128i zero = _mm_setzero_si128();
    const __m128i left = load(at - step), here = load(at), right = load(at + step);
    return _mm_packus_epi16(third_8(_mm_unpacklo_epi8(left, zero), _mm_unpacklo_epi8(here, zero),
                                    _mm_unpacklo_epi8(right, zero)),
                            third_8(_mm_unpackhi_epi8(left, zero), _mm_unpackhi_epi8(here, zero),
                                    _mm_unpackhi_epi8(right, zero)));
}

INLINE __m128i means_16(const uint8_t *at, size_t step) {
    const __m256i left = _mm256_cvtepu16_epi32(load(at - step));
    const __m256i here = _mm256_cvtepu16_epi32(load(at));
    const __m256i right = _mm256_cvtepu16_epi32(load(at + step));
    const __m256i sum = _mm256_add_epi32(_mm256_add_epi32(left, here),
                                         _mm256_add_epi32(right, _mm256_set1_epi32(1)));
    const __m256i mean =
        _mm256_cvttps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(1.0f / 3.0f)));
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(mean, mean), 0xd8);
    return _mm256_castsi256_si128(packed);
}

/* A block whose BITS say where seams go; where its result ends. */
INLINE uint8_t *put_block(const struct retarget_row *row, const struct retarget_shuffles *shuffles,
                          uint32_t x, uint64_t bits, bool grows, bool deep) {
    const size_t bytes = row->channels * (deep ? 2 : 1);
    const uint32_t group = shuffles->group;
    const uint8_t *at = row->in + x * bytes;
    uint8_t *out = row->out;
    for (uint32_t i = 0; i < BLOCK; i += group, bits >>= group, at += group * bytes) {
        const uint32_t mask = (uint32_t)bits & ((1u << group) - 1);
        const uint8_t *pixels = shuffles->pixels[mask], *means = shuffles->means[mask];
        const __m128i here = load(at);
        __m128i low = _mm_shuffle_epi8(here, load(pixels));
        if (grows) {
            const __m128i fresh = deep ? means_16(at, bytes) : means_8(at, bytes);
            const __m128i high = _mm_or_si128(_mm_shuffle_epi8(here, load(pixels + VECTOR)),
                                              _mm_shuffle_epi8(fresh, load(means + VECTOR)));
            low = _mm_or_si128(low, _mm_shuffle_epi8(fresh, load(means)));
            store(out + VECTOR, high);
        }
        store(out, low);
        out += shuffles->length[mask];
    }
    return out;
}

/* Not in a block of which the loads would leave the row or the stores what is to be written. */
INLINE uint32_t put_blocks(struct retarget_row *row, const struct retarget_shuffles *shuffles,
                           uint32_t x, bool grows, bool deep) {
    const ptrdiff_t bytes = (ptrdiff_t)row->channels * (deep ? 2 : 1), most = BLOCK * bytes;
    const __m256i seams = _mm256_set1_epi16((short)row->seams);
    while (x + BLOCK <= row->width && row->in_end - (row->in + x * bytes) >= most + 2 * VECTOR &&
           row->out_end - row->out >= (grows ? 2 : 1) * most + 2 * VECTOR) {
        const uint64_t bits =
            crossed_32(row->map + x, seams) | (uint64_t)crossed_32(row->map + x + 32, seams) << 32;
        if (bits) {
            row->out = put_block(row, shuffles, x, bits, grows, deep);
        } else {
            memcpy(row->out, row->in + x * bytes, (size_t)most);
            row->out += most;
        }
        x += BLOCK;
    }
    return x;
}

AVX2 uint32_t retarget_row_avx2(struct retarget_row *row, const struct retarget_shuffles *shuffles,
                                uint32_t first) {
    if (row->depth == 16)
        return row->grows ? put_blocks(row, shuffles, first, true, true)
                          : put_blocks(row, shuffles, first, false, true);
    return row->grows ? put_blocks(row, shuffles, first, true, false)
                      : put_blocks(row, shuffles, first, false, false);
}

#else

uint32_t retarget_row_avx2(struct retarget_row *row, const struct retarget_shuffles *shuffles,
                           uint32_t first) {
    (void)row, (void)shuffles;
    return first;
}

#endif
