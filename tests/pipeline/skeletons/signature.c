// SPDX-License-Identifier: Apache-2.0
/* Functions that ask for the size and the place, for whole pixels, and maps before reductions. */
#include "pipeline/skeletons/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define P2P "#P2P_FUNC\n"
#define STRUCTS                                                                                    \
    "#STRUCT\ntypedef struct { int level; } one;\n#STRUCT\ntypedef struct { int b; } two;\n"

static struct diagnostics diagnostics;

static struct user_file *read_text(const char *text) {
    return reader_read("dir/op.c", text, strlen(text), 0, &diagnostics);
}

static struct user_file *read_good(const char *text) {
    struct user_file *file = read_text(text);
    char said[512] = "";
    if (diagnostics.count) diagnostics_print(&diagnostics, 0, said, sizeof said);
    assert_string_equal(said, "");
    assert_non_null(file);
    return file;
}

/* By name, in any order; the first ints may have other names. */
static void the_ints_that_a_function_asks_for(void **state) {
    (void)state;
    struct user_file *file = read_good(
        P2P "static unsigned char f(unsigned char v, int height, int x, int width) { return "
            "width; }\n" P2P "static unsigned char g(unsigned char v, int channel, int at, int "
            "channels) { return channel; }\n"
            "#N2P_FUNC\nstatic unsigned char h(unsigned char w[3][3], int i, int j, int index, int "
            "y) { return y; }\n");
    static const enum given wanted[][4] = { { GIVEN_HEIGHT, GIVEN_X, GIVEN_WIDTH },
                                            { GIVEN_CHANNEL, GIVEN_INDEX, GIVEN_CHANNELS },
                                            { GIVEN_X, GIVEN_Y, GIVEN_INDEX, GIVEN_Y } };
    for (int i = 0; i < 3; i++) {
        const struct user_op *op = &file->ops[i];
        assert_int_equal(op->given_count, i == 2 ? 4 : 3);
        assert_memory_equal(op->given, wanted[i], (size_t)op->given_count * sizeof **wanted);
        assert_int_equal(op->uses_position, i > 0);
    }
    reader_destroy(file);
}

static void whole_pixels(void **state) {
    (void)state;
    struct user_file *file =
        read_good(P2P "static pixel f(pixel p) { return p; }\n" P2P
                      "static pixel16 g(const pixel16 p, int y, int width) { return p; }\n" P2P
                      "static unsigned char h(unsigned char pixel, int i) { return pixel; }\n");
    assert_int_equal(file->ops[0].skeleton, SKELETON_PIXEL);
    assert_int_equal(file->ops[0].op.group, OP_COLOUR);
    assert_int_equal(file->ops[0].op.depth, 8);
    assert_int_equal(file->ops[1].op.depth, 16);
    assert_int_equal(file->ops[1].given_count, 2);
    assert_int_equal(file->ops[2].skeleton, SKELETON_P2P);
    reader_destroy(file);
}

static void a_map_before_a_reduction(void **state) {
    (void)state;
    struct user_file *file =
        read_good(STRUCTS "// How many.\n#MAP\nstatic int m(unsigned short v, one s) { return v > "
                          "s.level; }\n#R2S_FUNC\nstatic int f(int a, int b) { return a + b; }\n"
                          "#MAP\nlong long n(int v) { return v; }\n"
                          "#R2S_FUNC long long\nstatic T g(E a, E b, two s) { return a + b; }\n");
    const struct user_op *op = &file->ops[0];
    assert_string_equal(op->op.summary, "How many");
    assert_int_equal(op->op.depth, 16);
    assert_true(op->map_takes && !op->function_takes);
    assert_string_equal(op->op.params[0].name, "level");
    op = &file->ops[1];
    assert_int_equal(op->op.depth, 0);
    assert_true(!op->map_takes && op->function_takes);
    reader_destroy(file);
}

#define N2P_FORM "the form is static S name(S pixel[3][3], int x, int y[, int width...][, params])"
#define ONLY                                                                                       \
    "expected a sample's type: only #P2P_FUNC takes whole pixels, as its first parameter and as "  \
    "its result, found \"pixel\"; the form is "
#define MAP_FORM "the form is static int name(S pixel[, params])"
#define SUM      "#R2S_FUNC\nstatic int f(int a, int b) { return a + b; }\n"

static const struct broken {
    const char *text, *message;
} brokens[] = {
    { P2P "static unsigned char f(unsigned char p, int i, int depth) { return p; }\n",
      "2: #P2P_FUNC: expected index, x, y, width, height, channel or channels, once each, found "
      "\"depth\"; the form is static S name(S pixel, int index[, int width...][, params])" },
    { "#N2P_FUNC\nstatic unsigned char f(unsigned char p[3][3], int width) { return 0; }\n",
      "2: #N2P_FUNC: expected \",\", found \")\"; the form is static S name(S pixel[3][3], int x, "
      "int y[, int width...][, params])" },
    { "#N2P_FUNC\nstatic unsigned char f(unsigned char p[4][4], int x, int y) { return 0; }\n",
      "2: #N2P_FUNC: expected [3][3], [5][5] or another odd side up to [15][15] behind the "
      "window's name, found \"4\"; " N2P_FORM },
    /* whole pixels */
    { P2P "static pixel f(unsigned char p, int i) { return p; }\n",
      "2: #P2P_FUNC: expected the pixel's type, the same as the result's, found \"unsigned\"; the "
      "form is static pixel name(pixel p[, int x...][, params])" },
    { P2P "static pixel f(pixel16 p) { return p; }\n",
      "2: #P2P_FUNC: expected the pixel's type, the same as the result's, found \"pixel16\"; the "
      "form is static pixel name(pixel p[, int x...][, params])" },
    { P2P "static unsigned char f(pixel p, int i) { return p.r; }\n",
      "2: #P2P_FUNC: " ONLY "static S name(S pixel, int index[, int width...][, params])" },
    { P2P "static pixel f(pixel p, int channel) { return p; }\n",
      "2: #P2P_FUNC: expected index, x, y, width, height or channels, once each, found "
      "\"channel\"; the form is static pixel name(pixel p[, int x...][, params])" },
    { P2P "static pixel *f(pixel *p) { return p; }\n",
      "2: #P2P_FUNC: expected the function's name behind its result's type, found \"*\"; the form "
      "is static pixel name(pixel p[, int x...][, params])" },
    { "#N2P_FUNC\nstatic pixel f(pixel p[3][3], int x, int y) { return p[1][1]; }\n",
      "2: #N2P_FUNC: " ONLY
      "static S name(S pixel[3][3], int x, int y[, int width...][, params])" },
    { "#R2V_FUNC\nstatic void f(pixel p, int *out, int bins) { }\n",
      "2: #R2V_FUNC: " ONLY "static void name(S pixel, int *out, int bins[, params])" },
    { "typedef struct { int q; } pixel;\n" P2P "static pixel f(pixel p) { return p; }\n",
      "1: #P2P_FUNC: \"pixel\" is the type of whole pixels in this file: choose another name" },
    { "#define pixel16 7\n" P2P "static pixel16 f(pixel16 p) { return p; }\n",
      "1: #P2P_FUNC: \"pixel16\" is the type of whole pixels in this file: choose another name" },
    { P2P "static pixel f(pixel p) {\n return (pixel){ p.r, 0, 0, 0 }; }\n",
      "3: #P2P_FUNC: a pixel in braces is not accepted: copy one and assign its fields, as in "
      "\"pixel q = p; q.r = 255;\"" },
    { P2P "static pixel f(pixel p) {\n pixel q = { 0, 0, 0, 0 }; return q; }\n",
      "3: #P2P_FUNC: a pixel in braces is not accepted: copy one and assign its fields, as in "
      "\"pixel q = p; q.r = 255;\"" },
    /* maps */
    { "#MAP\nstatic int m(int v) { return v; }\n" P2P
      "static unsigned char f(unsigned char p, int i) { return p; }\n",
      "1: #MAP: expected a function with its body and then #R2S_FUNC behind the directive: static "
      "int name(S pixel[, params]) { ... }" },
    { SUM "#MAP\n", "3: #MAP: expected a function with its body and then #R2S_FUNC behind the "
                    "directive: static int name(S pixel[, params]) { ... }" },
    { "#MAP\nstatic float m(int v) { return v; }\n" SUM,
      "2: #MAP: expected an integer type, that of the reduction, found \"float\"; " MAP_FORM },
    { "#MAP\nstatic int m(short v) { return v; }\n" SUM,
      "2: #MAP: expected unsigned char (8-bit images), unsigned short (16-bit images) or int "
      "(both), found \"short\"; " MAP_FORM },
    { "#MAP\nstatic long m(int v) { return v; }\n" SUM,
      "4: #R2S_FUNC: the map gives long and the reduction takes int: expected the same type" },
    { "#MAP\nstatic int m(int v) { return v; }\n#R2S_FUNC\nstatic T f(E a, E b) { return a; }\n",
      "4: #R2S_FUNC: the map gives int and the reduction takes the sample's own type: expected the "
      "same type" },
    { STRUCTS "#MAP\nstatic int m(int v, one s) { return v; }\n"
              "#R2S_FUNC\nstatic int f(int a, int b, two s) { return a + b; }\n",
      "8: #R2S_FUNC: expected the struct that the map takes, found \"two\"; the form is static T "
      "name(E a, E b[, params])" },
};

static void every_misuse_is_reported(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof brokens / sizeof *brokens; i++) {
        char said[512] = "nothing", wanted[512];
        assert_null(read_text(brokens[i].text));
        assert_true(diagnostics.count > 0);
        diagnostics_print(&diagnostics, 0, said, sizeof said);
        snprintf(wanted, sizeof wanted, "dir/op.c:%s", brokens[i].message);
        assert_string_equal(said, wanted);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ints_that_a_function_asks_for),
        cmocka_unit_test(whole_pixels),
        cmocka_unit_test(a_map_before_a_reduction),
        cmocka_unit_test(every_misuse_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
