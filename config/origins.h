// SPDX-License-Identifier: Apache-2.0
/* origins.h - the list that the key `cors_origins` holds: web sites whose pages may read answers.
 *
 * Used by:  formats.c, to refuse what is no list; server/http/cors.c, for each request.
 * Fails:    false.
 * Threads:  any; no state.
 * Limits:   an origin is shorter than CONFIG_ORIGINS_MAX; a longer one is in no list.
 * Source:   HTML standard, serialization of an origin; RFC 6454, section 6.2.
 */
#ifndef BURIN_ORIGINS_H
#define BURIN_ORIGINS_H

#include <stdbool.h>

/* "", "*", or origins with commas between, each spelled as browsers send it: lower case, no path,
 * and no port that the scheme has anyway. Any other spelling would never match. */
bool origins_are_a_list(const char *text);

bool origins_are_any(const char *list);

/* Does LIST name ORIGIN, which may be any text? Of "*" this is not asked. */
bool origins_name(const char *list, const char *origin);

#endif
