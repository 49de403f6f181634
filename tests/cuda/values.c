// SPDX-License-Identifier: Apache-2.0
/* Plans with steps that report values give the same values and results on the GPU and on the CPU,
 * for a batch of images; the input is passed on where no step makes an image.
 *
 * covers: pipeline/run.c */
#include "pipeline/run.h"
#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 4 };

static const uint32_t sizes[COUNT][2] = { { 211, 97 }, { 1, 1 }, { 640, 360 }, { 32, 31 } };

static struct lane *gpu, *cpu;

static int open_lanes(void **state) {
    (void)state;
    const struct lane_options options = { .staging_bytes = 8 << 20, .arena_bytes = 64 << 20 };
    return device_cuda.open(0, &options, &gpu, NULL) || device_cpu.open(0, &options, &cpu, NULL);
}

static int close_lanes(void **state) {
    (void)state;
    device_cuda.close(gpu);
    device_cpu.close(cpu);
    return 0;
}

static void fill(const struct image *image, uint32_t seed) {
    for (uint32_t y = 0; y < image->height; y++)
        for (size_t i = 0; i < image_row_bytes(image); i++) {
            noise_next(&seed);
            image_row(image, y)[i] = (uint8_t)((seed >> 24) * (seed >> 24) >> 8);
        }
}

static void run_on(struct lane *lane, const struct plan *plan, unsigned channels, unsigned depth,
                   struct run_item *items) {
    struct failure failure = { 0 };
    for (int k = 0; k < COUNT; k++)
        items[k] =
            (struct run_item){ .in = image_shape(sizes[k][0], sizes[k][1], channels, depth) };
    if (run_reserve(lane, plan, items, COUNT, 1 << 24, &failure)) fail_msg("%s", failure.message);
    for (int k = 0; k < COUNT; k++) fill(&items[k].in, 5u + (unsigned)k);
    if (run_batch(lane, plan, items, COUNT, &failure)) fail_msg("%s", failure.message);
}

static void compare_items(const char *what, const struct plan *plan, const struct run_item *one,
                          const struct run_item *other) {
    if (image_digest(&one->out) != image_digest(&other->out)) fail_msg("%s: results differ", what);
    for (int s = 0; s < plan->count; s++) {
        const struct values_shape *shape = &one->values[s].shape;
        assert_int_equal(shape->type, other->values[s].shape.type);
        if (shape->type &&
            memcmp(one->values[s].numbers, other->values[s].numbers, values_bytes(shape)) != 0)
            fail_msg("%s: the values of step %d differ", what, s);
    }
}

static void both_devices_report_the_same(void **state) {
    (void)state;
    static const char *const plans[] = {
        "histogram;histeq;histogram",
        "mean",
        "dominant;gamma;dominant",
        "blurhash",
        "thumbhash;brightness:shift=30;blurhash:components=9x9;mean",
        "minimum;maximum;mean;histogram:bins=1000",
        "grayscale;mean;brightness:shift=9;minimum",
        "brightness:shift=9;brightness:shift=9;maximum;brightness:shift=9;mean;mean",
    };
    for (size_t p = 0; p < sizeof plans / sizeof *plans; p++)
        for (unsigned channels = 1; channels <= 4; channels++)
            for (unsigned depth = 8; depth <= 16; depth += 8) {
                struct plan plan;
                struct failure failure = { 0 };
                struct run_item on_gpu[COUNT], on_cpu[COUNT];
                char what[160];
                snprintf(what, sizeof what, "%s on %u x %u bit", plans[p], channels, depth);
                if (plan_parse(&plan, plans[p], &failure)) { /* built without one of them */
                    if (!strstr(failure.message, "there is no operator"))
                        fail_msg("%s", failure.message);
                    continue;
                }
                run_on(gpu, &plan, channels, depth, on_gpu);
                run_on(cpu, &plan, channels, depth, on_cpu);
                for (int k = 0; k < COUNT; k++) compare_items(what, &plan, &on_gpu[k], &on_cpu[k]);
                if (plan_only_reports(&plan))
                    assert_ptr_equal(on_gpu[0].in.pixels, on_gpu[0].out.pixels);
            }
}

int main(void) {
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to compare");
        return 77;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(both_devices_report_the_same) };
    return cmocka_run_group_tests(tests, open_lanes, close_lanes);
}
