// SPDX-License-Identifier: Apache-2.0
/* reload.h - operators_dir read again while the daemon serves.
 *
 * What is right goes in force as a whole; until then, and where it cannot, what served goes on
 * serving. Requests that have begun finish with the operators that they began with.
 *
 * Used by:  front.c.
 * Owns:     nothing.
 * Fails:    reload_run: false with a sentence, and all is as it was.
 * Threads:  the main thread. I/O threads and the supervisor's wait for nothing but two locks: one
 *           is held for microseconds, the supervisor's while a process starts on each device,
 *           about a millisecond for one.
 * Limits:   two generations of workers at a time: a reload waits for those requests of the last but
 *           one that may mean a user's operator. Bodies that still come after processing_ms are
 *           refused, so it is twice that at most.
 */
#ifndef BURIN_RELOAD_H
#define BURIN_RELOAD_H

#include "server/http/front_state.h"
#include "server/user_operators.h"

/* WATCH: as user_operators_read asks and tells it; when it was told of the last file, the rest
 * takes no longer than a check, twice processing_ms and worker_start_ms. */
bool reload_run(struct front *front, const struct user_operators_watch *watch,
                struct failure *failure);

#endif
