// SPDX-License-Identifier: Apache-2.0
/* launcher.h - a process that starts, ends and observes workers for a front that may not do so.
 *
 * The front reads input from anyone. In its sandbox it can start no program, signal no process and
 * see none, but dead workers must be replaced and hanging ones ended. So the front asks the
 * launcher, a small process that is forked at the start. The launcher reads only such requests,
 * starts only this program as a worker, and ends and observes only what it has started. The new
 * processes are the front's children.
 *
 * Used by:  process.c and stillness.c; command_serve.c opens, narrows, watches and closes it.
 * Owns:     its process and the socket to it.
 * Fails:    launcher_open: STATUS_NO_MEMORY. launcher_start returns -1. Once the launcher has
 *           ended, the daemon can start no process and must end too, see launcher_wait_end.
 * Threads:  launcher_open: before there are others. launcher_start, launcher_end, launcher_look:
 *           any; a lock serializes them.
 * Limits:   a call waits up to a second for an answer, and launcher_look 50 ms; an exec takes a
 *           millisecond. A launcher that leaves requests other than looks unanswered for
 *           launcher_still_ms is killed.
 */
#ifndef BURIN_LAUNCHER_H
#define BURIN_LAUNCHER_H

#include "config/config.h"
#include "server/process/program.h"
#include "server/process/thread_status.h"

#include <signal.h>
#include <stdbool.h>

enum { LAUNCHER_LOOKS_MAX = 256 };

/* CONFIG decides which programs may be started; the launcher keeps a copy. */
enum status launcher_open(const struct config *config, struct failure *failure);

bool launcher_is_open(void);

/* Its process; 0: none was opened. */
pid_t launcher_pid(void);

/* Starts a worker as program_start does; PROGRAM's arguments must be those of a worker for the
 * front. */
pid_t launcher_start(const struct program *program);

/* Sends SIGKILL to PID, or if PID is below 0 to its group, if the launcher has started it and it is
 * not reaped. False: the launcher does not answer; ask again. */
bool launcher_end(pid_t pid);

/* Fills STATUSES with those of COUNT threads, at most LAUNCHER_LOOKS_MAX, of processes that the
 * launcher has started. Returns false if it does not answer; further calls then return false at
 * once until it has answered a request. */
bool launcher_look(const struct thread_id *threads, int count, struct thread_status *statuses);

/* Makes the launcher give up its privileges, and so those of all processes that it will start. Call
 * it once the GPU's driver has made its devices. */
void launcher_narrow(void);

/* Waits until the launcher has ended, a signal arrives that MASK does not block, or TIMEOUT_MS
 * (below 0: no limit) is over. Returns whether a launcher that was opened has ended. */
bool launcher_wait_end(const sigset_t *mask, int timeout_ms);

/* Kills the launcher and reaps it. Does nothing if none was opened. */
void launcher_close(void);

#endif
