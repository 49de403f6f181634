// SPDX-License-Identifier: Apache-2.0
/* exchange.h - one request and its answer, from the first line to the last byte.
 *
 * Used by:  front.c gives the three functions to its listeners; everything that a request calls
 *           reads the struct, but only exchange.c changes `state`.
 * Owns:     its slot, until a response takes it over (reply.h) or the request ends.
 * Threads:  the I/O thread of its connection; while its job is away the deadlines' thread, if the
 *           client disconnects, reads `slot` to cancel it.
 */
#ifndef BURIN_EXCHANGE_H
#define BURIN_EXCHANGE_H

#include "server/http/engine/connection.h"
#include "server/http/front_state.h"
#include "server/http/negotiation.h"
#include "server/http/settings.h"
#include "server/http/upload.h"

enum { TARGET_MAX = 4094 /* bytes */ };

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
    const struct route *route;      /* NULL: none, as http_status says */
    enum exchange_state state;
    const char *method;
    char request_id[REQUEST_ID_MAX];
    char label[32]; /* operator's name, "pipeline", "info"...: for metrics and logs */
    struct request_facts facts;
    struct settings settings;
    enum answer answer; /* as Accept says; set once the body is there */
    struct upload upload;
    struct failure failure; /* the first thing that went wrong */
    const char *allow;      /* of a 405: the methods that there are */
    bool unreadable_rest;   /* what follows it on its connection cannot be read */
    bool accepted;          /* it counts in front.accepted */
    int slot;               /* -1: none, or a response's by now */
    int64_t start_ns, received_ns;
    /* kept for the log line, since the slot may be gone by then */
    int http_status;
    uint64_t bytes_out;
    struct timing timing;
    char device[DEVICE_NAME_MAX]; /* "": no worker got it */
    uint64_t pixels;              /* of the input image */
};

static inline struct job *exchange_job(const struct exchange *exchange) {
    return slot_job(exchange->front->slots, exchange->slot);
}

/* For listener_options; the context is a struct front_listener. */
enum MHD_Result exchange_request(void *context, struct MHD_Connection *library, const char *path,
                                 const char *method, const char *version, const char *body,
                                 size_t *length, void **state);
void exchange_jobs_completed(void *context, int pipe);
void exchange_ended(void *context, struct MHD_Connection *library, void **state,
                    enum MHD_RequestTerminationCode how);

#endif
