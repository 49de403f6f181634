// SPDX-License-Identifier: Apache-2.0
/* How it works. smooth_avx2.c explains why samples and sums are stored less half their range.
 * Across, one permutation brings each sample and the next ones of its channel together, four of 8
 * bit or two of 16 bit, and one instruction multiplies and adds them, so no preparation is needed.
 */
#include "pipeline/rows/intrinsics.h"
#include "pipeline/rows/smooth_paths.h"

#ifdef __x86_64__

enum { VECTOR = 64, LANES = 16, HALF8 = 1 << 23, HALF16 = 1 << 15 };

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")))
#define INLINE static inline __attribute__((always_inline)) AVX512

INLINE __m512i side_by_side(__m512i first, __m512i second) {
    return _mm512_mask_blend_epi16(0xaaaaaaaa, first, _mm512_slli_epi32(second, 16));
}

/* ---- across */

/* Returns places of bytes i, i + CHANNELS, i + 2 CHANNELS, i + 3 CHANNELS of 32, for the lanes i.
 */
INLINE __m512i quad_places(uint32_t channels) {
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_add_epi8(_mm512_mullo_epi32(lanes, _mm512_set1_epi32(0x01010101)),
                           _mm512_set1_epi32((int)(channels * 0x03020100)));
}

INLINE __m512i quads(const uint8_t *from, __m512i places) {
    const __m256i bytes =
        _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)from), _mm256_set1_epi8(-128));
    return _mm512_permutexvar_epi8(places, _mm512_castsi256_si512(bytes));
}

INLINE void across8(const struct smooth_taps *taps, __m512i places, const uint8_t *first,
                    const uint8_t *second, uint8_t *to) {
    __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
    for (int k = 0; k < taps->quad_count; k++) {
        const size_t at = taps->quads[k].place * taps->channels;
        const __m512i weight = _mm512_set1_epi32((int)taps->quads[k].weights);
        a = _mm512_dpbusd_epi32(a, weight, quads(first + at, places));
        b = _mm512_dpbusd_epi32(b, weight, quads(first + at + LANES, places));
        c = _mm512_dpbusd_epi32(c, weight, quads(second + at, places));
        d = _mm512_dpbusd_epi32(d, weight, quads(second + at + LANES, places));
    }
    _mm512_store_si512(to, side_by_side(a, c));
    _mm512_store_si512(to + VECTOR, side_by_side(b, d));
}

/* Returns places of words i and i + CHANNELS of 32, for the lanes i. */
INLINE __m512i pair_places(uint32_t channels) {
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_add_epi32(_mm512_mullo_epi32(lanes, _mm512_set1_epi32(0x00010001)),
                            _mm512_set1_epi32((int)(channels << 16)));
}

INLINE __m512i pairs(const uint8_t *from, __m512i places) {
    const __m512i samples = _mm512_xor_si512(_mm512_loadu_si512(from), _mm512_set1_epi16(-32768));
    return _mm512_permutexvar_epi16(places, samples);
}

/* Stores the upper halves of two rows' sums, and the lower ones a chunk's two vectors further on.
 */
INLINE void store16(uint8_t *to, __m512i first, __m512i second) {
    const __m512i low = _mm512_xor_si512(side_by_side(first, second), _mm512_set1_epi16(-32768));
    _mm512_store_si512(to,
                       _mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_srli_epi32(first, 16), second));
    _mm512_store_si512(to + 2 * VECTOR, low);
}

INLINE void across16(const struct smooth_taps *taps, __m512i places, const uint8_t *first,
                     const uint8_t *second, uint8_t *to) {
    __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
    for (int k = 0; k < taps->across_count; k++) {
        const size_t at = 2 * (size_t)taps->across[k].place * taps->channels;
        const __m512i weight = _mm512_set1_epi32((int)taps->across[k].words[0]);
        a = _mm512_dpwssd_epi32(a, weight, pairs(first + at, places));
        b = _mm512_dpwssd_epi32(b, weight, pairs(first + at + 2 * LANES, places));
        c = _mm512_dpwssd_epi32(c, weight, pairs(second + at, places));
        d = _mm512_dpwssd_epi32(d, weight, pairs(second + at + 2 * LANES, places));
    }
    store16(to, a, c);
    store16(to + VECTOR, b, d);
}

AVX512 void smooth_across_avx512(const struct smooth_taps *taps, const uint8_t *const lines[2],
                                 uint8_t *work, size_t chunks, uint8_t *ring, size_t slot) {
    const bool is_bytes = taps->gaussian.depth == 8;
    const __m512i places = is_bytes ? quad_places(taps->channels) : pair_places(taps->channels);
    const size_t step = smooth_chunk_offset(taps, 1), bytes = SMOOTH_CHUNK * (is_bytes ? 1 : 2);
    const uint8_t *first = lines[0], *second = lines[1];
    uint8_t *to = ring + slot * smooth_slot_bytes(taps);
    (void)work;
    for (size_t i = 0; i < chunks; i++, first += bytes, second += bytes, to += step)
        if (is_bytes)
            across8(taps, places, first, second, to);
        else
            across16(taps, places, first, second, to);
}

/* ---- down */

/* Sums of 32 pairs, two vectors for the first row of results, then two for the second. */
struct sums {
    __m512i a, b, c, d;
};

INLINE struct sums sum_up(const struct smooth_taps *taps, const size_t *places,
                          const uint8_t *pairs_of, int start) {
    __m512i a = _mm512_set1_epi32(start), b = a, c = a, d = a;
    for (int k = 0; k < taps->down_count; k++) {
        const uint8_t *at = pairs_of + places[k];
        const __m512i left = _mm512_load_si512(at), right = _mm512_load_si512(at + VECTOR);
        const __m512i first = _mm512_set1_epi32((int)taps->down[k].words[0]),
                      second = _mm512_set1_epi32((int)taps->down[k].words[1]);
        a = _mm512_dpwssd_epi32(a, left, first);
        b = _mm512_dpwssd_epi32(b, right, first);
        c = _mm512_dpwssd_epi32(c, left, second);
        d = _mm512_dpwssd_epi32(d, right, second);
    }
    return (struct sums){ a, b, c, d };
}

/* The third byte of each sum is the result. */
INLINE void store8(uint8_t *to, __m512i left, __m512i right) {
    const __m256i thirds =
        _mm256_setr_epi8(2, 6, 10, 14, 18, 22, 26, 30, 34, 38, 42, 46, 50, 54, 58, 62, 66, 70, 74,
                         78, 82, 86, 90, 94, 98, 102, 106, 110, 114, 118, 122, 126);
    const __m512i levels = _mm512_permutex2var_epi8(left, _mm512_castsi256_si512(thirds), right);
    _mm256_storeu_si256((__m256i *)to, _mm512_castsi512_si256(levels));
}

/* Upper half + (lower half >> 16) + 2^15, over 2^16. */
INLINE void store_level16(uint8_t *to, __m512i upper, __m512i lower) {
    const __m512i sum = _mm512_add_epi32(upper, _mm512_srli_epi32(lower, 16));
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtepi32_epi16(_mm512_srli_epi32(sum, 16)));
}

INLINE void down16(const struct smooth_taps *taps, const size_t *places, const uint8_t *pairs_of,
                   uint8_t *first, uint8_t *second) {
    const int least = (int)0x80000000;
    const struct sums upper = sum_up(taps, places, pairs_of, least + HALF16),
                      lower = sum_up(taps, places, pairs_of + 2 * VECTOR, least);
    store_level16(first, upper.a, lower.a);
    store_level16(first + VECTOR / 2, upper.b, lower.b);
    store_level16(second, upper.c, lower.c);
    store_level16(second + VECTOR / 2, upper.d, lower.d);
}

AVX512 void smooth_down_avx512(const struct smooth_taps *taps, const uint8_t *ring, size_t slot,
                               size_t chunks, uint8_t *const out[2]) {
    const bool is_bytes = taps->gaussian.depth == 8;
    const size_t step = smooth_chunk_offset(taps, 1), bytes = SMOOTH_CHUNK * (is_bytes ? 1 : 2);
    uint8_t *first = out[0], *second = out[1];
    size_t places[SMOOTH_PAIRS_MAX];
    for (int k = 0; k < taps->down_count; k++) places[k] = smooth_tap_offset(taps, k, slot);
    for (size_t i = 0; i < chunks; i++, ring += step, first += bytes, second += bytes) {
        if (!is_bytes) {
            down16(taps, places, ring, first, second);
            continue;
        }
        const struct sums sums = sum_up(taps, places, ring, HALF8 + HALF16);
        store8(first, sums.a, sums.b);
        store8(second, sums.c, sums.d);
    }
}

#endif
