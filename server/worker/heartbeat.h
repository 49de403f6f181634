// SPDX-License-Identifier: Apache-2.0
/* heartbeat.h - a worker's thread that tells the front, again and again, that the process runs.
 *
 * Apart from the lanes, which a long job keeps busy, and from the GPU sampler, which a driver may
 * hold up. It says nothing of the lanes: whether they move is read from their jobs.
 *
 * Used by:  worker.c; worker_handle.c and operators_worker.c keep the time of the last message, and
 *           look at the thread when none comes (stillness.h).
 * Owns:     its thread, from heartbeat_start to heartbeat_join.
 * Fails:    heartbeat_start returns false when no thread can be started.
 * Threads:  ends when the front closes the channel; join only after that.
 */
#ifndef BURIN_HEARTBEAT_H
#define BURIN_HEARTBEAT_H

#include "server/jobs/channel.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

/* How often; who has heard nothing for HEARTBEAT_LATE_MS asks why. */
enum { HEARTBEAT_MS = 100, HEARTBEAT_LATE_MS = 250 };

struct heartbeat {
    int channel; /* borrowed until heartbeat_join */
    pthread_t thread;
    int number; /* the kernel's of the thread, once it was started */
    sem_t begun;
    bool started;
    struct message ready; /* what every heartbeat tells; atomic `is_ready`: it is there */
    int is_ready;
};

/* Returns when the thread runs. */
bool heartbeat_start(struct heartbeat *heartbeat);
/* From now on every heartbeat says what MESSAGE, a READY, does: that one may be lost. Once. */
void heartbeat_tell(struct heartbeat *heartbeat, const struct message *message);

void heartbeat_join(struct heartbeat *heartbeat); /* does nothing if it was not started */

#endif
