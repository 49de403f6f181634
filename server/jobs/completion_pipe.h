// SPDX-License-Identifier: Apache-2.0
/* completion_pipe.h - the way back of finished jobs: a pipe to each I/O thread, written by every
 * worker and by the supervisor.
 *
 * Messages of that size go through whole, and a pipe holds more of them than there are slots, so a
 * writer never waits.
 */
#ifndef BURIN_COMPLETION_PIPE_H
#define BURIN_COMPLETION_PIPE_H

#include <stdbool.h>
#include <stdint.h>

enum { COMPLETION_PIPES_MAX = 64 };

struct completion {
    int32_t slot;
    uint32_t run_number; /* job.run_number of the run that ended */
};

/* ends[0] is read and does not block; both close on exec. */
bool completion_pipe_open(int ends[2]);
bool completion_pipe_send(int end, const struct completion *completion);
/* Up to COUNT of those that are there; 0 when there is none. */
int completion_pipe_take(int end, struct completion *completions, int count);

#endif
