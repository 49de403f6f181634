// SPDX-License-Identifier: Apache-2.0
/* Accept-Encoding and If-None-Match: the encodings and tags that they name, by RFC 9110. */
#include "server/http/handle_document.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void gzip_is_taken_where_it_is_allowed(void **state) {
    (void)state;
    static const struct {
        const char *lines[2];
        bool taken;
    } cases[] = {
        { { "gzip", NULL }, true },
        { { "gzip, deflate, br, zstd", NULL }, true },
        { { "deflate,  GZIP ;q=0.5", NULL }, true },
        { { "x-gzip", NULL }, true },
        { { "*", NULL }, true },
        { { "br, *;q=0.1", NULL }, true },
        { { "deflate", "gzip" }, true },
        { { "gzip;q=0.001", NULL }, true },
        { { "gzip;q=1", NULL }, true },
        { { "", NULL }, false },
        { { " , ", NULL }, false },
        { { "identity", NULL }, false },
        { { "br, deflate", NULL }, false },
        { { "gzip;q=0", NULL }, false },
        { { "gzip; q=0.000", NULL }, false },
        { { "gzip;Q=0.", NULL }, false },
        { { "*, gzip;q=0", NULL }, false },
        { { "gzip;q=0, *", NULL }, false },
        { { "*;q=0", NULL }, false },
        { { "gzipped, agzip", NULL }, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct codings codings = { 0 };
        for (int l = 0; l < 2 && cases[i].lines[l]; l++) add_codings(&codings, cases[i].lines[l]);
        if (allows_gzip(&codings) != cases[i].taken)
            fail_msg("\"%s\": not %d", cases[i].lines[0], cases[i].taken);
    }
}

static void a_tag_is_known_where_it_is_named(void **state) {
    (void)state;
    static const struct {
        const char *line;
        bool known;
    } cases[] = {
        { "\"abc\"", true },
        { "W/\"abc\"", true },
        { "*", true },
        { "\"x\", \"abc\"", true },
        { "\"x,\",W/\"y\" , \"abc\"", true },
        { "\"abc\",", true },
        { "", false },
        { " , ,", false },
        { "\"abc-gzip\"", false },
        { "\"ab\"", false },
        { "\"ABC\"", false },
        { "abc", false },
        { "\"abc", false },
        { "\"\"", false },
        { "w/\"abc\"", false },
        { "\"x\" \"y", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (names_etag(cases[i].line, "\"abc\"") != cases[i].known)
            fail_msg("%s: not %d", cases[i].line, cases[i].known);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gzip_is_taken_where_it_is_allowed),
        cmocka_unit_test(a_tag_is_known_where_it_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
