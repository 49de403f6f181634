// SPDX-License-Identifier: Apache-2.0
/* thread_account.h - what the kernel says of one thread of another process: whether it runs, waits
 * for a core, sleeps or was stopped, and how often it has had a core.
 *
 * Used by:  stillness.c.
 * Fails:    THREAD_UNKNOWN where /proc does not tell: it has ended, or /proc is not there.
 * Threads:  any; no state.
 */
#ifndef BURIN_THREAD_ACCOUNT_H
#define BURIN_THREAD_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum thread_state {
    THREAD_UNKNOWN,
    THREAD_RUNS,   /* on a core, or it waits for one */
    THREAD_SLEEPS, /* until something happens */
    THREAD_HELD,   /* by the kernel: for memory, a disk, a driver */
    THREAD_STOPPED,
    THREAD_TRACED /* stopped by a debugger */
};

struct thread_account {
    enum thread_state state;
    uint64_t turns; /* another number: it has had a core since the last look */
};

/* THREAD belongs to the process PID. Two small files of /proc: some 10 us. */
struct thread_account thread_account_read(pid_t pid, pid_t thread);

/* Whether any thread of PID runs, waits for a core or is held by the kernel; true if that cannot be
 * told. */
bool thread_account_any_busy(pid_t pid);

#endif
