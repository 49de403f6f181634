// SPDX-License-Identifier: Apache-2.0
/* lingering_close.h - keeps a socket that the library closes open for a while, so that its last
 * answer arrives.
 *
 * Closing a socket with bytes unread, or to which more come, makes the kernel reset the connection
 * and discard what it has not sent yet, answers to earlier requests among it. So what still comes
 * is read and dropped until the client has closed.
 *
 * Used by:  connection.c, for connections that ended with a refusal: only there does a client send
 *           what nobody reads.
 * Owns:     its thread and its copies of descriptors.
 * Fails:    lingering_close_create returns NULL: no thread, no memory or no descriptors.
 * Threads:  any.
 * Limits:   LINGERING_MAX sockets, 2 s and 4 MiB each; beyond that they are closed at once.
 * Source:   RFC 9112, section 9.6; nginx has a directive of that name.
 */
#ifndef BURIN_LINGERING_CLOSE_H
#define BURIN_LINGERING_CLOSE_H

enum { LINGERING_MAX = 128 };

struct lingering_close;

struct lingering_close *lingering_close_create(void);

/* No more than so many, LINGERING_MAX at most: each takes a descriptor. Before the first. */
void lingering_close_set_max(struct lingering_close *lingering, int max);
void lingering_close_destroy(struct lingering_close *lingering);

/* Before FD is closed by its owner: a copy of it stays open. */
void lingering_close_add(struct lingering_close *lingering, int fd);

#endif
