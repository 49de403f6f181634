// SPDX-License-Identifier: Apache-2.0
/* launcher.h - a process that starts workers, ends them and looks at them, for a front that may do
 * none of it itself.
 *
 * The front reads what anyone sends; once its sandbox is closed it can start no program, signal no
 * process and see none, but dead workers have to be replaced and lost ones ended. So it asks a
 * small process for it, forked at the start, which reads nothing but such requests, starts nothing
 * but this program as a worker, and ends and looks at nothing but what it has started. That is the
 * front's child.
 *
 * Used by:  process.c and thread_looks.c; command_serve.c opens, narrows, watches and closes it.
 * Owns:     its process and the socket to it.
 * Fails:    launcher_open: STATUS_NO_MEMORY. launcher_start returns -1; where the launcher has
 *           ended, the daemon can start nothing any more: so it ends too, see launcher_wait_end.
 * Threads:  launcher_open: before there are others. launcher_start, launcher_end, launcher_look:
 *           any, one after the other.
 * Limits:   an answer is waited for a second, an exec takes a millisecond; to look, 50 ms. One that
 *           answers nothing for launcher_still_ms, but looks, is killed.
 */
#ifndef BURIN_LAUNCHER_H
#define BURIN_LAUNCHER_H

#include "config/config.h"
#include "server/process/program.h"
#include "server/process/thread_account.h"

#include <signal.h>
#include <stdbool.h>

enum { LAUNCHER_LOOKS_MAX = 256 };

/* CONFIG decides what may be started, and stays as it is. */
enum status launcher_open(const struct config *config, struct failure *failure);

bool launcher_is_open(void);

/* Its process; 0: none was opened. */
pid_t launcher_pid(void);

/* As program_start; PROGRAM's arguments are those of a worker for the front. */
pid_t launcher_start(const struct program *program);

/* SIGKILL to PID, or where that is below 0 to its whole group, if the launcher has started it and
 * it was not reaped. false: nobody answers, ask again. */
bool launcher_end(pid_t pid);

/* Fills ACCOUNTS with the states of COUNT threads, up to LAUNCHER_LOOKS_MAX, of processes that the
 * launcher has started. Returns false if it does not answer; later calls then return false at once
 * until it has answered something. */
bool launcher_look(const struct thread_id *threads, int count, struct thread_account *accounts);

/* Privileges are needed no longer: the driver has made its devices. It gives up its own, and so
 * starts nothing that has any. */
void launcher_narrow(void);

/* Waits until it has ended, a signal came that MASK lets through, or TIMEOUT_MS is over; below 0:
 * never. Returns whether it has ended; where none was opened, never. */
bool launcher_wait_end(const sigset_t *mask, int timeout_ms);

/* Ends it, and waits for that. Does nothing where none was opened. */
void launcher_close(void);

#endif
