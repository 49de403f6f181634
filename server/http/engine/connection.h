// SPDX-License-Identifier: Apache-2.0
/* link.h - one connection: what watches it, what stands before the library, and its requests, one
 * after the other, each with the memory of the one before: 14 KB that would else be had, cleared
 * and merged with its neighbours on the heap every time.
 *
 * Used by:  front.c, as the library's socket context.
 * Owns:     its filter and its place with the watcher; never the descriptor.
 * Threads:  the I/O thread of the connection.
 */
#ifndef BURIN_CONNECTION_H
#define BURIN_CONNECTION_H

#include "server/http/engine/recv_filter.h"
#include "server/http/exchange.h"

struct link {
    struct deadline *deadline;
    struct recv_filter *filter; /* NULL: nothing may be served */
    int64_t requests;           /* so far, the one under way among them */
    int64_t start_ns;        /* of the request under way: its first byte, as far as that is known */
    char target[TARGET_MAX]; /* of the request under way, as sent */
    struct exchange exchange;
};

/* NULL: no memory. */
struct link *link_open(struct front *front, struct MHD_Connection *connection);
void link_close(struct link *link, struct front *front, struct MHD_Connection *connection);

struct link *link_of(struct MHD_Connection *connection);

/* A request for TARGET begins. */
void link_begin(struct link *link, const char *target);

/* The request is answered, the next one may have begun to come. */
void link_end(struct link *link);

#endif
