// SPDX-License-Identifier: Apache-2.0
/* representation.h - which form of a file a client takes, and whether it has that form already.
 *
 * Used by:  handle_page.c, exchange.c.
 * Owns:     nothing: pure functions.
 * Fails:    never: what cannot be read allows nothing and names nothing.
 * Threads:  any; no state.
 * Source:   RFC 9110, 8.8.3, 12.5.3 and 13.1.2.
 */
#ifndef BURIN_REPRESENTATION_H
#define BURIN_REPRESENTATION_H

#include <stdbool.h>

/* What the lines of Accept-Encoding seen so far say of gzip; zeroed: nothing. */
struct representation_codings {
    bool named, gzip, any;
};

void representation_add_codings(struct representation_codings *codings, const char *line);
bool representation_takes_gzip(const struct representation_codings *codings);

/* Does a line of If-None-Match name ETAG, which has its quotes? The comparison is the weak one: a
 * W/ before a name changes nothing. */
bool representation_is_known(const char *line, const char *etag);

#endif
