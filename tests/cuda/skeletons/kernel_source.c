// SPDX-License-Identifier: Apache-2.0
/* Kernels of users' operators as text: each skeleton's, and what the compiler says of them. Needs
 * no GPU; without libnvrtc the texts alone are looked at.
 * covers: cuda/skeletons/kernel_source.c cuda/skeletons/embedded_kernels.c cuda/skeletons/nvrtc.c
 * covers: cuda/skeletons/function_object.c
 */
#include "cuda/skeletons/kernel_source.h"

#include "cuda/skeletons/nvrtc.h"
#include "pipeline/skeletons/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char source[] =
    "#include <math.h>\n"
    "#define batch_of 3\n#define POINT_THREADS x\n" /* no business of the kernel's */
    "#define skeleton_parameters(a) a\n"
    "typedef struct { int n; } strip;\n" /* nor these, nor what CUDA itself has */
    "enum { alpha_mask, VECTOR_THREADS, threadIdx };\n"
    "static int min(int a, int b) { return a < b ? a : b; }\n"
    "static double norm(double a) { return a + 1; }\n"
    "static strip replicate(strip a) { a.n = min(a.n, threadIdx) + (int)norm(2); return a; }\n"
    "#STRUCT\n"
    "typedef struct { int level; // 100 [0,255]\n"
    "} data;\n"
    "static const int table[2] = { 0, 255 };\n"
    "#P2P_FUNC\n"
    "static unsigned char over(unsigned char v, int i, data d) { return table[v > d.level]; }\n"
    "#N2P_FUNC\n"
    "static unsigned short far(unsigned short w[5][5], int x, int y) { return sqrt(w[0][4]); }\n"
    "#R2S_FUNC long long\n"
    "static T total(E a, E b) { return a + b; }\n"
    "#P2P_FUNC\n"
    "static pixel toned(pixel p, int x, int height, data d) { p.r = d.level; return p; }\n"
    "#MAP\n"
    "static long square(int v, data d) { return v > d.level ? v * v : 0; }\n"
    "#R2S_FUNC long\n"
    "static T squares(E a, E b, data d) { return a + b; }\n"
    "#R2V_FUNC\n"
    "static void count(unsigned char in, int *out, int bins) { atomicAdd(&out[in % bins], 1); }\n";
static const char wrong_source[] =
    "#P2P_FUNC\n"
    "static unsigned char wrong(unsigned char v, int i) { return unknown; }\n";

static struct user_file *file;

static int read_file(void **state) {
    (void)state;
    struct diagnostics diagnostics;
    file = reader_read("some/op.c", source, sizeof source - 1, 0, &diagnostics);
    return file ? 0 : -1;
}

static int destroy_file(void **state) {
    (void)state;
    reader_destroy(file);
    return 0;
}

static const struct user_op *op_named(const char *name) {
    for (int i = 0; i < file->count; i++)
        if (strcmp(file->ops[i].op.name, name) == 0) return &file->ops[i];
    return NULL;
}

static char *source_of(const struct user_op *op, int depth, int channels) {
    const struct kernel_form form = {
        .ops = { op }, .count = 1, .depth = depth, .channels = channels
    };
    return kernel_source(&form);
}

/* COMPILED: where there is libnvrtc, which takes a fifth of a second. */
static void check_kernel(const char *name, int depth, int channels, const char *skeleton,
                         bool compiled) {
    const struct user_op *op = op_named(name);
    assert_non_null(op);
    char *text = source_of(op, depth, channels);
    struct nvrtc_code code;
    assert_non_null(text);
    assert_non_null(strstr(text, skeleton));
    assert_non_null(strstr(text, "__global__"));
    assert_null(strstr(text, "#include \"")); /* of ours everything is inside */
    if (compiled && !nvrtc_missing()) {
        const bool good = nvrtc_compile(text, "op.c", 90, &code);
        if (!good) fail_msg("%s, %d bit, %d channels: %s", name, depth, channels, code.log);
        assert_non_null(strstr(code.ptx, ".entry " KERNEL_NAME));
        nvrtc_release(&code);
    }
    free(text);
}

static void test_every_skeleton(void **state) {
    (void)state;
    check_kernel("over", 8, 1, "point_chunk<8>", true);
    for (int channels = 1; channels <= 4; channels++) {
        const bool ends = channels == 1 || channels == 4;
        check_kernel("far", 16, channels, "neighbourhood_strip<", ends);
        check_kernel("total", 8, channels, "reduce_batch<", channels == 3);
        check_kernel("total", 16, channels, "reduce_batch<", channels == 2);
        check_kernel("toned", 8, channels, "pixel_chunk<", channels % 2 == 1);
        check_kernel("squares", 16, channels, "mapped_by<", channels == 3);
        check_kernel("count", 8, channels, "count_batch<", channels == 4);
    }
    if (nvrtc_missing()) print_message("not compiled: %s\n", nvrtc_missing());
}

/* Mistakes have the user's own file and line. */
static void test_mistakes_are_reported(void **state) {
    (void)state;
    struct nvrtc_code code;
    struct diagnostics diagnostics;
    struct user_file *wrong =
        reader_read("op.c", wrong_source, sizeof wrong_source - 1, 0, &diagnostics);
    assert_non_null(wrong);
    char *text = source_of(&wrong->ops[0], 8, 1);
    if (nvrtc_missing()) {
        assert_false(nvrtc_compile(text, "op.c", 90, &code));
        assert_string_equal(code.log, nvrtc_missing());
    } else {
        assert_false(nvrtc_compile(text, "op.c", 90, &code));
        assert_null(code.ptx);
        assert_non_null(strstr(code.log, "op.c(2): error: identifier \"unknown\""));
    }
    nvrtc_release(&code);
    free(text);
    reader_destroy(wrong);
}

static void test_negations_are_hidden(void **state) {
    (void)state;
    char *text = ptx_negation_hide(".version 9.0\n.address_size 64\n"
                                   "\tneg.s32 \t%r2, %r1;\n\tsub.s32 %r4, 0, %r3;\n"
                                   "\tsub.s32 %r4, %r5, %r3;\n\tneg.f32 %f2, %f1;\n");
    assert_non_null(strstr(text, ".address_size 64\n.visible .const .align 4 .u32 burin_zero;\n"));
    assert_non_null(strstr(text, "sub.s32 %r2, %burin_z, %r1; }\n"));
    assert_non_null(strstr(text, "sub.s32 %r4, %burin_z, %r3; }\n"));
    assert_null(strstr(text, "neg.s32"));
    assert_non_null(strstr(text, "\tsub.s32 %r4, %r5, %r3;\n\tneg.f32 %f2, %f1;\n"));
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_skeleton),
        cmocka_unit_test(test_mistakes_are_reported),
        cmocka_unit_test(test_negations_are_hidden),
    };
    return cmocka_run_group_tests(tests, read_file, destroy_file);
}
