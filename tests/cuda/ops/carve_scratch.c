// SPDX-License-Identifier: Apache-2.0
/* Scratch of carving on the GPU: asked for, not run, for all sizes, ways, energies, masks and all
 * that is shown. */
#include "tests/cuda/ops/carve_scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct lane *lane;

enum { KINDS = 4 * 2 * 2 * 3, GOALS = 9 };

/* A call for WIDTH x HEIGHT: energy, what it shows, masks and pixels by KIND < KINDS. */
static struct op_call call_of_kind(uint32_t width, uint32_t height, int kind,
                                   struct params *params) {
    static const unsigned pixels[][2] = { { 1, 8 }, { 4, 8 }, { 4, 16 } };
    const unsigned *pixel = pixels[kind / 16];
    struct op_call call = { .params = params,
                            .in = image_shape(width, height, pixel[0], pixel[1]) };
    params_init(params, registry_find("carve")->params);
    params->number[CARVE_ENERGY] = kind % 4;
    params->number[CARVE_SHOW] = kind / 4 % 2 ? CARVE_SHOW_SEAMS : CARVE_SHOW_RESULT;
    for (int part = 0; part < kind / 8 % 2 * 2; part++)
        call.aux[part] = image_shape(width, height, 1, 8);
    return call;
}

/* Nearly nothing, less, one less, itself, more. */
static long goal_at(uint32_t side, int choice) {
    const long goals[GOALS] = { 2,        side / 8L, side / 2L,         side - 1L, side,
                                side + 1, 2L * side, 3L * side / 2 + 1, 8L * side };
    return goals[choice] < 1 ? 1 : goals[choice] < 65535 ? goals[choice] : 65535;
}

static void check_ways(uint32_t width, uint32_t height, int kind) {
    struct params params;
    struct op_call call = call_of_kind(width, height, kind, &params);
    for (int way = 0; way < GOALS * GOALS; way++) {
        struct failure failure = { 0 };
        params.number[CARVE_WIDTH] = goal_at(width, way % GOALS);
        params.number[CARVE_HEIGHT] = goal_at(height, way / GOALS);
        if (registry_find("carve")->size(&params, &call.in, &call.out, &failure)) continue;
        const double bytes = scratch_bytes(lane, &call);
        if (bytes > scratch_most(&call))
            fail_msg("%ux%u to %ldx%ld, kind %d: %.0f bytes, %.2f a pixel", width, height,
                     params.number[CARVE_WIDTH], params.number[CARVE_HEIGHT], kind, bytes,
                     bytes / pixels_of(&call));
    }
}

/* Asks for the scratch of all sizes and kinds; nothing is run. */
static void test_scratch(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = { { 1, 1 },       { 3, 5000 },    { 100, 80 },
                                         { 500, 480 },   { 640, 500 },   { 801, 800 },
                                         { 1920, 1080 }, { 1081, 1919 }, { 8192, 8192 },
                                         { 46747, 161 }, { 65535, 3 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes * KINDS; i++)
        check_ways(sizes[i / KINDS][0], sizes[i / KINDS][1], (int)(i % KINDS));
}

static int open_lane(void **state) {
    (void)state;
    struct failure failure = { 0 };
    const struct lane_options options = { .staging_bytes = 1 << 20, .arena_bytes = 1 << 20 };
    if (device_cuda.open(0, &options, &lane, &failure) == STATUS_OK) return 0;
    print_error("%s\n", failure.message);
    return 1;
}

static int close_lane(void **state) {
    (void)state;
    device_cuda.close(lane);
    return 0;
}

int main(void) {
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to ask");
        return 77;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_scratch) };
    return cmocka_run_group_tests(tests, open_lane, close_lane);
}
