// SPDX-License-Identifier: Apache-2.0
/* reply.h - answers: JSON, text, and the result of a job. Problems: problem.h.
 *
 * Used by:  request_flow.c, which queues them, and the handlers, which make them.
 * Owns:     the caller owns a reply's response. A response with bytes of a slot takes over the slot
 *           and gives it back when it is sent; until then all bytes of the slot count as
 *           answer_bytes.
 * Fails:    `response` is NULL without memory: the connection can only be closed.
 * Threads:  the I/O thread of the connection.
 */
#ifndef BURIN_REPLY_H
#define BURIN_REPLY_H

#include "server/http/exchange.h"

#include <jansson.h>

struct reply {
    struct MHD_Response *response;
    int http_status;
    uint64_t bytes;     /* of its body */
    int64_t slot_bytes; /* bytes of the exchange's slot, which now belongs to the response; 0: it
                           does not */
};

/* Consumes BODY. Sent with "no-cache": probes and lists are true only now. */
struct reply reply_json(int http_status, json_t *body);

/* 200. TEXT is heap, and the response frees it; NULL: no memory. */
struct reply reply_text(const char *media_type, const char *cache_control, char *text);

/* Calls ADD for each further header field of every answer to the exchange, problems too. */
void reply_fields(const struct exchange *exchange,
                  void (*add)(void *to, const char *name, const char *value), void *to);

/* The result of the finished job in the exchange's slot, with times and sizes as headers.
 * STATUS_BUSY: finished answers hold answer_bytes already. */
enum status reply_job(struct exchange *exchange, struct reply *reply, struct failure *failure);

#endif
