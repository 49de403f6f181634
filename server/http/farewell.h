// SPDX-License-Identifier: Apache-2.0
/* farewell.h - keeps a socket that the library closes for a while, so that its last answer arrives.
 *
 * Closing a socket with bytes unread, or to which more come, makes the kernel reset the connection
 * and throw away what it has not sent yet, answers to earlier requests among it. So what still
 * comes is read and dropped, by a thread of its own, until the client has closed.
 * Used by:  link.c, for connections that ended with a refusal: only there does a client send what
 *           nobody reads.
 * Bounds:   FAREWELLS_MAX sockets, 2 s and 4 MiB each; beyond that they are closed as they would
 * be. Source:   RFC 9112, section 9.6.
 */
#ifndef BURIN_FAREWELL_H
#define BURIN_FAREWELL_H

enum { FAREWELLS_MAX = 128 };

struct farewell;

struct farewell *farewell_create(void); /* NULL: no thread, no memory or no descriptors */
void farewell_destroy(struct farewell *farewell);

/* Before FD is closed by its owner: a copy of it lingers. */
void farewell_take(struct farewell *farewell, int fd);

#endif
