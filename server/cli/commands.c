// SPDX-License-Identifier: Apache-2.0
#include "server/cli/command.h"

#include <assert.h>
#include <string.h>

static const struct command commands[] = {
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
    { "completion", "completes command lines in bash, zsh and fish", command_completion },
    { "worker", "one device's process, started by serve", command_worker },
};
static_assert(sizeof commands / sizeof *commands <= COMMANDS_MAX, "room for names");

const struct command *command_at(int index) {
    const int count = sizeof commands / sizeof *commands;
    return index >= 0 && index < count ? &commands[index] : NULL;
}

const struct command *command_find(const char *name) {
    for (int i = 0; command_at(i); i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}
