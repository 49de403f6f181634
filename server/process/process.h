// SPDX-License-Identifier: Apache-2.0
/* process.h - starts and ends worker processes: this program again, by exec.
 *
 * A CUDA process must not be forked from one with threads, so a worker is always a fresh program.
 *
 * Used by:  worker_handle.c, worker_list.c, supervisor.c, operators_worker.c and worker.c;
 *           user_operators.c, command_worker.c and command_serve.c.
 * Fails:    process_start returns -1; those that ask say why in their failure.
 * Threads:  any; no state.
 * Limits:   whoever waits for a process waits no longer than its timeout and PROCESS_END_MS.
 */
#ifndef BURIN_PROCESS_H
#define BURIN_PROCESS_H

#include "pipeline/status.h"
#include "server/jobs/completion_pipe.h"
#include "server/jobs/slot.h"

#include <stdbool.h>
#include <sys/types.h>

/* Descriptors under which a worker finds its slots, its end of the channel, the texts of users'
 * operators (an operators worker alone), the slots' head, and the completion pipes of all I/O
 * threads; a sandbox those of its worker. Beyond these it has standard error, for the log, and as
 * standard input and output nothing. */
enum {
    PROCESS_SLOTS_FD = 3,
    PROCESS_CHANNEL_FD = 4,
    PROCESS_OPERATORS_FD = 5,
    PROCESS_HEAD_FD = 6,
    PROCESS_PIPES_FD = 7
};

/* What they are in the process that starts the worker. */
struct process_files {
    struct slots_files slots;
    int channel;
    int operators; /* -1: none */
    const int *pipes;
    int pipe_count;
};

enum { PROCESS_END_MS = 3000 };

enum process_role {
    PROCESS_WORKER,    /* runs jobs of built-in operators */
    PROCESS_OPERATORS, /* passes jobs of users' operators on to a sandbox of its own */
    PROCESS_SANDBOX,   /* runs users' operators; its slots are another memory */
};

/* `burin worker --device DEVICE`; returns when that program runs. */
pid_t process_start(const char *device, enum process_role role, const struct process_files *files);

/* In `burin worker`, before all else: signals are the front's, it ends when its parent does, and it
 * dumps no core. */
void process_become_worker(void);

/* No other process of the same user can read its memory or open its files by /proc. For processes
 * without a GPU's driver, which looks at itself there. exec undoes it. */
void process_keep_memory_private(void);

/* Whether a process has ended, and then its exit code or minus the signal. Never waits, for a
 * driver may hold a process that was killed. */
bool process_reap(pid_t pid, int *code);

/* Kills a process, or where PID is below 0 its whole group. false: that takes the launcher, which
 * does not answer; ask again. Waits as long as launcher.h says. */
bool process_kill(pid_t pid);

/* Kills a process and reaps it as process_reap does; false: at UNTIL, a time of clock_ns, it still
 * has not ended. */
bool process_end(pid_t pid, int64_t until, int *code);

struct process_limits {
    int timeout_ms;
    int (*interrupted)(void); /* is asked now and then: true ends it; NULL: nothing does */
};

/* Runs this program with ARGUMENTS and INPUT as its standard input, and waits for its end. OUTPUT:
 * what it wrote, cut to SIZE. GOOD: its exit status was 0. STATUS_INTERNAL: it crashed or could not
 * be started; STATUS_DEADLINE, STATUS_CANCELLED: it was killed as LIMITS say. */
enum status process_check(char *const arguments[], int input, const struct process_limits *limits,
                          char *output, size_t size, bool *good, struct failure *failure);

/* How many GPUs `burin worker --count` sees: asked in a process of its own, since asking wakes the
 * driver, which the front must stay clear of. Fails as process_check does. */
enum status process_count_gpus(const struct process_limits *limits, int *count,
                               struct failure *failure);

#endif
