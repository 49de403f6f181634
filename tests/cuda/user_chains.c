// SPDX-License-Identifier: Apache-2.0
/* Users' operators in a row on the GPU: one fused kernel gives what a kernel for each gives, and
 * what the CPU gives; timings name it as one; no batch waits for its compilation.
 * covers: cuda/skeletons/user_twin.cu cuda/device_cuda.cu
 */
#include "cuda/skeletons/kernel_chain.h"
#include "cuda/skeletons/nvrtc.h"
#include "pipeline/plan.h"
#include "pipeline/run.h"
#include "pipeline/skeletons/operators_dir.h"
#include "tests/cuda/test_images.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char first_source[] =
    "#define SCALE 3\n"
    "static int helper(int v) { return v * SCALE + 1; }\n"
    "#STRUCT\n"
    "typedef struct { int add; // 7 [0,255]\n"
    "} settings;\n"
    "#P2P_FUNC\n"
    "static unsigned char plus(unsigned char v, int i, settings s) { return v + s.add; }\n"
    "#P2P_FUNC\n"
    "static unsigned char placed(unsigned char v, int index) { return helper(v) + index * 11; }\n"
    "#R2S_FUNC\n"
    "static T least(E a, E b) { return a < b ? a : b; }\n"
    "#N2P_FUNC\n"
    "static unsigned short wide(unsigned short p[5][5], int x, int y) {\n"
    "    int sum = x + 3 * y;\n"
    "    for (int r = 0; r < 5; r++)\n"
    "        for (int c = 0; c < 5; c++) sum += p[r][c] * (r * 5 + c);\n"
    "    return sum;\n"
    "}\n";
static const char second_source[] =
    "#define SCALE 5\n"
    "static int helper(int v) { return v * SCALE - 1; }\n"
    "#STRUCT\n"
    "typedef struct { double times; // 1.5 [0,9]\n"
    "} settings;\n"
    "#P2P_FUNC\n"
    "static unsigned char another(unsigned char v, int i) { return helper(v) ^ 90; }\n"
    "#P2P_FUNC\n"
    "static unsigned short deep(unsigned short v, int i, settings s) {\n"
    "    return (int)(v * s.times) + i;\n"
    "}\n"
    "#N2P_FUNC\n"
    "static unsigned char window(unsigned char p[3][3], int x, int y, settings s) {\n"
    "    int sum = (int)(s.times * 9) + x * 5 + y;\n"
    "    for (int r = 0; r < 3; r++)\n"
    "        for (int c = 0; c < 3; c++) sum += p[r][c] * (r * 3 + c + 1);\n"
    "    return sum;\n"
    "}\n";

/* ---- lanes */

static struct lane *gpu, *cpu; /* cpu: NULL without a compiler */

static void print_mistake(void *context, const char *sentence) {
    (void)context;
    fprintf(stderr, "%s\n", sentence);
}

static bool add_file(const char *name, const char *source) {
    const struct operators_options options = { .report = print_mistake };
    enum twin_state state;
    struct user_file *file = operators_dir_make(name, source, strlen(source), &options, &state);
    if (!file || operators_dir_add(file, &options) != file->count) return false;
    return state == TWIN_LOADED;
}

static int open_lanes(void **state) {
    (void)state;
    struct failure failure = { 0 };
    const struct lane_options options = { .staging_bytes = 64 << 20, .arena_bytes = 256 << 20 };
    const bool first = add_file("first.c", first_source);
    if (add_file("second.c", second_source) && first)
        device_cpu.open(0, &options, &cpu, &failure);
    else
        print_message("no compiler here: the GPU is compared with itself\n");
    if (device_cuda.open(0, &options, &gpu, &failure) == STATUS_OK) return 0;
    print_error("%s\n", failure.message);
    return 1;
}

static int close_lanes(void **state) {
    (void)state;
    device_cuda.close(gpu);
    if (cpu) device_cpu.close(cpu);
    return 0;
}

/* ---- one batch */

static const uint32_t sizes[][2] = { { 1, 1 },    { 1, 17 },   { 17, 1 },   { 13, 42 },
                                     { 123, 66 }, { 4097, 3 }, { 640, 480 } };
enum { COUNT = sizeof sizes / sizeof *sizes };

struct result {
    uint64_t digests[COUNT];
    uint8_t least[COUNT][16]; /* what `least` reported, if the plan has it */
    size_t work;
    struct timing timing;
};

static void run(struct lane *lane, const struct plan *plan, unsigned channels, unsigned depth,
                struct result *result) {
    static struct run_item items[COUNT];
    struct failure failure = { 0 };
    memset(result, 0, sizeof *result);
    for (int i = 0; i < COUNT; i++)
        items[i] =
            (struct run_item){ .in = image_shape(sizes[i][0], sizes[i][1], channels, depth) };
    items[0].timing = &result->timing;
    if (run_reserve(lane, plan, items, COUNT, UINT64_C(1) << 31, &failure))
        fail_msg("%s", failure.message);
    result->work = lane->work_bytes;
    for (int i = 0; i < COUNT; i++) fill(&items[i].in, NOISE, 31u + (unsigned)i);
    if (run_batch(lane, plan, items, COUNT, &failure)) fail_msg("%s", failure.message);
    for (int i = 0; i < COUNT; i++) {
        result->digests[i] = image_digest(&items[i].out);
        for (int s = 0; s < plan->count; s++)
            if (items[i].values[s].numbers)
                memcpy(result->least[i], items[i].values[s].numbers,
                       values_bytes(&items[i].values[s].shape));
    }
}

static void check_same(const char *text, const char *what, unsigned channels,
                       const struct result *got, const struct result *wanted) {
    for (int i = 0; i < COUNT; i++)
        if (got->digests[i] != wanted->digests[i] ||
            memcmp(got->least[i], wanted->least[i], sizeof got->least[i]) != 0)
            fail_msg("%s, %u channels, %ux%u: %s differs", text, channels, sizes[i][0], sizes[i][1],
                     what);
}

/* Lists the operators that TIMING names, "a b+c". */
static void list_operators(const struct timing *timing, char text[200]) {
    size_t length = 0;
    text[0] = 0;
    for (int i = 0; i < timing->span_count; i++)
        if (timing->spans[i].level == 0)
            length += (size_t)snprintf(text + length, 200 - length, length ? " %s" : "%s",
                                       timing->spans[i].name);
}

/* Expects the operators APART where fusing is off, and FUSED in the third run, once the compiler is
 * done. All results are equal. */
static void check_plan(const char *text, unsigned depth, const char *apart, const char *fused) {
    static struct result results[4];
    struct device_driver unfusing = device_cuda;
    unfusing.chain = NULL;
    for (unsigned channels = 1; channels <= 4; channels++) {
        struct failure failure = { 0 };
        struct plan plan;
        char listed[200];
        if (plan_parse(&plan, text, &failure)) fail_msg("%s", failure.message);
        gpu->driver = &unfusing;
        run(gpu, &plan, channels, depth, &results[0]);
        list_operators(&results[0].timing, listed);
        assert_string_equal(listed, apart);
        gpu->driver = &device_cuda;
        run(gpu, &plan, channels, depth, &results[1]);
        run(gpu, &plan, channels, depth, &results[1]);
        kernel_chain_wait();
        run(gpu, &plan, channels, depth, &results[2]);
        list_operators(&results[2].timing, listed);
        assert_string_equal(listed, fused);
        assert_true(results[2].work <= results[0].work);
        check_same(text, "the second run", channels, &results[1], &results[0]);
        check_same(text, "the fused kernel", channels, &results[2], &results[0]);
        if (!cpu) continue;
        run(cpu, &plan, channels, depth, &results[3]);
        check_same(text, "the CPU", channels, &results[3], &results[2]);
    }
}

/* ---- the tests */

static void test_points(void **state) {
    (void)state;
    check_plan("plus:add=3;placed;plus:add=200", 8, "plus placed plus", "plus+placed+plus");
    check_plan("placed;another", 8, "placed another", "placed+another");
    check_plan("deep;deep:times=2.5", 16, "deep deep", "deep+deep");
}

static void test_points_before_a_window(void **state) {
    (void)state;
    check_plan("placed;window", 8, "placed window", "placed+window");
    check_plan("plus;another;placed;window:times=3", 8, "plus another placed window",
               "plus+another+placed+window");
    check_plan("deep:times=0.75;wide", 16, "deep wide", "deep+wide");
}

/* A window, a built-in operator and one that reports values end a chain. */
static void test_what_is_not_fused(void **state) {
    (void)state;
    check_plan("window;window", 8, "window window", "window window");
    check_plan("placed;window;another", 8, "placed window another", "placed+window another");
    check_plan("placed;another;threshold;plus;placed", 8, "placed another threshold plus placed",
               "placed+another threshold plus+placed");
    check_plan("placed;least;another", 8, "placed least another", "placed least another");
    check_plan("plus;plus;plus;plus;plus;plus;window", 8, "plus plus plus plus plus plus window",
               "plus+plus+plus+plus+plus plus+window");
}

int main(void) {
    if (device_cuda.count() == 0 || nvrtc_missing()) {
        printf("skipped: %s\n", device_cuda.count() ? nvrtc_missing() : "no GPU here");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points),
        cmocka_unit_test(test_points_before_a_window),
        cmocka_unit_test(test_what_is_not_fused),
    };
    return cmocka_run_group_tests(tests, open_lanes, close_lanes);
}
