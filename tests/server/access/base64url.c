// SPDX-License-Identifier: Apache-2.0
/* Base 64 for URLs: the RFC's examples, and texts that a lax reader would take. */
#include "server/access/base64url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *bytes, *text;
} examples[] = {
    /* RFC 4648, section 10, without padding */
    { "", "" },
    { "f", "Zg" },
    { "fo", "Zm8" },
    { "foo", "Zm9v" },
    { "foob", "Zm9vYg" },
    { "fooba", "Zm9vYmE" },
    { "foobar", "Zm9vYmFy" },
    /* section 5: the two characters that differ; RFC 7515, appendix C */
    { "\xfb\xff\xfe", "-__-" },
    { "\x03\xec\xff\xe0\xc1", "A-z_4ME" },
};

static void examples_of_the_standards(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const size_t length = strlen(examples[i].bytes);
        char text[16];
        uint8_t bytes[16];
        base64url_print((const uint8_t *)examples[i].bytes, length, text);
        assert_string_equal(text, examples[i].text);
        assert_int_equal(BASE64URL_LENGTH(length), strlen(text));
        assert_true(base64url_read(text, bytes, length));
        assert_memory_equal(bytes, examples[i].bytes, length);
    }
}

static void one_text_for_the_same_bytes(void **state) {
    (void)state;
    static const char *const wrong[] = { "Zm9vYm",  "Zm9vYmEx", "Zm9vYm=",  "Zm9vYmF",
                                         "Zm9vYmG", "Zm9v mE",  "Zm9v+mE",  "Zm9v/mE",
                                         "",        "Zm9vYmE=", "Zm9v\nmE", "Zm9v\x80mE" };
    uint8_t bytes[8];
    assert_true(base64url_read("Zm9vYmE", bytes, 5));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (base64url_read(wrong[i], bytes, 5)) fail_msg("\"%s\" was read", wrong[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(examples_of_the_standards),
                                        cmocka_unit_test(one_text_for_the_same_bytes) };
    return cmocka_run_group_tests_name("base64url", tests, NULL, NULL);
}
