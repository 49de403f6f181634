// SPDX-License-Identifier: Apache-2.0
/* Users' kernels on a GPU: compiled before they are needed, loaded from the cache, right after its
 * file was damaged; and a lane that keeps nothing of a job once it is emptied. Prints what
 * compiling and loading take.
 * covers: cuda/skeletons/user_twin.cu cuda/lane_buffer.cuh
 */
#include <cuda_runtime.h>
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern "C" {
#include "cuda/skeletons/kernel_compiler.h"
#include "cuda/skeletons/kernel_library.h"
#include "cuda/skeletons/nvrtc.h"
#include "pipeline/device.h"
#include "pipeline/plan.h"
#include "pipeline/registry.h"
#include "pipeline/run.h"
#include "pipeline/skeletons/reader.h"
#include "pipeline/skeletons/twin_cache.h"

#include <cmocka.h>
}

/* The third has the negations for whose sake PTX is rewritten. */
static const char source[] =
    "#P2P_FUNC\n"
    "static unsigned char twice(unsigned char v, int i) { return v * 2; }\n"
    "#N2P_FUNC\n"
    "static unsigned char left(unsigned char p[3][3], int x, int y) { return p[1][0]; }\n"
    "static int least(int a, int b) { return a < b ? a : b; }\n"
    "#N2P_FUNC\n"
    "static unsigned char dilated(unsigned char p[3][3], int x, int y) {\n"
    "    int m = 0;\n"
    "    for (int j = 0; j < 3; j++)\n"
    "        for (int i = 0; i < 3; i++) m = -least(-m, -p[j][i]);\n"
    "    return m;\n"
    "}\n";

enum { WIDTH = 333, HEIGHT = 222, PIXELS = WIDTH * HEIGHT };

static struct lane *lane;
static char folder[] = "/tmp/burin-user-twin-XXXXXX";

static uint8_t pixel_at(int x, int y) {
    x = x < 0 ? 0 : x >= WIDTH ? WIDTH - 1 : x;
    y = y < 0 ? 0 : y >= HEIGHT ? HEIGHT - 1 : y;
    return (uint8_t)((x * 7919u + y * 104729u) >> 3);
}

static uint8_t expected_at(const char *name, int x, int y) {
    if (strcmp(name, "twice") == 0) return (uint8_t)(2 * pixel_at(x, y));
    if (strcmp(name, "left") == 0) return pixel_at(x - 1, y);
    uint8_t most = 0;
    for (int i = 0; i < 9; i++) {
        const uint8_t v = pixel_at(x - 1 + i % 3, y - 1 + i / 3);
        most = v > most ? v : most;
    }
    return most;
}

static void check_result(const char *name) {
    struct plan plan;
    struct failure failure = {};
    struct run_item item = {};
    item.in = image_shape(WIDTH, HEIGHT, 1, 8);
    if (plan_parse(&plan, name, &failure) ||
        run_reserve(lane, &plan, &item, 1, UINT64_C(1) << 31, &failure))
        fail_msg("%s", failure.message);
    for (int i = 0; i < PIXELS; i++)
        image_row(&item.in, i / WIDTH)[i % WIDTH] = pixel_at(i % WIDTH, i / WIDTH);
    if (run_batch(lane, &plan, &item, 1, &failure)) fail_msg("%s", failure.message);
    for (int i = 0; i < PIXELS; i++)
        if (image_row(&item.out, i / WIDTH)[i % WIDTH] != expected_at(name, i % WIDTH, i / WIDTH))
            fail_msg("%s is wrong at %d, %d", name, i % WIDTH, i / WIDTH);
}

static double prepare_ms(const char *name) {
    struct failure failure = {};
    kernel_library_forget();
    const int64_t start = clock_ns();
    if (device_cuda.prepare(lane, registry_find(name), 8, 1, &failure))
        fail_msg("%s: %s", name, failure.message);
    return ns_to_ms(clock_ns() - start);
}

/* The one file of a kernel in the folder. */
static void path_of_kernel(char *path, size_t size) {
    int count = 0;
    DIR *list = opendir(folder);
    for (struct dirent *one; (one = readdir(list)) != NULL;)
        if (strstr(one->d_name, ".kernel") && ++count)
            snprintf(path, size, "%s/%s", folder, one->d_name);
    closedir(list);
    assert_int_equal(count, 1);
}

static char *read_whole(const char *path, long *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = ftell(file);
    rewind(file);
    char *bytes = (char *)malloc(*size);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static void damage(const char *path, long offset) {
    FILE *file = fopen(path, "r+b");
    fseek(file, offset, SEEK_SET);
    const int byte = fgetc(file);
    fseek(file, offset, SEEK_SET);
    fputc(byte ^ 1, file);
    fclose(file);
}

static void check_cache(const char *name) {
    char path[512];
    long size, again;
    assert_true(mkdtemp(strcpy(folder, "/tmp/burin-user-twin-XXXXXX")));
    kernel_library_keep_in(folder);
    const double compiled = prepare_ms(name);
    check_result(name);
    path_of_kernel(path, sizeof path);
    char *before = read_whole(path, &size);
    const double loaded = prepare_ms(name);
    check_result(name);
    printf("%s: compiled in %.1f ms, loaded from the cache in %.2f ms, %ld bytes\n", name, compiled,
           loaded, size);
    damage(path, size - size / 8); /* in the code */
    prepare_ms(name);
    check_result(name);
    char *after = read_whole(path, &again);
    assert_int_equal(again, size); /* it was written over */
    assert_memory_equal(before, after, size);
    free(before);
    free(after);
    twin_cache_remove_folder(folder);
    kernel_library_keep_in(NULL);
}

static void test_cache(void **) {
    prepare_ms("left"); /* the libraries are open */
    check_cache("twice");
    check_cache("left");
    check_cache("dilated");
}

/* An operator that refuses such images needs no preparation, nor does a built-in one. */
static void test_nothing_to_prepare(void **) {
    struct failure failure = {};
    assert_int_equal(device_cuda.prepare(lane, registry_find("twice"), 16, 1, &failure), 0);
    assert_int_equal(device_cuda.prepare(lane, registry_at(0), 8, 3, &failure), 0);
}

/* ON_HOST: the pool's, which is locked step by step, is no one range to a copy. */
static void fill_bytes(uint8_t *place, size_t size, bool on_host) {
    if (on_host)
        memset(place, 7, size);
    else
        assert_int_equal(cudaMemset(place, 7, size), cudaSuccess);
}

/* Counts the bytes that are not 0. */
static size_t count_bytes(const uint8_t *place, size_t size, bool on_host) {
    size_t count = 0;
    uint8_t *bytes = (uint8_t *)malloc(size);
    if (on_host)
        memcpy(bytes, place, size);
    else
        assert_int_equal(cudaMemcpy(bytes, place, size, cudaMemcpyDeviceToHost), cudaSuccess);
    for (size_t i = 0; i < size; i++) count += bytes[i] != 0;
    free(bytes);
    return count;
}

/* empty() zeroes the lane after a batch that fits the arena, and after one that does not. */
static void test_empty(void **) {
    static const size_t sizes[] = { 100 * 1000, 40 << 20 };
    for (size_t size : sizes) {
        struct failure failure = {};
        const struct lane_need need = { size, size, size };
        assert_int_equal(device_cuda.reserve(lane, &need, &failure), 0);
        uint8_t *const places[] = { lane->host_in, lane->host_out, lane->in, lane->work,
                                    lane->out };
        for (int i = 0; i < 5; i++) {
            fill_bytes(places[i], size, i < 2);
            assert_int_equal(count_bytes(places[i], size, i < 2), size);
        }
        assert_int_equal(device_cuda.empty(lane, &failure), 0); /* and nothing is under way */
        for (int i = 0; i < 5; i++) assert_int_equal(count_bytes(places[i], size, i < 2), 0);
    }
    check_result("twice");
}

static int prepare(void **) {
    struct failure failure = {};
    struct diagnostics diagnostics;
    const struct lane_options options = { 1 << 20, 4 << 20, NULL };
    struct user_file *file = reader_read("op.c", source, sizeof source - 1, 0, &diagnostics);
    if (!file || device_cuda.open(0, &options, &lane, &failure))
        return printf("%s\n", file ? failure.message : "the source is refused");
    for (int i = 0; i < file->count; i++)
        if (!registry_add(&file->ops[i].op)) return printf("not added\n");
    printf("NVRTC %d, nvJitLink %d\n", nvrtc_version(), nvjitlink_version());
    return 0;
}

int main() {
    if (device_cuda.count() == 0 || nvrtc_missing()) {
        puts(nvrtc_missing() ? nvrtc_missing() : "no GPU here: nothing to test");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_nothing_to_prepare),
        cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
