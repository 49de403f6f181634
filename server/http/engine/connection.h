// SPDX-License-Identifier: Apache-2.0
/* connection.h - one client's connection: its deadline, its recv filter, and the memory of its
 * requests, which follow each other in it.
 *
 * The memory is kept from one request to the next: 10 KB that would otherwise be allocated, cleared
 * and merged with its neighbours on the heap every time.
 *
 * Used by:  listener.c gives the first two functions to the library; http/request_flow.c (the
 *           rest).
 * Owns:     its filter, its deadline and its place among those that wait; never the descriptor.
 * Fails:    without memory there is no connection, and nothing is served.
 * Threads:  the I/O thread of the connection.
 */
#ifndef BURIN_CONNECTION_H
#define BURIN_CONNECTION_H

#include "server/http/engine/accept_balance.h"
#include "server/http/engine/admission.h"
#include "server/http/engine/deadline_thread.h"
#include "server/http/engine/lingering_close.h"
#include "server/http/engine/recv_filter.h"
#include "server/http/engine/request_check.h"

#include <microhttpd.h>
#include <stddef.h>

struct connection {
    struct deadline *deadline;
    struct recv_filter *filter; /* NULL: nothing may be served */
    struct admission_entry entry;
    int64_t requests;    /* so far, the one under way among them */
    int64_t start_ns;    /* of the request under way: its first byte, as far as known */
    bool answered_early; /* it is the last one, and what still comes is dropped */
    const struct connection_options *options;
    max_align_t memory[]; /* the request's, zeroed at the start of the connection */
};

struct connection_options {
    struct deadline_thread *deadlines;
    struct lingering_close *lingering;
    struct accept_share *share;  /* the listener's; may be NULL */
    struct admission *admission; /* the listener's; NULL: all requests are let in */
    size_t header_bytes_max;     /* of a request */
    size_t request_bytes;        /* of memory for its requests */

    /* Of a large body, beside the library (struct recv_sink); MEMORY: the request's. */
    void *(*body_place)(void *memory, size_t *room);
    bool (*body_take)(void *memory, const void *bytes, size_t length);
};

/* For MHD_OPTION_NOTIFY_CONNECTION: opens and closes. OPTIONS: struct connection_options. */
void connection_notify(void *options, struct MHD_Connection *library, void **connection,
                       enum MHD_ConnectionNotificationCode what);

/* For MHD_OPTION_URI_LOG_CALLBACK: a request begins. */
void *connection_begin_request(void *unused, const char *target, struct MHD_Connection *library);

/* The one that belongs to the library's; NULL: there was no memory for it. */
struct connection *connection_of(struct MHD_Connection *library);

/* Was the request under way refused, its head or its body? As recv_filter_refusal. */
bool connection_refusal(const struct connection *connection, struct failure *failure,
                        enum head_excess *excess);

/* What the library read in the head of the request under way, which was not refused: the same that
 * request_check read, but for the length of a body that passes by the library. */
void connection_read_facts(struct MHD_Connection *library, struct request_facts *facts);

/* Who has connected; NULL: unknown. The library's. */
const struct sockaddr *connection_peer(struct MHD_Connection *library);

/* Value of a request header, or NULL; of several lines of that name the first. */
const char *connection_header(struct MHD_Connection *library, const char *name);

struct header_lines {
    const char *name;
    const char *values[HEADERS_MAX];
    int count;
};

/* The values of all lines of a header that is a list, in order: one line after the other means the
 * same as both joined by a comma (RFC 9110, 5.3). */
void connection_header_lines(struct MHD_Connection *library, const char *name,
                             struct header_lines *lines);

/* The request is answered, the next one may have begun to come. */
void connection_end_request(struct connection *connection);

#endif
