// SPDX-License-Identifier: Apache-2.0
/* The keys are printed as the shipped file, the help of commands and the table of README.md;
 * tests/http/test_readme.py compares README.md with that table. */
#include "config/reference.h"

#include "config/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char *printed(void (*print)(FILE *out)) {
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    print(out);
    fclose(out);
    return text;
}

static void shipped_file_is_the_table(void **state) {
    (void)state;
    char *made = printed(reference_file);
    FILE *shipped = fopen("config/burin.json", "r");
    if (!shipped) {
        free(made);
        skip(); /* a bundle carries no sources */
    }
    static char text[1 << 16];
    text[fread(text, 1, sizeof text - 1, shipped)] = '\0';
    fclose(shipped);
    assert_string_equal(made, text);
    free(made);
}

static void the_file_loads_as_the_defaults(void **state) {
    (void)state;
    char path[] = "/tmp/burin-reference-XXXXXX", *made = printed(reference_file);
    struct config by_file, by_default;
    struct failure failure = { 0 };
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, made, strlen(made)), strlen(made));
    close(file);
    if (config_load(&by_file, path, NULL, NULL, &failure)) fail_msg("%s", failure.message);
    unlink(path);
    keys_defaults(&by_default);
    assert_memory_equal(&by_file, &by_default, sizeof by_file);
    free(made);
}

/* Each key's flag stands at the beginning of a line, and no line is too wide for a terminal. */
static void help_names_every_flag(void **state) {
    (void)state;
    char *text = printed(reference_help), wanted[KEY_FLAG_MAX + 8], flag[KEY_FLAG_MAX];
    assert_memory_equal(text, "  --config FILE ", 16);
    for (int i = 0; i < keys_count(); i++) {
        key_flag(keys_at(i)->name, flag, sizeof flag);
        snprintf(wanted, sizeof wanted, "\n  %s ", flag);
        if (!strstr(text, wanted)) fail_msg("the help has no %s", flag);
    }
    for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
        if (end - line > 100) fail_msg("%.*s", (int)(end - line), line);
    free(text);
}

/* A row a key, with as many cells as the head has. */
static void the_table_has_a_row_a_key(void **state) {
    (void)state;
    char *text = printed(reference_markdown);
    int rows = 0;
    for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1, rows++) {
        int bars = 0;
        for (const char *c = line; c < end; c++) bars += *c == '|' && (c == line || c[-1] != '\\');
        assert_int_equal(bars, 5);
    }
    assert_int_equal(rows, keys_count() + 2);
    assert_non_null(strstr(text, "| `log_format` | `json` | json \\| text | "));
    free(text);
}

/* A key that is renamed or moved would take its group's title away. */
static void help_has_groups_in_order(void **state) {
    (void)state;
    static const char *const parts[] = {
        "\naddresses and clients:\n  --listen ",
        "\nlimits of one request:\n  --body-bytes-max ",
        "\nlimits of all requests together:\n  --queue-jobs ",
        "\nshared memory, a slot for each request:\n  --slots ",
        "\ndeadlines:\n  --header-ms ",
        "\nworkers:\n  --devices ",
        "\nusers' operators:\n  --operators-dir ",
        "\nstop:\n  --drain-delay-ms ",
        "\nlog:\n  --log-format ",
    };
    char *text = printed(reference_help);
    const char *at = text;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        at = strstr(at, parts[i]);
        if (!at) fail_msg("the help has no%s", parts[i]);
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_file_is_the_table),
        cmocka_unit_test(the_file_loads_as_the_defaults),
        cmocka_unit_test(help_names_every_flag),
        cmocka_unit_test(help_has_groups_in_order),
        cmocka_unit_test(the_table_has_a_row_a_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
