// SPDX-License-Identifier: Apache-2.0
/* burin config: the settings in force. */
#include "config/config.h"
#include "config/memory.h"
#include "config/reference.h"
#include "server/cli/command.h"
#include "server/process/process.h"

#include <string.h>

static int usage(FILE *out, int code) {
    fputs("usage: burin config [--json | --memory | --defaults | --markdown]\n"
          "                    [--config FILE] [--KEY VALUE]...\n\n"
          "Prints every setting in force, and whether it came from a flag, the environment, the\n"
          "file or the defaults. --memory prints the most memory that a daemon with these\n"
          "settings takes, for the limit of its container; --defaults a file with every default,\n"
          "to start from; --markdown the table of all keys for config/README.md.\n\n",
          out);
    reference_help(out);
    return code;
}

/* Removes FLAG from the arguments; returns whether it was there. */
static bool take(const char *flag, int *argc, char **argv) {
    int left = 0;
    for (int i = 0; i < *argc; i++)
        if (i == 0 || strcmp(argv[i], flag) != 0) argv[left++] = argv[i];
    const bool taken = left < *argc;
    *argc = left;
    argv[left] = NULL;
    return taken;
}

int command_config(int argc, char **argv) {
    struct config config;
    struct failure failure = { 0 };
    if (take("--help", &argc, argv) || take("-h", &argc, argv)) return usage(stdout, 0);
    const bool as_json = take("--json", &argc, argv);
    const bool memory = take("--memory", &argc, argv);
    if (take("--defaults", &argc, argv)) {
        reference_file(stdout);
        return 0;
    }
    if (take("--markdown", &argc, argv)) {
        reference_markdown(stdout);
        return 0;
    }
    if (config_load(&config, NULL, &argc, argv, &failure)) {
        fprintf(stderr, "burin config: %s\n", failure.message);
        return 2;
    }
    if (argc > 1) {
        fprintf(stderr, "burin config: \"%s\" is not understood; see burin config --help\n",
                argv[1]);
        return 2;
    }
    if (memory)
        memory_print(&config, process_cores(), stdout);
    else
        config_print(&config, stdout, as_json);
    return 0;
}
