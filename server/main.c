// SPDX-License-Identifier: Apache-2.0
/* The program: prepares the process and runs the subcommand. */
#include "pipeline/param.h"
#include "pipeline/registry.h"
#include "server/cli/command.h"
#include "server/descriptors.h"
#include "server/process/process.h"

#include <stdio.h>
#include <string.h>

static void help(FILE *out) {
    fputs("usage: burin COMMAND ...\n\n", out);
    for (int i = 0; command_at(i); i++)
        fprintf(out, "  %-10s %s\n", command_at(i)->name, command_at(i)->summary);
    fputs("\nburin COMMAND --help explains each. For a start:\n\n"
          "  burin serve\n"
          "  burin run histeq in.jpg out.jpg\n",
          out);
}

static int unknown(const char *name) {
    const char *names[COMMANDS_MAX];
    char shown[PARAM_SHOWN_MAX];
    size_t count = 0;
    for (; command_at((int)count); count++) names[count] = command_at((int)count)->name;
    const char *near = nearest_name(name, names, count);
    fprintf(stderr, "burin: there is no command \"%s\"", param_shown(name, shown));
    if (registry_find(name))
        fprintf(stderr, "; for the operator say burin run %s INPUT OUTPUT\n", name);
    else if (near)
        fprintf(stderr, "; did you mean \"%s\"?\n", near);
    else
        fputs("; burin --help lists them\n", stderr);
    return 2;
}

int main(int argc, char **argv) {
    struct failure failure = { 0 };
    if (!descriptors_keep_standard()) return 1; /* standard error cannot be used */
    if (!process_set_stacks(&failure)) {
        fprintf(stderr, "burin: %s\n", failure.message);
        return 1;
    }
    if (argc < 2) {
        help(stderr);
        return 2;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        help(stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0) name = "version";
    const struct command *command = command_find(name);
    if (!command) return unknown(name);
    const int code = command->run(argc - 1, argv + 1);
    if (strcmp(name, "serve") == 0 || code) return code; /* a daemon goes on without its log */
    if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
    fputs("burin: cannot write all of standard output\n", stderr);
    return 1;
}
