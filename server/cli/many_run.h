// SPDX-License-Identifier: Apache-2.0
/* many_run.h - `burin run --out-dir`: many files, several at a time.
 *
 * Used by:  command_run.c.
 * Owns:     worker processes, all ended when it returns.
 * Fails:    returns the exit status: 0; 1 if a file failed; 2 if the arguments are wrong, and then
 *           no file was written. SIGINT, SIGTERM or SIGHUP end the process, after its workers.
 * Threads:  the command's, before it has started any.
 * Limits:   half of the machine's memory, or one file's if that is more.
 */
#ifndef BURIN_MANY_RUN_H
#define BURIN_MANY_RUN_H

#include "server/cli/options.h"

int many_run(const struct options *options);

#endif
