// SPDX-License-Identifier: Apache-2.0
/* How it works. Samples go to LANES accumulators in turn. LANES is a multiple of every number of
 * channels and of a vector's samples, so each lane belongs to one channel and the compiler
 * vectorizes the loops; the lanes are combined at the end. Lanes of sums are twice as wide as
 * samples and are combined before they overflow. */
#include "pipeline/rows/reduce.h"

#include "pipeline/rows/simd.h"
#include "pipeline/sample.h"

#include <stdbool.h>
#include <string.h>

#ifndef __x86_64__
#define AVX2
#endif

enum { LANES = 96 };
/* Blocks that a lane may sum before it overflows: 256 * 255 < 2^16, 65536 * 65535 < 2^32. */
enum { SUM8_BLOCKS = 256, SUM16_BLOCKS = 65536 };

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Defines NAME over BLOCKS of LANES samples, for any machine and for AVX2. */
#define REDUCE_BLOCKS(name, sample, lane, fold)                                                    \
    typedef sample name##_sample __attribute__((may_alias, aligned(1)));                           \
    ALWAYS_INLINE void name##_body(const uint8_t *restrict bytes, size_t blocks,                   \
                                   lane *restrict lanes) {                                         \
        for (; blocks; blocks--, bytes += LANES * sizeof(sample)) {                                \
            const name##_sample *values = (const name##_sample *)bytes;                            \
            for (int k = 0; k < LANES; k++) lanes[k] = (lane)fold(lanes[k], values[k]);            \
        }                                                                                          \
    }                                                                                              \
    static void name##_any(const uint8_t *bytes, size_t blocks, lane *lanes) {                     \
        name##_body(bytes, blocks, lanes);                                                         \
    }                                                                                              \
    AVX2 static void name##_avx2(const uint8_t *bytes, size_t blocks, lane *lanes) {               \
        name##_body(bytes, blocks, lanes);                                                         \
    }                                                                                              \
    static void name(const uint8_t *bytes, size_t blocks, lane *lanes) {                           \
        (simd_has_avx2() ? name##_avx2 : name##_any)(bytes, blocks, lanes);                        \
    }

#define LEAST(a, b)   ((a) < (b) ? (a) : (b))
#define LARGEST(a, b) ((a) > (b) ? (a) : (b))
#define SUM(a, b)     ((a) + (b))
REDUCE_BLOCKS(least8, uint8_t, uint8_t, LEAST)
REDUCE_BLOCKS(least16, uint16_t, uint16_t, LEAST)
REDUCE_BLOCKS(largest8, uint8_t, uint8_t, LARGEST)
REDUCE_BLOCKS(largest16, uint16_t, uint16_t, LARGEST)
REDUCE_BLOCKS(sum8, uint8_t, uint16_t, SUM)
REDUCE_BLOCKS(sum16, uint16_t, uint32_t, SUM)

/* Returns the whole blocks of SAMPLES; the rest, and everything in plain C, goes sample by sample.
 */
static size_t whole_blocks(size_t samples) {
    return simd_allowed() ? samples / LANES : 0;
}

/* ---- least and largest */

#define REDUCE_EXTREME(name, blocks8, blocks16, fold)                                              \
    void name(const uint8_t *bytes, size_t samples, unsigned depth, unsigned channels,             \
              uint64_t result[REDUCE_CHANNELS_MAX]) {                                              \
        const size_t blocks = whole_blocks(samples);                                               \
        union {                                                                                    \
            uint8_t narrow[LANES];                                                                 \
            uint16_t wide[LANES];                                                                  \
        } lanes;                                                                                   \
        if (blocks) memcpy(&lanes, bytes, LANES *depth / 8);                                       \
        if (depth == 8)                                                                            \
            blocks8(bytes, blocks, lanes.narrow);                                                  \
        else                                                                                       \
            blocks16(bytes, blocks, lanes.wide);                                                   \
        for (unsigned k = 0; blocks && k < LANES; k++) {                                           \
            const uint64_t value = depth == 8 ? lanes.narrow[k] : lanes.wide[k];                   \
            result[k % channels] = fold(result[k % channels], value);                              \
        }                                                                                          \
        for (size_t i = blocks * LANES; i < samples; i++)                                          \
            result[i % channels] = fold(result[i % channels], sample_get(bytes, i, depth));        \
    }
REDUCE_EXTREME(reduce_minimum, least8, least16, LEAST)
REDUCE_EXTREME(reduce_maximum, largest8, largest16, LARGEST)

/* ---- sum */

static void add_blocks8(const uint8_t *bytes, size_t blocks, unsigned channels, uint64_t *result) {
    uint16_t lanes[LANES] = { 0 };
    sum8(bytes, blocks, lanes);
    for (unsigned k = 0; k < LANES; k++) result[k % channels] += lanes[k];
}

static void add_blocks16(const uint8_t *bytes, size_t blocks, unsigned channels, uint64_t *result) {
    uint32_t lanes[LANES] = { 0 };
    sum16(bytes, blocks, lanes);
    for (unsigned k = 0; k < LANES; k++) result[k % channels] += lanes[k];
}

void reduce_sum(const uint8_t *bytes, size_t samples, unsigned depth, unsigned channels,
                uint64_t result[REDUCE_CHANNELS_MAX]) {
    const size_t blocks = whole_blocks(samples), most = depth == 8 ? SUM8_BLOCKS : SUM16_BLOCKS;
    for (size_t done = 0; done < blocks; done += most) {
        const size_t now = blocks - done < most ? blocks - done : most;
        (depth == 8 ? add_blocks8 : add_blocks16)(bytes + done * LANES * depth / 8, now, channels,
                                                  result);
    }
    for (size_t i = blocks * LANES; i < samples; i++)
        result[i % channels] += sample_get(bytes, i, depth);
}
