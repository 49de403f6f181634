// SPDX-License-Identifier: Apache-2.0
/* sandbox.h - what is left to a process of the daemon once it has started: its own work.
 *
 * Everything that reads what clients send gives up, with `sandbox` on: new privileges and
 * capabilities; the file system but for what its work needs (Landlock); and system calls that it
 * has no use for (seccomp), among them every way to start a program. A refused call fails as one
 * that is not permitted. Processes that run users' operators on a CPU have a narrower filter yet
 * (worker/confinement.h), on or off.
 *
 *     who                      files                                      system calls
 *     front                    operators_dir, folders of unix sockets,    a list of those that it
 *                              its own descriptors                        needs
 *     worker on a CPU          none                                       a shorter list
 *     worker on a GPU          the driver's: libraries, devices, /proc,   all but a list, no
 *                              /sys, its caches, /tmp, /dev/shm           network, no program
 *     worker for operators     /proc                                      a list; signals to its
 *                                                                         sandbox
 *     compilation of operators all to read and run; to write only its     all but the same list,
 *                              cache and temporary folder, /dev/null      programs may start
 *
 * Signals go to the process itself alone, but for the front, which may end the process that starts
 * workers, and the worker for operators, which ends its sandbox; on Linux 6.12 Landlock keeps this
 * too for all others, and the front alone may connect to an abstract unix socket of another
 * process. A GPU's worker may connect to unix sockets that have a path, as drivers do.
 *
 * The process that starts workers (process/launcher.h) has no sandbox, for they would have it too.
 * The front asks it to end a worker and to look at its threads, and it does so for what it has
 * started.
 *
 * Used by:  command_serve.c, command_worker.c, user_operators.c; worker/worker.c and
 *           worker/operators_worker.c.
 * Fails:    never: what the kernel lacks or refuses stays open, and the front logs it.
 * Threads:  sandbox_limit: before there are others. sandbox_filter: any; it holds for all.
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

/* Privileges and files. CACHE: a folder that may be written, or NULL. Does nothing where CONFIG
 * says off. */
void sandbox_limit(enum sandbox_role role, const struct config *config, const char *cache);

/* System calls. The process has called sandbox_limit. CHILD: the one process that a front or a
 * worker for operators may kill; 0: none. */
void sandbox_filter(enum sandbox_role role, const struct config *config, pid_t child);

#endif
