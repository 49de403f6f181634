// SPDX-License-Identifier: Apache-2.0
/* networks.h - the list of the key `trusted_proxies`: networks in CIDR notation, and `unix` for all
 * clients of a unix socket.
 *
 * An IPv4 address is represented as the IPv6 address ::ffff:a.b.c.d, as on a socket that serves
 * both.
 *
 * Used by:  keys.c, to check it; server/http/identity.c, for each request; server/access/judge.c.
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
        struct in6_addr address; /* bits after the prefix are 0 */
        int bits;                /* of the prefix, 0 to 128 */
    } all[NETWORKS_MAX];
};

/* TEXT is empty, or entries separated by commas: `unix`, an address, or an address and the length
 * of its prefix: 10.0.0.0/8. An address with bits after its prefix is refused. */
bool networks_read(const char *text, struct networks *networks);

/* TEXT is an IPv4 or IPv6 address and nothing else. */
bool networks_read_address(const char *text, struct in6_addr *address);

bool networks_have(const struct networks *networks, const struct in6_addr *address);

#endif
