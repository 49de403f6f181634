// SPDX-License-Identifier: Apache-2.0
/* How it works. AVX2 does most of a row, plain C its ends, and new pixels with alpha. For 64 pixels
 * at a time the map gives one bit a pixel: whether a seam crosses it. Plain C copies the run from
 * one such bit to the next; the seam's pixel is then skipped, or it ends the run and a new pixel
 * follows. AVX2 copies blocks that no seam crosses. In others a table gives, for each group of two
 * or four pixels (at most 16 bytes), the shuffle that makes its result, without a branch; where the
 * row grows a second shuffle inserts the means. Bytes stored beyond a result are overwritten by the
 * next one. */
#include "pipeline/ops/carve/retarget.h"

#include "pipeline/band.h"
#include "pipeline/ops/carve/new_pixel.h"
#include "pipeline/rows/intrinsics.h"
#include "pipeline/sample.h"

#include <assert.h>

enum { BLOCK = 64, ROWS_A_LOOK = 16, PLAIN_FIRST = 4, PIXEL_BYTES_SMALL = 4, NOWHERE = 128 };

struct retarget_row {
    const uint16_t *map;
    const uint8_t *in, *in_end;
    uint8_t *out, *out_end; /* of the bytes still to be written */
    uint32_t width;         /* of `in` and the map */
    uint16_t seams;         /* number of seams to remove or double */
    bool grows;
    unsigned channels, depth;
};

/* Whether NUMBER, of the map, is one of the first SEAMS; NUMBER is below 2^16. */
static inline bool retarget_crosses(uint16_t number, uint16_t seams) {
    return (uint16_t)(number - 1) < seams;
}

enum { RETARGET_MASKS = 16, RETARGET_BYTES = 32 };

/* For each mask of a group's pixels with seams: the source of each byte of the result, among the
 * group's pixels or among their means; 128: not from there. */
struct retarget_shuffles {
    uint32_t group; /* pixels */
    uint8_t pixels[RETARGET_MASKS][RETARGET_BYTES], means[RETARGET_MASKS][RETARGET_BYTES];
    uint8_t length[RETARGET_MASKS]; /* bytes of the result */
};

/* ---- plain C, which defines the result */

/* Returns a bit for each of COUNT pixels, at most BLOCK, from FIRST on: whether a seam crosses it.
 */
static inline uint64_t crossed(const struct retarget_row *row, uint32_t first, uint32_t count) {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < count; i++)
        bits |= (uint64_t)retarget_crosses(row->map[first + i], row->seams) << i;
    return bits;
}

/* Copies at most what fits: a map that lacks numbers leaves more pixels than the row holds. */
static inline void copy_run(struct retarget_row *row, const uint8_t *from, size_t bytes) {
    const size_t room = (size_t)(row->out_end - row->out);
    if (bytes > room) bytes = room;
    memcpy(row->out, from, bytes);
    row->out += bytes;
}

/* Adds the new pixel after the one at AT, if there is room. */
static inline void put_mean(struct retarget_row *row, uint32_t at, unsigned channels,
                            unsigned depth) {
    if (row->out == row->out_end) return; /* else a whole pixel fits */
    const size_t bytes = channels * (depth / 8), here = at, left = at ? at - 1 : 0;
    const size_t right = at + 1 < row->width ? at + 1 : at;
    carve_put_new(row->out, row->in + left * bytes, row->in + here * bytes, row->in + right * bytes,
                  channels, depth);
    row->out += bytes;
}

/* Does pixels FIRST to END - 1. */
static inline void put_pixels(struct retarget_row *row, uint32_t first, uint32_t end,
                              unsigned channels, unsigned depth) {
    const size_t bytes = channels * (depth / 8);
    uint32_t start = first; /* of the run that is not copied yet */
    for (; first < end; first += BLOCK) {
        uint64_t bits = crossed(row, first, end - first < BLOCK ? end - first : BLOCK);
        for (; bits; bits &= bits - 1) {
            const uint32_t at = first + (uint32_t)__builtin_ctzll(bits);
            const uint32_t stop = row->grows ? at + 1 : at;
            copy_run(row, row->in + start * bytes, (stop - start) * bytes);
            if (row->grows) put_mean(row, at, channels, depth);
            start = at + 1;
        }
    }
    copy_run(row, row->in + start * bytes, (end - start) * bytes);
}

/* ---- AVX2 */

static size_t put_pixel(uint8_t *table, uint32_t pixel, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) table[i] = (uint8_t)(pixel * bytes + i);
    return bytes;
}

static void shuffles_make(struct retarget_shuffles *shuffles, size_t bytes, bool grows) {
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

enum { VECTOR = 16 };

INLINE __m128i load(const void *from) {
    return _mm_loadu_si128((const __m128i *)from);
}

INLINE void store(void *to, __m128i value) {
    _mm_storeu_si128((__m128i *)to, value);
}

/* Returns a bit for each of 32 pixels: whether SEAMS less NUMBER - 1, saturated at 0, is not 0. */
INLINE uint32_t crossed_32(const uint16_t *map, __m256i seams) {
    const __m256i one = _mm256_set1_epi16(1), zero = _mm256_setzero_si256();
    const __m256i a = _mm256_sub_epi16(_mm256_loadu_si256((const __m256i *)map), one);
    const __m256i b = _mm256_sub_epi16(_mm256_loadu_si256((const __m256i *)(map + 16)), one);
    const __m256i out_a = _mm256_cmpeq_epi16(_mm256_subs_epu16(seams, a), zero);
    const __m256i out_b = _mm256_cmpeq_epi16(_mm256_subs_epu16(seams, b), zero);
    const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi16(out_a, out_b), 0xd8);
    return ~(uint32_t)_mm256_movemask_epi8(both);
}

/* floor((l + s + r + 1) / 3) is the rounded mean of three. Bytes multiply by 21846 / 2^16, exact
 * below 2^15; 16 bits multiply by the float next to 1/3, exact as long as sums are. */
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

/* Writes a block whose BITS say which pixels seams cross; returns the end of its result. */
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

/* Stops before a block whose loads would leave the row or whose stores would leave the result. */
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

/* Does as many pixels from FIRST on as whole blocks allow; FIRST is at least 1. Returns the end. */
AVX2 static uint32_t retarget_row_avx2(struct retarget_row *row,
                                       const struct retarget_shuffles *shuffles, uint32_t first) {
    if (row->depth == 16)
        return row->grows ? put_blocks(row, shuffles, first, true, true)
                          : put_blocks(row, shuffles, first, false, true);
    return row->grows ? put_blocks(row, shuffles, first, true, false)
                      : put_blocks(row, shuffles, first, false, false);
}

#else

static uint32_t retarget_row_avx2(struct retarget_row *row,
                                  const struct retarget_shuffles *shuffles, uint32_t first) {
    (void)row, (void)shuffles;
    return first;
}

#endif

/* ---- rows, by all threads */

/* SHUFFLES is NULL without AVX2. */
static void put_row(struct retarget_row *row, const struct retarget_shuffles *shuffles) {
    uint32_t x = shuffles && row->width > PLAIN_FIRST ? PLAIN_FIRST : 0;
    SPECIALISE(row->channels, row->depth, put_pixels, row, 0, x);
    if (x) x = retarget_row_avx2(row, shuffles, x);
    SPECIALISE(row->channels, row->depth, put_pixels, row, x, row->width);
}

static struct retarget_row row_of(const struct op_call *call, uint32_t y) {
    const struct image *in = &call->in, *out = &call->out;
    return (struct retarget_row){
        .map = (const uint16_t *)(const void *)image_row(&call->common, y),
        .in = image_row(in, y),
        .in_end = image_row(in, y) + image_row_bytes(in),
        .out = image_row(out, y),
        .out_end = image_row(out, y) + image_row_bytes(out),
        .width = in->width,
        .seams = (uint16_t)carve_apart(in->width, out->width),
        .grows = out->width > in->width,
        .channels = in->channels,
        .depth = in->depth,
    };
}

static void retarget_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct band band = band_of(call->in.height, index, pool_threads(call->pool));
    struct retarget_shuffles shuffles;
    const bool grows = call->out.width > call->in.width;
    const bool vectors = simd_has_avx2() && !(grows && image_has_alpha(&call->in));
    if (vectors) shuffles_make(&shuffles, image_pixel_bytes(&call->in), grows);
    for (uint32_t y = band.first; y < band.end; y++) {
        struct retarget_row row = row_of(call, y);
        if (y % ROWS_A_LOOK == 0 && progress_check(call->progress)) return;
        put_row(&row, vectors ? &shuffles : NULL);
    }
}

enum status carve_retarget(const struct op_call *call) {
    const int64_t start = clock_ns();
    assert(call->common.width == call->in.width && call->common.height == call->in.height);
    assert(call->out.height == call->in.height);
    pool_run(call->pool, retarget_band, (void *)call, pool_threads(call->pool));
    timing_span(call->timing, "remove", 1, ns_to_ms(clock_ns() - start));
    return progress_check(call->progress);
}
