// SPDX-License-Identifier: Apache-2.0
/* thread_status.h - the kernel's view of a thread of a different process: whether it runs, waits
 * for a core, sleeps or was stopped, and how often it has had a core.
 *
 * Used by:  launcher_process.c; stillness.c where no launcher is open.
 * Fails:    THREAD_UNKNOWN where /proc does not show it: it has ended, or /proc is not mounted.
 * Threads:  any; no state.
 */
#ifndef BURIN_THREAD_STATUS_H
#define BURIN_THREAD_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum thread_state {
    THREAD_UNKNOWN,
    THREAD_RUNS,   /* on a core, or waiting for one */
    THREAD_SLEEPS, /* until an event */
    THREAD_HELD,   /* by the kernel: for memory, a disk, a driver */
    THREAD_STOPPED,
    THREAD_TRACED /* stopped by a debugger */
};

/* All zero: nothing is known. */
struct thread_status {
    enum thread_state state;
    uint64_t turns;    /* changes whenever the thread has had a core */
    bool process_idle; /* no thread of its process runs, waits for a core or is held */
};

struct thread_id {
    pid_t pid, thread; /* of that process */
};

/* Reads two small files of /proc for each thread, some 10 us. For a thread that is not busy it
 * reads one file for every thread of its process: once per process if THREADS is grouped by
 * process. */
void thread_status_read_all(const struct thread_id *threads, int count,
                            struct thread_status *statuses);

/* Reads one thread. THREAD belongs to the process PID. */
struct thread_status thread_status_read(pid_t pid, pid_t thread);

#endif
