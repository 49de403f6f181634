// SPDX-License-Identifier: Apache-2.0
/* How it works. Taps come in pairs, because vectors multiply and add in pairs: across, a sample and
 * its neighbour; down, a sample and the one below it, which the ring keeps side by side. The two
 * results of a step down share what they read: the second's weights are shifted by one row. */
#include "pipeline/rows/smooth.h"

#include "pipeline/rows/intrinsics.h"
#include "pipeline/sample.h"

#include <string.h>

/* ---- the ring: each way has its own layout of a chunk */

static size_t smooth_slot_bytes(const struct smooth_taps *taps) {
    return 2 * SMOOTH_CHUNK * (taps->gaussian.depth / 8) * 2;
}

static size_t smooth_slots(const struct smooth_taps *taps) {
    return taps->gaussian.reach + 1;
}

/* Returns the offset of the sums of CHUNK, pair by pair. */
static size_t smooth_chunk_offset(const struct smooth_taps *taps, size_t chunk) {
    return chunk * smooth_slots(taps) * smooth_slot_bytes(taps);
}

/* Returns the offset from the first pair of a chunk to that of tap K, where the window begins with
 * SLOT. */
static size_t smooth_tap_offset(const struct smooth_taps *taps, int k, size_t slot) {
    const size_t at = slot + taps->down[k].place, slots = smooth_slots(taps);
    return (at < slots ? at : at - slots) * smooth_slot_bytes(taps);
}

/* ---- weights */

/* the largest signed word */
enum { WEIGHT_MAX = 32767 };

static uint16_t weight_of(const struct gaussian *gaussian, int tap) {
    const int distance = tap - (int)gaussian->reach;
    const unsigned size = (unsigned)(distance < 0 ? -distance : distance);
    return size <= gaussian->reach ? gaussian->weight[size] : 0;
}

static uint32_t words_of(uint32_t first, uint32_t second) {
    return first | second << 16;
}

static uint32_t at_most(uint32_t weight) {
    return weight < WEIGHT_MAX ? weight : WEIGHT_MAX;
}

/* Adds the tap of weights for two results, each of a first and a second sample. A weight beyond
 * WEIGHT_MAX makes two taps at one place. Returns the new count. */
static int add_tap(struct smooth_tap *list, int count, int place, const uint32_t weight[4]) {
    uint32_t first[4], rest[4];
    for (int i = 0; i < 4; i++) first[i] = at_most(weight[i]), rest[i] = weight[i] - first[i];
    const struct smooth_tap tap = {
        .place = (uint16_t)place,
        .bytes = (uint16_t)(first[0] | first[1] << 8),
        .words = { words_of(first[0], first[1]), words_of(first[2], first[3]) },
    };
    const struct smooth_tap more = {
        .place = (uint16_t)place,
        .words = { words_of(rest[0], rest[1]), words_of(rest[2], rest[3]) },
    };
    if (tap.words[0] | tap.words[1]) list[count++] = tap;
    if (more.words[0] | more.words[1]) list[count++] = more;
    return count;
}

void smooth_taps_make(struct smooth_taps *taps, const struct gaussian *gaussian,
                      uint32_t channels) {
    taps->gaussian = *gaussian;
    taps->channels = channels;
    taps->across_count = taps->down_count = 0;
    for (int pair = 0; pair <= (int)gaussian->reach; pair++) {
        const uint32_t before = weight_of(gaussian, 2 * pair - 1),
                       first = weight_of(gaussian, 2 * pair),
                       second = weight_of(gaussian, 2 * pair + 1);
        taps->across_count = add_tap(taps->across, taps->across_count, 2 * pair,
                                     (const uint32_t[]){ first, second, 0, 0 });
        taps->down_count = add_tap(taps->down, taps->down_count, pair,
                                   (const uint32_t[]){ first, second, before, first });
    }
}

struct smooth_sizes smooth_sizes_of(const struct smooth_taps *taps, size_t chunks) {
    const size_t sample = taps->gaussian.depth / 8, samples = chunks * SMOOTH_CHUNK;
    const size_t line =
        ((samples + (2 * taps->gaussian.reach + 2) * taps->channels) * sample + 127) / 64 * 64;
    return (struct smooth_sizes){ .line = line,
                                  .work = 4 * line,
                                  .ring = smooth_chunk_offset(taps, chunks),
                                  .slots = smooth_slots(taps),
                                  .row = samples * sample };
}

/* ---- plain: in the ring a chunk's two rows lie one after the other */

/* Sums of 8-bit samples fit 16 bits: 255 * 256. */
static void across_row8(const struct smooth_taps *taps, const uint8_t *line, size_t chunk,
                        uint8_t *to) {
    uint16_t sums[SMOOTH_CHUNK] = { 0 };
    for (int k = 0; k < taps->across_count; k++) {
        const struct smooth_tap *tap = &taps->across[k];
        const uint16_t one = (uint16_t)tap->words[0], two = (uint16_t)(tap->words[0] >> 16);
        const uint8_t *first = line + chunk * SMOOTH_CHUNK + tap->place * taps->channels,
                      *second = first + taps->channels;
        for (int i = 0; i < SMOOTH_CHUNK; i++)
            sums[i] = (uint16_t)(sums[i] + one * first[i] + two * second[i]);
    }
    memcpy(to, sums, sizeof sums);
}

static void across_row16(const struct smooth_taps *taps, const uint8_t *line, size_t chunk,
                         uint8_t *to) {
    uint32_t sums[SMOOTH_CHUNK] = { 0 };
    for (int k = 0; k < taps->across_count; k++) {
        const struct smooth_tap *tap = &taps->across[k];
        const uint16_t one = (uint16_t)tap->words[0], two = (uint16_t)(tap->words[0] >> 16);
        const uint8_t *first = line + 2 * (chunk * SMOOTH_CHUNK + tap->place * taps->channels),
                      *second = first + 2 * (size_t)taps->channels;
        for (size_t i = 0; i < SMOOTH_CHUNK; i++)
            sums[i] += one * sample_get(first, i, 16) + two * sample_get(second, i, 16);
    }
    memcpy(to, sums, sizeof sums);
}

static void smooth_across_plain(const struct smooth_taps *taps, const uint8_t *const lines[2],
                                uint8_t *work, size_t chunks, uint8_t *ring, size_t slot) {
    const size_t bytes = smooth_slot_bytes(taps);
    (void)work;
    for (size_t i = 0; i < 2 * chunks; i++) {
        uint8_t *to = ring + smooth_chunk_offset(taps, i / 2) + slot * bytes + i % 2 * bytes / 2;
        (taps->gaussian.depth == 8 ? across_row8 : across_row16)(taps, lines[i % 2], i / 2, to);
    }
}

static void down_row8(const struct smooth_taps *taps, const uint8_t *pairs, size_t slot, int row,
                      uint8_t *out) {
    uint32_t sums[SMOOTH_CHUNK] = { 0 };
    for (int k = 0; k < taps->down_count; k++) {
        const uint16_t *pair = (const uint16_t *)(pairs + smooth_tap_offset(taps, k, slot));
        const uint32_t words = taps->down[k].words[row];
        const uint16_t one = (uint16_t)words, two = (uint16_t)(words >> 16);
        for (int i = 0; i < SMOOTH_CHUNK; i++)
            sums[i] += (uint32_t)one * pair[i] + (uint32_t)two * pair[SMOOTH_CHUNK + i];
    }
    for (size_t i = 0; i < SMOOTH_CHUNK; i++) out[i] = (uint8_t)((sums[i] + (1u << 15)) >> 16);
}

static void down_row16(const struct smooth_taps *taps, const uint8_t *pairs, size_t slot, int row,
                       uint8_t *out) {
    uint64_t sums[SMOOTH_CHUNK] = { 0 };
    for (int k = 0; k < taps->down_count; k++) {
        const uint32_t *pair = (const uint32_t *)(pairs + smooth_tap_offset(taps, k, slot));
        const uint32_t words = taps->down[k].words[row];
        const uint16_t one = (uint16_t)words, two = (uint16_t)(words >> 16);
        for (int i = 0; i < SMOOTH_CHUNK; i++)
            sums[i] += (uint64_t)one * pair[i] + (uint64_t)two * pair[SMOOTH_CHUNK + i];
    }
    for (size_t i = 0; i < SMOOTH_CHUNK; i++)
        sample_put(out, i, 16, (uint32_t)((sums[i] + (UINT64_C(1) << 31)) >> 32));
}

static void smooth_down_plain(const struct smooth_taps *taps, const uint8_t *ring, size_t slot,
                              size_t chunks, uint8_t *const out[2]) {
    const size_t bytes = SMOOTH_CHUNK * (taps->gaussian.depth / 8);
    for (size_t chunk = 0; chunk < chunks; chunk++)
        for (int row = 0; row < 2; row++)
            (bytes == SMOOTH_CHUNK ? down_row8 : down_row16)(
                taps, ring + smooth_chunk_offset(taps, chunk), slot, row, out[row] + chunk * bytes);
}

/* ---- AVX2: samples and sums are stored less half their range, so that signed products hold them;
 * as weights add up to 1, that half is a constant of the result. Across 8 bit, weights are the
 * unsigned factor, and no sum of pairs exceeds 16 signed bits. Sums of 16 bit are split into two
 * halves of 16 bits for the way down; they wrap at 2^32 and still end correctly. The ring has a
 * pair of rows as 32-bit words, sample by sample; 8 bit in the order that unpacking gives, 16 bit
 * with a chunk's upper halves before its lower ones. */

#ifdef __x86_64__
enum { VECTOR = 32, HALF8 = 1 << 23, HALF16 = 1 << 15 };

#define INLINE static inline __attribute__((always_inline)) AVX2

INLINE __m256i load(const uint8_t *from) {
    return _mm256_loadu_si256((const __m256i *)from);
}

INLINE void store(uint8_t *to, __m256i vector) {
    _mm256_storeu_si256((__m256i *)to, vector);
}

INLINE __m256i halves(const uint8_t *low, const uint8_t *high) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low)),
                                   _mm_loadu_si128((const __m128i *)high), 1);
}

/* ---- 8 bit, across */

/* Puts each sample beside the one CHANNELS further on, both less 128. */
AVX2 static void pair_up8(const uint8_t *line, size_t channels, size_t samples, uint8_t *pairs) {
    const __m256i bias = _mm256_set1_epi8(-128);
    for (size_t i = 0; i < samples; i += 32) {
        const uint8_t *at = line + i, *next = at + channels;
        const __m256i a = _mm256_xor_si256(_mm256_permute4x64_epi64(load(at), 0xd8), bias);
        const __m256i b = _mm256_xor_si256(_mm256_permute4x64_epi64(load(next), 0xd8), bias);
        store(pairs + 2 * i, _mm256_unpacklo_epi8(a, b));
        store(pairs + 2 * i + VECTOR, _mm256_unpackhi_epi8(a, b));
    }
}

INLINE void across_chunk8(const struct smooth_taps *taps, const uint8_t *const pairs[2],
                          uint8_t *to) {
    __m256i a0 = _mm256_setzero_si256(), a1 = a0, b0 = a0, b1 = a0;
    for (int k = 0; k < taps->across_count; k++) {
        const struct smooth_tap *tap = &taps->across[k];
        const size_t at = 2 * (size_t)tap->place * taps->channels;
        const __m256i weight = _mm256_set1_epi16((short)tap->bytes);
        a0 = _mm256_add_epi16(a0, _mm256_maddubs_epi16(weight, load(pairs[0] + at)));
        a1 = _mm256_add_epi16(a1, _mm256_maddubs_epi16(weight, load(pairs[0] + at + VECTOR)));
        b0 = _mm256_add_epi16(b0, _mm256_maddubs_epi16(weight, load(pairs[1] + at)));
        b1 = _mm256_add_epi16(b1, _mm256_maddubs_epi16(weight, load(pairs[1] + at + VECTOR)));
    }
    store(to, _mm256_unpacklo_epi16(a0, b0));
    store(to + VECTOR, _mm256_unpackhi_epi16(a0, b0));
    store(to + 2 * VECTOR, _mm256_unpacklo_epi16(a1, b1));
    store(to + 3 * VECTOR, _mm256_unpackhi_epi16(a1, b1));
}

/* ---- 16 bit, across */

AVX2 static void pair_up16(const uint8_t *line, size_t channels, size_t samples, uint8_t *pairs) {
    const __m256i bias = _mm256_set1_epi16(-32768);
    for (size_t i = 0; i < samples; i += 16) {
        const uint8_t *at = line + 2 * i, *next = at + 2 * channels;
        const __m256i a = _mm256_xor_si256(_mm256_permute4x64_epi64(load(at), 0xd8), bias);
        const __m256i b = _mm256_xor_si256(_mm256_permute4x64_epi64(load(next), 0xd8), bias);
        store(pairs + 4 * i, _mm256_unpacklo_epi16(a, b));
        store(pairs + 4 * i + VECTOR, _mm256_unpackhi_epi16(a, b));
    }
}

INLINE void across_half16(const struct smooth_taps *taps, const uint8_t *const pairs[2],
                          size_t first, uint8_t *to) {
    __m256i a[2] = { _mm256_setzero_si256(), _mm256_setzero_si256() }, b[2] = { a[0], a[0] };
    for (int k = 0; k < taps->across_count; k++) {
        const struct smooth_tap *tap = &taps->across[k];
        const size_t at = first + 4 * (size_t)tap->place * taps->channels;
        const __m256i weight = _mm256_set1_epi32((int)tap->words[0]);
        for (int i = 0; i < 2; i++) {
            const uint8_t *from = pairs[0] + at + i * VECTOR, *below = pairs[1] + at + i * VECTOR;
            a[i] = _mm256_add_epi32(a[i], _mm256_madd_epi16(weight, load(from)));
            b[i] = _mm256_add_epi32(b[i], _mm256_madd_epi16(weight, load(below)));
        }
    }
    for (int i = 0; i < 2; i++) {
        const __m256i low = _mm256_blend_epi16(a[i], _mm256_slli_epi32(b[i], 16), 0xaa);
        store(to + i * VECTOR, _mm256_blend_epi16(_mm256_srli_epi32(a[i], 16), b[i], 0xaa));
        store(to + (i + 4) * VECTOR, _mm256_xor_si256(low, _mm256_set1_epi16(-32768)));
    }
}

AVX2 static void smooth_across_avx2(const struct smooth_taps *taps, const uint8_t *const lines[2],
                                    uint8_t *work, size_t chunks, uint8_t *ring, size_t slot) {
    const unsigned depth = taps->gaussian.depth;
    const size_t samples =
        chunks * SMOOTH_CHUNK + (2 * (size_t)taps->gaussian.reach + 1) * taps->channels;
    const size_t step = 2 * SMOOTH_CHUNK * (depth / 8);
    uint8_t *below = work + smooth_sizes_of(taps, chunks).work / 2;
    (depth == 8 ? pair_up8 : pair_up16)(lines[0], taps->channels, samples, work);
    (depth == 8 ? pair_up8 : pair_up16)(lines[1], taps->channels, samples, below);
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        const uint8_t *const pairs[2] = { work + chunk * step, below + chunk * step };
        uint8_t *to = ring + smooth_chunk_offset(taps, chunk) + slot * smooth_slot_bytes(taps);
        if (depth == 8) {
            across_chunk8(taps, pairs, to);
        } else {
            across_half16(taps, pairs, 0, to);
            across_half16(taps, pairs, 2 * VECTOR, to + 2 * VECTOR);
        }
    }
}

/* Sums of 16 pairs, for both rows of results. */
struct sums {
    __m256i row[2][2];
};

/* PAIRS are the first of a chunk, or a vector or more further on. */
INLINE struct sums sum_up(const struct smooth_taps *taps, const size_t *places,
                          const uint8_t *pairs, int start) {
    const __m256i first = _mm256_set1_epi32(start);
    struct sums sums = { { { first, first }, { first, first } } };
    for (int k = 0; k < taps->down_count; k++) {
        const uint8_t *at = pairs + places[k];
        const struct smooth_tap *tap = &taps->down[k];
        for (int i = 0; i < 4; i++) {
            const __m256i weight = _mm256_set1_epi32((int)tap->words[i / 2]);
            sums.row[i / 2][i % 2] = _mm256_add_epi32(
                sums.row[i / 2][i % 2], _mm256_madd_epi16(weight, load(at + i % 2 * VECTOR)));
        }
    }
    return sums;
}

INLINE __m256i levels8(const __m256i sums[2]) {
    return _mm256_packs_epi32(_mm256_srli_epi32(sums[0], 16), _mm256_srli_epi32(sums[1], 16));
}

INLINE void down_chunk8(const struct smooth_taps *taps, const size_t *places, const uint8_t *pairs,
                        uint8_t *const out[2], size_t at) {
    const struct sums left = sum_up(taps, places, pairs, HALF8 + HALF16),
                      right = sum_up(taps, places, pairs + 2 * VECTOR, HALF8 + HALF16);
    for (int row = 0; row < 2; row++) {
        const __m256i levels = _mm256_packus_epi16(levels8(left.row[row]), levels8(right.row[row]));
        store(out[row] + at, _mm256_permute4x64_epi64(levels, 0xd8));
    }
}

/* Upper half + (lower half >> 16) + 2^15, over 2^16. */
INLINE __m256i levels16(__m256i upper, __m256i lower) {
    return _mm256_srli_epi32(_mm256_add_epi32(upper, _mm256_srli_epi32(lower, 16)), 16);
}

INLINE void down_half16(const struct smooth_taps *taps, const size_t *places, const uint8_t *pairs,
                        uint8_t *const out[2], size_t at) {
    const int least = (int)0x80000000;
    const struct sums upper = sum_up(taps, places, pairs, least + HALF16),
                      lower = sum_up(taps, places, pairs + 4 * VECTOR, least);
    for (int row = 0; row < 2; row++) {
        const __m256i levels = _mm256_packus_epi32(levels16(upper.row[row][0], lower.row[row][0]),
                                                   levels16(upper.row[row][1], lower.row[row][1]));
        store(out[row] + 2 * at, _mm256_permute4x64_epi64(levels, 0xd8));
    }
}

AVX2 static void smooth_down_avx2(const struct smooth_taps *taps, const uint8_t *ring, size_t slot,
                                  size_t chunks, uint8_t *const out[2]) {
    size_t places[SMOOTH_PAIRS_MAX];
    for (int k = 0; k < taps->down_count; k++) places[k] = smooth_tap_offset(taps, k, slot);
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        const uint8_t *pairs = ring + smooth_chunk_offset(taps, chunk);
        const size_t at = chunk * SMOOTH_CHUNK;
        if (taps->gaussian.depth == 8) {
            down_chunk8(taps, places, pairs, out, at);
        } else {
            down_half16(taps, places, pairs, out, at);
            down_half16(taps, places, pairs + 2 * VECTOR, out, at + SMOOTH_CHUNK / 2);
        }
    }
}

/* ---- the CPU's way */

#define WAY(name) (simd_has_avx2() ? name##_avx2 : name##_plain)
#else
#define WAY(name) name##_plain
#endif

void smooth_across(const struct smooth_taps *taps, const uint8_t *const lines[2], uint8_t *work,
                   size_t chunks, uint8_t *ring, size_t slot) {
    WAY(smooth_across)(taps, lines, work, chunks, ring, slot);
}

void smooth_down(const struct smooth_taps *taps, const uint8_t *ring, size_t slot, size_t chunks,
                 uint8_t *const out[2]) {
    WAY(smooth_down)(taps, ring, slot, chunks, out);
}
