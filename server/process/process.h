// SPDX-License-Identifier: Apache-2.0
/* process.h - starts and ends worker processes: this program again, by exec.
 *
 * A CUDA process must not be forked from one with threads, so a worker is always a new program.
 *
 * Used by:  worker_handle.c, worker_list.c, supervisor.c, operators_worker.c and worker.c;
 *           user_operators.c, main.c, command_worker.c, command_config.c and command_serve.c.
 * Owns:     nothing: the caller reaps the process of process_start, with process_reap or
 *           process_end; the functions that ask a process reap theirs.
 * Fails:    process_start returns -1; those that ask a process explain in FAILURE.
 * Threads:  any; no state.
 * Limits:   a call waits for a process no longer than its timeout plus PROCESS_END_MS.
 */
#ifndef BURIN_PROCESS_H
#define BURIN_PROCESS_H

#include "config/config.h"
#include "pipeline/status.h"
#include "server/jobs/completion_pipe.h"
#include "server/jobs/slot.h"

#include <stdbool.h>
#include <sys/types.h>

/* The descriptors of a worker: its slots, its end of the channel, the texts of users' operators
 * (only an operators worker has them), the slots' head, and the completion pipes of all I/O threads
 * (of its worker, in a sandbox). Standard error is the log; standard input and output are
 * /dev/null. */
enum {
    PROCESS_SLOTS_FD = 3,
    PROCESS_CHANNEL_FD = 4,
    PROCESS_OPERATORS_FD = 5,
    PROCESS_HEAD_FD = 6,
    PROCESS_PIPES_FD = 7
};

/* The same descriptors in the process that starts the worker. */
struct process_files {
    struct slots_files slots;
    int channel;
    int operators; /* -1: none */
    const int *pipes;
    int pipe_count;
};

enum { PROCESS_END_MS = 3000, PROCESS_STACK_BYTES = 8 << 20, PROCESS_STACK_MIN = 1 << 20 };

enum process_role {
    PROCESS_WORKER,    /* runs jobs of built-in operators */
    PROCESS_OPERATORS, /* passes jobs of users' operators on to a sandbox of its own */
    PROCESS_SANDBOX,   /* runs users' operators; its slots are separate memory */
    PROCESS_CELL,      /* passes runs of jobs on to a decoding cell of its own */
    PROCESS_DECODE,    /* that cell; its slots are separate memory */
};

/* The number of cores that this process may use. */
int process_cores(void);

/* Gives all threads stacks of PROCESS_STACK_BYTES, and the main one too if the system allows it,
 * whatever `ulimit -s` is. Before there are other threads. False: the main one is limited to less
 * than PROCESS_STACK_MIN. */
bool process_set_stacks(struct failure *failure);

/* Starts `burin worker --device DEVICE`; returns when that program runs. */
pid_t process_start(const char *device, enum process_role role, const struct process_files *files);

/* Prepares `burin worker`, before anything else: it ignores SIGINT, SIGTERM and SIGPIPE, ends when
 * its parent ends, and dumps no core. */
void process_become_worker(void);

/* Keeps other processes of the same user from reading its memory or its files through /proc. For
 * processes without a GPU's driver, which uses /proc/self. exec undoes it. */
void process_keep_memory_private(void);

/* The exit code of a cell's worker that was killed with the job of a client that has gone. */
enum { PROCESS_CANCELLED = 71 };

/* Whether a process has ended; CODE: its exit code or minus the signal. Never waits, since a driver
 * may hold a process that was killed. */
bool process_reap(pid_t pid, int *code);

/* Kills a process, or if PID is below 0 its group. False: the launcher has to do it and does not
 * answer; ask again. Waits as long as launcher.h says. */
bool process_kill(pid_t pid);

/* Kills a process and reaps it as process_reap does; false: it has not ended at UNTIL, a time of
 * clock_ns. */
bool process_end(pid_t pid, int64_t until, int *code);

struct process_limits {
    int timeout_ms;
    int (*interrupted)(void); /* polled; true cancels; may be NULL */
};

/* Runs this program with ARGUMENTS and INPUT as its standard input, and waits for its end. OUTPUT:
 * its output and errors, cut to SIZE. GOOD: its exit status was 0. STATUS_INTERNAL: it crashed or
 * could not be started; STATUS_DEADLINE, STATUS_CANCELLED: it was killed by LIMITS. */
enum status process_check(char *const arguments[], int input, const struct process_limits *limits,
                          char *output, size_t size, bool *good, struct failure *failure);

/* The number of GPUs, from `burin worker --count`: a separate process, since counting loads the
 * driver, which must not run in the front. Fails as process_check does. */
enum status process_count_gpus(const struct process_limits *limits, int *count,
                               struct failure *failure);

/* Loads the file at PATH in a separate process, for a daemon that can open no file by now.
 * STATUS_BAD_PARAM: the file is wrong, and FAILURE has that process's sentence. Otherwise fails as
 * process_check does, and with STATUS_INTERNAL if the answer is not a configuration. */
enum status process_read_config(const char *path, const struct process_limits *limits,
                                struct config *config, struct failure *failure);

/* That process: prints the configuration as it is in memory, or the mistake. Returns its exit
 * status. */
int process_print_config(const char *path);

#endif
