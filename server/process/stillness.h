// SPDX-License-Identifier: Apache-2.0
/* stillness.h - for how long a thread has made no progress although nothing prevents it.
 *
 * The caller decides that a thread should make progress and does not: no heartbeat came, no job
 * advanced. From then on the thread is observed through the kernel. A thread that runs or waits for
 * a core is not still, however long that takes on a busy machine; nor is one that a debugger holds.
 * A thread that was stopped, or that sleeps and never had a core between two looks, is still. Time
 * in which the kernel holds a thread, or nothing is known, counts a thirtieth: a disk may take
 * seconds.
 *
 * Where a launcher is open, it looks at the threads: a thread that stillness_last asks for is read
 * by the next stillness_look_at_all, and as long as it is asked for again. Without a launcher a
 * thread is read at once.
 *
 * Used by:  worker_handle.c and operators_worker.c for a worker's heartbeat, dispatcher.c for its
 *           lanes; supervisor.c calls stillness_look_at_all.
 * Owns:     the list of threads that are asked for; struct stillness is plain data, zero at first.
 * Fails:    THREAD_UNKNOWN where the launcher does not answer, or has not looked yet.
 * Threads:  the supervisor's; without a launcher any, one at a time per struct.
 * Limits:   LAUNCHER_LOOKS_MAX threads; the status of further ones is unknown. The time between two
 *           looks counts at most 0.1 s: the observer itself may be late, and a machine that was
 *           suspended wakes all processes together.
 */
#ifndef BURIN_STILLNESS_H
#define BURIN_STILLNESS_H

#include "server/process/thread_status.h"

struct stillness {
    int64_t looked_ns; /* the last look, a time of clock_ns; 0: none since the last progress */
    int64_t still_ns;  /* of the time since the first look */
    struct thread_status status; /* at the last look */
};

/* The thread makes progress. */
void stillness_end(struct stillness *stillness);

/* The thread makes no progress. Returns for how long it has been still, in ns. */
int64_t stillness_look(struct stillness *stillness, pid_t pid, pid_t thread, int64_t now);

/* The same where STATUS has been read already. */
int64_t stillness_count(struct stillness *stillness, const struct thread_status *status,
                        int64_t now);

/* The thread's status at the last look. Never waits. */
struct thread_status stillness_last(pid_t pid, pid_t thread);

/* Reads all threads that were asked for since the last call. Waits as long as launcher.h says. */
void stillness_look_at_all(void);

#endif
