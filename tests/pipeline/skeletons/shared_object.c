// SPDX-License-Identifier: Apache-2.0
/* Shared objects that a C compiler makes of texts which no reader has looked at: what would run as
 * soon as it is loaded is refused, and damaged files are. */
#include "pipeline/skeletons/shared_object.h"

#include "pipeline/skeletons/compiler.h"
#include "tests/noise.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define EXPORTED "__attribute__((visibility(\"default\"))) "
#define PLAIN                                                                                      \
    "__attribute__((visibility(\"default\"))) int twice(int a);\n"                                 \
    "static int helper(int a) { return a + 1; }\n"                                                 \
    "static int (*const table[])(int) = { helper, helper };\n"                                     \
    "int twice(int a) { return table[a & 1](a) + 2 * a; }\n"

static struct compiler compiler;
static char folder[] = "/tmp/burin-object-XXXXXX";
static char object[sizeof folder + 16], source[sizeof folder + 16];

static int make_folder(void **state) {
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(object, sizeof object, "%s/twin.so", folder);
    snprintf(source, sizeof source, "%s/twin.c", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(object);
    unlink(source);
    return rmdir(folder);
}

static void write_file(const char *path, const char *bytes, size_t length) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

static char variable[SHARED_OBJECT_NAME_MAX];

/* Compiles TEXT and returns the refusal or NULL; "compiler": this compiler does not take it. */
static const char *refusal_of(const char *text) {
    char output[COMPILER_OUTPUT_MAX];
    write_file(source, text, strlen(text));
    if (!compiler_run(&compiler, folder, output)) return "compiler";
    return shared_object_refusal(object, variable);
}

static void what_an_operator_needs_is_accepted(void **state) {
    (void)state;
    if (!compiler_find(&compiler)) skip();
    assert_null(refusal_of(PLAIN));
    assert_null(refusal_of("int alone(int a) { return a; }\n"));
    assert_null(refusal_of(PLAIN EXPORTED
                           "const int *where(int i);\n"
                           "static const int held; static const int *const to[] = { &held };\n"
                           "const int *where(int i) { return to[i]; }\n"));
}

#define FIRST  EXPORTED "int count(int a);\n"
#define COUNTS "int count(int a) { return kept += a; }\n"

static void a_variable_that_keeps_its_value_is_refused_by_name(void **state) {
    (void)state;
    static const char *const texts[] = {
        FIRST "static int kept;\n" COUNTS,
        FIRST "static int kept = 3;\n" COUNTS,
        FIRST "__attribute__((section(\"own\"))) static int kept = 3;\n" COUNTS,
        FIRST "__attribute__((section(\".bss\"))) static int kept;\n" COUNTS,
        FIRST "int count(int a) { static int kept; return kept += a; }\n",
        FIRST "int count(int a) { static int kept = 7; return kept += a; }\n",
        FIRST "static int big[70000];\nint count(int a) { return big[a & 65535] += a; }\n",
        FIRST "static const int one = 1, *kept = &one;\n"
              "int count(int a) { kept += a; return *kept; }\n",
    };
    if (!compiler_find(&compiler) || compiler.is_tcc) skip();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *refusal = refusal_of(texts[i]);
        if (!refusal || !strstr(refusal, "keep its value")) fail_msg("%s: %s", texts[i], refusal);
        assert_string_equal(variable, strstr(texts[i], "big[7") ? "big" : "kept");
    }
}

static void each_threads_variable_is_refused(void **state) {
    (void)state;
    const char *text = FIRST "__attribute__((tls_model(\"initial-exec\")))\n"
                             "static _Thread_local int kept;\n" COUNTS;
    if (!compiler_find(&compiler) || compiler.is_tcc) skip();
    assert_non_null(refusal_of(text));
}

/* No data stay writable, even if a compiler places variables and constants side by side. */
static void nothing_of_it_can_be_written_to(void **state) {
    (void)state;
    if (!compiler_find(&compiler) || compiler.is_tcc) skip();
    refusal_of(FIRST "static int kept = 3;\n" COUNTS);
    void *library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    int (*count)(int);
    *(void **)&count = dlsym(library, "count");
    assert_int_equal(count(2), 5);
    assert_true(shared_object_seal(library));
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        count(2);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    dlclose(library);
}

static void what_would_run_when_it_is_loaded_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = {
        PLAIN "__attribute__((constructor)) static void f(void) { *(volatile int *)16 = 1; }\n",
        PLAIN "__attribute__((destructor)) static void f(void) { *(volatile int *)16 = 1; }\n",
        PLAIN
        "__attribute__((constructor(200))) static void f(void) { *(volatile int *)16 = 1; }\n",
        PLAIN "static void f(void) { *(volatile int *)16 = 1; }\n"
              "__attribute__((used, section(\".init_array\"))) static void (*const p)(void) = f;\n",
        PLAIN
        "static void f(void) { *(volatile int *)16 = 1; }\n"
        "__attribute__((used, section(\".preinit_array\"))) static void (*const p)(void) = f;\n",
        PLAIN "void _init(void); void _init(void) { *(volatile int *)16 = 1; }\n",
        PLAIN "void _fini(void); void _fini(void) { *(volatile int *)16 = 1; }\n",
        PLAIN "typedef int call(int);\n"
              "static call *choose(void) { *(volatile int *)16 = 1; return helper; }\n"
              "__attribute__((visibility(\"default\"), ifunc(\"choose\"))) int chosen(int a);\n"
              "__attribute__((visibility(\"default\"))) int caller(int a);\n"
              "int caller(int a) { return chosen(a); }\n",
        PLAIN "typedef int call(int);\n"
              "static call *choose(void) { *(volatile int *)16 = 1; return helper; }\n"
              "__attribute__((ifunc(\"choose\"))) static int chosen(int a);\n"
              "static call *const held = chosen;\n"
              "__attribute__((visibility(\"default\"))) call *const *caller(void);\n"
              "call *const *caller(void) { return &held; }\n",
    };
    /* tcc makes plain functions of _init and _fini. */
    if (!compiler_find(&compiler) || compiler.is_tcc) skip();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *refusal = refusal_of(texts[i]);
        if (!refusal) fail_msg("accepted: %s", texts[i]);
        if (strcmp(refusal, "compiler") == 0) print_message("this compiler refuses text %zu\n", i);
    }
}

/* No read leaves the file: sanitizers would report it. */
static void damaged_files_end_in_an_answer(void **state) {
    (void)state;
    static char bytes[1 << 18], damaged[1 << 18];
    uint32_t noise = 7;
    if (!compiler_find(&compiler)) skip();
    assert_null(refusal_of(PLAIN));
    FILE *file = fopen(object, "r");
    const size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_in_range(length, 512, sizeof bytes - 1);
    write_file(object, bytes, 300);
    assert_non_null(shared_object_refusal(object, variable));
    write_file(object, "", 0);
    assert_non_null(shared_object_refusal(object, variable));
    assert_non_null(shared_object_refusal("/tmp/burin-object-none", variable));
    for (int i = 0; i < 400; i++) {
        memcpy(damaged, bytes, length);
        const size_t head = i % 2 ? 700 : length;
        for (int k = 0; k < 1 + i % 3; k++)
            damaged[noise_next(&noise) % head] = (char)(noise_next(&noise) >> 24);
        write_file(object, damaged, length - (i % 5 ? 0 : noise_next(&noise) % length / 2));
        shared_object_refusal(object, variable);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_an_operator_needs_is_accepted),
        cmocka_unit_test(a_variable_that_keeps_its_value_is_refused_by_name),
        cmocka_unit_test(each_threads_variable_is_refused),
        cmocka_unit_test(nothing_of_it_can_be_written_to),
        cmocka_unit_test(what_would_run_when_it_is_loaded_is_refused),
        cmocka_unit_test(damaged_files_end_in_an_answer),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
