// SPDX-License-Identifier: Apache-2.0
/* Which device a word means. On a machine without a GPU; with one, the words for it are more. */
#include "pipeline/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct device_driver *driver;
static int index_chosen;
static struct failure failure;

static enum status choose(const char *text) {
    driver = NULL;
    index_chosen = -1;
    return device_choose(text, &driver, &index_chosen, &failure);
}

static void the_cpu_is_always_there(void **state) {
    (void)state;
    assert_int_equal(choose("cpu"), STATUS_OK);
    assert_ptr_equal(driver, &device_cpu);
    assert_int_equal(index_chosen, 0);
    assert_int_equal(choose("auto"), STATUS_OK);
    assert_ptr_equal(driver, device_cuda.count() ? &device_cuda : &device_cpu);
}

static void other_words_are_refused(void **state) {
    (void)state;
    static const char *const words[] = {
        "",        "gpu",     "CPU",    "cpu:0", "cuda:", "cuda:-1",
        "cuda:+1", "cuda:1 ", "cuda:x", "cuda1", "auto ", "cuda:99999999999999999999"
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_int_equal(choose(words[i]), STATUS_BAD_PARAM);
        assert_non_null(strstr(failure.message, "auto, cpu, cuda or cuda:N"));
    }
}

static void a_gpu_that_is_not_there_is_refused(void **state) {
    (void)state;
    assert_int_equal(choose("cuda:9999"), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "cuda:9999"));
    if (device_cuda.count()) return;
    assert_int_equal(choose("cuda"), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "no working GPU"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cpu_is_always_there),
        cmocka_unit_test(other_words_are_refused),
        cmocka_unit_test(a_gpu_that_is_not_there_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
