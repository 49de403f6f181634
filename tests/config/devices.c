// SPDX-License-Identifier: Apache-2.0
/* Lists of devices are read, up to the longest that a key can hold. */
#include "config/devices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void what_is_named(void **state) {
    (void)state;
    static const struct {
        const char *text;
        struct devices devices;
    } cases[] = {
        { "all", { .all = true } },
        { "cpu", { .cpu = true } },
        { "cuda:0", { .count = 1, .gpus = { 0 } } },
        { "cuda:3,cuda:0,cuda:12", { .count = 3, .gpus = { 3, 0, 12 } } },
        { "cuda:1,cpu,cuda:0", { .cpu = true, .count = 2, .gpus = { 1, 0 } } },
        { "cuda:9223372036854775807", { .count = 1, .gpus = { 9223372036854775807 } } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct devices *expected = &cases[i].devices;
        struct devices devices;
        assert_true(devices_read(cases[i].text, &devices));
        assert_int_equal(devices.all, expected->all);
        assert_int_equal(devices.cpu, expected->cpu);
        assert_int_equal(devices.count, expected->count);
        assert_memory_equal(devices.gpus, expected->gpus, sizeof devices.gpus);
    }
}

static void what_is_no_list(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "",        "ALL",      "all,cpu", "cpu,all",     ",",
        "cpu,",    ",cpu",     "cpu,cpu", "cpu, cuda:0", "cuda:0,cuda:1,cuda:0",
        "cuda:",   "cuda:00",  "cuda:01", "cuda:+1",     "cuda:-1",
        "cuda:1x", "cuda:0x1", "Cuda:0",  "cpu:0",       "cuda:9223372036854775808",
    };
    struct devices devices;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (devices_read(wrong[i], &devices)) fail_msg("\"%s\" is taken for a list", wrong[i]);
}

/* The list may fill CONFIG_TEXT_MAX, not exceed it. */
static void the_longest(void **state) {
    (void)state;
    char text[CONFIG_TEXT_MAX + 8] = "cuda:0";
    int count = 1;
    for (size_t length = strlen(text); length + 8 < CONFIG_TEXT_MAX; length = strlen(text))
        snprintf(text + length, sizeof text - length, ",cuda:%d", count++);
    struct devices devices;
    assert_true(devices_read(text, &devices));
    assert_int_equal(devices.count, count);
    for (int i = 0; i < count; i++) assert_int_equal(devices.gpus[i], i);
    memset(text, '1', CONFIG_TEXT_MAX);
    memcpy(text, "cuda:", 5);
    text[CONFIG_TEXT_MAX] = '\0';
    assert_false(devices_read(text, &devices));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_named),
        cmocka_unit_test(what_is_no_list),
        cmocka_unit_test(the_longest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
