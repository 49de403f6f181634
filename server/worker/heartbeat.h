// SPDX-License-Identifier: Apache-2.0
/* heartbeat.h - a worker's thread that reports every HEARTBEAT_MS that the process runs.
 *
 * A thread of its own, because a long job keeps a lane busy and a driver may block the GPU sampler.
 * It does not report on the lanes: the front reads from their jobs whether they make progress.
 *
 * Used by:  worker.c; worker_handle.c and operators_worker.c keep the time of the last message, and
 *           look at the thread when none comes (stillness.h).
 * Owns:     its thread, from heartbeat_start to heartbeat_join.
 * Fails:    heartbeat_start returns false when no thread can be started.
 * Threads:  its own ends when the front closes the channel; join only after that.
 */
#ifndef BURIN_HEARTBEAT_H
#define BURIN_HEARTBEAT_H

#include "server/jobs/channel.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

/* A receiver that heard nothing for HEARTBEAT_LATE_MS checks the thread (stillness.h). */
enum { HEARTBEAT_MS = 100, HEARTBEAT_LATE_MS = 250 };

struct heartbeat {
    int channel; /* borrowed until heartbeat_join */
    pthread_t thread;
    int number; /* the thread's id, once it was started */
    sem_t begun;
    bool started;
    struct message ready; /* the content of every heartbeat once `is_ready` is set */
    int is_ready;         /* atomic */
};

/* Returns when the thread runs. */
bool heartbeat_start(struct heartbeat *heartbeat);
/* From now on every heartbeat repeats MESSAGE, the READY, which may be lost. Call it once. */
void heartbeat_set_ready(struct heartbeat *heartbeat, const struct message *message);

void heartbeat_join(struct heartbeat *heartbeat); /* does nothing if it was not started */

#endif
