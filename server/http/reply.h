// SPDX-License-Identifier: Apache-2.0
/* reply.h - answers: JSON, text, and a job's images with their timing report. Problems: problem.h.
 *
 * Used by:  request_flow.c, which queues what is made here, and the handlers.
 * Owns:     a reply's response is the caller's. One that sends a slot's bytes takes the slot over
 *           and gives it back when it is sent: till then all that the slot holds counts as
 *           answer_bytes.
 * Fails:    `response` is NULL without memory: the connection can only be closed.
 * Threads:  the exchange's.
 */
#ifndef BURIN_REPLY_H
#define BURIN_REPLY_H

#include "server/http/exchange.h"

#include <jansson.h>

struct reply {
    struct MHD_Response *response;
    int http_status;
    uint64_t bytes;     /* of its body */
    int64_t slot_bytes; /* the exchange's slot is the response's from now on, and holds so many; 0:
                           it is not */
};

/* Consumes BODY. Probes and lists are true at this moment only: they are sent with "no-cache". */
struct reply reply_json(int http_status, json_t *body);

/* 200. TEXT is heap and becomes the response's; NULL: no memory. */
struct reply reply_text(const char *media_type, const char *cache_control, char *text);

/* The finished job of the exchange's slot: the image, the report, or both, as `answer` says.
 * STATUS_BUSY where finished answers hold answer_bytes already. */
enum status reply_job(struct exchange *exchange, struct reply *reply, struct failure *failure);

#endif
