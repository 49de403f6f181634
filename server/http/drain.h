// SPDX-License-Identifier: Apache-2.0
/* drain.h - the end of a front's requests: what was accepted is served, new requests are refused,
 * and only then new connections are ignored; or, where another process takes over the sockets,
 * nothing is refused at all.
 *
 * Used by:  front.c.
 * Threads:  the main thread. The I/O threads keep running: the library is stopped later, by
 *           front_destroy (engine/README.md).
 */
#ifndef BURIN_DRAIN_H
#define BURIN_DRAIN_H

#include "server/http/front_state.h"

/* As front_drain says. Afterwards the listeners accept no further connection. */
void drain_run(struct front *front, int (*interrupted)(void));

/* Until COUNTER, where there is one, is 0: true; false: TIMEOUT_MS is over, or INTERRUPTED says so.
 */
bool drain_wait(const int *counter, long timeout_ms, int (*interrupted)(void));

#endif
