// SPDX-License-Identifier: Apache-2.0
/* admission.h - lets requests in as long as there is room. While there is none, a request is
 * refused before the library sees a byte of it, or waits unread in its socket.
 *
 * A refusal costs a look at the head and one answer written to the socket. Refusals have a bounded
 * share of the processor's time. A request that comes when that is used up waits, is let in in its
 * turn, and is not refused later. So a client is refused at once or not at all, and clients that
 * retry again and again take no time from jobs.
 *
 * Used by:  connection.c (each connection has an entry), recv_filter.c asks before each request,
 *           listener.c calls it in each turn.
 * Owns:     only the order of waiting requests; the entry is the connection's.
 * Fails:    admission_create returns NULL without memory. A request is let in if its head is
 *           incomplete, or announces no body, a long one or one of unknown length.
 * Threads:  the I/O thread of its connections.
 */
#ifndef BURIN_ADMISSION_H
#define BURIN_ADMISSION_H

#include "server/client.h"
#include "server/http/engine/deadline.h"
#include "server/http/engine/request_check.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum room { ROOM_FREE, ROOM_UNSURE /* requests just let in may take it */, ROOM_NONE };

struct admission_options {
    /* For CLIENT; COUNT requests were let in and may not hold room yet. */
    enum room (*room)(void *context, const struct client *client, int count);
    /* A request that needs room, by its head, is refused or waits; called repeatedly while it
     * waits. */
    void (*wanted)(void *context);
    /* For ROOM_NONE: prints the refusal of REQUEST into OUT, of SIZE bytes, and returns its length;
     * 0: let it in. *LAST: the refusal ends its connection, and says so. */
    size_t (*refusal)(void *context, const struct client *client,
                      const struct request_head *request, const struct request_facts *facts,
                      char *out, size_t size, bool *last);
    /* The client that requests of PEER (NULL: unknown) count for. */
    struct client (*client)(void *context, const struct sockaddr *peer);
    void *context;
    int64_t refusing_ns; /* time for refusals in each second */
    int64_t waiting_ns;  /* after this time a waiting request is let in without room */
};

/* Bytes; a request with a longer body than UNWANTED_MAX is let in. */
enum { REFUSAL_MAX = 4096, UNWANTED_MAX = 1 << 20 };

struct admission;

/* A connection's. Zeroed, then admission_join. */
struct admission_entry {
    struct admission *admission; /* NULL: every request is let in */
    struct client client;
    int row; /* the queue that it waits in */
    struct admission_entry *next, *previous;
    struct deadline *deadline;
    int fd;
    enum { ADMISSION_OUTSIDE, ADMISSION_WAITING, ADMISSION_LET_IN } state;
    int64_t since_ns;     /* when the request that waits, or was let in, came */
    uint64_t unwanted;    /* bytes of a refused request still to be dropped */
    bool in_doubt;        /* it waits a turn or two until it is sure whether there is room */
    bool last;            /* the refusal ends the connection */
    _Atomic bool hung_up; /* while it waited; set by the deadline thread */
};

struct admission *admission_create(const struct admission_options *options);
void admission_destroy(struct admission *admission); /* accepts NULL */

/* EPOLL: the library's, before it has connections. */
void admission_watch(struct admission *admission, int epoll);

/* FD and DEADLINE: the connection's. PEER may be NULL. */
void admission_join(struct admission *admission, struct admission_entry *entry, int fd,
                    const struct sockaddr *peer, struct deadline *deadline);
void admission_leave(struct admission_entry *entry);

/* The connection may have bytes of a new request, none read yet. True: do not read them now; the
 * library gets another event when they may be read. *SINCE_NS is set for a request that waited and
 * is let in: when it came. */
bool admission_keeps_out(struct admission_entry *entry, int64_t *since_ns);

/* The first bytes of the request that was let in were read. */
void admission_begun(struct admission_entry *entry);

/* Call it after each turn of the library: lets in the oldest requests for which there is room.
 * Returns the milliseconds until the next call; -1: no request waits. */
int admission_turn(struct admission *admission);

/* Requests have waited for 50 ms and more: new ones need not be read at once. */
bool admission_is_crowded(const struct admission *admission);

#endif
