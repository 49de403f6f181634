// SPDX-License-Identifier: Apache-2.0
/* gamma against values by hand: gamma 2 is a square root; tests/reference has
 * the tables of 8 bits whole, of 16 bits one whole and of others a part.
 * covers: pipeline/ops/tone_rows.h */
#include "pipeline/ops/gamma.h"

#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

static void square_roots(void **state) {
    (void)state;
    /* 255 sqrt(1/255) = 15.97, sqrt(64 x 255) = 127.75, sqrt(100 x 255) = 159.69, 254: 254.4995 */
    const uint8_t in[] = { 0, 1, 64, 100, 254, 255 }, out[] = { 0, 16, 128, 160, 254, 255 };
    check_8("gamma:gamma=2", 6, 1, 1, in, 1, out);
    /* sqrt(65535) = 255.998, sqrt(16384 x 65535) = 32767.75, sqrt(30000 x 65535) = 44340.16 */
    const uint16_t wide[] = { 0, 1, 16384, 30000, 65535 },
                   wanted[] = { 0, 256, 32768, 44340, 65535 };
    check_16("gamma:gamma=2.000", 5, 1, 1, wide, 1, wanted);
}

static void one_changes_nothing(void **state) {
    (void)state;
    uint8_t in[256];
    for (int i = 0; i < 256; i++) in[i] = (uint8_t)i;
    check_8("gamma:gamma=1", 16, 16, 1, in, 1, in);
    static uint16_t wide[65536];
    for (int i = 0; i < 65536; i++) wide[i] = (uint16_t)i;
    check_16("gamma:gamma=1.0", 256, 256, 1, wide, 1, wide);
}

static void alpha_is_kept(void **state) {
    (void)state;
    const uint8_t in[] = { 1, 64, 100, 64, 254, 255, 0, 1 };
    const uint8_t out[] = { 16, 128, 160, 64, 254, 255, 0, 1 };
    check_8("gamma:gamma=2", 2, 1, 4, in, 4, out);
    const uint16_t wide[] = { 16384, 16384, 1, 1 };
    check_16("gamma:gamma=2", 2, 1, 2, wide, 2, (const uint16_t[]){ 32768, 16384, 256, 1 });
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    const uint32_t value = (uint32_t)against_sample(in, x, y, c);
    static uint16_t wide[65536];
    static uint8_t narrow[256];
    if (!narrow[255]) gamma_fill(params, 8, 0, 256, narrow);
    if (!wide[65535]) gamma_fill(params, 16, 0, 65536, wide);
    if (image_has_alpha(in) && c == in->channels - 1u) return value;
    return in->depth == 8 ? narrow[value] : wide[value];
}

static void every_shape(void **state) {
    (void)state;
    check_against("gamma", expected);
}

static void refused(const char *text) {
    struct plan plan;
    struct failure failure = { 0 };
    assert_int_equal(plan_parse(&plan, text, &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "1..3"));
}

static void out_of_range(void **state) {
    (void)state;
    refused("gamma:gamma=0.999");
    refused("gamma:gamma=3.001");
    refused("gamma:gamma=2.2000");
    refused("gamma:gamma=nan");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(square_roots),  cmocka_unit_test(one_changes_nothing),
        cmocka_unit_test(alpha_is_kept), cmocka_unit_test(every_shape),
        cmocka_unit_test(out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
