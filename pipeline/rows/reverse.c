// SPDX-License-Identifier: Apache-2.0
/* A vector takes as many whole pixels as 16 bytes hold, and one shuffle reverses them; the excess
 * that a store writes is overwritten by the next one. */
#include "pipeline/rows/reverse.h"

#include "pipeline/rows/intrinsics.h"
#include "pipeline/rows/prefetch.h"

#include <string.h>

/* PIXEL is a compile-time constant. */
static inline __attribute__((always_inline)) void reverse_sized(const uint8_t *in, uint8_t *out,
                                                                size_t count, size_t pixel) {
    for (size_t i = 0; i < count; i++) memcpy(out + i * pixel, in + (count - 1 - i) * pixel, pixel);
}

static void reverse_plain(const uint8_t *in, uint8_t *out, size_t count, size_t pixel) {
    switch (pixel) {
    case 1: reverse_sized(in, out, count, 1); break;
    case 2: reverse_sized(in, out, count, 2); break;
    case 3: reverse_sized(in, out, count, 3); break;
    case 4: reverse_sized(in, out, count, 4); break;
    case 6: reverse_sized(in, out, count, 6); break;
    default: reverse_sized(in, out, count, 8); break;
    }
}

#ifdef __x86_64__
/* Returns the shuffle that reverses a vector's pixels; the bytes after them become 0. */
AVX2 static __m128i shuffle_of(size_t pixel) {
    uint8_t from[16];
    const size_t pixels = 16 / pixel;
    for (size_t i = 0; i < 16; i++)
        from[i] =
            i < pixels * pixel ? (uint8_t)((pixels - 1 - i / pixel) * pixel + i % pixel) : 128;
    return _mm_loadu_si128((const __m128i *)from);
}

/* Plain code does the last vectors of OUT, whose stores would reach beyond the row. */
AVX2 static void reverse_avx2(const uint8_t *in, uint8_t *out, size_t count, size_t pixel) {
    const __m128i shuffle = shuffle_of(pixel);
    const size_t pixels = 16 / pixel, step = pixels * pixel;
    size_t left = count;
    for (; left * pixel >= 32; left -= pixels) {
        const uint8_t *from = in + left * pixel - step;
        prefetch(out);
        _mm_storeu_si128((__m128i *)out,
                         _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)from), shuffle));
        out += step;
    }
    reverse_plain(in, out, left, pixel);
}
#else
#define reverse_avx2 reverse_plain
#endif

void reverse_pixels(const uint8_t *in, uint8_t *out, size_t count, size_t pixel_bytes) {
    (simd_has_avx2() ? reverse_avx2 : reverse_plain)(in, out, count, pixel_bytes);
}
