// SPDX-License-Identifier: Apache-2.0
/* Every path of the table look-up against the table. */
#include "pipeline/rows/lookup.h"

#include "pipeline/rows/simd.h"
#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint32_t seed = 1;

static uint8_t noise(void) {
    noise_next(&seed);
    return (uint8_t)(seed >> 24);
}

static void look_up(void) {
    uint8_t table[256], in[600], out[600];
    for (int i = 0; i < 256; i++) table[i] = noise();
    for (size_t i = 0; i < sizeof in; i++) in[i] = i < 256 ? (uint8_t)i : noise();
    for (size_t length = 0; length <= sizeof in; length += length < 70 ? 1 : 53) {
        memset(out, 0xa5, sizeof out);
        lookup_bytes(table, in, out, length);
        for (size_t i = 0; i < length; i++) assert_int_equal(out[i], table[in[i]]);
        for (size_t i = length; i < sizeof out; i++) assert_int_equal(out[i], 0xa5);
    }
}

/* AVX-512 leaves AVX2 no more than the ends of runs: so each is tried alone. */
static void lookup_is_exact(void **state) {
    (void)state;
    for (enum simd most = SIMD_NONE; most <= SIMD_BEST; most++) {
        simd_limit(most);
        look_up();
    }
    simd_limit(SIMD_BEST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lookup_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
