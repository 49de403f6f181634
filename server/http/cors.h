// SPDX-License-Identifier: Apache-2.0
/* cors.h - which pages of other web sites may call the daemon and read its answers: those of the
 * key `cors_origins`, and the page that a signed address is for.
 *
 * A browser lets a page read another site's answer only if the answer allows it. Credentials are
 * never allowed: Burin reads no cookies. Answers on `admin_listen` allow no page.
 *
 * Used by:  request_flow.c (preflights), reply.c (every answer through the library), overload.c
 *           (answers straight to the socket).
 * Owns:     nothing; a field's value is valid as long as the request.
 * Fails:    never: an origin that is not allowed gets answers that its pages cannot read.
 * Threads:  the I/O thread of the connection.
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

/* The fields of every answer to the exchange. Returns how many of FIELDS are filled; 0 if no page
 * may read any answer. */
int cors_fields(const struct exchange *exchange, struct cors_field fields[CORS_FIELDS_MAX]);

/* The same for a request that is not an exchange yet: LIST is the key's value, ORIGIN the value of
 * the request's only Origin; NULL: there is none, or several. */
int cors_fields_for(const char *list, const char *origin,
                    struct cors_field fields[CORS_FIELDS_MAX]);

/* The route for a preflight, in which a browser asks whether it may send a page's request. It
 * answers on every path, so that the request itself gets the error. NULL: the exchange is not a
 * preflight. */
const struct route *cors_preflight(struct exchange *exchange);

#endif
