// SPDX-License-Identifier: Apache-2.0
/* access.h - asks a request for its key, once its route is known and before its body is read, if
 * there is a file of keys.
 *
 * Work on images needs a key. Documents, probes and metrics do not.
 *
 * Used by:  request_flow.c.
 * Owns:     nothing.
 * Fails:    as judge.h does; access_enter also with STATUS_BUSY.
 * Threads:  the I/O thread of the connection.
 */
#ifndef BURIN_ACCESS_H
#define BURIN_ACCESS_H

#include "server/http/exchange.h"

/* Fills the grant of the exchange's request. */
enum status access_check(struct exchange *exchange, struct failure *failure);

/* Sets the grant's origin, as of the request for whose METHOD a preflight asks. */
void access_note_page(struct exchange *exchange, const char *method);

/* Whether an argument of the query sets a parameter; *STATUS: it may not. */
bool access_takes(const struct exchange *exchange, const char *name, const char *value,
                  enum status *status, struct failure *failure);

/* The rest of the head is right. STATUS_EXPIRED: the address served its only request before. */
enum status access_enter(struct exchange *exchange, struct failure *failure);

/* Work begins: the address has served its only request, however that ends. */
static inline void access_spend(struct exchange *exchange) {
    exchange->request.grant.once_taken = false;
}

/* The exchange is answered. A request that was refused for lack of room before work began may come
 * again. */
void access_leave(struct exchange *exchange);

#endif
