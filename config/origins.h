// SPDX-License-Identifier: Apache-2.0
/* origins.h - the list of the key `cors_origins`: web sites whose pages may read answers.
 *
 * Used by:  keys.c, to check it; server/http/cors.c, for each request.
 * Fails:    false.
 * Threads:  any; no state.
 * Limits:   a listed origin is shorter than CONFIG_ORIGINS_MAX.
 * Source:   HTML standard, serialization of an origin; RFC 6454, section 6.2.
 */
#ifndef BURIN_ORIGINS_H
#define BURIN_ORIGINS_H

#include <stdbool.h>

/* TEXT is "", "*", or origins separated by commas, each as browsers send it: lower case, no path,
 * and no default port. A different spelling would never match. */
bool origins_are_a_list(const char *text);

bool origins_are_any(const char *list); /* "*" */

/* Whether LIST, which is not "*", names ORIGIN, which may be any text. */
bool origins_name(const char *list, const char *origin);

#endif
