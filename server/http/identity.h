// SPDX-License-Identifier: Apache-2.0
/* identity.h - finds out which client sends a request.
 *
 * The client is the address of the connection. If that is a trusted proxy's, the client is the last
 * address in X-Forwarded-For that does not belong to a trusted proxy: the addresses before it may
 * be forged.
 *
 * Used by:  exchange.c for each request; overload.c before a request is read.
 * Owns:     nothing.
 * Fails:    never: an address that cannot be read ends the search.
 * Threads:  any; no state.
 * Source:   RFC 7239, section 7.4, about the older header, which has the same form.
 */
#ifndef BURIN_IDENTITY_H
#define BURIN_IDENTITY_H

#include "config/networks.h"
#include "server/client.h"

#include <sys/socket.h>

/* PEER: the connection's; NULL: unknown. LINES: COUNT lines of X-Forwarded-For, in order. */
struct client identity_find(const struct networks *trusted, const struct sockaddr *peer,
                            const char *const *lines, int count);

/* The same for a connection of a trusted PROXY, which is the client if LINES name none. */
struct client identity_forwarded(const struct networks *trusted, const struct client *proxy,
                                 const char *const *lines, int count);

/* Whether PEER is a trusted proxy, so that X-Forwarded-For counts. */
bool identity_is_trusted(const struct networks *trusted, const struct sockaddr *peer);

#endif
