// SPDX-License-Identifier: Apache-2.0
/* thread_account.h - what the kernel says of one thread of another process: whether it runs, waits
 * for a core, sleeps or was stopped, and how often it has had a core.
 *
 * Used by:  launcher_process.c, and thread_looks.c where there is none.
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

/* All zero: nothing is known. */
struct thread_account {
    enum thread_state state;
    uint64_t turns;    /* another number: it has had a core since the last look */
    bool process_idle; /* no thread of its process runs, waits for a core or is held */
};

struct thread_id {
    pid_t pid, thread; /* of that process */
};

/* Reads two small files of /proc for each thread, some 10 us; and one file for each thread of a
 * process of which a thread is not busy, once if the threads of a process stand side by side. */
void thread_account_read_all(const struct thread_id *threads, int count,
                             struct thread_account *accounts);

/* Reads one. THREAD belongs to the process PID. */
struct thread_account thread_account_read(pid_t pid, pid_t thread);

#endif
