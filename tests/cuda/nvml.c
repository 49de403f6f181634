// SPDX-License-Identifier: Apache-2.0
/* The true NVML, where the driver has brought it, compared with what CUDA says of the same GPU. */
#include "cuda/nvml.h"

#include "pipeline/device.h"
#include "pipeline/timing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static struct device_info info; /* of cuda:0, whose context is open from then on */

/* CUDA counts what the driver keeps for itself out of the whole. */
static void test_values(void **state) {
    struct nvml *nvml = *state;
    struct gauges gauges = { .known = 0 };
    const int64_t start = clock_ns();
    nvml_read(nvml, &gauges);
    print_message("%s at %s, read in %.2f ms: gauges %x, %ld %%, %ld of %ld bytes, %.3f J\n",
                  info.name, info.bus, ns_to_ms(clock_ns() - start), gauges.known,
                  gauges.values[GAUGE_UTILIZATION], gauges.values[GAUGE_MEMORY_USED],
                  gauges.values[GAUGE_MEMORY_TOTAL], (double)gauges.values[GAUGE_ENERGY] / 1e3);
    assert_true(gauges_has(&gauges, GAUGE_MEMORY_USED));
    assert_true(gauges_has(&gauges, GAUGE_MEMORY_TOTAL));
    assert_true((double)gauges.values[GAUGE_MEMORY_TOTAL] >= info.memory_bytes);
    assert_true(gauges.values[GAUGE_MEMORY_USED] > 0);
    assert_true(gauges.values[GAUGE_MEMORY_USED] <= gauges.values[GAUGE_MEMORY_TOTAL]);
    if (gauges_has(&gauges, GAUGE_UTILIZATION))
        assert_in_range(gauges.values[GAUGE_UTILIZATION], 0, 100);
}

/* Even an idle GPU takes watts. */
static void test_energy_grows(void **state) {
    struct nvml *nvml = *state;
    struct gauges before = { .known = 0 }, after = { .known = 0 };
    nvml_read(nvml, &before);
    if (!gauges_has(&before, GAUGE_ENERGY)) skip();
    sleep(1);
    nvml_read(nvml, &after);
    const double joules = (double)(after.values[GAUGE_ENERGY] - before.values[GAUGE_ENERGY]) / 1000;
    print_message("%.1f J in a second\n", joules);
    assert_true(joules > 1 && joules < 3000);
}

/* Memory that this process takes is seen to be taken. */
static void test_memory_is_seen(void **state) {
    struct nvml *nvml = *state;
    enum { ARENA = 1 << 30 };
    const struct lane_options options = { .staging_bytes = 1 << 20, .arena_bytes = ARENA };
    struct gauges before = { .known = 0 }, after = { .known = 0 };
    struct lane *lane;
    nvml_read(nvml, &before);
    assert_int_equal(device_cuda.open(0, &options, &lane, NULL), STATUS_OK);
    nvml_read(nvml, &after);
    device_cuda.close(lane);
    assert_true(after.values[GAUGE_MEMORY_USED] - before.values[GAUGE_MEMORY_USED] > ARENA / 2);
}

static void test_no_such_gpu(void **state) {
    (void)state;
    assert_null(nvml_open(NVML_LIBRARY, "0000:ff:1f.0"));
    assert_null(nvml_open(NVML_LIBRARY, ""));
}

int main(void) {
    struct failure failure = { 0 };
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to test");
        return 77;
    }
    if (device_cuda.describe(0, &info, &failure)) {
        puts(failure.message);
        return 1;
    }
    struct nvml *nvml = nvml_open(NVML_LIBRARY, info.bus);
    if (!nvml) {
        printf("no " NVML_LIBRARY " here that knows the GPU at %s\n", info.bus);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_values, nvml),
        cmocka_unit_test_prestate(test_energy_grows, nvml),
        cmocka_unit_test_prestate(test_memory_is_seen, nvml),
        cmocka_unit_test(test_no_such_gpu),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nvml_close(nvml);
    return failed;
}
