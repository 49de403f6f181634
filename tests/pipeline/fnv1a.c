// SPDX-License-Identifier: Apache-2.0
/* The hash as its authors publish it for some texts.
 * covers: pipeline/fnv1a.h
 */
#include "pipeline/fnv1a.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* From the authors' own list of test vectors, http://www.isthe.com/chongo/src/fnv/test_fnv.c. */
static const struct {
    const char *text;
    uint64_t hash;
} published[] = {
    { "", UINT64_C(0xcbf29ce484222325) },
    { "a", UINT64_C(0xaf63dc4c8601ec8c) },
    { "foobar", UINT64_C(0x85944171f73967e8) },
};

static void published_texts(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        const char *text = published[i].text;
        const size_t half = strlen(text) / 2;
        assert_true(fnv1a(FNV1A_START, text, strlen(text)) == published[i].hash);
        const uint64_t begun = fnv1a(FNV1A_START, text, half);
        assert_true(fnv1a(begun, text + half, strlen(text) - half) == published[i].hash);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(published_texts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
