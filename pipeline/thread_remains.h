// SPDX-License-Identifier: Apache-2.0
/* thread_remains.h - what finished work leaves behind in its thread: dead frames of the stack, and
 * registers.
 *
 * Used by:  pool.c and server/worker/worker.c, between the jobs of users' operators.
 * Threads:  each clears its own; one that pthread_create made.
 * Limits:   the thread's stack must have 256 KiB that are free.
 * Source:   Intel's Software Developer's Manual, volume 1, 13.8, "Operation of XRSTOR".
 */
#ifndef BURIN_THREAD_REMAINS_H
#define BURIN_THREAD_REMAINS_H

/* The stack below the caller's frame becomes zero, and so do the registers that a called function
 * may use. Takes 4 to 20 microseconds. */
void thread_remains_clear(void);

#endif
