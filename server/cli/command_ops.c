// SPDX-License-Identifier: Apache-2.0
/* burin ops: prints the operators that GET /ops lists.
 *
 * How it works. The operators of --operators-dir are added to the registry first. Then all
 * operators of the registry, or the named ones, are printed in the requested form. */
#include "pipeline/op_alias.h"
#include "pipeline/registry.h"
#include "server/api/ops_json.h"
#include "server/cli/command.h"
#include "server/user_operators.h"

#include <stdio.h>
#include <string.h>

static int usage(FILE *out, int code) {
    fputs("usage: burin ops [OPTION] [OPERATOR]...\n\n"
          "Prints the operators with their parameters: name=default, range and unit, meaning. A\n"
          "file is an additional part of the upload; `burin run` takes it as --NAME FILE.\n\n"
          "  --operators-dir DIR   also the operators in C of this folder\n"
          "  --json                the answer of GET /ops\n"
          "  --markdown            the table of README.md\n"
          "  --parameters          the table of server/README.md\n",
          out);
    return code;
}

static const char *share_of(const struct param *param) {
    static const char *const texts[] = {
        [SHARE_OF_WIDTH] = ", or % of the width", [SHARE_OF_HEIGHT] = ", or % of the height"
    };
    return param->share ? texts[param->share] : "";
}

static void print_param(const struct param *param) {
    char range[128], value[32] = "", setting[64];
    struct params defaults;
    param_range(param, range, sizeof range);
    params_init(&defaults, param);
    if (param_has_default(param)) param_print(param, &defaults, 0, value, sizeof value);
    snprintf(setting, sizeof setting, "%s=%s", param->name, value);
    printf("    %-20s %s%s%s%s%s\n", setting, range, param->unit ? " " : "",
           param->unit ? param->unit : "", share_of(param),
           param->required ? " (must be given)" : "");
    if (param->summary) printf("    %-20s %s\n", "", param->summary);
}

static void print_op(const struct op *op) {
    const char *words, *const group = op_group_name(op->group);
    printf("%-12s %s\n", op->name, op->summary);
    printf(op->title ? "    %-20s %s" : "    %s%s", group ? group : "", op->title ? op->title : "");
    for (int i = 0; (words = op_alias_words(op->name, i)); i++)
        printf("%s%.*s", i ? " " : "; also ", (int)strlen(words) - 1, words);
    putchar('\n');
    for (const struct param *param = op->params; param && param->type != PARAM_NONE; param++)
        print_param(param);
    for (int i = 0; i < OP_AUX_MAX && op->aux[i].name; i++)
        printf("    %-20s file: %s\n", op->aux[i].name, op->aux[i].summary);
    if (op->values)
        printf("    %-20s %s%s; the image is passed on\n", "(values)",
               op->value_names ? "by name" : ops_values(op),
               op->text || op->value_names ? "" : " for each colour channel");
    putchar('\n');
}

/* ---- tables for the README files */

/* '|' would end the cell. */
static void print_cell(const char *text) {
    for (; *text; text++) printf(*text == '|' ? "\\|" : "%c", *text);
}

static void print_default(const struct param *param) {
    char value[32] = "";
    struct params defaults;
    params_init(&defaults, param);
    if (param_has_default(param)) param_print(param, &defaults, 0, value, sizeof value);
    if (*value) printf(" (%s)", value);
}

static void print_op_row(const struct op *op) {
    printf("| `%s` | ", op->name);
    for (const struct param *param = op->params; param && param->type != PARAM_NONE; param++)
        printf(param == op->params ? "`%s`" : ", `%s`", param->name);
    for (int i = 0; i < OP_AUX_MAX && op->aux[i].name; i++) printf(", file `%s`", op->aux[i].name);
    printf(" | %s |\n", op->summary);
}

static int print_op_table(void) {
    printf("| operator | parameters | what it does |\n|---|---|---|\n");
    for (int i = 0; i < registry_count(); i++) print_op_row(registry_at(i));
    return 0;
}

static void print_param_row(const struct op *op, const struct param *param) {
    char range[128];
    param_range(param, range, sizeof range);
    printf("| `%s` | `%s` | ", op->name, param->name);
    print_cell(range);
    if (param->unit) printf(" %s", param->unit);
    fputs(share_of(param), stdout);
    print_default(param);
    printf("%s | ", param->required ? " (required)" : "");
    print_cell(param->summary ? param->summary : "");
    printf(" |\n");
}

static int print_param_table(void) {
    printf("| operator | parameter | values (default) | meaning |\n|---|---|---|---|\n");
    for (int o = 0; o < registry_count(); o++) {
        const struct op *op = registry_at(o);
        for (const struct param *param = op->params; param && param->type != PARAM_NONE; param++)
            print_param_row(op, param);
        for (int i = 0; i < OP_AUX_MAX && op->aux[i].name; i++)
            printf("| `%s` | `%s` | a file | %s |\n", op->name, op->aux[i].name,
                   op->aux[i].summary);
    }
    return 0;
}

static int print_named(int count, char **names) {
    for (int i = 0; i < count; i++) {
        const struct op *op = registry_find(names[i]);
        const char *near = registry_nearest(names[i]), *instead = op_alias(names[i]);
        if (op) {
            print_op(op);
            continue;
        }
        fprintf(stderr, "burin ops: there is no operator \"%s\"; ", names[i]);
        if (instead)
            fprintf(stderr, "%s\n", instead);
        else
            fprintf(stderr, near ? "did you mean \"%s\"?\n" : "burin ops lists them\n", near);
        return 2;
    }
    return 0;
}

/* Removes --operators-dir from the arguments and loads it; returns the number of the remaining
 * arguments, or -1 after printing an error. */
static int take_operators(int argc, char **argv) {
    const char *const option = "--operators-dir";
    const size_t length = strlen(option);
    struct failure failure;
    const char *path = NULL;
    int kept = 1;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], option, length) != 0)
            argv[kept++] = argv[i];
        else if (argv[i][length] == '=')
            path = argv[i] + length + 1;
        else if (!argv[i][length] && i + 1 < argc)
            path = argv[++i];
        else
            return usage(stderr, -1);
    }
    if (user_operators_load(path, &failure) == STATUS_OK) return kept;
    fprintf(stderr, "burin ops: %s\n", failure.message);
    return -1;
}

int command_ops(int argc, char **argv) {
    argc = take_operators(argc, argv);
    if (argc < 0) return 2;
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return usage(stdout, 0);
    if (argc == 2 && strcmp(argv[1], "--json") == 0) {
        json_t *json = ops_json(registry_set());
        json_dumpf(json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
        putchar('\n');
        json_decref(json);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--markdown") == 0) return print_op_table();
    if (argc == 2 && strcmp(argv[1], "--parameters") == 0) return print_param_table();
    if (argc > 1 && argv[1][0] == '-') return usage(stderr, 2);
    if (argc > 1) return print_named(argc - 1, argv + 1);
    for (int i = 0; i < registry_count(); i++) print_op(registry_at(i));
    return 0;
}
