// SPDX-License-Identifier: Apache-2.0
/* lane_watch.h - whether the thread that runs a job, all of it and alone, hangs in its midst.
 *
 * A CPU's lane computes from a job's begin to its end, and never waits for anything but a lock. So
 * one that sleeps is stuck, unless another thread of its process is at work: that one may hold the
 * lock, and wait for a core itself.
 *
 * Used by:  dispatcher.c.
 * Owns:     nothing; one struct stillness a job, all zero at first.
 * Threads:  one at a time.
 */
#ifndef BURIN_LANE_WATCH_H
#define BURIN_LANE_WATCH_H

#include "server/dispatch/worker_handle.h"

enum lane_state {
    LANE_UNKNOWN, /* it runs no job, or the kernel was not asked, for the job was seen to go on */
    LANE_MOVES,   /* though the job does not tell so */
    LANE_SLEEPS,  /* for less than STILL_NS, or it may wait for others */
    LANE_HANGS
};

/* LANE: of JOB, on the process PID. */
enum lane_state lane_watch_look(struct stillness *lane, const struct job *job, pid_t pid,
                                int64_t still_ns, int64_t now);

/* Whether the lane of JOB, which WORKER has, hangs; tells WORKER where it moves. While its process
 * stands still as a whole, no lane is to blame. */
bool lane_watch_hangs(struct stillness *lane, const struct job *job, struct worker_handle *worker,
                      int64_t still_ns, int64_t now);

#endif
