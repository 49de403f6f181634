// SPDX-License-Identifier: Apache-2.0
/* The type of a result if the request names none.
 * covers: pipeline/codec.h */
#include "pipeline/codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A result of 16 bits from an input of 8 needs a type that holds 16. */
static void test_deeper_results_have_a_type(void **state) {
    (void)state;
    static const struct {
        enum format input;
        unsigned from, to;
        enum format result;
    } cases[] = {
        { FORMAT_JPEG, 8, 8, FORMAT_JPEG }, { FORMAT_JPEG, 8, 16, FORMAT_PNG },
        { FORMAT_PNG, 8, 16, FORMAT_PNG },  { FORMAT_PNM, 8, 16, FORMAT_PNM },
        { FORMAT_PNM, 16, 16, FORMAT_PNM }, { FORMAT_PNG, 16, 8, FORMAT_PNG },
        { FORMAT_WEBP, 8, 16, FORMAT_PNG }, { FORMAT_WEBP, 8, 8, FORMAT_WEBP },
        { FORMAT_GIF, 8, 8, FORMAT_GIF },   { FORMAT_GIF, 8, 16, FORMAT_PNG },
        { FORMAT_BMP, 8, 8, FORMAT_PNG },   { FORMAT_TIFF, 8, 8, FORMAT_PNG },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct probe input = { .format = cases[i].input,
                                     .shape = image_shape(3, 2, 3, cases[i].from) };
        const struct image result = image_shape(3, 2, 1, cases[i].to);
        assert_int_equal(codec_result_format(&input, &result), cases[i].result);
    }
}

/* A photograph of a type that is only read becomes a JPEG, unless that loses bits or alpha. */
static void test_photographs_become_jpeg(void **state) {
    (void)state;
    for (int f = FORMAT_NONE + 1; f < FORMAT_COUNT; f++) {
        const struct probe input = { .format = (enum format)f, .shape = image_shape(3, 2, 3, 16) };
        if (!format_records[f]->photographs) continue;
        for (unsigned channels = 1; channels <= 4; channels++)
            for (unsigned depth = 8; depth <= 16; depth += 8) {
                const struct image result = image_shape(3, 2, channels, depth);
                assert_int_equal(codec_result_format(&input, &result),
                                 depth == 8 && channels % 2 ? FORMAT_JPEG : FORMAT_PNG);
            }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_deeper_results_have_a_type),
                                        cmocka_unit_test(test_photographs_become_jpeg) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
