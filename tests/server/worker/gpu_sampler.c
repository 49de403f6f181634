// SPDX-License-Identifier: Apache-2.0
/* A sampler reads gauges from a stand-in for NVML, reports them over a channel, and ends with the
 * front.
 *
 * covers: cuda/nvml.c pipeline/shared_library.c */
#include "server/worker/gpu_sampler.h"

#include "cuda/nvml.h"
#include "server/jobs/channel.h"
#include "tests/fake/nvml.h"

#include <dlfcn.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char bus[] = "0000:18:00.0";
static char library[512]; /* beside this program: ../../fake/nvml.so */
static struct fake *fake;

static int find_library(void **state) {
    (void)state;
    const ssize_t length = readlink("/proc/self/exe", library, sizeof library - 32);
    if (length <= 0) return -1;
    library[length] = 0;
    strcpy(strrchr(library, '/'), "/../../fake/nvml.so");
    void *handle = dlopen(library, RTLD_NOW); /* stays, so that `fake` does */
    fake = handle ? dlsym(handle, "fake") : NULL;
    return fake ? 0 : -1;
}

static int reset(void **state) {
    (void)state;
    *fake = (struct fake){ .bus = bus,
                           .utilization_percent = 57,
                           .memory_used = 3000000000,
                           .memory_total = 150754820096,
                           .energy_mj = 123456789012 };
    return 0;
}

/* ---- the library */

static void all_is_read(void **state) {
    (void)state;
    struct gauges gauges = { .known = 0 };
    struct nvml *nvml = nvml_open(library, bus);
    assert_non_null(nvml);
    nvml_read(nvml, &gauges);
    assert_int_equal(gauges.known, 1u << GAUGE_UTILIZATION | 1u << GAUGE_MEMORY_USED |
                                       1u << GAUGE_MEMORY_TOTAL | 1u << GAUGE_ENERGY);
    assert_int_equal(gauges.values[GAUGE_UTILIZATION], 57);
    assert_int_equal(gauges.values[GAUGE_MEMORY_USED], 3000000000);
    assert_int_equal(gauges.values[GAUGE_MEMORY_TOTAL], 150754820096);
    assert_int_equal(gauges.values[GAUGE_ENERGY], 123456789012);
    nvml_close(nvml);
    assert_int_equal(fake->inits, 1);
    assert_int_equal(fake->shutdowns, 1);
}

/* A gauge that the card lacks, as old cards lack energy, has no value rather than 0. */
static void unsupported_gauges_have_no_value(void **state) {
    (void)state;
    int *const errors[] = { &fake->utilization, &fake->memory, &fake->energy };
    const uint32_t lost[] = { 1u << GAUGE_UTILIZATION,
                              1u << GAUGE_MEMORY_USED | 1u << GAUGE_MEMORY_TOTAL,
                              1u << GAUGE_ENERGY };
    struct nvml *nvml = nvml_open(library, bus);
    assert_non_null(nvml);
    for (int i = 0; i < 3; i++) {
        struct gauges whole = { .known = 0 }, gauges = { .known = 0 };
        nvml_read(nvml, &whole);
        *errors[i] = 3;
        nvml_read(nvml, &gauges);
        *errors[i] = 0;
        assert_int_equal(gauges.known, whole.known & ~lost[i]);
    }
    nvml_close(nvml);
}

static void no_library_is_no_harm(void **state) {
    (void)state;
    assert_null(nvml_open("libno-such-thing.so.1", bus));
    assert_null(nvml_open("libm.so.6", bus)); /* a library, but without NVML's functions */
    assert_null(nvml_open(library, "0000:19:00.0"));
    assert_int_equal(fake->shutdowns, fake->inits);
    fake->init = 9; /* no driver */
    assert_null(nvml_open(library, bus));
    nvml_close(NULL);
}

/* ---- the sampler */

/* Read and written by the sampler's thread, where no assertion may fail. */
static const char *shown_bus;
static int asked_index;

static enum status describe(int index, struct device_info *facts, struct failure *failure) {
    (void)failure;
    asked_index = index;
    if (!shown_bus) return STATUS_DEVICE;
    *facts = (struct device_info){ .capability = "9.0" };
    snprintf(facts->bus, sizeof facts->bus, "%s", shown_bus);
    return STATUS_OK;
}

static const struct device_driver driver = { .kind = "cuda", .describe = describe };

enum { LANES = 3 };

struct scene {
    struct lane lanes[LANES];
    struct lane *pointers[LANES];
    int busy[LANES], ends[2];
    struct gpu_sampler sampler;
};

static void begin(struct scene *scene, const char *nvml, int every_ms) {
    assert_true(channel_open(scene->ends));
    for (int i = 0; i < LANES; i++) scene->pointers[i] = &scene->lanes[i];
    for (int i = 0; i < LANES; i++) scene->lanes[i].pinned_bytes = (size_t)1000 << 4 * i;
    scene->sampler.options = (struct gpu_sampler_options){
        .channel = scene->ends[1],
        .every_ms = every_ms,
        .nvml_path = nvml,
        .driver = &driver,
        .index = 3,
        .lanes = scene->pointers,
        .busy = scene->busy,
        .lane_count = LANES,
    };
    gpu_sampler_start(&scene->sampler);
}

/* The next message, within half a minute. */
static struct gauges hear(const struct scene *scene) {
    struct message message;
    assert_int_equal(poll(&(struct pollfd){ scene->ends[0], POLLIN, 0 }, 1, 30000), 1);
    assert_int_equal(channel_take(scene->ends[0], &message, 1, 0), 1);
    assert_int_equal(message.kind, CHANNEL_GAUGES);
    return message.gauges;
}

static void end(struct scene *scene) {
    close(scene->ends[0]);
    gpu_sampler_join(&scene->sampler);
    close(scene->ends[1]);
}

static void it_reports_again_and_again(void **state) {
    (void)state;
    struct scene scene = { .busy = { 0 } };
    shown_bus = bus;
    begin(&scene, library, 20);
    struct gauges gauges = hear(&scene);
    assert_int_equal(gauges.known, (1u << GAUGES) - 1);
    assert_int_equal(gauges.values[GAUGE_ENERGY], 123456789012);
    assert_int_equal(gauges.values[GAUGE_PINNED_USED], 0);
    assert_int_equal(gauges.values[GAUGE_PINNED_FREE], 1000 + 16000 + 256000);
    __atomic_store_n(&scene.busy[1], 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 250 && gauges.values[GAUGE_PINNED_USED] == 0; i++) gauges = hear(&scene);
    assert_int_equal(gauges.values[GAUGE_PINNED_USED], 16000);
    assert_int_equal(gauges.values[GAUGE_PINNED_FREE], 1000 + 256000);
    end(&scene);
    assert_int_equal(asked_index, 3);
    assert_int_equal(fake->inits, 1);
    assert_int_equal(fake->shutdowns, 1);
}

/* Pinned staging is reported without NVML too, and for a GPU of unknown bus address. */
static void staging_is_reported_without_nvml(void **state) {
    (void)state;
    for (int gone = 0; gone < 2; gone++) {
        struct scene scene = { .busy = { 1, 1, 1 } };
        shown_bus = gone ? NULL : bus;
        begin(&scene, gone ? library : "libno-such-thing.so.1", 20);
        const struct gauges gauges = hear(&scene);
        assert_int_equal(gauges.known, 1u << GAUGE_PINNED_USED | 1u << GAUGE_PINNED_FREE);
        assert_int_equal(gauges.values[GAUGE_PINNED_USED], 1000 + 16000 + 256000);
        assert_int_equal(gauges.values[GAUGE_PINNED_FREE], 0);
        end(&scene);
    }
}

/* The sampler sleeps for an hour and wakes when the front closes its end of the channel. It leaves
 * messages to the lanes alone. */
static void the_front_has_gone(void **state) {
    (void)state;
    struct scene scene = { .busy = { 0 } };
    struct message message;
    shown_bus = bus;
    begin(&scene, library, 3600 * 1000);
    hear(&scene);
    assert_true(channel_send(scene.ends[0], &(struct message){ .kind = CHANNEL_SELF_TEST }));
    assert_int_equal(poll(&(struct pollfd){ scene.ends[0], POLLIN, 0 }, 1, 200), 0);
    assert_int_equal(channel_take(scene.ends[1], &message, 1, 0), 1);
    assert_int_equal(message.kind, CHANNEL_SELF_TEST);
    alarm(120);
    end(&scene);
    alarm(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_is_read, reset),
        cmocka_unit_test_setup(unsupported_gauges_have_no_value, reset),
        cmocka_unit_test_setup(no_library_is_no_harm, reset),
        cmocka_unit_test_setup(it_reports_again_and_again, reset),
        cmocka_unit_test_setup(staging_is_reported_without_nvml, reset),
        cmocka_unit_test_setup(the_front_has_gone, reset),
    };
    return cmocka_run_group_tests(tests, find_library, NULL);
}
