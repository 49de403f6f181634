// SPDX-License-Identifier: Apache-2.0
/* lingering_close.h - two ways to close a socket so that its client learns of the end: leave it
 * open until the client has read its last answer, or reset it.
 *
 * The kernel resets a connection that is closed with unread bytes, or that receives bytes after the
 * close. A reset discards what was not sent yet, earlier answers included. So lingering_close keeps
 * a copy of the socket and drops what arrives until the client closes.
 *
 * The opposite problem: when a socket is shut down with a full receive buffer, the kernel never
 * announces a larger window, and an orderly close sends nothing either. A client that sends without
 * reading waits for that window until tcp_fin_timeout, a minute or more. A reset reaches it at
 * once.
 *
 * Used by:  connection.c lingers after a refusal, the only case in which a client sends what is
 *           never read; recv_filter.c, deadline.c and admission.c reset a client that they cut off
 *           while it sends or receives.
 * Owns:     its thread and its copies of descriptors; the caller closes its own descriptor.
 * Fails:    lingering_close_create returns NULL: no thread, no memory or no descriptors.
 *           reset_on_close never: on a unix socket, where the client sees the shutdown, it has no
 *           effect.
 * Threads:  any.
 * Limits:   LINGERING_MAX sockets, each for 2 s and 4 MiB; beyond that they are closed at once.
 * Source:   RFC 9112, section 9.6; nginx's directive of that name. socket(7), SO_LINGER; RFC 9293,
 *           section 3.10.4 (ABORT).
 */
#ifndef BURIN_LINGERING_CLOSE_H
#define BURIN_LINGERING_CLOSE_H

#include <sys/socket.h>

enum { LINGERING_MAX = 128 };

struct lingering_close;

struct lingering_close *lingering_close_create(void);

/* At most MAX sockets, and never more than LINGERING_MAX: each takes a descriptor. Call it before
 * the first lingering_close_add. */
void lingering_close_set_max(struct lingering_close *lingering, int max);

/* Closes all copies. Accepts NULL. */
void lingering_close_destroy(struct lingering_close *lingering);

/* Call it before FD is closed: keeps a copy of FD open. */
void lingering_close_add(struct lingering_close *lingering, int fd);

/* The last close of FD will reset the connection, unless the client has closed it before. */
static inline void reset_on_close(int fd) {
    const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

#endif
