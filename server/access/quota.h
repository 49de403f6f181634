// SPDX-License-Identifier: Apache-2.0
/* quota.h - how much a group of keys may ask for: requests, bytes, pixels and milliseconds of
 * devices a second, and requests in progress.
 *
 * A group has a ledger, and a request is charged there by the limits of its own key: requests and
 * bytes at its head, pixels and milliseconds when its job goes, as predicted, and anew when its end
 * shows what it took. A request is let in if the ledger is not overdrawn; so a large one may
 * overdraw it, and the next ones wait.
 *
 * Used by:  http/access.c; http/reload.c links them; reply and metrics show them.
 * Owns:     a ledger belongs to the tables of keys and the requests that hold it: a reload keeps
 *           what was used.
 * Fails:    quota_link without memory.
 * Threads:  any; each ledger has a lock. quota_link: the main thread.
 * Limits:   a group for each key, at most KEYS_MAX, and those of former keys with requests in
 *           progress.
 * Source:   ITU-T I.371, the generic cell rate algorithm; draft-ietf-httpapi-ratelimit-headers-10.
 */
#ifndef BURIN_QUOTA_H
#define BURIN_QUOTA_H

#include "server/access/key_table.h"
#include "server/client.h"

enum quota_limit {
    QUOTA_REQUESTS,
    QUOTA_BYTES,
    QUOTA_PIXELS,
    QUOTA_DEVICE_MS,
    QUOTA_IN_PROGRESS,
    QUOTA_LIMITS,
    QUOTA_RATES = QUOTA_IN_PROGRESS /* those before it are by the second */
};

/* Its member in the file of keys. */
const char *quota_limit_name(enum quota_limit limit);

struct quota; /* the ledger of a group */

/* Gives each key of NEXT the ledger that its group has in BEFORE, or a new one. Of each limit a
 * second a DIVISOR-th counts. */
bool quota_link(struct key_table *next, const struct key_table *before, long divisor);

void quota_hold(struct quota *quota);    /* accepts NULL */
void quota_release(struct quota *quota); /* accepts NULL */

const char *quota_group(const struct quota *quota);

/* The client that requests of the group count as when clients share: no address is equal to it. */
struct client quota_client(const struct quota *quota);

/* One request. Zeroed: it has no key. */
struct quota_use {
    struct quota *quota; /* held by the owner of this; NULL: none */
    struct key_limits limits;
    int64_t charged_ns[QUOTA_RATES];
    bool entered;          /* it is in progress */
    int retry_s;           /* it was refused, and may come again after that; 0: it was not */
    enum quota_limit over; /* for which it was refused */
};

/* NOW: of clock_ns, as in all of these. Charges one request and BYTES, and counts it as in
 * progress; false: it is refused, and nothing is charged. */
bool quota_enter(struct quota_use *use, int64_t bytes, int64_t now);

/* Makes AMOUNT all that the request is charged of LIMIT, whatever that was before. */
void quota_charge(struct quota_use *use, enum quota_limit limit, double amount, int64_t now);

void quota_leave(struct quota_use *use); /* any number of times */

/* The request's key has so much of a limit; `most` 0: there is no limit. */
struct quota_balance {
    double most;     /* at once */
    double left;     /* below 0: overdrawn */
    int64_t full_ns; /* until all of it is left again, without further requests */
    long window_s;   /* in which `most` comes back; 0: it is no rate */
};

/* Returns how many requests of the group are in progress. */
int quota_look(const struct quota_use *use, int64_t now,
               struct quota_balance balances[QUOTA_LIMITS]);

/* The values of RateLimit-Policy and RateLimit; false: there are no limits. */
enum { QUOTA_FIELD_MAX = 384 };
bool quota_print(const struct quota_use *use, int64_t now, char policy[QUOTA_FIELD_MAX],
                 char state[QUOTA_FIELD_MAX]);

#endif
