// SPDX-License-Identifier: Apache-2.0
/* reset_on_close.h - makes the end of a connection known to a client that sends without reading.
 *
 * Where a socket is shut down while its receive buffer is full, the kernel announces no more room
 * when that buffer is read, and an orderly close says nothing either: such a client waits for room
 * until tcp_fin_timeout, a minute and more. A reset reaches it at once.
 *
 * Used by:  recv_filter.c, deadline_thread.c, admission.c, lingering_close.c: wherever a client is
 *           cut off in the middle of what it sends or receives.
 * Fails:    never; on a unix socket the shutdown itself is seen, and this does nothing.
 * Threads:  any.
 * Source:   socket(7), SO_LINGER; RFC 9293, section 3.10.4 (ABORT).
 */
#ifndef BURIN_RESET_ON_CLOSE_H
#define BURIN_RESET_ON_CLOSE_H

#include <sys/socket.h>

/* The last close of FD resets the connection, unless its client has closed before. */
static inline void reset_on_close(int fd) {
    const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

#endif
