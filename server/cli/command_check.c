// SPDX-License-Identifier: Apache-2.0
/* burin check: checks files of operators without running any. */
#include "pipeline/skeletons/operators_dir.h"
#include "pipeline/skeletons/reader.h"
#include "server/cli/command.h"
#include "server/user_operators.h"

#include <stdio.h>
#include <string.h>

static int usage(FILE *out, int code) {
    fputs("usage: burin check FILE...\n\n"
          "Reads files of operators in C, and compiles them if there is a C compiler. Prints the\n"
          "operators with their parameters, or every mistake with its line. The exit status is 0\n"
          "if all files are right. pipeline/skeletons/README.md is the language's reference.\n",
          out);
    return code;
}

static void print_file(const struct user_file *file, const char *path, enum twin_state state) {
    printf("%s: OK%s\n", path,
           state == TWIN_NO_COMPILER ? " (not compiled: there is no C compiler)" : "");
    for (int i = 0; i < file->count; i++) {
        const struct op *op = &file->ops[i].op;
        printf("  %s", op->name);
        for (const struct param *param = op->params; param->type != PARAM_NONE; param++) {
            char value[64], range[128];
            struct params defaults;
            params_init(&defaults, param);
            param_print(param, &defaults, 0, value, sizeof value);
            param_range(param, range, sizeof range);
            printf("%s%s=%s (%s)", param == op->params ? ": " : ", ", param->name, value, range);
        }
        putchar('\n');
    }
}

int command_check(int argc, char **argv) {
    int wrong = 0;
    const struct operators_options options = user_operators_options();
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return usage(stdout, 0);
    if (argc < 2 || argv[1][0] == '-') return usage(stderr, 2);
    for (int i = 1; i < argc; i++) {
        enum twin_state state;
        struct user_file *file = operators_dir_read(argv[i], &options, &state);
        if (file) print_file(file, argv[i], state);
        wrong += !file;
        reader_destroy(file);
    }
    return wrong ? 1 : 0;
}
