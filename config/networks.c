// SPDX-License-Identifier: Apache-2.0
#include "config/networks.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESS_BITS = 128, IPV4_FROM = 96 };

static const uint8_t ipv4_prefix[12] = { [10] = 0xff, [11] = 0xff };

bool networks_read_address(const char *text, struct in6_addr *address) {
    if (inet_pton(AF_INET6, text, address) == 1) return true;
    memcpy(address->s6_addr, ipv4_prefix, sizeof ipv4_prefix);
    return inet_pton(AF_INET, text, address->s6_addr + sizeof ipv4_prefix) == 1;
}

static bool has_prefix(const struct in6_addr *address, const struct in6_addr *prefix, int bits) {
    const int whole = bits / 8, rest = bits % 8;
    if (memcmp(address->s6_addr, prefix->s6_addr, (size_t)whole) != 0) return false;
    return !rest || (address->s6_addr[whole] ^ prefix->s6_addr[whole]) >> (8 - rest) == 0;
}

static bool ends_in_zeros(const struct network *network) {
    int zeros = 0;
    for (int i = ADDRESS_BITS - 1; i >= 0; i--, zeros++)
        if (network->address.s6_addr[i / 8] >> (7 - i % 8) & 1) break;
    return ADDRESS_BITS - zeros <= network->bits;
}

/* Reads the length of a prefix: up to 128, or 32 for an IPv4 address. */
static bool read_bits(const char *text, bool ipv4, int *bits) {
    const size_t digits = strspn(text, "0123456789");
    if (digits < 1 || digits > 3 || text[digits] || (digits > 1 && *text == '0')) return false;
    *bits = atoi(text) + (ipv4 ? IPV4_FROM : 0);
    return *bits <= ADDRESS_BITS;
}

static bool read_network(const char *text, struct network *network) {
    char address[INET6_ADDRSTRLEN];
    const size_t length = strcspn(text, "/");
    if (length >= sizeof address) return false;
    snprintf(address, sizeof address, "%.*s", (int)length, text);
    if (!networks_read_address(address, &network->address)) return false;
    network->bits = ADDRESS_BITS;
    if (text[length] && !read_bits(text + length + 1, !strchr(address, ':'), &network->bits))
        return false;
    return ends_in_zeros(network);
}

static bool add(struct networks *networks, const char *entry) {
    if (strcmp(entry, "unix") == 0) return networks->unix_sockets = true;
    return networks->count < NETWORKS_MAX && read_network(entry, &networks->all[networks->count++]);
}

bool networks_read(const char *text, struct networks *networks) {
    *networks = (struct networks){ .count = 0 };
    bool good = true;
    for (bool more = *text; more && good;) {
        char entry[INET6_ADDRSTRLEN + sizeof "/128"];
        const size_t length = strcspn(text, ",");
        good = length < sizeof entry;
        snprintf(entry, sizeof entry, "%.*s", (int)length, text);
        good = good && add(networks, entry);
        more = text[length] == ',';
        text += length + more;
    }
    return good;
}

bool networks_have(const struct networks *networks, const struct in6_addr *address) {
    for (int i = 0; i < networks->count; i++)
        if (has_prefix(address, &networks->all[i].address, networks->all[i].bits)) return true;
    return false;
}
