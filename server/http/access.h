// SPDX-License-Identifier: Apache-2.0
/* access.h - asks a request for its key, once its route is known and before its body is read, if
 * there is a file of keys.
 *
 * Work on images needs a key, and so does GET /quota. Documents, probes and metrics do not.
 *
 * Used by:  request_flow.c.
 * Owns:     nothing.
 * Fails:    as judge.h does; access_enter also with STATUS_BUSY, and with the HTTP status 429 if
 *           the key is over a limit.
 * Threads:  the I/O thread of the connection.
 */
#ifndef BURIN_ACCESS_H
#define BURIN_ACCESS_H

#include "server/http/exchange.h"

/* Fills the grant of the exchange's request. */
enum status access_check(struct exchange *exchange, struct failure *failure);

/* Sets the grant's origin, as of the request for whose METHOD a preflight asks. */
void access_note_page(struct exchange *exchange, const char *method);

/* Sets a parameter as an argument of the query says, unless that belongs to the signature. */
enum status access_set(struct exchange *exchange, const char *name, const char *value,
                       struct failure *failure);

/* The rest of the head is right. STATUS_EXPIRED: the address served its only request before. */
enum status access_enter(struct exchange *exchange, struct failure *failure);

/* Work begins: the address has served its only request, however that ends. */
static inline void access_spend(struct exchange *exchange) {
    exchange->request.grant.once_taken = false;
}

/* The job was submitted: charges the key what it is predicted to take, and then, once the job is
 * back, what it took: nothing if no worker began it. */
void access_submitted(struct exchange *exchange);
void access_returned(struct exchange *exchange);

/* The address may be used again: the request was refused for lack of room before work began. */
void access_give_back(struct exchange *exchange);

/* The exchange has ended. */
void access_leave(struct exchange *exchange);

#endif
