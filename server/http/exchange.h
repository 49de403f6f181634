// SPDX-License-Identifier: Apache-2.0
/* exchange.h - one request from its first line to the last byte of its answer.
 *
 * Owns:     its slot, until a response takes it over (reply.c) or the request ends.
 * Threads:  the I/O thread of its connection; while its job is away the watcher's, if the client
 *           leaves, reads `slot` to cancel it.
 */
#ifndef BURIN_EXCHANGE_H
#define BURIN_EXCHANGE_H

#include "config/config.h"
#include "server/http/accept.h"
#include "server/http/gate.h"
#include "server/http/io.h"
#include "server/http/listen.h"
#include "server/http/multipart.h"
#include "server/http/settings.h"
#include "server/http/watch.h"
#include "server/jobs/line.h"
#include "server/jobs/slot.h"
#include "server/jobs/supervisor.h"
#include "server/metrics.h"

#include <microhttpd.h>

enum { TARGET_MAX = 4096, FIELD_NAME_MAX = 64, FIELD_VALUE_MAX = 16384 };

/* Where requests come in: one for each io. */
struct door {
    struct front *front;
    struct io *io;
    int line[2]; /* a pipe on which finished jobs come back; not the admin's */
    bool admin;  /* probes and metrics alone */
};

/* What all requests share; read-only but for the counters. */
struct front {
    const struct config *config;
    struct slots *slots;
    struct supervisor *supervisor;
    struct watch *watch;
    struct farewell *farewell;
    struct metrics *metrics;
    struct door
        doors[LINES_MAX + 1]; /* io_threads of them for `listen`, then one for `admin_listen` */
    int lines[LINES_MAX];     /* their write ends, for the supervisor */
    int door_count, port;
    struct listen_file
        files[2];              /* of `listen` and of `admin_listen`, where they are unix sockets */
    int64_t body_bytes_held;   /* atomic: bodies that come, wait or are worked on, against
                                  queue_bytes */
    int64_t answer_bytes_held; /* atomic: slots whose image is being sent, the body before it too,
                                  against answer_bytes; the I/O threads' */
    int64_t request_count;     /* atomic */
    uint32_t run_id;           /* so that request ids of two runs differ */
    int exchanges;             /* atomic: requests under way */
    int accepted;              /* atomic: of these, work that the drain waits for */
    int asleep;                /* atomic: those whose connection is suspended */
    int draining;              /* atomic */
};

/* A further image of the form: its bytes in the slot, and the part's name. */
struct upload_part {
    const char *name; /* an operator's record's */
    uint64_t offset, length;
};

/* The body on its way into the slot. */
struct upload {
    bool multipart;
    struct multipart parser;
    uint64_t bytes; /* of the body, so far */
    int64_t held;   /* of front.body_bytes_held, ours */
    int images;     /* image parts seen */
    int part_count;
    struct upload_part parts[OP_AUX_MAX];
    uint64_t *image_length; /* the part under way is an image: what counts its bytes; else NULL */
    char field[FIELD_NAME_MAX];
    char *
        value; /* of the field under way; heap, FIELD_VALUE_MAX + 1 bytes, had at the first field */
    size_t value_length;
};

enum exchange_state {
    EXCHANGE_BEGIN,
    EXCHANGE_BODY,
    EXCHANGE_WAITING,
    EXCHANGE_ANSWERED,
    EXCHANGE_LINGERING /* refused on the socket; what still comes is read and dropped for a while */
};

struct exchange {
    struct front *front;
    struct MHD_Connection *connection;
    struct watched *watched;
    const struct door *door;
    const struct route *route;
    enum exchange_state state;
    char target[TARGET_MAX]; /* as sent */
    const char *method;
    char request_id[REQUEST_ID_MAX];
    char label[32]; /* operator's name, "pipeline", "info"...: for metrics and logs */
    struct gate_facts facts;
    struct settings settings;
    enum answer answer; /* as Accept says; set once the body is there */
    struct upload upload;
    struct failure failure; /* the first thing that went wrong */
    bool spoiled;           /* what follows it on its connection cannot be read */
    bool accepted;          /* it counts in front.accepted */
    int slot;               /* -1: none, or a response's by now */
    int64_t start_ns, received_ns;
    /* kept for the log line, since the slot may be gone by then */
    int http_status;
    uint64_t bytes_out;
    struct timing timing;
    char device[DEVICE_NAME_MAX]; /* "": no worker had it */
    uint64_t pixels;              /* of the input worked on */
};

/* 0: no; 1: readiness says no; 2: new requests are refused. */
static inline int front_draining(const struct front *front) {
    return __atomic_load_n(&front->draining, __ATOMIC_SEQ_CST);
}

/* Then a new body is refused. */
static inline bool front_full(const struct front *front) {
    return slots_in_use(front->slots) >= slots_count(front->slots);
}

static inline struct job *exchange_job(const struct exchange *exchange) {
    return slot_job(exchange->front->slots, exchange->slot);
}

/* For the next request of its connection. */
void exchange_clear(struct exchange *exchange);

/* Its request id: the client's, or the next of ours. */
void exchange_name(struct exchange *exchange);

/* What the request holds goes back: at its end, and as soon as it is refused, for a client may take
 * its time to send the rest of a body that nobody wants. Its budget of bytes goes first: whoever
 * sees the slot free finds room for a body too. */
void exchange_let_go(struct exchange *exchange);

/* Notes the first failure of the request; later ones are its consequences. */
enum status exchange_fail(struct exchange *exchange, const struct failure *failure);

/* Its line in the log: of work and of whatever went wrong, not of probes. */
void exchange_log(const struct exchange *exchange, double total_ms);

/* The query becomes settings, up to the first that is refused. */
enum status exchange_query(struct exchange *exchange, struct failure *failure);

/* Value of a request header, or NULL; of several lines of that name the first. */
const char *exchange_header(const struct exchange *exchange, const char *name);

/* TAKE gets the value of each line of a request header that is a list, in order. To read one behind
 * the other is to read them joined by commas, which is what they mean (RFC 9110, 5.3). */
void exchange_lines(const struct exchange *exchange, const char *name,
                    void (*take)(void *context, const char *value), void *context);

#endif
