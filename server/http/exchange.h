// SPDX-License-Identifier: Apache-2.0
/* exchange.h - one request and its answer, from the first line to the last byte.
 *
 * Used by:  request_flow.c, which alone changes `state`, and everything that it calls.
 * Owns:     its request.
 * Threads:  the I/O thread of its connection; while its job is away the deadlines' thread cancels
 *           it if the client disconnects.
 */
#ifndef BURIN_EXCHANGE_H
#define BURIN_EXCHANGE_H

#include "server/http/engine/connection.h"
#include "server/http/front_state.h"
#include "server/http/imaginary.h"
#include "server/request/request.h"

enum exchange_state {
    EXCHANGE_HEAD,     /* nothing of its body has been asked for */
    EXCHANGE_BODY,     /* its body comes, to be used or, once it is refused, to be dropped */
    EXCHANGE_WAITING,  /* its job is away, its connection suspended */
    EXCHANGE_ANSWERED, /* its response is queued */
    EXCHANGE_LINGERING /* refused on the socket; what still comes is read and dropped for a while */
};

struct exchange {
    struct request request; /* what is asked for; its owner is this exchange */
    struct front *front;
    const struct front_listener *listener;
    struct connection *connection;
    struct MHD_Connection *library; /* its name for the connection */
    const struct route *route;      /* NULL: none, as http_status says */
    enum exchange_state state;
    const char *method, *path; /* the library's; path: without the query, unescaped */
    struct request_facts facts;
    struct imaginary imaginary; /* the request's dialect, if imaginary's names are understood */
    struct failure failure;     /* the first thing that went wrong */
    const char *allow;          /* of a 405: the methods that there are */
    bool unreadable_rest;       /* what follows it on its connection cannot be read */
    bool accepted;              /* it counts in front.accepted */
    bool abandoned;             /* it counts in front.abandoned */
    /* kept for the log line, since the slot may be gone by then */
    int http_status;
    uint64_t bytes_out;
    struct timing timing;
    char device[DEVICE_NAME_MAX]; /* "": no worker got it */
    uint64_t pixels;              /* of the input image */
};

/* A request has come on a connection; in its memory. NULL: the library has none for it. */
struct exchange *exchange_begin(const struct front_listener *listener,
                                struct MHD_Connection *library, const char *method);

/* The id that a client has GIVEN, of LENGTH bytes, where it is harmless, else 128 random bits: who
 * knows an id sees its progress. */
void exchange_make_id(const char *given, size_t length, char id[REQUEST_ID_MAX]);

/* The Content-Encoding that compresses the body, as sent; NULL: there is none. */
const char *exchange_coding(const struct exchange *exchange);

/* The client has what ETAG names, as its If-None-Match says. */
bool exchange_is_known(const struct exchange *exchange, const char *etag);

#endif
