// SPDX-License-Identifier: Apache-2.0
/* Kernels from memory, from the cache or compiled, with a loader that needs no GPU: it counts, and
 * its kernel is a copy of the code. Without libnvrtc only that message is looked at.
 * covers: cuda/skeletons/kernel_library.c cuda/skeletons/kernel_compiler.c
 */
#include "cuda/skeletons/kernel_library.h"

#include "cuda/skeletons/kernel_cache.h"
#include "cuda/skeletons/kernel_compiler.h"
#include "cuda/skeletons/nvrtc.h"
#include "pipeline/skeletons/twin_cache.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/kernel-library-XXXXXX";
static int sources, loads, refusals; /* refusals: how many loads are to fail */
static enum status refusal = STATUS_INTERNAL;

static char *source_of(const void *identity) {
    char *text = NULL;
    __atomic_fetch_add(&sources, 1, __ATOMIC_RELAXED);
    usleep(20 * 1000); /* others come meanwhile */
    const int length = asprintf(&text,
                                "extern \"C\" __global__ void burin_kernel(int *out) {\n"
                                "    *out = %s;\n}\n",
                                (const char *)identity);
    return length < 0 ? NULL : text;
}

/* A library keeps its kernels as long as the process; these are freed at the tests' end. */
enum { KERNELS_MAX = 64 };
static void *loaded[KERNELS_MAX];
static int loaded_count;

static enum status load(const void *code, size_t bytes, const char *name, void **kernel,
                        struct failure *failure) {
    assert_string_equal(name, "burin_kernel");
    __atomic_fetch_add(&loads, 1, __ATOMIC_RELAXED);
    if (refusals > 0) {
        refusals--;
        return (fail)(failure, refusal, "not loaded");
    }
    const int place = __atomic_fetch_add(&loaded_count, 1, __ATOMIC_RELAXED);
    assert_true(place < KERNELS_MAX);
    *kernel = loaded[place] = malloc(bytes + 1);
    memcpy(*kernel, code, bytes + 1);
    return STATUS_OK;
}

static struct kernel_request request_for(const char *value) {
    return (struct kernel_request){ .identity = value,
                                    .identity_bytes = strlen(value) + 1,
                                    .capability = 90,
                                    .name = "white",
                                    .file = "white.c",
                                    .source = source_of,
                                    .load = load };
}

static enum status find(const char *value, void **kernel, struct failure *failure) {
    const struct kernel_request request = request_for(value);
    *failure = (struct failure){ 0 };
    *kernel = NULL;
    return kernel_library_find(&request, kernel, failure);
}

static void *found(const char *value) {
    struct failure failure;
    void *kernel;
    if (find(value, &kernel, &failure)) fail_msg("%s", failure.message);
    assert_non_null(kernel);
    return kernel;
}

static void begin(const char *cache) {
    kernel_library_forget();
    kernel_library_keep_in(cache);
    sources = loads = refusals = 0;
    refusal = STATUS_INTERNAL;
    if (nvrtc_missing()) skip();
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    twin_cache_remove_folder(folder);
    for (int i = 0; i < loaded_count; i++) free(loaded[i]);
    return 0;
}

static void test_made_once(void **state) {
    (void)state;
    begin(NULL);
    void *first = found("1");
    assert_ptr_equal(found("1"), first);
    assert_int_equal(sources, 1);
    assert_int_equal(loads, 1);
    assert_ptr_not_equal(found("2"), first);
    assert_int_equal(loads, 2);
}

static void *find_in_thread(void *value) {
    struct failure failure;
    void *kernel;
    return find(value, &kernel, &failure) ? NULL : kernel;
}

/* One makes it, all get the same. */
static void test_threads_make_it_once(void **state) {
    (void)state;
    pthread_t threads[8];
    void *kernels[8];
    begin(NULL);
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, find_in_thread, i & 1 ? "3" : "4"), 0);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], &kernels[i]);
    for (int i = 0; i < 8; i++) {
        assert_non_null(kernels[i]);
        assert_ptr_equal(kernels[i], kernels[i & 1]);
    }
    assert_int_equal(sources, 2);
    assert_int_equal(loads, 2);
}

/* The same code comes back, without the compiler. */
static void test_from_the_cache(void **state) {
    (void)state;
    size_t size;
    begin(folder);
    const char *text = found("5");
    char *source = source_of("5"), *key = kernel_compiler_key(source, 90);
    char *kept = kernel_cache_find(folder, key, &size);
    assert_non_null(kept);
    assert_memory_equal(text, kept, size);
    kernel_cache_keep(folder, key, "not compiled again", 19);
    kernel_library_forget();
    assert_string_equal(found("5"), "not compiled again");
    free(kept);
    free(key);
    free(source);
}

/* A cached entry that the device refuses is compiled anew and replaced. */
static void test_useless_entry_is_replaced(void **state) {
    (void)state;
    size_t size;
    begin(folder);
    char *source = source_of("6"), *key = kernel_compiler_key(source, 90);
    kernel_cache_keep(folder, key, "useless", 8);
    refusals = 1;
    const char *text = found("6");
    assert_int_equal(loads, 2);
    assert_string_not_equal(text, "useless");
    char *kept = kernel_cache_find(folder, key, &size);
    assert_non_null(kept);
    assert_memory_equal(text, kept, size);
    free(kept);
    free(key);
    free(source);
}

/* Neither the compiler nor the driver is asked twice; a device that fails is. */
static void test_failures(void **state) {
    (void)state;
    struct failure failure;
    void *kernel;
    begin(folder);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(find("unknown", &kernel, &failure), STATUS_INTERNAL);
        assert_non_null(strstr(failure.message, "white does not compile for the GPU: white.c(2): "
                                                "error: identifier \"unknown\""));
        assert_int_equal(sources, 1);
    }
    assert_int_equal(loads, 0);
    refusals = 1;
    for (int i = 0; i < 2; i++) assert_int_equal(find("77", &kernel, &failure), STATUS_INTERNAL);
    assert_int_equal(loads, 1);
    refusals = 1;
    refusal = STATUS_NO_MEMORY;
    assert_int_equal(find("7", &kernel, &failure), STATUS_NO_MEMORY);
    assert_string_equal(failure.message, "not loaded");
    assert_non_null(found("7"));
}

static void test_key_names_all_that_decides(void **state) {
    (void)state;
    char versions[80];
    char *key = kernel_compiler_key("the source\n", 90), *other = kernel_compiler_key("", 80);
    snprintf(versions, sizeof versions, "NVRTC %d, nvJitLink %d, compute capability 90\n",
             nvrtc_version(), nvjitlink_version());
    assert_non_null(strstr(key, versions));
    assert_non_null(strstr(key, " --fmad=false"));
    assert_non_null(strstr(key, "\nthe source\n"));
    assert_int_equal(strncmp(key, "// burin ", 9), 0);
    assert_non_null(strstr(other, "compute capability 80\n"));
    free(key);
    free(other);
}

/* A cubin is an ELF file. */
static void test_code_is_a_cubin(void **state) {
    (void)state;
    struct kernel_code code;
    char *source = source_of("8");
    begin(NULL);
    assert_true(kernel_compiler_compile(source, "white.c", 90, &code));
    assert_int_equal(code.bytes[code.size], 0);
    assert_int_equal(code.ptx, nvjitlink_version() < nvrtc_version() / 1000 * 1000);
    if (code.ptx)
        assert_non_null(strstr(code.bytes, ".entry burin_kernel"));
    else
        assert_memory_equal(code.bytes, "\177ELF", 4);
    kernel_code_release(&code);
    free(source);
}

static void test_without_a_compiler(void **state) {
    (void)state;
    struct failure failure;
    void *kernel;
    if (!nvrtc_missing()) skip();
    assert_int_equal(find("9", &kernel, &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, nvrtc_missing()));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made_once),       cmocka_unit_test(test_threads_make_it_once),
        cmocka_unit_test(test_from_the_cache),  cmocka_unit_test(test_useless_entry_is_replaced),
        cmocka_unit_test(test_failures),        cmocka_unit_test(test_key_names_all_that_decides),
        cmocka_unit_test(test_code_is_a_cubin), cmocka_unit_test(test_without_a_compiler),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
