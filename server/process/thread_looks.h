// SPDX-License-Identifier: Apache-2.0
/* thread_looks.h - what threads of workers did at the last look, for a front that may not look
 * itself and must not wait for one that may.
 *
 * A thread that is asked for is looked at from the next thread_looks_take on, for as long as it is
 * asked for again; until then nothing is known of it. Where no launcher is open, it is looked at
 * at once.
 *
 * Used by:  stillness.c; supervisor.c lets it look.
 * Owns:     a list of the threads that are asked for.
 * Fails:    all zero, THREAD_UNKNOWN, where the launcher does not answer.
 * Threads:  one: the supervisor's; where no launcher is open, any.
 * Limits:   LAUNCHER_LOOKS_MAX threads: of others nothing is known meanwhile.
 */
#ifndef BURIN_THREAD_LOOKS_H
#define BURIN_THREAD_LOOKS_H

#include "server/process/thread_account.h"

/* Never waits. */
struct thread_account thread_looks_last(pid_t pid, pid_t thread);

/* Looks at what was asked for since the last time. Waits as long as launcher.h says. */
void thread_looks_take(void);

#endif
