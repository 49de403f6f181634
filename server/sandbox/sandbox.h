// SPDX-License-Identifier: Apache-2.0
/* sandbox.h - limits a running process of the daemon to what its work needs.
 *
 * With `sandbox` on, every process that reads clients' data gives up: new privileges and
 * capabilities; files that its work does not need (Landlock); and system calls that it does not
 * need (seccomp), among them all that start a program. A refused call fails with EPERM. Processes
 * that run users' operators on a CPU, or decoders of a bad record, have a narrower filter
 * (sandbox_calls_confine), on or off.
 *
 *     process                  files                                      system calls
 *     front                    operators_dir, folders of keys_file and    a list of those that it
 *                              unix sockets, its own descriptors          needs
 *     worker on a CPU          none                                       a shorter list
 *     worker on a GPU          the driver's: libraries, devices, /proc,   all but a list, no
 *                              /sys, its caches, /tmp, /dev/shm           network, no program
 *     worker for operators     /proc                                      a list; signals to its
 *                                                                         sandbox
 *     worker of the cell       /proc                                      the same
 *     decoding cell            none                                       a list of its own, on or
 *                                                                         off
 *     compilation of operators read and execute all; write only its       all but the same list,
 *                              cache and temporary folder, /dev/null      programs may start
 *
 * A process may signal only itself, except the front, which may end the launcher, and the worker
 * for operators, which ends its sandbox; on Linux 6.12 Landlock enforces this too for the others,
 * and only the front may connect to abstract unix sockets of other processes. A GPU's worker may
 * connect to unix sockets that have a path, as drivers do.
 *
 * The launcher (process/launcher.h) has no sandbox, since the workers that it starts would inherit
 * it. For the front it ends and observes the workers.
 *
 * Used by:  command_serve.c, command_worker.c, user_operators.c; worker/worker.c and
 *           worker/operators_worker.c.
 * Fails:    never: a limit that the kernel lacks or refuses is left out, and the front logs that.
 * Threads:  sandbox_limit: before there are others. sandbox_filter: any; it holds for all threads.
 */
#ifndef BURIN_SANDBOX_H
#define BURIN_SANDBOX_H

#include "config/config.h"

#include <sys/types.h>

enum sandbox_role {
    SANDBOX_FRONT,
    SANDBOX_CPU,
    SANDBOX_GPU,
    SANDBOX_OPERATORS,
    SANDBOX_COMPILER,
};

bool sandbox_is_on(const struct config *config);

/* Limits privileges and files. CACHE: a folder that may be written, or NULL. Does nothing if CONFIG
 * has sandbox off. */
void sandbox_limit(enum sandbox_role role, const struct config *config, const char *cache);

/* Limits system calls, after sandbox_limit. CHILD: the only process that a front or a worker for
 * operators may kill; 0: none. */
void sandbox_filter(enum sandbox_role role, const struct config *config, pid_t child);

#endif
