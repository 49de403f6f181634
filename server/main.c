// SPDX-License-Identifier: Apache-2.0
/* The program: prepares the process and runs the subcommand. */
#include "pipeline/param.h"
#include "pipeline/registry.h"
#include "server/cli/command.h"
#include "server/descriptors.h"
#include "server/process/process.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
    { "serve", "the daemon: images over HTTP", command_serve },
    { "run", "operators on files, without a server", command_run },
    { "info", "type, size and more of files, from their headers", command_info },
    { "ops", "the operators and their parameters", command_ops },
    { "check", "checks files of operators in C", command_check },
    { "convert", "makes a stand-alone program from operators in C", command_convert },
    { "devices", "the CPU and the GPUs of this machine", command_devices },
    { "config", "the settings in force, and where each came from", command_config },
    { "keys", "makes a key for a client, checks a file of keys", command_keys },
    { "sign", "makes the address of a request that its holder may send", command_sign },
    { "health", "asks a daemon whether it is ready", command_health },
    { "bench", "measures the speed of this machine", command_bench },
    { "version", "this build and the libraries it uses", command_version },
    { "worker", "one device's process, started by serve", command_worker },
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static void help(FILE *out) {
    fputs("usage: burin COMMAND ...\n\n", out);
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fputs("\nburin COMMAND --help explains each. For a start:\n\n"
          "  burin serve\n"
          "  burin run histeq in.jpg out.jpg\n",
          out);
}

static int unknown(const char *name) {
    const char *names[COMMAND_COUNT];
    char shown[PARAM_SHOWN_MAX];
    for (int i = 0; i < COMMAND_COUNT; i++) names[i] = commands[i].name;
    const char *near = nearest_name(name, names, COMMAND_COUNT);
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
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(name, commands[i].name) == 0) return commands[i].run(argc - 1, argv + 1);
    return unknown(name);
}
