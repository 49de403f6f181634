// SPDX-License-Identifier: Apache-2.0
/* stacks.h - stacks of the size that this program was written for, whatever `ulimit -s` says.
 *
 * Used by:  main.c, before any other thread starts.
 * Fails:    false: the process may not have a stack of STACK_MIN; the failure names the limit.
 * Threads:  the main thread alone.
 */
#ifndef BURIN_STACKS_H
#define BURIN_STACKS_H

#include "pipeline/status.h"

#include <stdbool.h>

/* STACK: of each thread, and of the main one where the system allows it. */
enum { STACK = 8 << 20, STACK_MIN = 1 << 20 };

bool stacks_make_room(struct failure *failure);

#endif
