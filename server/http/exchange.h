// SPDX-License-Identifier: Apache-2.0
/* exchange.h - one HTTP request and its answer, from the first line to the last byte.
 *
 * Used by:  request_flow.c, which alone changes `state`, and the files that it calls.
 * Owns:     its request; its own memory belongs to the connection.
 * Threads:  the I/O thread of its connection. While its job is away, the deadline thread cancels
 *           the job if the client disconnects.
 */
#ifndef BURIN_EXCHANGE_H
#define BURIN_EXCHANGE_H

#include "server/http/engine/connection.h"
#include "server/http/front_state.h"
#include "server/http/imaginary.h"
#include "server/request/request.h"

enum exchange_state {
    EXCHANGE_HEAD,     /* its body is not read yet */
    EXCHANGE_BODY,     /* its body is read, to be used or, after a refusal, dropped */
    EXCHANGE_WAITING,  /* its job is away, its connection suspended */
    EXCHANGE_ANSWERED, /* its response is queued */
    EXCHANGE_LINGERING /* refused on the socket; the rest is read and dropped for a while */
};

/* An image, for the log. */
struct image_facts {
    char type[32];          /* a media type; "": not known */
    uint32_t width, height; /* 0: not known, or several */
};

struct exchange {
    struct request request; /* its owner is this exchange */
    struct front *front;
    const struct front_listener *listener;
    struct connection *connection;
    struct MHD_Connection *library; /* libmicrohttpd's handle for this connection */
    struct key_table *keys;         /* in force when its head came; NULL: no key is asked for */
    const struct route *route;      /* NULL: none; http_status is set */
    enum exchange_state state;
    const char *method, *path; /* the library's; path: without the query, unescaped */
    struct request_facts facts;
    struct imaginary imaginary; /* the request's dialect, if imaginary's names are understood */
    struct failure failure;     /* the first one */
    const char *allow;          /* for a 405: the value of Allow */
    bool unreadable_rest;       /* no further request can be read on its connection */
    bool accepted;              /* it counts in front.accepted */
    bool abandoned;             /* it counts in front.abandoned */
    bool predicted;             /* its key is charged what its job is predicted to take */
    /* for the log line: the slot may be gone by then */
    int http_status;
    uint64_t bytes_out;
    struct timing timing;
    char device[DEVICE_NAME_MAX]; /* "": no worker got it */
    uint64_t pixels;              /* of the input image */
    double device_ms;             /* that its job took */
    struct image_facts input, output;
};

/* A request has come: its exchange, in the connection's memory. NULL: the connection has none. */
struct exchange *exchange_begin(const struct front_listener *listener,
                                struct MHD_Connection *library, const char *method);

/* The id that a client has GIVEN, of LENGTH bytes, if its characters are harmless; else 128 random
 * bits, since anyone who knows an id can see its progress. */
void exchange_make_id(const char *given, size_t length, char id[REQUEST_ID_MAX]);

/* The Content-Encoding that compresses the body; NULL: none. */
const char *exchange_coding(const struct exchange *exchange);

#endif
