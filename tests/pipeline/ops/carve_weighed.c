// SPDX-License-Identifier: Apache-2.0
/* Weighed searches of carve against tables made by hand: forward energy, rigidity, soft masks. */
#include "tests/pipeline/ops/carve_case.h"

enum { WIDTH = 3, HEIGHT = 4 };

/* Forward energies:    steps to the row below, to the left \ and to the right /:
 *     10 40 30         -  0   20 10   40  -      (pairs: of the columns 0, 1, 2)
 *     20 10 30         -  0   30 20   10  -
 *     50 10 40         - 60   80 70   50  -
 *     90 10 80
 * Middle row 1 from above: 30 30 60; row 2 from below: 120 20 100; sums: 50 50 90. */
static const uint8_t levels[HEIGHT][WIDTH] = { { 10, 20, 50 },
                                               { 30, 10, 40 },
                                               { 10, 60, 20 },
                                               { 0, 90, 10 } };

static struct carve_case table_case(bool turned) {
    struct carve_case job =
        job_make(turned ? HEIGHT : WIDTH, turned ? WIDTH : HEIGHT, 1, 8, PICTURE_NOISE);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            image_row(&job.in, (uint32_t)(turned ? x : y))[turned ? y : x] = levels[y][x];
    job.params.number[CARVE_ENERGY] = CARVE_FORWARD;
    return job;
}

/* SEAM: the column of each row that a narrower picture lacks. */
static void check_seam(struct carve_case *job, bool turned, const int seam[HEIGHT]) {
    goal(job, turned ? 0 : -1, turned ? -1 : 0);
    const struct image out = run(job);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH - 1; x++)
            assert_int_equal(image_row(&out, (uint32_t)(turned ? x : y))[turned ? y : x],
                             levels[y][x + (x >= seam[y])]);
    free(out.pixels);
}

static void test_forward(void **state) {
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        struct carve_case job = table_case(turned);
        check_seam(&job, turned, (const int[]){ 0, 0, 1, 1 });
        job.params.number[CARVE_RIGIDITY] = 1; /* 51 51 91 */
        check_seam(&job, turned, (const int[]){ 0, 0, 1, 1 });
        job.params.number[CARVE_RIGIDITY] = 31; /* 81 70 100 */
        check_seam(&job, turned, (const int[]){ 1, 1, 1, 1 });
        job_free(&job);
    }
}

/* A level of rmask takes 8 off the cost: 47 less on column 2 is worth a detour. */
static void test_soft(void **state) {
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        struct carve_case job = table_case(turned);
        add_mask(&job, CARVE_REMOVE, 0, 1, 1);
        struct image *mask = &job.aux[CARVE_REMOVE];
        for (uint32_t y = 0; y < mask->height; y++) memset(image_row(mask, y), 0, mask->width);
        for (uint32_t y = 0; y < HEIGHT; y++)
            image_row(mask, turned ? 2 : y)[turned ? y : 2] = 100; /* below what marks */
        job.params.number[CARVE_SOFT] = true;
        check_seam(&job, turned, (const int[]){ 2, 2, 2, 2 });
        job.params.number[CARVE_SOFT] = false;
        check_seam(&job, turned, (const int[]){ 0, 0, 1, 1 });
        job_free(&job);
    }
}

/* Weights 0 to 255, half for both masks black. */
static void test_weights(void **state) {
    (void)state;
    assert_int_equal(carve_weight(0, 0), 128);
    assert_int_equal(carve_weight(255, 0), 255);
    assert_int_equal(carve_weight(0, 255), 0);
    assert_int_equal(carve_weight(255, 255), 128);
    assert_int_equal(carve_weight(1, 0), 128);
    assert_int_equal(carve_weight(0, 1), 127);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_forward), cmocka_unit_test(test_soft),
                                        cmocka_unit_test(test_weights) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
