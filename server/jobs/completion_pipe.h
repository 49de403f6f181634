// SPDX-License-Identifier: Apache-2.0
/* completion_pipe.h - returns finished jobs: a pipe to each I/O thread, written by every worker and
 * by the dispatcher.
 *
 * Used by:  server/http and operators_worker.c open and read them; dispatcher.c, worker.c and
 *           operators_worker.c write.
 * Owns:     nothing; whichever module opened a pipe closes both ends.
 * Fails:    completion_pipe_open returns STATUS_NO_MEMORY without a large enough pipe; then both
 *           ends are -1. A lost completion is not sent again: the reader finds it by
 *           supervisor_overdue.
 * Threads:  any may send: writes of this size are atomic. A sender never waits, since the
 *           dispatcher sends under a lock that the reader needs.
 * Limits:   a pipe holds two messages for every slot: one of a worker that dies right after sending
 *           it, one of the dispatcher.
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

/* ENDS[0] is read and does not block; both close on exec. SLOTS: number of all slots. */
enum status completion_pipe_open(int ends[2], int slots, struct failure *failure);
bool completion_pipe_send(int end, const struct completion *completion);
/* Takes up to COUNT completions without waiting; returns their number. */
int completion_pipe_take(int end, struct completion *completions, int count);

#endif
