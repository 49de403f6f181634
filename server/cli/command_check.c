// SPDX-License-Identifier: Apache-2.0
/* burin check: checks files of operators, and runs only reductions, on random numbers. */
#include "pipeline/skeletons/laws.h"
#include "pipeline/skeletons/operators_dir.h"
#include "pipeline/skeletons/reader.h"
#include "server/cli/command.h"
#include "server/user_operators.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LAWS_S = 1 };

static int usage(FILE *out, int code) {
    fputs("usage: burin check FILE...\n\n"
          "Reads files of operators in C, and compiles them if there is a C compiler. Prints the\n"
          "operators with their parameters, or every mistake with its line. An R2S is tried on\n"
          "random numbers, and a warning says if their order matters. The exit status is 0 if all\n"
          "files are right. pipeline/skeletons/README.md is the language's reference.\n",
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

/* Tries one R2S in a process that ends by itself, and prints what is wrong with it. */
static void try_laws(const struct user_op *op, const char *path) {
    char text[LAWS_TEXT_MAX] = "";
    int ends[2], how = 0;
    if (pipe(ends) != 0) return;
    const pid_t pid = fork();
    if (pid == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(LAWS_S);
        const bool broken = laws_broken(op, text);
        _exit(broken && write(ends[1], text, strlen(text)) < 0);
    }
    close(ends[1]);
    const ssize_t got = pid > 0 ? read(ends[0], text, sizeof text - 1) : 0;
    close(ends[0]);
    if (pid > 0) waitpid(pid, &how, 0);
    text[got > 0 ? got : 0] = '\0';
    if (WIFSIGNALED(how) && WTERMSIG(how) == SIGALRM)
        snprintf(text, sizeof text, "%s did not end within %d s on random numbers", op->op.name,
                 LAWS_S);
    else if (WIFSIGNALED(how))
        snprintf(text, sizeof text, "%s crashed on random numbers: %s", op->op.name,
                 strsignal(WTERMSIG(how)));
    if (text[0])
        fprintf(stderr, "%s:%d: #R2S_FUNC: warning: %s%s\n", path, op->function->first->line, text,
                WIFSIGNALED(how) ? ""
                                 : "; an R2S runs in any order, and its result would depend on it");
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
        for (int k = 0; file && state == TWIN_LOADED && k < file->count; k++)
            if (file->ops[k].skeleton == SKELETON_R2S) try_laws(&file->ops[k], argv[i]);
        wrong += !file;
        reader_destroy(file);
    }
    return wrong ? 1 : 0;
}
