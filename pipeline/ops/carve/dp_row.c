// SPDX-License-Identifier: Apache-2.0
/* How it works. Each cell compares its three predecessors, stores its choice in two bits, and adds
 * its own cost. 16-bit costs saturate, 32-bit ones cannot overflow, 64-bit ones are keys with the
 * sign bit inverted, so that signed comparison orders them. Plain loops define the result; AVX2
 * does 16, 8 or 4 cells at once. The columns outside have the greatest cost. */
#include "pipeline/ops/carve/dp_row.h"

#include "pipeline/ops/carve/definition.h"
#include "pipeline/rows/intrinsics.h"

#include <string.h>

_Static_assert((UINT64_C(1) << 16) * CARVE_WEIGHED_MAX < UINT64_C(1) << 31, "paths are in 31 bits");

#define BIAS         (UINT64_C(1) << 63)
#define ALWAYS       static inline __attribute__((always_inline))
#define SATURATED_16 65535u

/* Marks decide before energy. */
static inline uint64_t key_of(uint32_t energy) {
    return carve_key(energy & ENERGY_BITS, energy & ENERGY_KEEP, energy & ENERGY_REMOVE);
}

/* Returns the cost at X, which may be one column outside. */
ALWAYS uint64_t cost_at(const void *row, long x, enum cost_bits bits) {
    return bits == COST_16   ? ((const uint16_t *)row)[x]
           : bits == COST_32 ? ((const uint32_t *)row)[x]
                             : ((const uint64_t *)row)[x] ^ BIAS;
}

ALWAYS void cost_put(void *row, long x, enum cost_bits bits, uint64_t cost) {
    if (bits == COST_16)
        ((uint16_t *)row)[x] = (uint16_t)cost;
    else if (bits == COST_32)
        ((uint32_t *)row)[x] = (uint32_t)cost;
    else
        ((uint64_t *)row)[x] = cost ^ BIAS;
}

/* Gives the columns outside a cost above every path's, so that they are never chosen; a weighed
 * step can be added to it. */
ALWAYS void fence(void *row, uint32_t width, enum cost_bits bits) {
    const uint64_t none = bits == COST_16 ? UINT64_MAX : UINT64_MAX - CARVE_FENCE_ROOM;
    cost_put(row, -1, bits, none);
    cost_put(row, width, bits, none);
}

ALWAYS uint64_t own_cost(uint16_t energy, enum cost_bits bits) {
    return bits == COST_64 ? key_of(energy) : energy;
}

ALWAYS uint64_t lesser(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* ---- plain: simple loops over few cells, which a compiler vectorizes */

enum { CELLS = 32 };

struct flags {
    uint8_t left[CELLS], straight[CELLS]; /* 0 or 1 */
};

/* Packs eight flags at a time: the product moves flag i from bit 8 i to bit 56 + i. */
ALWAYS uint32_t bits_plain(const uint8_t flags[CELLS]) {
    uint32_t bits = 0;
    for (int k = 0; k < CELLS; k += 8) {
        uint64_t eight = 0;
        for (int i = 0; i < 8; i++) eight |= (uint64_t)flags[k + i] << (8 * i);
        bits |= (uint32_t)(eight * UINT64_C(0x0102040810204080) >> 56) << k;
    }
    return bits;
}

static void cells_16_plain(const uint16_t *before, const uint16_t *energies, uint16_t *next,
                           struct flags *flags) {
    for (int i = 0; i < CELLS; i++) {
        const uint16_t left = before[i - 1], straight = before[i], right = before[i + 1];
        const uint16_t one = left < straight ? left : straight, least = one < right ? one : right;
        const uint16_t cost = (uint16_t)(least + energies[i]);
        next[i] = cost < least ? SATURATED_16 : cost; /* overflow */
        flags->left[i] = left == least;
        flags->straight[i] = straight == least;
    }
}

static void cells_32_plain(const uint32_t *before, const uint16_t *energies, uint32_t *next,
                           struct flags *flags) {
    for (int i = 0; i < CELLS; i++) {
        const uint32_t left = before[i - 1], straight = before[i], right = before[i + 1];
        const uint32_t one = left < straight ? left : straight, least = one < right ? one : right;
        next[i] = least + energies[i];
        flags->left[i] = left == least;
        flags->straight[i] = straight == least;
    }
}

static void cells_64_plain(const int64_t *before, const uint16_t *energies, int64_t *next,
                           struct flags *flags) {
    for (int i = 0; i < CELLS; i++) {
        const int64_t left = before[i - 1], straight = before[i], right = before[i + 1];
        const int64_t one = left < straight ? left : straight, least = one < right ? one : right;
        next[i] = (int64_t)((uint64_t)least + key_of(energies[i]));
        flags->left[i] = left == least;
        flags->straight[i] = straight == least;
    }
}

static void row_plain(enum cost_bits bits, const void *before, const uint16_t *energies, void *next,
                      uint64_t *parents, uint32_t width) {
    struct flags flags;
    for (uint32_t x = 0; x < width; x += CELLS) {
        if (bits == COST_16)
            cells_16_plain((const uint16_t *)before + x, energies + x, (uint16_t *)next + x,
                           &flags);
        else if (bits == COST_32)
            cells_32_plain((const uint32_t *)before + x, energies + x, (uint32_t *)next + x,
                           &flags);
        else
            cells_64_plain((const int64_t *)before + x, energies + x, (int64_t *)next + x, &flags);
        parents[x / CELLS] = bits_plain(flags.left) | (uint64_t)bits_plain(flags.straight) << 32;
    }
}

/* ---- weighed: the same with costs of steps */

ALWAYS uint32_t step_cost(const struct dp_steps *steps, uint8_t a, uint8_t b) {
    return steps->rigidity + (carve_apart(a, b) & steps->corners);
}

/* Costs of COST_64 stay biased: the sum of a biased cost and an unbiased one is biased. */
#define WEIGHED_CELLS(name, type, own)                                                             \
    ALWAYS void name(const type *restrict before, const uint16_t *restrict energies,               \
                     type *restrict next, struct flags *restrict flags, struct dp_steps steps) {   \
        const uint8_t *restrict here = steps.here, *restrict corner = steps.before;                \
        for (int i = 0; i < CELLS; i++) {                                                          \
            const type straight = before[i];                                                       \
            const type left = (type)((uint64_t) * (before + i - 1) +                               \
                                     step_cost(&steps, corner[i], *(here + i - 1)));               \
            const type right =                                                                     \
                (type)((uint64_t)before[i + 1] + step_cost(&steps, corner[i], here[i + 1]));       \
            const type one = left < straight ? left : straight, least = one < right ? one : right; \
            next[i] = (type)((uint64_t)least + (own));                                             \
            flags->left[i] = left == least;                                                        \
            flags->straight[i] = straight == least;                                                \
        }                                                                                          \
    }
WEIGHED_CELLS(weighed_32, uint32_t, energies[i])
WEIGHED_CELLS(weighed_64, int64_t, key_of(energies[i]))

ALWAYS void weighed_row(enum cost_bits bits, const void *before, const uint16_t *energies,
                        void *next, uint64_t *parents, uint32_t width, struct dp_steps steps) {
    struct flags flags;
    for (uint32_t x = 0; x < width; x += CELLS, steps.here += CELLS, steps.before += CELLS) {
        if (bits == COST_32)
            weighed_32((const uint32_t *)before + x, energies + x, (uint32_t *)next + x, &flags,
                       steps);
        else
            weighed_64((const int64_t *)before + x, energies + x, (int64_t *)next + x, &flags,
                       steps);
        parents[x / CELLS] = bits_plain(flags.left) | (uint64_t)bits_plain(flags.straight) << 32;
    }
}

static void weighed_plain(enum cost_bits bits, const void *before, const uint16_t *energies,
                          void *next, uint64_t *parents, uint32_t width, struct dp_steps steps) {
    weighed_row(bits, before, energies, next, parents, width, steps);
}

/* ---- where the halves meet */

ALWAYS uint64_t least_below(const void *lower, long x, enum cost_bits bits) {
    return lesser(lesser(cost_at(lower, x - 1, bits), cost_at(lower, x, bits)),
                  cost_at(lower, x + 1, bits));
}

struct sum {
    uint64_t cost;
    uint32_t column;
};

/* Returns the leftmost least sum of columns FIRST to END - 1. */
ALWAYS struct sum least_sum(const void *upper, const void *lower, uint32_t first, uint32_t end,
                            enum cost_bits bits) {
    struct sum best = { .cost = UINT64_MAX };
    for (uint32_t x = first; x < end; x++) {
        const uint64_t cost = cost_at(upper, x, bits) + least_below(lower, x, bits);
        if (cost < best.cost) best = (struct sum){ cost, x };
    }
    return best;
}

ALWAYS struct dp_meeting meeting_at(const void *upper, const void *lower, struct sum sum,
                                    enum cost_bits bits) {
    struct dp_meeting met = { .cost = sum.cost, .column = sum.column, .exact = true };
    const uint64_t least = least_below(lower, sum.column, bits);
    met.below = sum.column ? sum.column - 1 : 0;
    while (cost_at(lower, met.below, bits) != least) met.below++;
    if (bits == COST_16)
        met.exact = cost_at(upper, sum.column, bits) < SATURATED_16 && least < SATURATED_16;
    return met;
}

ALWAYS struct dp_meeting meet(const void *upper, const void *lower, uint32_t width,
                              enum cost_bits bits) {
    return meeting_at(upper, lower, least_sum(upper, lower, 0, width, bits), bits);
}

ALWAYS struct dp_meeting weighed_meet(const void *upper, const void *lower, uint32_t width,
                                      struct dp_steps steps, enum cost_bits bits) {
    struct dp_meeting met = { .cost = UINT64_MAX, .exact = true };
    for (long x = 0; x < width; x++) {
        const uint8_t *here = steps.here + x, corner = steps.before[x];
        const uint64_t below[] = {
            cost_at(lower, x - 1, bits) + step_cost(&steps, corner, *(here - 1)),
            cost_at(lower, x, bits),
            cost_at(lower, x + 1, bits) + step_cost(&steps, corner, here[1])
        };
        const uint64_t least = lesser(lesser(below[0], below[1]), below[2]);
        const uint64_t cost = cost_at(upper, x, bits) + least;
        if (cost >= met.cost) continue;
        const long side = below[0] == least ? -1 : below[1] == least ? 0 : 1;
        met.cost = cost, met.column = (uint32_t)x, met.below = (uint32_t)(x + side);
    }
    return met;
}

#ifdef __x86_64__
AVX2 static inline __m256i load(const void *memory) {
    return _mm256_loadu_si256(memory);
}

AVX2 static inline void store(void *memory, __m256i value) {
    _mm256_storeu_si256(memory, value);
}

/* Packs masks of 2 x 16 lanes into 32 bits, in order. */
AVX2 static inline uint32_t bits_of(__m256i low, __m256i high) {
    const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xd8);
    return (uint32_t)_mm256_movemask_epi8(bytes);
}

AVX2 static inline uint64_t word_of(__m256i left[2], __m256i straight[2]) {
    return bits_of(left[0], left[1]) | (uint64_t)bits_of(straight[0], straight[1]) << 32;
}

AVX2 static void row_16(const uint16_t *before, const uint16_t *energies, uint16_t *next,
                        uint64_t *parents, uint32_t width) {
    for (uint32_t x = 0; x < width; x += 32) {
        __m256i is_left[2], is_straight[2];
        for (int h = 0; h < 2; h++) {
            const uint32_t i = x + 16 * (uint32_t)h;
            const __m256i left = load(before + i - 1), straight = load(before + i);
            const __m256i least =
                _mm256_min_epu16(_mm256_min_epu16(left, straight), load(before + i + 1));
            is_left[h] = _mm256_cmpeq_epi16(left, least);
            is_straight[h] = _mm256_cmpeq_epi16(straight, least);
            store(next + i, _mm256_adds_epu16(least, load(energies + i)));
        }
        parents[x / 32] = word_of(is_left, is_straight);
    }
}

/* Computes 16 cells; the masks are 16-bit lanes in order. */
AVX2 static inline void cells_32(const uint32_t *before, const uint16_t *energies, uint32_t *next,
                                 __m256i *is_left, __m256i *is_straight) {
    __m256i left_masks[2], straight_masks[2];
    for (int h = 0; h < 2; h++) {
        const __m256i left = load(before + 8 * h - 1), straight = load(before + 8 * h);
        const __m256i least =
            _mm256_min_epu32(_mm256_min_epu32(left, straight), load(before + 8 * h + 1));
        const __m256i own =
            _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(energies + 8 * h)));
        left_masks[h] = _mm256_cmpeq_epi32(left, least);
        straight_masks[h] = _mm256_cmpeq_epi32(straight, least);
        store(next + 8 * h, _mm256_add_epi32(least, own));
    }
    *is_left = _mm256_permute4x64_epi64(_mm256_packs_epi32(left_masks[0], left_masks[1]), 0xd8);
    *is_straight =
        _mm256_permute4x64_epi64(_mm256_packs_epi32(straight_masks[0], straight_masks[1]), 0xd8);
}

AVX2 static void row_32(const uint32_t *before, const uint16_t *energies, uint32_t *next,
                        uint64_t *parents, uint32_t width) {
    for (uint32_t x = 0; x < width; x += 32) {
        __m256i is_left[2], is_straight[2];
        for (uint32_t h = 0; h < 2; h++) {
            const uint32_t i = x + 16 * h;
            cells_32(before + i, energies + i, next + i, &is_left[h], &is_straight[h]);
        }
        parents[x / 32] = word_of(is_left, is_straight);
    }
}

/* Makes four keys: energy stays, bit 14 moves to 48, bit 15 inverted to 32. */
AVX2 static inline __m256i keys_of(const uint16_t *energies) {
    const __m256i e = _mm256_cvtepu16_epi64(_mm_loadl_epi64((const __m128i *)energies));
    const __m256i energy = _mm256_and_si256(e, _mm256_set1_epi64x(ENERGY_BITS));
    const __m256i keep =
        _mm256_and_si256(_mm256_slli_epi64(e, 34), _mm256_set1_epi64x(INT64_C(1) << 48));
    const __m256i stays =
        _mm256_andnot_si256(_mm256_slli_epi64(e, 17), _mm256_set1_epi64x(INT64_C(1) << 32));
    return _mm256_or_si256(energy, _mm256_or_si256(keep, stays));
}

AVX2 static inline __m256i lesser_64(__m256i a, __m256i b) {
    return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b));
}

AVX2 static inline uint64_t equal_64(__m256i a, __m256i b) {
    return (uint64_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(a, b)));
}

AVX2 static void row_64(const uint64_t *before, const uint16_t *energies, uint64_t *next,
                        uint64_t *parents, uint32_t width) {
    for (uint32_t x = 0; x < width; x += 32) {
        uint64_t word = 0;
        for (uint32_t i = x; i < x + 32; i += 4) {
            const __m256i left = load(before + i - 1), straight = load(before + i);
            const __m256i least = lesser_64(lesser_64(left, straight), load(before + i + 1));
            store(next + i, _mm256_add_epi64(least, keys_of(energies + i)));
            word |= (equal_64(left, least) | equal_64(straight, least) << 32) << (i - x);
        }
        parents[x / 32] = word;
    }
}

static void row_avx2(enum cost_bits bits, const void *before, const uint16_t *energies, void *next,
                     uint64_t *parents, uint32_t width) {
    if (bits == COST_16)
        row_16(before, energies, next, parents, width);
    else if (bits == COST_32)
        row_32(before, energies, next, parents, width);
    else
        row_64(before, energies, next, parents, width);
}

/* Returns the lesser of each two of 16 columns' sums, in any pairing. */
AVX2 static inline __m256i sums_16(const uint16_t *upper, const uint16_t *lower) {
    const __m256i below =
        _mm256_min_epu16(_mm256_min_epu16(load(lower - 1), load(lower)), load(lower + 1));
    const __m256i above = load(upper), zero = _mm256_setzero_si256();
    return _mm256_min_epu32(
        _mm256_add_epi32(_mm256_unpacklo_epi16(above, zero), _mm256_unpacklo_epi16(below, zero)),
        _mm256_add_epi32(_mm256_unpackhi_epi16(above, zero), _mm256_unpackhi_epi16(below, zero)));
}

AVX2 static inline bool holds(__m256i sums, __m256i value) {
    const __m256i equal = _mm256_cmpeq_epi32(sums, value);
    return !_mm256_testz_si256(equal, equal);
}

AVX2 static inline uint32_t least_lane(__m256i a) {
    uint32_t lane[8], least = UINT32_MAX;
    store(lane, a);
    for (int i = 0; i < 8; i++) least = lane[i] < least ? lane[i] : least;
    return least;
}

/* Finds the least sum first, then the first 16 columns that hold it. The rest of the row after
 * whole vectors lies right of them. */
AVX2 static struct dp_meeting meet_16(const uint16_t *upper, const uint16_t *lower,
                                      uint32_t width) {
    const uint32_t whole = width / 16 * 16;
    __m256i least = _mm256_set1_epi32(-1);
    for (uint32_t x = 0; x < whole; x += 16)
        least = _mm256_min_epu32(least, sums_16(upper + x, lower + x));
    least = _mm256_set1_epi32((int)least_lane(least));
    uint32_t first = 0;
    while (first < whole && !holds(sums_16(upper + first, lower + first), least)) first += 16;
    const struct sum rest = least_sum(upper, lower, whole, width, COST_16);
    struct sum best =
        least_sum(upper, lower, first, whole < first + 16 ? whole : first + 16, COST_16);
    if (rest.cost < best.cost) best = rest;
    return meeting_at(upper, lower, best, COST_16);
}
AVX2 static void weighed_avx2(enum cost_bits bits, const void *before, const uint16_t *energies,
                              void *next, uint64_t *parents, uint32_t width,
                              struct dp_steps steps) {
    weighed_row(bits, before, energies, next, parents, width, steps);
}
#else
#define row_avx2     row_plain
#define weighed_avx2 weighed_plain

static struct dp_meeting meet_16(const uint16_t *upper, const uint16_t *lower, uint32_t width) {
    return meet(upper, lower, width, COST_16);
}
#endif

/* ---- rows */

ALWAYS void first_of(const uint16_t *energies, void *next, uint32_t width, enum cost_bits bits) {
    if (bits == COST_16)
        memcpy(next, energies, width * sizeof *energies);
    else
        for (uint32_t x = 0; x < width; x++) cost_put(next, x, bits, own_cost(energies[x], bits));
    fence(next, width, bits);
}

void dp_first_row(enum cost_bits bits, const uint16_t *energies, void *next, uint32_t width) {
    switch (bits) {
    case COST_16: first_of(energies, next, width, COST_16); break;
    case COST_32: first_of(energies, next, width, COST_32); break;
    case COST_64: first_of(energies, next, width, COST_64); break;
    }
}

ALWAYS void none_of(void *next, uint32_t width, enum cost_bits bits) {
    for (uint32_t x = 0; x < width; x++) cost_put(next, x, bits, 0);
    fence(next, width, bits);
}

void dp_empty_row(enum cost_bits bits, void *next, uint32_t width) {
    switch (bits) {
    case COST_16: none_of(next, width, COST_16); break;
    case COST_32: none_of(next, width, COST_32); break;
    case COST_64: none_of(next, width, COST_64); break;
    }
}

void dp_end_row(enum cost_bits bits, void *row, uint32_t width) {
    switch (bits) {
    case COST_16: fence(row, width, COST_16); break;
    case COST_32: fence(row, width, COST_32); break;
    case COST_64: fence(row, width, COST_64); break;
    }
}

void dp_next_row(enum cost_bits bits, const void *before, const uint16_t *energies, void *next,
                 uint64_t *parents, uint32_t width) {
    (simd_has_avx2() ? row_avx2 : row_plain)(bits, before, energies, next, parents, width);
    dp_end_row(bits, next, width);
}

struct dp_meeting dp_meet(enum cost_bits bits, const void *upper, const void *lower,
                          uint32_t width) {
    if (bits == COST_64) return meet(upper, lower, width, COST_64);
    if (bits == COST_32) return meet(upper, lower, width, COST_32);
    if (simd_has_avx2()) return meet_16(upper, lower, width);
    return meet(upper, lower, width, COST_16);
}

void dp_weighed_row(enum cost_bits bits, const void *before, const uint16_t *energies, void *next,
                    uint64_t *parents, uint32_t width, struct dp_steps steps) {
    (simd_has_avx2() ? weighed_avx2 : weighed_plain)(bits, before, energies, next, parents, width,
                                                     steps);
    dp_end_row(bits, next, width);
}

struct dp_meeting dp_weighed_meet(enum cost_bits bits, const void *upper, const void *lower,
                                  uint32_t width, struct dp_steps steps) {
    return bits == COST_64 ? weighed_meet(upper, lower, width, steps, COST_64)
                           : weighed_meet(upper, lower, width, steps, COST_32);
}
