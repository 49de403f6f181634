// SPDX-License-Identifier: Apache-2.0
/* Which characters make a token.
 * covers: server/header_token.h */
#include "server/header_token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void tokens(void **state) {
    (void)state;
    const char *allowed = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (int c = 0; c < 256; c++) {
        char text[1] = { (char)c };
        assert_int_equal(token_is(text, 1), c != 0 && strchr(allowed, c) != NULL);
    }
    assert_false(token_is("", 0));
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(tokens) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
