// SPDX-License-Identifier: Apache-2.0
/* reply.h - answers: a job's image with its account, JSON, or a problem; status to HTTP, here
 * alone.
 *
 * Every function queues one response and returns what the access handler is to return. A response
 * that sends a slot's bytes takes the slot from the exchange and gives it back when it is sent:
 * till then all that the slot holds counts as answer_bytes. Otherwise the slot is free at once. The
 * body no longer counts as queue_bytes in either case.
 */
#ifndef BURIN_REPLY_H
#define BURIN_REPLY_H

#include "server/http/exchange.h"

#include <jansson.h>

int reply_http_status(enum status status);

/* The exchange's failure as application/problem+json. HTTP_STATUS 0: as the failure's status says.
 */
enum MHD_Result reply_problem(struct exchange *exchange, int http_status);

/* STATUS_BUSY while finished answers hold answer_bytes: no further work should begin. Told to
 * metrics. */
enum status reply_foresee(struct front *front, struct failure *failure);

/* The finished job of the exchange's slot: the image, the account, or both, as `answer` says; a
 * problem where finished answers hold answer_bytes already. */
enum MHD_Result reply_job(struct exchange *exchange);

/* Consumes BODY. Probes and lists tell what is so now: they are sent with "no-cache". */
enum MHD_Result reply_json(struct exchange *exchange, int http_status, json_t *body);

/* TEXT is heap and becomes the response's. */
enum MHD_Result reply_text(struct exchange *exchange, const char *media_type, char *text);

/* The exchange's failure written straight to the socket, in the middle of a body, where the library
 * could not answer: nothing was sent on this line before, so this is the whole answer. The
 * connection must be closed once the client had time to read it. false: nothing was sent. */
bool reply_on_socket(struct exchange *exchange, int http_status);

#endif
