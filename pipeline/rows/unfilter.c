// SPDX-License-Identifier: Apache-2.0
/* How it works. All filters but UP need the pixel on the left, so a vector holds one pixel, and the
 * time of a row is that of one chain of instructions: as few as possible of them wait for the left.
 */
#include "pipeline/rows/unfilter.h"

#include "pipeline/rows/intrinsics.h"

#include <string.h>

enum { NONE, SUB, UP, AVERAGE, PAETH, FILTERS };

static uint8_t paeth(int left, int up, int corner) {
    const int to_left = up - corner, to_up = left - corner, to_corner = to_left + to_up;
    const int a = to_left < 0 ? -to_left : to_left, b = to_up < 0 ? -to_up : to_up;
    const int c = to_corner < 0 ? -to_corner : to_corner;
    return (uint8_t)(a <= b && a <= c ? left : b <= c ? up : corner);
}

static void unfilter_plain(unsigned filter, const uint8_t *filtered, const uint8_t *above,
                           uint8_t *row, size_t length, size_t pixel) {
    for (size_t i = 0; i < length; i++) {
        const uint8_t left = i < pixel ? 0 : row[i - pixel], up = above[i];
        const uint8_t corner = i < pixel ? 0 : above[i - pixel];
        const uint8_t guess = filter == SUB       ? left
                              : filter == AVERAGE ? (uint8_t)((left + up) >> 1)
                                                  : paeth(left, up, corner);
        row[i] = (uint8_t)(filtered[i] + guess);
    }
}

#ifdef __x86_64__
/* Loads and stores are of 4 or 8 bytes; the excess of a store is overwritten by the next one. */
AVX2 static inline __m128i load(const uint8_t *from, size_t pixel) {
    int64_t bytes = 0;
    memcpy(&bytes, from, pixel > 4 ? 8 : 4);
    return pixel > 4 ? _mm_cvtsi64_si128(bytes) : _mm_cvtsi32_si128((int)bytes);
}

AVX2 static inline void store(uint8_t *to, __m128i value, size_t pixel) {
    const int64_t bytes = pixel > 4 ? _mm_cvtsi128_si64(value) : _mm_cvtsi128_si32(value);
    memcpy(to, &bytes, pixel > 4 ? 8 : 4);
}

AVX2 static inline __m128i average(__m128i left, __m128i up) {
    const __m128i odd = _mm_and_si128(_mm_xor_si128(left, up), _mm_set1_epi8(1));
    return _mm_sub_epi8(_mm_avg_epu8(left, up), odd); /* the instruction rounds up */
}

/* In 16 bits a sample. Of left and up the larger is nearest to left + up - corner if three times
 * the corner, less both, is at most the smaller; the smaller, if that is at least the larger. */
AVX2 static inline __m128i nearest(__m128i left, __m128i up, __m128i corner, __m128i corner3_up) {
    const __m128i low = _mm_min_epi16(left, up), high = _mm_max_epi16(left, up);
    const __m128i bound = _mm_sub_epi16(corner3_up, left);
    const __m128i guess = _mm_blendv_epi8(low, corner, _mm_cmpgt_epi16(high, bound));
    return _mm_blendv_epi8(high, guess, _mm_cmpgt_epi16(bound, low));
}

AVX2 static inline __attribute__((always_inline)) void
unfilter_vector(unsigned filter, const uint8_t *filtered, const uint8_t *above, uint8_t *row,
                size_t length, size_t pixel) {
    const __m128i zero = _mm_setzero_si128();
    __m128i left = zero, corner = zero;
    for (size_t i = 0; i < length; i += pixel) {
        const __m128i bytes = load(filtered + i, pixel);
        if (filter == SUB) {
            left = _mm_add_epi8(left, bytes);
            store(row + i, left, pixel);
        } else if (filter == AVERAGE) {
            left = _mm_add_epi8(average(left, load(above + i, pixel)), bytes);
            store(row + i, left, pixel);
        } else {
            const __m128i up = _mm_unpacklo_epi8(load(above + i, pixel), zero);
            const __m128i corner3 = _mm_add_epi16(corner, _mm_add_epi16(corner, corner));
            left = _mm_add_epi8(nearest(left, up, corner, _mm_sub_epi16(corner3, up)),
                                _mm_unpacklo_epi8(bytes, zero));
            store(row + i, _mm_packus_epi16(left, left), pixel);
            corner = up;
        }
    }
}

AVX2 static inline __attribute__((always_inline)) void
unfilter_sized(unsigned filter, const uint8_t *filtered, const uint8_t *above, uint8_t *row,
               size_t length, size_t pixel) {
    switch (filter) { /* constants, so that each loop has one filter */
    case SUB: unfilter_vector(SUB, filtered, above, row, length, pixel); break;
    case AVERAGE: unfilter_vector(AVERAGE, filtered, above, row, length, pixel); break;
    default: unfilter_vector(PAETH, filtered, above, row, length, pixel); break;
    }
}

AVX2 static void unfilter_avx2(unsigned filter, const uint8_t *filtered, const uint8_t *above,
                               uint8_t *row, size_t length, size_t pixel) {
    switch (pixel) {
    case 1: unfilter_sized(filter, filtered, above, row, length, 1); break;
    case 2: unfilter_sized(filter, filtered, above, row, length, 2); break;
    case 3: unfilter_sized(filter, filtered, above, row, length, 3); break;
    case 4: unfilter_sized(filter, filtered, above, row, length, 4); break;
    case 6: unfilter_sized(filter, filtered, above, row, length, 6); break;
    default: unfilter_sized(filter, filtered, above, row, length, 8); break;
    }
}
#else
#define unfilter_avx2 unfilter_plain
#endif

bool unfilter_row(unsigned filter, const uint8_t *filtered, const uint8_t *above, uint8_t *row,
                  size_t length, size_t pixel) {
    if (filter == NONE)
        memcpy(row, filtered, length);
    else if (filter == UP)
        for (size_t i = 0; i < length; i++) row[i] = (uint8_t)(filtered[i] + above[i]);
    else if (filter < FILTERS)
        (simd_has_avx2() ? unfilter_avx2 : unfilter_plain)(filter, filtered, above, row, length,
                                                           pixel);
    return filter < FILTERS;
}
