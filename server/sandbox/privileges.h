// SPDX-License-Identifier: Apache-2.0
/* privileges.h - gives up a process's privileges for good.
 *
 * Used by:  sandbox.c; process/launcher_process.c.
 * Fails:    privileges_drop: false if the process keeps some of them; errno is set.
 * Threads:  it holds for the calling thread and for threads and processes that it starts later;
 *           call it before there are others.
 */
#ifndef BURIN_PRIVILEGES_H
#define BURIN_PRIVILEGES_H

#include <stdbool.h>
#include <stdint.h>

/* Forbids new privileges by exec, and drops all capabilities but those that the process has and
 * KEPT lists, a bit for each number of <linux/capability.h>; programs that it executes get none. */
bool privileges_drop(uint64_t kept);

#endif
