// SPDX-License-Identifier: Apache-2.0
/* Sentences of failures. */
#include "pipeline/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#undef fail /* status.h's is meant */

static void a_failure_has_status_and_sentence(void **state) {
    (void)state;
    struct failure failure = { .status = STATUS_OK };
    assert_int_equal(fail(&failure, STATUS_BUSY, "%d of %s", 3, "four"), STATUS_BUSY);
    assert_int_equal(failure.status, STATUS_BUSY);
    assert_string_equal(failure.message, "3 of four");
    assert_int_equal(fail(NULL, STATUS_DEVICE, "nobody asks"), STATUS_DEVICE);
}

static void a_long_sentence_is_cut(void **state) {
    (void)state;
    struct failure failure;
    char text[500];
    memset(text, 'a', sizeof text - 1), text[499] = 0;
    fail(&failure, STATUS_INTERNAL, "%s", text);
    assert_int_equal(strlen(failure.message), sizeof failure.message - 1);
    fail_named("mask", STATUS_CORRUPT, &failure);
    assert_int_equal(strlen(failure.message), sizeof failure.message - 1);
    assert_memory_equal(failure.message, "mask: aaa", 9);
    assert_string_equal(failure.message + sizeof failure.message - 5, "a...");
    for (int i = 0; i < 60; i++) memcpy(text + 8 * i, "word, ab", 8), text[480] = 0;
    for (size_t cut = 0; cut < 20; cut++) {
        fail(&failure, STATUS_INTERNAL, "%s", text + cut);
        const size_t length = strlen(failure.message);
        assert_true(length < sizeof failure.message && length > sizeof failure.message - 12);
        assert_string_equal(failure.message + length - 5, ", ...");
        assert_memory_equal(failure.message, text + cut, length - 3);
    }
}

/* A name is put where the image is blamed, and nowhere else. */
static void an_image_is_named_where_it_is_blamed(void **state) {
    (void)state;
    struct failure failure;
    fail(&failure, STATUS_CORRUPT, "it is broken");
    assert_int_equal(fail_named("mask", STATUS_CORRUPT, &failure), STATUS_CORRUPT);
    assert_string_equal(failure.message, "mask: it is broken");
    fail(&failure, STATUS_DEADLINE, "too late");
    assert_int_equal(fail_named("mask", STATUS_DEADLINE, &failure), STATUS_DEADLINE);
    assert_string_equal(failure.message, "too late");
    assert_int_equal(fail_named("mask", STATUS_OK, &failure), STATUS_OK);
    assert_int_equal(fail_named("mask", STATUS_CORRUPT, NULL), STATUS_CORRUPT);
}

static void every_status_has_a_word(void **state) {
    (void)state;
    for (int i = 0; i < STATUS_COUNT; i++) {
        assert_true(strlen(status_name((enum status)i)) >= 2);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(status_name((enum status)i), status_name((enum status)j));
    }
    assert_string_equal(status_name(STATUS_COUNT), "unknown");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_has_status_and_sentence),
        cmocka_unit_test(a_long_sentence_is_cut),
        cmocka_unit_test(an_image_is_named_where_it_is_blamed),
        cmocka_unit_test(every_status_has_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
