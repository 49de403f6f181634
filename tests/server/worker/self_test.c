// SPDX-License-Identifier: Apache-2.0
/* The job with a known answer, on a device that computes well and on one that errs in one bit.
 *
 * covers: server/worker/self_test.c */
#include "server/worker/self_test.h"

#include "pipeline/device.h"
#include "tests/twin_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static int wrong_bit; /* of the last pixel, 0 to 7; -1: none */

static enum status run_and_err(struct lane *of, const struct op *op, struct op_call *calls,
                               int count) {
    const enum status status = device_cpu.run(of, op, calls, count);
    const struct image *out = &calls[0].out;
    if (wrong_bit >= 0)
        image_row(out, out->height - 1)[out->width - 1] ^= (uint8_t)(1 << wrong_bit);
    return status;
}

static void an_error_of_one_bit_is_found(void **state) {
    (void)state;
    struct device_driver driver = device_cpu;
    const struct lane_options options = { .staging_bytes = 1 << 16 };
    struct failure failure = { 0 };
    struct lane *lane;
    assert_int_equal(device_cpu.open(0, &options, &lane, &failure), STATUS_OK);
    driver.run = run_and_err;
    lane->driver = &driver;
    for (wrong_bit = -1; wrong_bit < 8; wrong_bit++) {
        failure = (struct failure){ 0 };
        const enum status wanted = wrong_bit < 0 ? STATUS_OK : STATUS_DEVICE;
        assert_int_equal(self_test_run(lane, &failure), wanted);
        assert_int_equal(failure.status, wanted);
        if (wanted) assert_non_null(strstr(failure.message, "wrong answer"));
    }
    device_cpu.close(lane);
}

/* A codec that works, one that refuses the file, and one that writes a byte less. */
static void a_wrong_codec_is_found(void **state) {
    (void)state;
    const struct lane_options options = { .staging_bytes = 1 << 16 };
    struct failure failure = { 0 };
    struct lane *lane;
    assert_int_equal(device_cpu.open(0, &options, &lane, &failure), STATUS_OK);
    twin_device_take(lane);
    assert_int_equal(self_test_run(lane, &failure), STATUS_OK);
    assert_int_equal(twin_device.decoded, 1);
    assert_int_equal(twin_device.encoded, 1);
    twin_device.room = 100;
    assert_int_equal(self_test_run(lane, &failure), STATUS_DEVICE);
    assert_non_null(strstr(failure.message, "wrong JPEG"));
    twin_device.room = 0;
    twin_device.cut = 1;
    assert_int_equal(self_test_run(lane, &failure), STATUS_DEVICE);
    device_cpu.close(lane);
    twin_device_release();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_of_one_bit_is_found),
        cmocka_unit_test(a_wrong_codec_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
