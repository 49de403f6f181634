// SPDX-License-Identifier: Apache-2.0
/* problem.h - a request's failure as an answer, application/problem+json; the only place where a
 * status becomes an HTTP status.
 *
 * Used by:  request_flow.c, for an exchange; overload.c prints one before there is an exchange.
 * Owns:     nothing; the caller owns a reply's response.
 * Fails:    problem_reply without memory (reply.h); problem_on_socket and problem_print return 0.
 * Threads:  the I/O thread of the connection.
 * Source:   RFC 9457.
 */
#ifndef BURIN_PROBLEM_H
#define BURIN_PROBLEM_H

#include "server/http/cors.h"
#include "server/http/exchange.h"
#include "server/http/reply.h"

/* The exchange's http_status or, if that is 0, the HTTP status of its failure. */
int problem_http_status(const struct exchange *exchange);

struct reply problem_reply(const struct exchange *exchange);

/* Writes the whole answer to the socket, in the middle of a body, where the library could not
 * answer. Nothing of an answer may have been sent. The connection must be closed once the client
 * has had time to read it. Returns the bytes sent; 0: none. */
size_t problem_on_socket(const struct exchange *exchange);

/* An answer that does not go through the library. */
struct problem {
    int http_status;
    const struct failure *failure;
    const char *id;  /* of the request */
    const char *key; /* the id of its key; NULL or "": none */
    const struct trace *trace;
    bool closes;    /* it ends its connection */
    bool head_only; /* the answer to HEAD: a body would be read as the next answer */
    size_t length;  /* of `fields` */
    char fields[CORS_FIELDS_BYTES + TRACE_STATE_MAX + 2 * QUOTA_FIELD_MAX +
                128]; /* further header lines; zeroed: none */
};

/* TO: a struct problem, as reply_fields calls this. */
void problem_add_field(void *to, const char *name, const char *value);

/* Prints head and body into OUT and returns their length; 0: they are longer than SIZE. */
size_t problem_print(const struct problem *problem, char *out, size_t size);

#endif
