// SPDX-License-Identifier: Apache-2.0
/* How it works. Tiles of 64 x 64 pixels use lines of both images whole while the cache has them.
 * Within a tile, square blocks fit the registers: their rows are loaded and interleaved, each with
 * the one half a block further down; log2 n rounds of this transpose n rows (H. S. Stone, Parallel
 * processing with the perfect shuffle, IEEE Transactions on Computers, 1971). Pixels of three bytes
 * are widened to four before and packed again afterwards. The rims go pixel by pixel. */
#include "pipeline/rows/transpose.h"

#include "pipeline/rows/intrinsics.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* ---- pixel by pixel */

/* Rows FIRST..END-1 and columns LEFT..RIGHT-1 of FROM. */
struct part {
    uint32_t left, right, first, end;
};

INLINE void transpose_sized(const struct transpose *t, struct part part, size_t pixel) {
    for (uint32_t i = part.left; i < part.right; i++) {
        uint8_t *to = t->to + i * t->to_stride;
        const uint8_t *from = t->from + i * pixel;
        for (uint32_t j = part.first; j < part.end; j++)
            memcpy(to + j * pixel, from + j * t->from_stride, pixel);
    }
}

static void transpose_part(const struct transpose *t, struct part part) {
    switch (t->pixel_bytes) {
    case 1: transpose_sized(t, part, 1); break;
    case 2: transpose_sized(t, part, 2); break;
    case 3: transpose_sized(t, part, 3); break;
    case 4: transpose_sized(t, part, 4); break;
    case 6: transpose_sized(t, part, 6); break;
    default: transpose_sized(t, part, 8); break;
    }
}

/* ---- blocks */

#ifdef __x86_64__
static uint32_t block_side(size_t pixel) {
    return pixel == 1 ? 16 : pixel == 2 ? 8 : pixel <= 4 ? 4 : 0;
}

/* Interleaves rows that are half of the rows apart. */
#define INTERLEAVE(rows, half, low, high)                                                          \
    do {                                                                                           \
        __m128i mixed_[2 * (half)];                                                                \
        for (int k_ = 0; k_ < (half); k_++) {                                                      \
            mixed_[2 * k_] = low((rows)[k_], (rows)[k_ + (half)]);                                 \
            mixed_[2 * k_ + 1] = high((rows)[k_], (rows)[k_ + (half)]);                            \
        }                                                                                          \
        memcpy(rows, mixed_, sizeof mixed_);                                                       \
    } while (0)

AVX2 INLINE void block1(const uint8_t *from, ptrdiff_t from_stride, uint8_t *to,
                        ptrdiff_t to_stride) {
    __m128i rows[16];
    for (int j = 0; j < 16; j++)
        rows[j] = _mm_loadu_si128((const __m128i *)(from + j * from_stride));
    for (int round = 0; round < 4; round++)
        INTERLEAVE(rows, 8, _mm_unpacklo_epi8, _mm_unpackhi_epi8);
    for (int i = 0; i < 16; i++) _mm_storeu_si128((__m128i *)(to + i * to_stride), rows[i]);
}

AVX2 INLINE void block2(const uint8_t *from, ptrdiff_t from_stride, uint8_t *to,
                        ptrdiff_t to_stride) {
    __m128i rows[8];
    for (int j = 0; j < 8; j++)
        rows[j] = _mm_loadu_si128((const __m128i *)(from + j * from_stride));
    for (int round = 0; round < 3; round++)
        INTERLEAVE(rows, 4, _mm_unpacklo_epi16, _mm_unpackhi_epi16);
    for (int i = 0; i < 8; i++) _mm_storeu_si128((__m128i *)(to + i * to_stride), rows[i]);
}

AVX2 INLINE void block4(const uint8_t *from, ptrdiff_t from_stride, uint8_t *to,
                        ptrdiff_t to_stride) {
    __m128i rows[4];
    for (int j = 0; j < 4; j++)
        rows[j] = _mm_loadu_si128((const __m128i *)(from + j * from_stride));
    for (int round = 0; round < 2; round++)
        INTERLEAVE(rows, 2, _mm_unpacklo_epi32, _mm_unpackhi_epi32);
    for (int i = 0; i < 4; i++) _mm_storeu_si128((__m128i *)(to + i * to_stride), rows[i]);
}

/* Loads twelve bytes without reading those after them; store12 writes no others either. */
AVX2 INLINE __m128i load12(const uint8_t *from) {
    int32_t last;
    memcpy(&last, from + 8, 4);
    return _mm_insert_epi32(_mm_loadl_epi64((const __m128i *)from), last, 2);
}

AVX2 INLINE void store12(uint8_t *to, __m128i bytes) {
    const int32_t last = _mm_extract_epi32(bytes, 2);
    _mm_storel_epi64((__m128i *)to, bytes);
    memcpy(to + 8, &last, 4);
}

AVX2 INLINE void block3(const uint8_t *from, ptrdiff_t from_stride, uint8_t *to,
                        ptrdiff_t to_stride) {
    const __m128i spread = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
    const __m128i pack = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    __m128i rows[4];
    for (int j = 0; j < 4; j++) rows[j] = _mm_shuffle_epi8(load12(from + j * from_stride), spread);
    for (int round = 0; round < 2; round++)
        INTERLEAVE(rows, 2, _mm_unpacklo_epi32, _mm_unpackhi_epi32);
    for (int i = 0; i < 4; i++) store12(to + i * to_stride, _mm_shuffle_epi8(rows[i], pack));
}

/* Transposes PART, whose sides are multiples of the block's. */
AVX2 static void transpose_blocks(const struct transpose *t, struct part part) {
    const size_t pixel = t->pixel_bytes;
    const uint32_t side = block_side(pixel);
    for (uint32_t i = part.left; i < part.right; i += side)
        for (uint32_t j = part.first; j < part.end; j += side) {
            const uint8_t *from = t->from + j * t->from_stride + i * pixel;
            uint8_t *to = t->to + i * t->to_stride + j * pixel;
            switch (pixel) {
            case 1: block1(from, t->from_stride, to, t->to_stride); break;
            case 2: block2(from, t->from_stride, to, t->to_stride); break;
            case 3: block3(from, t->from_stride, to, t->to_stride); break;
            default: block4(from, t->from_stride, to, t->to_stride); break;
            }
        }
}
#else
static uint32_t block_side(size_t pixel) {
    (void)pixel;
    return 0;
}
#define transpose_blocks transpose_part
#endif

/* ---- tiles */

static void transpose_tile(const struct transpose *t, struct part tile) {
    const uint32_t side = simd_has_avx2() ? block_side(t->pixel_bytes) : 0;
    if (!side) {
        transpose_part(t, tile);
        return;
    }
    const uint32_t right = tile.right - (tile.right - tile.left) % side;
    const uint32_t end = tile.end - (tile.end - tile.first) % side;
    transpose_blocks(t, (struct part){ tile.left, right, tile.first, end });
    transpose_part(t, (struct part){ tile.left, right, end, tile.end });
    transpose_part(t, (struct part){ right, tile.right, tile.first, tile.end });
}

static uint32_t tile_end(uint32_t first, uint32_t limit) {
    return limit - first < TRANSPOSE_TILE ? limit : first + TRANSPOSE_TILE;
}

void transpose_pixels(const struct transpose *transpose) {
    const struct transpose *t = transpose;
    for (uint32_t i = 0; i < t->columns; i += TRANSPOSE_TILE)
        for (uint32_t j = 0; j < t->rows; j += TRANSPOSE_TILE)
            transpose_tile(t, (struct part){ i, tile_end(i, t->columns), j, tile_end(j, t->rows) });
}
