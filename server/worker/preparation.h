// SPDX-License-Identifier: Apache-2.0
/* preparation.h - a sandbox's thread that compiles users' operators before jobs need them.
 *
 * Each operator is compiled for every kind of image, the common kinds first: color and gray.
 *
 * Used by:  worker.c.
 * Owns:     its thread, from preparation_start to preparation_join; the lane stays the caller's.
 * Fails:    an operator that does not compile is logged and skipped; its jobs fail the same way.
 *           Without a thread nothing is prepared, and the first job of each operator waits.
 * Threads:  the lane may run jobs meanwhile.
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
    sem_t common; /* posted once the common kinds are compiled */
};

/* Returns once the common kinds are compiled, or after WAIT_MS. */
void preparation_start(struct preparation *preparation, struct lane *lane, int wait_ms);

/* Waits for the operator that is being compiled. Does nothing if no thread was started. */
void preparation_join(struct preparation *preparation);

#endif
