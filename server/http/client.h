// SPDX-License-Identifier: Apache-2.0
/* client.h - who a request comes from: whom the queue is fair to, and whom the log names.
 *
 * It is the address of the connection. Where that is a trusted proxy's, it is the last address in
 * X-Forwarded-For that no trusted proxy wrote: what stands before it anybody may have made up. An
 * IPv4 address is ::ffff:a.b.c.d; all who come through a unix socket are one client, ::, unless
 * such sockets are trusted.
 *
 * Used by:  exchange.c, for each request; request_flow.c prints it; handle_process.c.
 * Fails:    never: an address that cannot be read is not believed, and ends the search.
 * Threads:  any; no state.
 * Source:   RFC 7239, section 7.4, of the older header's same form.
 */
#ifndef BURIN_CLIENT_H
#define BURIN_CLIENT_H

#include "config/networks.h"

#include <sys/socket.h>

enum { CLIENT_TEXT_MAX = INET6_ADDRSTRLEN };

/* PEER: of the connection; NULL: unknown. LINES: COUNT lines of X-Forwarded-For, in order. */
struct in6_addr client_find(const struct networks *trusted, const struct sockaddr *peer,
                            const char *const *lines, int count);

/* The same where the connection is of a trusted PROXY, whose address the result is where LINES name
 * nobody. */
struct in6_addr client_forwarded(const struct networks *trusted, const struct in6_addr *proxy,
                                 const char *const *lines, int count);

/* Whom PEER may speak for: then the lines of X-Forwarded-For count. */
bool client_peer_is_trusted(const struct networks *trusted, const struct sockaddr *peer);

/* Of an IPv6 address the first 64 bits: a host has as many addresses as it likes within them. */
struct in6_addr client_unit(const struct in6_addr *client);

/* 192.0.2.1, 2001:db8::1, or unix. */
void client_print(const struct in6_addr *client, char text[CLIENT_TEXT_MAX]);

#endif
