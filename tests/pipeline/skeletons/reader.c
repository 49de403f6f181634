// SPDX-License-Identifier: Apache-2.0
/* Files of operators are read; each mistake in a broken one is reported.
 * covers: pipeline/skeletons/refusals.c
 *   pipeline/skeletons/declarations.c
 *   pipeline/skeletons/parameter_struct.c pipeline/skeletons/scalar_type.c
 *   pipeline/skeletons/diagnostics.c pipeline/skeletons/tokens.c */
#include "pipeline/skeletons/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

/* ---- files that are right */

static void the_listings_of_the_paper(void **state) {
    (void)state;
    struct user_file *file = read_good(
        "#STRUCT typedef struct{ int tolerancia; } data;\n"
        "#P2P_FUNC static unsigned char binarizador(unsigned char pixel, int index, data "
        "parametro){ return pixel + parametro.tolerancia > 127 ? 255 : 0 ; }\n"
        "#R2S_FUNC static T menor(E pixel1, E pixel2) { return pixel1 < pixel2 ? pixel1 : pixel2; "
        "}\n"
        "#R2V_FUNC static void r2vProcessor(unsigned char entrada, int* saida, int bins){ "
        "atomicAdd(&saida[entrada], 1);}\n");
    assert_int_equal(file->count, 3);
    const struct user_op *op = &file->ops[0];
    assert_string_equal(op->op.name, "binarizador");
    assert_int_equal(op->skeleton, SKELETON_P2P);
    assert_int_equal(op->op.group, OP_TONE);
    assert_int_equal(op->op.depth, 8);
    assert_false(op->uses_position);
    assert_string_equal(op->op.params[0].name, "tolerancia");
    assert_int_equal(op->op.params[0].type, PARAM_INT);
    assert_int_equal(op->op.params[1].type, PARAM_NONE);
    op = &file->ops[1];
    assert_string_equal(op->op.name, "menor");
    assert_int_equal(op->skeleton, SKELETON_R2S);
    assert_int_equal(op->op.group, OP_VALUES);
    assert_true(op->generic);
    assert_int_equal(op->op.depth, 0);
    assert_int_equal(op->result, SCALAR_NONE);
    op = &file->ops[2];
    assert_int_equal(op->skeleton, SKELETON_R2V);
    assert_int_equal(op->op.group, OP_VALUES);
    assert_int_equal(op->result, SCALAR_INT);
    assert_string_equal(op->op.params[0].name, "bins");
    assert_int_equal(op->op.params[0].def, 256);
    reader_destroy(file);
}

static void a_file_with_everything(void **state) {
    (void)state;
    struct user_file *file = read_good(
        "// SPDX-License-Identifier: Apache-2.0\r\n"
        "#include <math.h>\r\n"
        "#define HALF 128 \\\n + 0\n"
        "static const int table[3] = { 1, 2, 3 };\n"
        "enum { THREE = 3 };\n"
        "static int clamp(int v);\n"
        "static int clamp(int v) { return v < 0 ? 0 : v > 255 ? 255 : v; }\n"
        "#STRUCT\n"
        "typedef struct grade {\n"
        "    float gain; // 1.5 [0,10] How much.\n"
        "    bool invert; /* true */\n"
        "    short a, b; // [ -5 , 5 ] both\n"
        "    unsigned long seed;\n"
        "} grade;\n"
        "\n"
        "// A grade of the picture.\n"
        "// Nobody needs it. Here is more.\n"
        "#P2P_FUNC\n"
        "inline static unsigned short graded(unsigned short v, int at, const grade g) {\n"
        "    return at > HALF ? v * g.gain : clamp(v);\n"
        "}\n"
        "#N2P_FUNC\n"
        "unsigned char edge5(const unsigned char w[5][5], int x, int y) { (void)x; return w[2][2]; "
        "}\n"
        "#R2S_FUNC int\n"
        "static T sum(E a, E b) { return a + b; }\n"
        "#R2S_FUNC unsigned\n"
        "static unsigned int most(unsigned a, unsigned int b) { return a > b ? a : b; }\n");
    assert_int_equal(file->count, 4);
    const struct user_op *op = &file->ops[0];
    assert_string_equal(op->op.summary, "A grade of the picture");
    assert_int_equal(op->op.depth, 16);
    assert_true(op->uses_position);
    const struct param *params = op->op.params;
    assert_string_equal(params[0].name, "gain");
    assert_string_equal(params[0].summary, "How much");
    assert_int_equal(params[0].type, PARAM_DECIMAL);
    assert_int_equal(params[0].def, 1500);
    assert_int_equal(params[0].max, 10000);
    assert_int_equal(params[1].type, PARAM_BOOL);
    assert_int_equal(params[1].def, 1);
    assert_int_equal(params[2].min, -5);
    assert_int_equal(params[3].max, 5);
    assert_string_equal(params[3].summary, "both");
    assert_int_equal(params[4].min, 0);
    assert_int_equal(params[5].type, PARAM_NONE);
    assert_int_equal(op->parameters->bytes, 24);
    assert_int_equal(op->parameters->fields[3].offset, 8);
    assert_int_equal(op->parameters->fields[4].offset, 16);
    op = &file->ops[1];
    assert_int_equal(op->window, 5);
    assert_true(op->uses_position);
    assert_string_equal(op->op.summary, "Each sample from the samples around it, from op.c");
    op = &file->ops[2];
    assert_int_equal(op->result, SCALAR_INT);
    assert_true(op->generic);
    assert_int_equal(op->op.depth, 0);
    op = &file->ops[3];
    assert_int_equal(op->result, SCALAR_UINT);
    assert_false(op->generic);
    reader_destroy(file);
}

static void the_bytes_of_a_struct(void **state) {
    (void)state;
    struct user_file *file = read_good("#STRUCT\n"
                                       "typedef struct { char c; double d; float f; bool b; "
                                       "unsigned short s; long long n; } p;\n"
                                       "#P2P_FUNC\n"
                                       "static unsigned char f(unsigned char v, int i, p q) { "
                                       "return v; }\n");
    struct {
        char c;
        double d;
        float f;
        bool b;
        unsigned short s;
        long long n;
    } got;
    unsigned char bytes[PARAMETER_STRUCT_BYTES_MAX];
    const struct params params = { .number = { -3, 1500, -250, 1, 65535, -5000000000 } };
    assert_int_equal(file->structs[0].bytes, sizeof got);
    parameter_struct_fill(&file->structs[0], &params, bytes);
    memcpy(&got, bytes, sizeof got);
    assert_int_equal(got.c, -3);
    assert_true(got.d == 1.5);
    assert_true(got.f == -0.25f);
    assert_true(got.b);
    assert_int_equal(got.s, 65535);
    assert_true(got.n == -5000000000);
    reader_destroy(file);
}

/* ---- broken files */

#define P2P  "#P2P_FUNC\n"
#define F    "static unsigned char f(unsigned char p, int i) "
#define GOOD P2P F "{ return p; }\n"

static const struct broken {
    const char *text, *message;
} brokens[] = {
    /* directives */
    { "int x;\n" GOOD, "1: a variable outside a function must be const; this begins with \"int\"" },
    { "static int helper(void) { return 1; }\n",
      "1: there is no operator in this file: expected #P2P_FUNC, #N2P_FUNC, #R2S_FUNC or "
      "#R2V_FUNC before a function" },
    { "#P2P_FUN\n" F "{ return p; }\n",
      "1: there is no directive #P2P_FUN; did you mean #P2P_FUNC?" },
    { GOOD "\n#pragma once\n",
      "4: #pragma is not accepted; expected #STRUCT, #P2P_FUNC, #N2P_FUNC, #R2S_FUNC, #R2V_FUNC, "
      "#MAP, #define, #undef, #if, #ifdef, #ifndef, #elif, #else, #endif or #include" },
    { P2P, "1: #P2P_FUNC: expected a function with its body behind the directive: static S name(S "
           "pixel, int index[, int width...][, params]) { ... }" },
    { P2P F ";\n",
      "1: #P2P_FUNC: expected a function with its body behind the directive: static S name(S "
      "pixel, int index[, int width...][, params]) { ... }" },
    { "static int g(int v);\n" GOOD,
      "1: g is declared but has no body in this file: expected { behind its )" },
    { "#if 1\n" GOOD "#endif\n", "2: #P2P_FUNC: a directive may not stand between #if and #endif" },
    { P2P "static const int a = 1;\n",
      "1: #P2P_FUNC: expected a function with its body behind the directive: static S name(S "
      "pixel, int index[, int width...][, params]) { ... }" },
    { GOOD GOOD, "4: #P2P_FUNC: an operator cannot be called f: this file has such an operator "
                 "already; choose another name" },
    { P2P "static unsigned char edge(unsigned char p, int i) { return p; }\n",
      "2: #P2P_FUNC: an operator cannot be called edge: there is an operator of that name already; "
      "choose another name" },
    { P2P "static unsigned char pipeline(unsigned char p, int i) { return p; }\n",
      "2: #P2P_FUNC: an operator cannot be called pipeline: the daemon answers at that path "
      "itself; choose another name" },
    { P2P "static unsigned char quota(unsigned char p, int i) { return p; }\n",
      "2: #P2P_FUNC: an operator cannot be called quota: the daemon answers at that path "
      "itself; choose another name" },
    { P2P "static unsigned char other(unsigned char p, int i) { return p; }\n",
      "2: #P2P_FUNC: an operator cannot be called other: in /metrics that is what has no name; "
      "choose another name" },
    { "#P2P_FUNC int\n" F "{ return p; }\n",
      "1: #P2P_FUNC: expected nothing behind the directive, found int" },
    /* signatures */
    { P2P "static int f(unsigned char p, int i) { return p; }\n",
      "2: #P2P_FUNC: expected unsigned char (8-bit images) or unsigned short (16-bit images), "
      "found \"int\"; the form is static S name(S pixel, int index[, int width...][, params])" },
    { P2P "static unsigned char f(unsigned short p, int i) { return p; }\n",
      "2: #P2P_FUNC: expected the pixel's type, the same as the result's, found \"unsigned\"; the "
      "form is static S name(S pixel, int index[, int width...][, params])" },
    { P2P "static unsigned char f(unsigned char p) { return p; }\n",
      "2: #P2P_FUNC: expected \",\", found \")\"; the form is static S name(S pixel, int "
      "index[, int width...][, params])" },
    { P2P "static unsigned char f(unsigned char p, float i) { return p; }\n",
      "2: #P2P_FUNC: expected int, the pixel's index, found \"float\"; the form is static S name(S "
      "pixel, int index[, int width...][, params])" },
    { P2P "static unsigned char f(unsigned char p, int i, data d) { return p; }\n",
      "2: #P2P_FUNC: expected the name of a struct that stands under #STRUCT before, found "
      "\"data\"; the form is static S name(S pixel, int index[, int width...][, params])" },
    { P2P "static unsigned char *f(unsigned char p, int i) { return 0; }\n",
      "2: #P2P_FUNC: expected the function's name behind its result's type, found \"*\"; the form "
      "is static S name(S pixel, int index[, int width...][, params])" },
    { "#N2P_FUNC\nstatic unsigned char f(unsigned char p[3][5], int x, int y) { return 0; }\n",
      "2: #N2P_FUNC: expected [3][3], [5][5] or another odd side up to [15][15] behind the "
      "window's name, found \"5\"; the form is static S name(S pixel[3][3], int x, int y[, int "
      "width...][, params])" },
    { "#N2P_FUNC\nstatic unsigned char f(unsigned char p[17][17], int x, int y) { return 0; }\n",
      "2: #N2P_FUNC: expected [3][3], [5][5] or another odd side up to [15][15] behind the "
      "window's name, found \"17\"; the form is static S name(S pixel[3][3], int x, int y[, int "
      "width...][, params])" },
    { "#R2S_FUNC\nstatic float f(float a, float b) { return a + b; }\n",
      "2: #R2S_FUNC: expected an integer type: sums of float and double would depend on the order "
      "in which they are made, found \"float\"; the form is static T name(E a, E b[, params])" },
    { "#R2S_FUNC double\nstatic T f(E a, E b) { return a + b; }\n",
      "1: #R2S_FUNC: expected an integer type behind the directive, found double: sums of float "
      "and double would depend on the order in which they are made" },
    { "#R2S_FUNC bool\nstatic T f(E a, E b) { return a + b; }\n",
      "1: #R2S_FUNC: expected an integer type behind the directive, found bool" },
    { "#R2S_FUNC\nstatic int f(int a, long b) { return a + b; }\n",
      "2: #R2S_FUNC: expected the same integer type three times, found \"long\"; the form is "
      "static T name(E a, E b[, params])" },
    { "#R2S_FUNC long\nstatic int f(int a, int b) { return a + b; }\n",
      "2: #R2S_FUNC: the directive says long and the function int: expected the same type" },
    { "#R2S_FUNC\nstatic T f(E a, E b, int c) { return a; }\n",
      "2: #R2S_FUNC: expected the name of a struct that stands under #STRUCT before, found "
      "\"int\"; the form is static T name(E a, E b[, params])" },
    { "#MAP long\nstatic int m(int v) { return v; }\n"
      "#R2S_FUNC\nstatic int f(int a, int b) { return a + b; }\n",
      "1: #MAP: expected nothing behind the directive, found long" },
    { "#R2V_FUNC\nstatic void f(unsigned char p, float *out, int bins) { }\n",
      "2: #R2V_FUNC: expected int * or unsigned int *, the counts, found \"float\"; the form is "
      "static void name(S pixel, int *out, int bins[, params])" },
    { "#R2V_FUNC\nstatic int f(unsigned char p, int *out, int bins) { return 0; }\n",
      "2: #R2V_FUNC: expected \"void\", found \"int\"; the form is static void name(S pixel, int "
      "*out, int bins[, params])" },
    /* structs */
    { "#STRUCT\nstruct { int a; } p;\n" GOOD,
      "1: #STRUCT: expected \"typedef struct { ... } name;\" behind the directive" },
    { "#STRUCT\ntypedef struct { int *a; } p;\n" GOOD,
      "2: #STRUCT: expected a field's name behind its type int, found \"*\"" },
    { "#STRUCT\ntypedef struct { int a[3]; } p;\n" GOOD,
      "2: #STRUCT: expected ; behind the field, found \"[\": fields are basic types, without "
      "pointers, arrays and bit-fields" },
    { "#STRUCT\ntypedef struct { size_t a; } p;\n" GOOD,
      "2: #STRUCT: a field must be of a basic type (bool, char, short, int, long, their unsigned "
      "kinds, float, double), found \"size_t\"" },
    { "#STRUCT\ntypedef struct {\n  int a; // 3 [4,5]\n} p;\n" GOOD,
      "3: #STRUCT: the default of a, 3, is outside its range (integer 4..5); the comment reads "
      "\"default [min,max] meaning\"" },
    { "#STRUCT\ntypedef struct {\n  float a; // 5.001 [4,5]\n} p;\n" GOOD,
      "3: #STRUCT: the default of a, 5.001, is outside its range (number 4..5); the comment reads "
      "\"default [min,max] meaning\"" },
    { "#STRUCT\ntypedef struct {\n  int a; // 3 [0,x]\n} p;\n" GOOD,
      "3: #STRUCT: the comment behind a should read \"default [min,max] meaning\", such as \"127 "
      "[0,255] level\"" },
    { "#STRUCT\ntypedef struct {\n  unsigned char a; // 3 [0,256]\n} p;\n" GOOD,
      "3: #STRUCT: the range of a does not fit into unsigned char" },
    { "#STRUCT\ntypedef struct {\n  float a; // 0.12345\n} p;\n" GOOD,
      "3: #STRUCT: the comment behind a should read \"default [min,max] meaning\", such as \"1.5 "
      "[0,10] strength\"" },
    { "#STRUCT\ntypedef struct { int a, a; } p;\n" GOOD, "2: #STRUCT: there are two fields \"a\"" },
    { "#STRUCT\ntypedef struct { int quality; } p;\n" GOOD,
      "2: #STRUCT: every request has a parameter \"quality\" already: choose another name" },
    { "#STRUCT\ntypedef struct { int a, origin; } p;\n" GOOD,
      "2: #STRUCT: signed addresses have a parameter \"origin\" already: choose another name" },
    { "#STRUCT\ntypedef struct { int a,b,c,d,e,f,g,h,i,j,k; } p;\n" GOOD,
      "2: #STRUCT: a struct takes at most 10 fields" },
    { "#STRUCT\ntypedef struct { } p;\n" GOOD, "2: #STRUCT: the struct has no fields" },
    { "#STRUCT\ntypedef struct { int bins; } p;\n#R2V_FUNC\nstatic void f(unsigned char v, int "
      "*out, int n, p q) { }\n",
      "4: #R2V_FUNC: the struct may have no field \"bins\": every R2V has that parameter" },
    /* what is refused wherever it stands */
    { "#include <stdio.h>\n" GOOD,
      "1: this #include is not accepted; expected one of <math.h>, <stdint.h>, <stdlib.h>, "
      "<limits.h>, <stdbool.h>, <stddef.h>" },
    { "#include \"/etc/passwd\"\n" GOOD,
      "1: this #include is not accepted; expected one of <math.h>, <stdint.h>, <stdlib.h>, "
      "<limits.h>, <stdbool.h>, <stddef.h>" },
    { "#define J(a, b) a ## b\n" GOOD,
      "1: ## is not accepted: a name must be readable where it stands" },
    { "#define if while\n" GOOD,
      "1: \"if\" may not be a macro's name: it has a meaning in C already" },
    { P2P F "{\n  asm(\"hlt\");\n  return p; }\n",
      "3: \"asm\" is not accepted: only C is accepted" },
    { P2P F "{ __builtin_trap(); }\n", "2: \"__builtin_trap\" is not accepted: names that begin "
                                       "with __ or with _ and a capital are reserved" },
    { P2P F "{ return burin_x; }\n",
      "2: \"burin_x\" is not accepted: names that begin with burin_ are reserved" },
    { P2P F "{ system(\"ls\"); return p; }\n",
      "2: there is no function \"system\" in this file, and it is none that every operator may "
      "call" },
    { P2P F "{ return sqrtd(p); }\n",
      "2: there is no function \"sqrtd\" in this file, and it is none that every operator may "
      "call; did you mean sqrt?" },
    { "extern int e;\n" GOOD,
      "1: \"extern\" is not accepted: every function that is used must stand in this file" },
    { "static int counter;\n" GOOD,
      "1: a variable outside a function must be const; this begins with \"static\"" },
    { "static const int *where;\n" GOOD,
      "1: a variable outside a function must be const; this begins with \"static\"" },
    { P2P F "{\n static int n = 0;\n return n++; }\n",
      "3: a static variable in a function must be const: an operator keeps nothing from pixel to "
      "pixel" },
    { P2P F "{ return f(p, i); }\n", "2: f calls itself: recursion is not accepted, write a loop" },
    { "[[noreturn]] static void g(void) {}\n" GOOD,
      "1: [[ is not accepted: an operator has no attributes" },
    { "[ [gnu::unused] ] static const int g = 1;\n" GOOD,
      "1: [[ is not accepted: an operator has no attributes" },
    { "#define A [ gnu::constructor ]\n" GOOD,
      "1: :: is not accepted: an operator has no attributes" },
    { P2P F "{ int class = 1; return class; }\n",
      "2: \"class\" is not accepted: it is a word of C++, which the GPU's compiler reads; choose "
      "another name" },
    { "static double sqrt(double x) { return x; }\n" GOOD,
      "1: there is a function sqrt for every operator already: choose another name" },
    { P2P F "{ long double x = p; return x; }\n",
      "2: \"long double\" is not accepted: a GPU has float and double" },
    /* text */
    { P2P F "{ return p<:0:>; }\n",
      "2: the digraph <: is not accepted: write [ ] { } # themselves, or put a blank between the "
      "two characters" },
    { P2P F "{ return \"?\?/\"[0]; }\n",
      "2: the trigraph ?\?/ is not accepted: some compilers replace it" },
    { P2P F "{ return p; } // a path: C:\\\n" GOOD,
      "2: a backslash ends this comment; compilers would read the next line as a comment too: "
      "remove it" },
    { P2P F "{ ret\\\nurn p; }\n",
      "2: a backslash may stand only in a string, in a character constant, or behind a blank at "
      "the end of a line of a #define" },
    { P2P F "{ return 'a; }\n", "2: this character constant has no end on its line: expected '" },
    { GOOD "/* never ends\n", "3: this comment has no end: expected */" },
    { P2P F "{ return p;\n", "2: what begins here with \"static\" has no end: expected ; or } "
                             "before the end of the file" },
    { GOOD "}\n", "3: this } closes nothing" },
    { GOOD ");\n", "3: this ) closes nothing" },
    { P2P F "{ return (p]; }\n", "2: expected ), found ]" },
    { "(\n" GOOD, "1: what begins here with \"(\" has no end: expected ; or } before #P2P_FUNC" },
    { P2P F "{ return R\"(x)\"[0]; }\n",
      "2: \"R\" stands directly before a quote: write plain strings and characters" },
    { "// \xff\n" GOOD, "1: expected UTF-8 text, found the byte 0xff" },
    { "\x01\n" GOOD, "1: the control character 0x01 may not stand in a source" },
    { P2P F "{ return p \xc2\xa7 1; }\n", "2: the character (not ASCII) is not C: outside comments "
                                          "and strings only the letters a-z, digits and C's own "
                                          "signs may stand" },
};

static void every_broken_file_is_reported(void **state) {
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

static void all_mistakes_are_reported_at_once(void **state) {
    (void)state;
    assert_null(read_text("#include <stdio.h>\n"
                          "static int n;\n" P2P "static int f(unsigned char p) { asm(); }\n"));
    assert_int_equal(diagnostics.count, 4);
}

static void a_macro_may_look_at_the_position(void **state) {
    (void)state;
    struct user_file *file =
        read_good("#define HERE index\n#P2P_FUNC\nstatic unsigned char f(unsigned "
                  "char v, int index) { return HERE; }\n"
                  "#P2P_FUNC\nstatic unsigned char g(unsigned char v, int i) { "
                  "return v; }\n");
    assert_true(file->ops[0].uses_position);
    assert_false(file->ops[1].uses_position);
    reader_destroy(file);
}

/* A summary has at most 160 bytes and ends with a whole character of any length. */
static void a_long_text_is_cut_at_a_character(void **state) {
    (void)state;
    char text[1024], wanted[170];
    for (size_t before = 0; before < 4; before++) {
        size_t used = (size_t)sprintf(text, "// %.*s", (int)before, "xyz");
        for (int i = 0; i < 60; i++) used += (size_t)sprintf(text + used, "\u20ac");
        sprintf(text + used, "\n" GOOD);
        sprintf(wanted, "%.*s", (int)before, "xyz");
        while (strlen(wanted) + 3 <= 160) strcat(wanted, "\u20ac");
        struct user_file *file = read_good(text);
        assert_string_equal(file->ops[0].op.summary, wanted);
        reader_destroy(file);
        used = (size_t)sprintf(text, "#STRUCT\ntypedef struct {\n    int level; // %.*s",
                               (int)before, "xyz");
        for (int i = 0; i < 60; i++) used += (size_t)sprintf(text + used, "\u20ac");
        sprintf(text + used,
                "\n} data;\n" P2P
                "static unsigned char f(unsigned char p, int i, data d) { return p; }\n");
        file = read_good(text);
        assert_string_equal(file->ops[0].op.params[0].summary, wanted);
        reader_destroy(file);
    }
}

/* The daemon answers at /openapi.json, which is no operator's path. */
static void a_name_that_is_free(void **state) {
    (void)state;
    reader_destroy(
        read_good(P2P "static unsigned char openapi(unsigned char p, int i) { return p; }\n"));
}

static void a_name_of_a_file_in_no_encoding(void **state) {
    (void)state;
    struct user_file *file = reader_read("dir/caf\xe9\n.c", GOOD, strlen(GOOD), 0, &diagnostics);
    assert_non_null(file);
    assert_string_equal(file->ops[0].op.summary, "Each sample on its own, from caf??.c");
    reader_destroy(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_listings_of_the_paper),
        cmocka_unit_test(a_file_with_everything),
        cmocka_unit_test(the_bytes_of_a_struct),
        cmocka_unit_test(every_broken_file_is_reported),
        cmocka_unit_test(all_mistakes_are_reported_at_once),
        cmocka_unit_test(a_macro_may_look_at_the_position),
        cmocka_unit_test(a_long_text_is_cut_at_a_character),
        cmocka_unit_test(a_name_of_a_file_in_no_encoding),
        cmocka_unit_test(a_name_that_is_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
