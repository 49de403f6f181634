// SPDX-License-Identifier: Apache-2.0
/* command.h - the subcommands of the program, one file each: command_<name>.c.
 *
 * Used by:  main.c, which chooses one; command_completion.c, which offers all.
 * Fails:    each returns the program's exit status: 0, 1 when the work failed, 2 when the arguments
 *           were wrong; the reason is printed on stderr.
 */
#ifndef BURIN_COMMAND_H
#define BURIN_COMMAND_H

/* argv[0] is the subcommand's own name. */
int command_serve(int argc, char **argv);
int command_run(int argc, char **argv);
int command_info(int argc, char **argv);
int command_ops(int argc, char **argv);
int command_check(int argc, char **argv);
int command_convert(int argc, char **argv);
int command_devices(int argc, char **argv);
int command_config(int argc, char **argv);
int command_keys(int argc, char **argv);
int command_sign(int argc, char **argv);
int command_health(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_version(int argc, char **argv);
int command_worker(int argc, char **argv);
int command_completion(int argc, char **argv);

enum { COMMANDS_MAX = 32 };

struct command {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
};

const struct command *command_at(int index); /* NULL: behind the last */
const struct command *command_find(const char *name);

#endif
