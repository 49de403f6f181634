// SPDX-License-Identifier: Apache-2.0
/* admission.h - lets requests in as long as there is room. While there is none, a request is
 * refused before the library sees a byte of it, or waits unread in its socket.
 *
 * A refusal costs a look at the head and one answer that is written to the socket. Refusals may
 * take a share of the processor's time, no more: a request that comes when it is used up waits, is
 * not refused later, and is let in in its turn. So a client is refused at once or not at all, and
 * clients that ask again and again take nothing from the work that is done.
 *
 * Used by:  connection.c (each connection has an entry), recv_filter.c asks before each request,
 *           listener.c gives each turn of the library.
 * Owns:     nothing but the order of those that wait; the entry is the connection's.
 * Fails:    admission_create returns NULL without memory. A request whose head has not come whole,
 *           or that announces no body, a long one or one of unknown length, is let in.
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

enum room { ROOM_FREE, ROOM_UNSURE /* those that were let in may fill it */, ROOM_NONE };

struct admission_options {
    /* For CLIENT; COUNT requests were let in and may not be counted yet. */
    enum room (*room)(void *context, const struct client *client, int count);
    /* A request that needs room, as far as its head tells, is refused or waits; again and again
     * while it does. */
    void (*wanted)(void *context);
    /* There is ROOM_NONE: the refusal of REQUEST into OUT, of SIZE bytes. Its length; 0: it is to
     * be let in. *LAST: it ends its connection, and says so. */
    size_t (*refusal)(void *context, const struct client *client,
                      const struct request_head *request, const struct request_facts *facts,
                      char *out, size_t size, bool *last);
    /* Whom the connection of PEER (NULL: unknown) is counted for. */
    struct client (*client)(void *context, const struct sockaddr *peer);
    void *context;
    int64_t refusing_ns; /* in each second, so long may be spent on refusals */
    int64_t waiting_ns;  /* after that a request is let in, whatever becomes of it */
};

enum { REFUSAL_MAX = 4096, UNWANTED_MAX = 1 << 20 /* a longer body is let in */ };

struct admission;

/* Zeroed, then admission_join. */
struct admission_entry {
    struct admission *admission; /* NULL: all is let in */
    struct client client;
    int row; /* where it waits, if it does */
    struct admission_entry *next, *previous;
    struct deadline *deadline;
    int fd;
    enum { ADMISSION_OUTSIDE, ADMISSION_WAITING, ADMISSION_LET_IN } state;
    int64_t since_ns;  /* of the request that waits, or was let in */
    uint64_t unwanted; /* bytes of a refused request that are still to be dropped */
    bool in_doubt;     /* it waits for a turn or two: no room was found, nor that there is none */
    bool last;         /* it is the last one of its connection */
    _Atomic bool hung_up; /* while it waited */
};

struct admission *admission_create(const struct admission_options *options);
void admission_destroy(struct admission *admission);

/* The library's epoll, before it has connections. */
void admission_watch(struct admission *admission, int epoll);

/* PEER may be NULL. */
void admission_join(struct admission *admission, struct admission_entry *entry, int fd,
                    const struct sockaddr *peer, struct deadline *deadline);
void admission_leave(struct admission_entry *entry);

/* The connection may have bytes of a request, none of which was read. True: it is not to be read
 * now; the library is told when it is. *SINCE_NS: when the request that is let in came, if it
 * waited; else left alone. */
bool admission_keeps_out(struct admission_entry *entry, int64_t *since_ns);

/* Bytes of the request that was let in were read. */
void admission_begun(struct admission_entry *entry);

/* After each turn of the library: lets in the oldest for which there is room. Milliseconds until it
 * wants to be called again; -1: nobody waits. */
int admission_turn(struct admission *admission);

/* Requests wait for long: what comes now need not be looked at at once. */
bool admission_is_crowded(const struct admission *admission);

#endif
