// SPDX-License-Identifier: Apache-2.0
/* exchange.h - one request and its answer, from the first line to the last byte.
 *
 * Used by:  request_flow.c, which alone changes `state`, and everything that it calls.
 * Owns:     its slot, until a response takes it over (reply.h) or the request ends.
 * Threads:  the I/O thread of its connection; while its job is away the deadlines' thread, if the
 *           client disconnects, reads `slot` to cancel it.
 */
#ifndef BURIN_EXCHANGE_H
#define BURIN_EXCHANGE_H

#include "server/http/engine/connection.h"
#include "server/http/front_state.h"
#include "server/http/multipart.h"
#include "server/http/negotiation.h"
#include "server/http/settings.h"

enum { FIELD_NAME_MAX = 64, FIELD_VALUE_MAX = 16384 };

/* A further image of the form: its bytes in the slot, and the part's name. */
struct upload_aux {
    const char *name; /* an operator's record's */
    uint64_t offset, length;
};

struct upload {
    bool multipart;
    struct multipart parser;
    uint64_t bytes; /* of the body, so far */
    int64_t held;   /* of front.body_bytes_held, ours */
    int images;     /* image parts seen */
    int aux_count;
    struct upload_aux aux[OP_AUX_MAX];
    uint64_t *image_length;    /* the part under way is an image: counts its bytes; else NULL */
    const struct part *unused; /* the part under way, so far: see upload.c; NULL: it is used */
    char field[FIELD_NAME_MAX];
    char *value; /* of the field under way; heap, FIELD_VALUE_MAX + 1 bytes, allocated at the first
                    field */
    size_t value_length;
};

enum exchange_state {
    EXCHANGE_HEAD,     /* nothing of its body has been asked for */
    EXCHANGE_BODY,     /* its body comes, to be used or, once it is refused, to be dropped */
    EXCHANGE_WAITING,  /* its job is away, its connection suspended */
    EXCHANGE_ANSWERED, /* its response is queued */
    EXCHANGE_LINGERING /* refused on the socket; what still comes is read and dropped for a while */
};

struct exchange {
    struct front *front;
    const struct front_listener *listener;
    struct connection *connection;
    struct MHD_Connection *library; /* its name for the connection */
    struct generation *generation;  /* its operators, held as long as one may be planned; or NULL */
    const struct route *route;      /* NULL: none, as http_status says */
    enum exchange_state state;
    const char *method, *path; /* the library's; path: without the query, unescaped */
    char request_id[REQUEST_ID_MAX];
    char label[48];         /* operator's name, "pipeline", "info"...: for metrics and logs */
    struct client client; /* who sent it: see identity.h */
    struct request_facts facts;
    struct settings settings;
    enum answer answer; /* as Accept says; set once the body is there */
    struct upload upload;
    struct failure failure; /* the first thing that went wrong */
    const char *allow;      /* of a 405: the methods that there are */
    bool unreadable_rest;   /* what follows it on its connection cannot be read */
    bool accepted;          /* it counts in front.accepted */
    bool abandoned;         /* it counts in front.abandoned */
    int slot;               /* -1: none, or a response's by now */
    int64_t start_ns, received_ns;
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

/* No user's operator is planned any more: a client that is slow must not keep them. */
void exchange_release_generation(struct exchange *exchange);

/* Users' operators may be planned again, now that none is: those of this moment. */
void exchange_hold_generation(struct exchange *exchange);

/* Only a request that may still mean a user's operator keeps its generation while its body comes:
 * a reload waits for it. */
void exchange_release_unplanned(struct exchange *exchange);

/* The client has what ETAG names, as its If-None-Match says. */
bool exchange_is_known(const struct exchange *exchange, const char *etag);

static inline struct job *exchange_job(const struct exchange *exchange) {
    return slot_job(exchange->front->slots, exchange->slot);
}

#endif
