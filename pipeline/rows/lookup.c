// SPDX-License-Identifier: Apache-2.0
/* How it works. A 256-entry table is sixteen 16-byte shuffles. Tables are chained by exclusive or
 * (D[k] = T[k] ^ T[k-1]), and the index decreases by 16 a step, so a lane takes part until its
 * index is negative, which makes the shuffle give 0. The result is T[v / 16][v % 16], with one
 * subtraction, shuffle and xor a table. AVX-512 VBMI looks up 7 bits by one permutation. */
#include "pipeline/rows/lookup.h"

#include "pipeline/rows/intrinsics.h"
#include "pipeline/rows/prefetch.h"

static void look_up_plain(const uint8_t table[256], const uint8_t *in, uint8_t *out,
                          size_t length) {
    for (size_t i = 0; i < length; i++) out[i] = table[in[i]];
}

#ifdef __x86_64__
struct chain {
    __m256i link[16]; /* 0..7 for values 0..127, 8..15 for 128..255, each half chained by xor */
};

AVX2 static struct chain chain_make(const uint8_t table[256]) {
    struct chain chain;
    __m256i before = _mm256_setzero_si256();
    for (int k = 0; k < 16; k++) {
        const __m256i now =
            _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(table + 16 * k)));
        chain.link[k] = k % 8 ? _mm256_xor_si256(now, before) : now;
        before = now;
    }
    return chain;
}

AVX2 static inline __m256i chain_map(const struct chain *chain, __m256i values) {
    const __m256i sixteen = _mm256_set1_epi8(16);
    __m256i low = values, high = _mm256_xor_si256(values, _mm256_set1_epi8(-128));
    __m256i result = _mm256_xor_si256(_mm256_shuffle_epi8(chain->link[0], low),
                                      _mm256_shuffle_epi8(chain->link[8], high));
    for (int k = 1; k < 8; k++) {
        low = _mm256_subs_epi8(low, sixteen);
        high = _mm256_subs_epi8(high, sixteen);
        result = _mm256_xor_si256(result, _mm256_shuffle_epi8(chain->link[k], low));
        result = _mm256_xor_si256(result, _mm256_shuffle_epi8(chain->link[k + 8], high));
    }
    return result;
}

AVX2 static void look_up_avx2(const uint8_t table[256], const uint8_t *in, uint8_t *out,
                              size_t length) {
    const struct chain chain = chain_make(table);
    size_t i = 0;
    for (; i + 32 <= length; i += 32) {
        prefetch(in + i);
        prefetch(out + i);
        const __m256i values = _mm256_loadu_si256((const __m256i *)(in + i));
        _mm256_storeu_si256((__m256i *)(out + i), chain_map(&chain, values));
    }
    look_up_plain(table, in + i, out + i, length - i);
}

/* Each vector has a quarter of the table: a permutation of two looks up 7 bits; the sign is the
 * 8th. */
AVX512_VBMI static void look_up_vbmi(const uint8_t table[256], const uint8_t *in, uint8_t *out,
                                     size_t length) {
    __m512i quarter[4];
    for (int k = 0; k < 4; k++) quarter[k] = _mm512_loadu_si512(table + 64 * k);
    size_t i = 0;
    for (; i + 64 <= length; i += 64) {
        prefetch(in + i);
        prefetch(out + i);
        const __m512i values = _mm512_loadu_si512(in + i);
        const __m512i low = _mm512_permutex2var_epi8(quarter[0], values, quarter[1]);
        const __m512i high = _mm512_permutex2var_epi8(quarter[2], values, quarter[3]);
        _mm512_storeu_si512(out + i,
                            _mm512_mask_blend_epi8(_mm512_movepi8_mask(values), low, high));
    }
    look_up_avx2(table, in + i, out + i, length - i);
}
#else
#define look_up_avx2 look_up_plain
#define look_up_vbmi look_up_plain
#endif

void lookup_bytes(const uint8_t table[256], const uint8_t *in, uint8_t *out, size_t length) {
    (!simd_has_avx2()  ? look_up_plain
     : simd_has_vbmi() ? look_up_vbmi
                       : look_up_avx2)(table, in, out, length);
}
