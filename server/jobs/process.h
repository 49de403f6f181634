// SPDX-License-Identifier: Apache-2.0
/* process.h - starts, ends and awaits worker processes: this program again, by exec.
 *
 * A CUDA process must not be forked from one with threads, so a worker is always a fresh program.
 */
#ifndef BURIN_PROCESS_H
#define BURIN_PROCESS_H

#include "server/jobs/completion_pipe.h"

#include <sys/types.h>

/* Descriptors under which a worker finds its slots, its end of the channel, and the lines. */
enum { PROCESS_SLOTS_FD = 3, PROCESS_CHANNEL_FD = 4, PROCESS_PIPES_FD = 5 };

/* `burin worker --device DEVICE`; -1 when it could not be started. */
pid_t process_start(const char *device, int slots_fd, int channel_fd, const int *pipes,
                    int pipe_count);

/* Kills it if it lives, waits for its end, returns its exit code or minus the signal. */
int process_end(pid_t pid);

/* How many GPUs `burin worker --count` sees: asked in a process of its own, since asking wakes the
 * driver, which the front must stay clear of. */
int process_count_gpus(void);

#endif
