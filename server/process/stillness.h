// SPDX-License-Identifier: Apache-2.0
/* stillness.h - for how long a thread has stood still though nothing kept it from going on.
 *
 * Somebody else tells that the thread should go on and does not: no heartbeat came, no job moved.
 * From then on it is looked at, and the kernel says why. A thread that runs or waits for a core is
 * not still, however long that takes on a busy machine, nor is one that a debugger holds. One that
 * was stopped, or sleeps and never had a core between two looks, is. What the kernel itself holds,
 * or tells nothing of, counts a thirtieth: a disk may take seconds.
 *
 * Used by:  worker_handle.c and operators_worker.c for a worker's heartbeat, dispatcher.c for its
 *           lanes.
 * Owns:     nothing; plain data, all zero at first.
 * Threads:  one at a time.
 * Limits:   the time between two looks counts 0.1 s at most: who looks may have been late itself,
 *           and a machine that slept wakes all its processes together.
 */
#ifndef BURIN_STILLNESS_H
#define BURIN_STILLNESS_H

#include "server/process/thread_account.h"

struct stillness {
    int64_t looked_ns; /* the last look, a time of clock_ns; 0: none since it last went on */
    int64_t still_ns;  /* of the time since the first */
    struct thread_account account; /* at the last look */
};

/* The thread goes on. */
void stillness_end(struct stillness *stillness);

/* It does not. Returns for how long it has been still, in ns. */
int64_t stillness_look(struct stillness *stillness, pid_t pid, pid_t thread, int64_t now);

/* The same where the account has been read already. */
int64_t stillness_count(struct stillness *stillness, const struct thread_account *account,
                        int64_t now);

#endif
