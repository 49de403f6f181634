// SPDX-License-Identifier: Apache-2.0
/* launcher_process.h - the process that starts workers, ends them and looks at their threads: its
 * own side.
 *
 * Used by:  launcher.c, which forks it.
 * Owns:     a descriptor of each process that it has started, until that has been reaped.
 * Fails:    a request that it does not understand, or may not do, is answered with -1.
 * Threads:  one.
 * Limits:   what it has not started itself, and what has been reaped, it neither signals nor looks
 *           at. Before Linux 5.2, where a process has no descriptor, that holds for numbers: one
 *           that has been reused is taken for the process that it has started.
 */
#ifndef BURIN_LAUNCHER_PROCESS_H
#define BURIN_LAUNCHER_PROCESS_H

#include "config/config.h"

#include <stdnoreturn.h>
#include <sys/types.h>

/* FD: its end of the socket. FRONT: its parent. Ends when the front does, or closes its end. */
noreturn void launcher_process_run(int fd, pid_t front, const struct config *config);

#endif
