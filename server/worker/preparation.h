// SPDX-License-Identifier: Apache-2.0
/* preparation.h - a sandbox's thread that has users' operators compiled before jobs ask for them.
 *
 * For every operator and every kind of image that it takes; first those that are common, in color
 * and in gray.
 *
 * Used by:  worker.c.
 * Owns:     its thread, from preparation_start to preparation_join; the lane stays the caller's.
 * Fails:    an operator that does not compile is logged and left alone: its jobs say the same.
 *           Without a thread nothing is prepared, and the first job of each operator waits.
 * Threads:  the lane may be at work meanwhile.
 */
#ifndef BURIN_PREPARATION_H
#define BURIN_PREPARATION_H

#include "pipeline/device.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

struct preparation {
    struct lane *lane;
    pthread_t thread;
    bool started;
    int stop;     /* atomic */
    sem_t common; /* 1 once all that is common is there */
};

/* Returns once what is common is there, or after WAIT_MS. */
void preparation_start(struct preparation *preparation, struct lane *lane, int wait_ms);

/* Waits for the one that is being compiled. Does nothing if none was started. */
void preparation_join(struct preparation *preparation);

#endif
