// SPDX-License-Identifier: Apache-2.0
/* Runs of every length around a block's, at any address, plain and with vectors, against looking at
 * one sample after the other; 16-bit lanes of a sum are full to the last bit. */
#include "pipeline/rows/reduce.h"

#include "pipeline/rows/simd.h"
#include "pipeline/sample.h"
#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PIXELS = 70, SAMPLES = 4 * PIXELS };

static uint8_t bytes[2 * SAMPLES + 1];

static void make_noise(void) {
    uint32_t seed = 3;
    for (size_t i = 0; i < sizeof bytes; i++) {
        noise_next(&seed);
        bytes[i] = (uint8_t)(seed >> 24);
    }
}

static void check(size_t samples, unsigned depth, unsigned channels, size_t skew) {
    uint64_t least[4], largest[4] = { 0 }, sum[4] = { 0 };
    uint64_t least_is[4], largest_is[4] = { 0 }, sum_is[4] = { 0 };
    memset(least, 0xff, sizeof least);
    memset(least_is, 0xff, sizeof least_is);
    for (size_t i = 0; i < samples; i++) {
        const uint64_t value = sample_get(bytes + skew, i, depth);
        uint64_t *l = &least[i % channels], *g = &largest[i % channels];
        *l = value < *l ? value : *l;
        *g = value > *g ? value : *g;
        sum[i % channels] += value;
    }
    reduce_minimum(bytes + skew, samples, depth, channels, least_is);
    reduce_maximum(bytes + skew, samples, depth, channels, largest_is);
    reduce_sum(bytes + skew, samples, depth, channels, sum_is);
    assert_memory_equal(least_is, least, sizeof least);
    assert_memory_equal(largest_is, largest, sizeof largest);
    assert_memory_equal(sum_is, sum, sizeof sum);
}

static void every_length(void **state) {
    (void)state;
    make_noise();
    for (enum simd most = SIMD_NONE; most <= SIMD_BEST; most++) {
        simd_limit(most);
        for (size_t pixels = 0; pixels <= PIXELS; pixels++)
            for (unsigned channels = 1; channels <= 4; channels++)
                for (unsigned depth = 8; depth <= 16; depth += 8)
                    for (size_t skew = 0; skew < 2; skew++)
                        check(pixels * channels, depth, channels, skew);
    }
    simd_limit(SIMD_BEST);
}

/* More blocks than a lane holds sums of: 65537 * 96 samples of 65535. */
static void full_lanes(void **state) {
    (void)state;
    const size_t samples = (size_t)65537 * 96 + 5;
    uint8_t *white = malloc(2 * samples);
    memset(white, 255, 2 * samples);
    for (unsigned depth = 8; depth <= 16; depth += 8) {
        uint64_t sum[4] = { 1 };
        reduce_sum(white, samples, depth, 1, sum);
        assert_true(sum[0] == 1 + samples * (depth == 8 ? 255 : 65535));
    }
    free(white);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length),
        cmocka_unit_test(full_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
