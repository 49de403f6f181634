// SPDX-License-Identifier: Apache-2.0
/* sandbox_calls.h - which system calls each kind of process has a use for.
 *
 * Made from what the daemon calls under its tests, and what the C library may call in their place.
 *
 * Used by:  sandbox.c.
 * Fails:    sandbox_calls_enter as syscall_filter_enter.
 * Threads:  any.
 */
#ifndef BURIN_SANDBOX_CALLS_H
#define BURIN_SANDBOX_CALLS_H

#include "server/sandbox/sandbox.h"

#include <sys/types.h>

/* CHILD: the process that it may kill; 0: none. */
int sandbox_calls_enter(enum sandbox_role role, pid_t child);

#endif
