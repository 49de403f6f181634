// SPDX-License-Identifier: Apache-2.0
/* completion_pipe.h - the way back of finished jobs: a pipe to each I/O thread, written by every
 * worker and by the supervisor.
 *
 * Used by:  server/http and operators_worker.c open and read them; dispatcher.c, worker.c and
 *           operators_worker.c write.
 * Owns:     nothing; who opened a pipe closes its ends.
 * Fails:    completion_pipe_open returns STATUS_NO_MEMORY when the system has no pipe that is large
 *           enough; then both ends are -1.
 * Threads:  any may send, for a message of this size goes through whole. A sender never waits: the
 *           supervisor sends under a lock that the reader needs. So a pipe holds two messages for
 *           every slot: of a worker that dies right after it, and of the supervisor. One that is
 *           lost is not sent again: who reads the pipe looks for it, supervisor_overdue.
 */
#ifndef BURIN_COMPLETION_PIPE_H
#define BURIN_COMPLETION_PIPE_H

#include "pipeline/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { COMPLETION_PIPES_MAX = 64 };

struct completion {
    int32_t slot;
    uint32_t run_number; /* job.run_number of the run that ended */
};

/* ends[0] is read and does not block; both close on exec. SLOTS: how many there are at all. */
enum status completion_pipe_open(int ends[2], int slots, struct failure *failure);
bool completion_pipe_send(int end, const struct completion *completion);
/* Up to COUNT of those that are there; 0 when there is none. */
int completion_pipe_take(int end, struct completion *completions, int count);

#endif
