// SPDX-License-Identifier: Apache-2.0
/* hue against its rules: whole turns and grays change nothing, luma is kept where nothing is
 * clamped, turns add up; tests/reference turns by scikit-image's YIQ. */
#include "pipeline/ops/hue.h"

#include "pipeline/plan.h"
#include "tests/pipeline/ops/table.h"

#include <stdio.h>

static struct colour_matrix weights(const char *text) {
    struct plan plan;
    assert_int_equal(plan_parse(&plan, text, NULL), STATUS_OK);
    return hue_weights(&plan.steps[0].params);
}

static void nothing_changes(void **state) {
    (void)state;
    const uint8_t in[] = { 200, 100, 50, 1, 7, 7, 7, 2, 0, 255, 0, 255 };
    check_8("hue:degrees=0", 3, 1, 4, in, 4, in);
    check_8("hue:degrees=360", 3, 1, 4, in, 4, in);
    check_8("hue:degrees=-360", 3, 1, 4, in, 4, in);
    check_8("hue:degrees=77", 6, 1, 2, in, 2, in);
    check_8("hue:degrees=200", 1, 1, 4, in + 4, 4, in + 4);
}

/* A row's sum is 1, and luma's share of each channel is what it was, within a unit a weight. */
static void luma_is_kept(void **state) {
    (void)state;
    for (int degrees = -360; degrees <= 360; degrees += 15) {
        char text[32];
        snprintf(text, sizeof text, "hue:degrees=%d", degrees);
        const struct colour_matrix matrix = weights(text);
        for (int k = 0; k < 3; k++) {
            int column = 0, row = 0;
            for (int c = 0; c < 3; c++) {
                column += colour_matrix_luma(c) * matrix.weight[c][k];
                row += matrix.weight[k][c];
            }
            assert_int_equal(row, COLOUR_MATRIX_ONE);
            const int wanted = colour_matrix_luma(k) * COLOUR_MATRIX_ONE;
            assert_in_range(column + 512, wanted, wanted + 1024);
        }
    }
}

static void turns_add_up(void **state) {
    (void)state;
    const struct colour_matrix one = weights("hue:degrees=70"), other = weights("hue:degrees=50.5"),
                               both = weights("hue:degrees=120.5");
    for (int c = 0; c < 3; c++)
        for (int k = 0; k < 3; k++) {
            int sum = 0;
            for (int i = 0; i < 3; i++) sum += one.weight[c][i] * other.weight[i][k];
            assert_in_range(sum / COLOUR_MATRIX_ONE - both.weight[c][k] + 6, 0, 12);
        }
}

static void red_turns_green(void **state) {
    (void)state;
    /* -0.19, 0.735 and -0.63 of 200; by the formula of hue.h */
    check_8("hue:degrees=120", 1, 1, 3, (const uint8_t[]){ 200, 0, 0 }, 3,
            (const uint8_t[]){ 0, 147, 0 });
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_changes),
        cmocka_unit_test(luma_is_kept),
        cmocka_unit_test(turns_add_up),
        cmocka_unit_test(red_turns_green),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
