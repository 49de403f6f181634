// SPDX-License-Identifier: Apache-2.0
/* problem.h - a request's failure as an answer: application/problem+json, and status to HTTP, here
 * alone.
 *
 * Used by:  request_flow.c.
 * Fails:    problem_reply without memory (reply.h); problem_on_socket returns 0.
 * Threads:  the exchange's.
 * Source:   RFC 9457.
 */
#ifndef BURIN_PROBLEM_H
#define BURIN_PROBLEM_H

#include "server/http/exchange.h"
#include "server/http/reply.h"

/* What the exchange's http_status says, or, where that is 0, its failure's status. */
int problem_http_status(const struct exchange *exchange);

struct reply problem_reply(const struct exchange *exchange);

/* Written straight to the socket, in the middle of a body, where the library could not answer:
 * nothing was sent on this connection before, so this is the whole answer. The connection must be
 * closed once the client had time to read it. Returns its bytes; 0: nothing was sent. */
size_t problem_on_socket(const struct exchange *exchange);

#endif
