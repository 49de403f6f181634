// SPDX-License-Identifier: Apache-2.0
/* connection.h - one client's connection: its deadline, its recv filter, and the memory that its
 * requests use one after the other.
 *
 * The memory is kept from one request to the next: 10 KB that would otherwise be allocated, cleared
 * and merged with its neighbours on the heap every time.
 *
 * Used by:  listener.c passes the first two functions to the library; http/ uses the rest.
 * Owns:     its filter, its deadline and its admission entry; never the descriptor.
 * Fails:    without memory connection_of returns NULL, or `filter` is NULL; nothing is served then.
 * Threads:  the I/O thread of the connection.
 */
#ifndef BURIN_CONNECTION_H
#define BURIN_CONNECTION_H

#include "server/http/engine/accept_balance.h"
#include "server/http/engine/admission.h"
#include "server/http/engine/deadline.h"
#include "server/http/engine/lingering_close.h"
#include "server/http/engine/recv_filter.h"
#include "server/http/engine/request_check.h"

#include <microhttpd.h>
#include <stddef.h>

struct connection {
    struct deadline *deadline;
    struct recv_filter *filter; /* NULL: nothing may be served */
    struct admission_entry entry;
    int64_t requests;    /* so far, including the present one */
    int64_t start_ns;    /* of the present request: its first byte, as far as known */
    bool answered_early; /* the present request is the last one, and its rest is dropped */
    const struct connection_options *options;
    max_align_t memory[]; /* the present request's; zeroed at the start of the connection */
};

struct connection_options {
    struct deadline_thread *deadlines;
    struct lingering_close *lingering;
    struct accept_share *share;  /* the listener's; may be NULL */
    struct admission *admission; /* the listener's; NULL: every request is let in */
    size_t header_bytes_max;     /* of a request */
    size_t request_bytes;        /* size of `memory` */

    /* struct recv_sink's functions for a large body; MEMORY: the request's. */
    void *(*body_buffer)(void *memory, size_t *size);
    bool (*body_received)(void *memory, const void *bytes, size_t length);
};

/* For MHD_OPTION_NOTIFY_CONNECTION: opens and closes. OPTIONS: struct connection_options. */
void connection_notify(void *options, struct MHD_Connection *library, void **connection,
                       enum MHD_ConnectionNotificationCode what);

/* For MHD_OPTION_URI_LOG_CALLBACK: a request begins. */
void *connection_begin_request(void *unused, const char *target, struct MHD_Connection *library);

/* The connection of the library's handle; NULL: there was no memory for it. */
struct connection *connection_of(struct MHD_Connection *library);

/* recv_filter_refusal of the present request. */
bool connection_refusal(const struct connection *connection, struct failure *failure,
                        enum head_excess *excess);

/* The facts of the present request's head, which was not refused. The library read the same as
 * request_check, except the length of a body that bypasses it, which is corrected here. */
void connection_read_facts(struct MHD_Connection *library, struct request_facts *facts);

/* The client's address, owned by the library; NULL: unknown. */
const struct sockaddr *connection_peer(struct MHD_Connection *library);

/* The value of the first request header of that name; NULL: none. */
const char *connection_header(struct MHD_Connection *library, const char *name);

struct header_lines {
    const char *name;
    const char *values[HEADERS_MAX];
    int count;
};

/* The values of all lines of a header that is a list, in order: several lines mean the same as one
 * with their values joined by commas (RFC 9110, 5.3). */
void connection_header_lines(struct MHD_Connection *library, const char *name,
                             struct header_lines *lines);

/* The value of the header NAME if the request has one line of it; NULL: none, or several. */
static inline const char *connection_only_header(struct MHD_Connection *library, const char *name) {
    struct header_lines lines;
    connection_header_lines(library, name, &lines);
    return lines.count == 1 ? lines.values[0] : NULL;
}

/* The request is answered; part of the next one may have come. */
void connection_end_request(struct connection *connection);

#endif
