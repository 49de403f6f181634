// SPDX-License-Identifier: Apache-2.0
/* table.h - runs a plan on a tiny image and compares with a table computed by hand. */
#ifndef BURIN_TESTS_OPS_TABLE_H
#define BURIN_TESTS_OPS_TABLE_H

#include "pipeline/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline void check_table(const char *text, struct image in, const void *pixels,
                               unsigned out_channels, const void *expected) {
    struct plan plan;
    struct failure failure = { 0 };
    struct lane *lane = NULL;
    const struct lane_options options = { .staging_bytes = 1 << 20 };
    assert_int_equal(plan_parse(&plan, text, &failure), STATUS_OK);
    assert_int_equal(device_cpu.open(0, &options, &lane, &failure), STATUS_OK);
    struct run_item item = { .in = in };
    assert_int_equal(run_reserve(lane, &plan, &item, 1, 1 << 20, &failure), STATUS_OK);
    for (uint32_t y = 0; y < in.height; y++)
        memcpy(image_row(&item.in, y), (const uint8_t *)pixels + y * image_row_bytes(&in),
               image_row_bytes(&in));
    assert_int_equal(run_batch(lane, &plan, &item, 1, &failure), STATUS_OK);
    assert_int_equal(item.out.channels, out_channels);
    for (uint32_t y = 0; y < item.out.height; y++)
        assert_memory_equal(image_row(&item.out, y),
                            (const uint8_t *)expected + y * image_row_bytes(&item.out),
                            image_row_bytes(&item.out));
    device_cpu.close(lane);
}

static inline void check_8(const char *plan, uint32_t width, uint32_t height, unsigned channels,
                           const uint8_t *in, unsigned out_channels, const uint8_t *out) {
    check_table(plan, image_shape(width, height, channels, 8), in, out_channels, out);
}

static inline void check_16(const char *plan, uint32_t width, uint32_t height, unsigned channels,
                            const uint16_t *in, unsigned out_channels, const uint16_t *out) {
    check_table(plan, image_shape(width, height, channels, 16), in, out_channels, out);
}

#endif
