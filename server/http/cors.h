// SPDX-License-Identifier: Apache-2.0
/* cors.h - which pages of other web sites may call the daemon and read its answers, by the key
 * `cors_origins`.
 *
 * A browser lets a page read what another site answers only where the answer allows it. Credentials
 * are never allowed: there are none here. What is served on `admin_listen` is no page's business.
 *
 * Used by:  request_flow.c (preflights, and every answer through the library), problem.c and
 *           overload.c (answers straight to the socket).
 * Owns:     nothing; a field's value lives as long as the request.
 * Fails:    never: an origin that is not allowed gets answers that its pages cannot read.
 * Threads:  the exchange's.
 * Limits:   the value of a field is shorter than CONFIG_ORIGINS_MAX.
 * Source:   Fetch standard, section 3.3; Resource Timing, section 4.5.
 */
#ifndef BURIN_CORS_H
#define BURIN_CORS_H

#include "server/http/route.h"

enum { CORS_FIELDS_MAX = 4, CORS_FIELDS_BYTES = 2 * CONFIG_ORIGINS_MAX + 512 };

struct cors_field {
    const char *name, *value;
};

/* What every answer to the exchange has: returns how many of FIELDS are filled; 0 where the key is
 * empty. */
int cors_fields(const struct exchange *exchange, struct cors_field fields[CORS_FIELDS_MAX]);

/* The same for a request that is not an exchange yet: LIST is the key's value, ORIGIN the value of
 * its only header of that name; NULL: there is none, or several. */
int cors_fields_for(const char *list, const char *origin,
                    struct cors_field fields[CORS_FIELDS_MAX]);

/* What answers a browser that asks, before it sends a page's request, whether it may: for every
 * path, so that the request itself tells what is wrong with it. NULL: the exchange is no such
 * question. */
const struct route *cors_preflight(const struct exchange *exchange);

#endif
