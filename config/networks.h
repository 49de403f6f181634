// SPDX-License-Identifier: Apache-2.0
/* networks.h - the list that the key `trusted_proxies` holds: networks in CIDR notation, and `unix`
 * for whoever connects through a unix socket.
 *
 * An IPv4 address is the IPv6 address ::ffff:a.b.c.d here, as a socket that serves both has it.
 *
 * Used by:  formats.c, to refuse what is no list; server/http/client.c, for each request.
 * Owns:     nothing; plain data.
 * Fails:    false.
 * Threads:  any; no state.
 * Limits:   NETWORKS_MAX networks.
 * Source:   RFC 4632, section 3.1; RFC 4291, sections 2.3 and 2.5.5.2.
 */
#ifndef BURIN_NETWORKS_H
#define BURIN_NETWORKS_H

#include <netinet/in.h>
#include <stdbool.h>

enum { NETWORKS_MAX = 64 };

struct networks {
    int count;
    bool unix_sockets;
    struct network {
        struct in6_addr address; /* bits behind the prefix are 0 */
        int bits;                /* of the prefix, 0 to 128 */
    } all[NETWORKS_MAX];
};

/* "", or with commas between: `unix`, an address, or an address and the length of its prefix:
 * 10.0.0.0/8. An address with bits behind its prefix is no network. */
bool networks_read(const char *text, struct networks *networks);

/* TEXT is an IPv4 or IPv6 address and nothing else. */
bool networks_read_address(const char *text, struct in6_addr *address);

bool networks_have(const struct networks *networks, const struct in6_addr *address);

#endif
