// SPDX-License-Identifier: Apache-2.0
#include "server/http/identity.h"

#include <stdio.h>
#include <string.h>

static struct in6_addr address_of(const struct sockaddr *peer) {
    struct in6_addr address = IN6ADDR_ANY_INIT;
    if (peer && peer->sa_family == AF_INET6)
        address = ((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr;
    if (!peer || peer->sa_family != AF_INET) return address;
    address.s6_addr[10] = address.s6_addr[11] = 0xff;
    memcpy(address.s6_addr + 12, &((const struct sockaddr_in *)(const void *)peer)->sin_addr, 4);
    return address;
}

bool identity_is_trusted(const struct networks *trusted, const struct sockaddr *peer) {
    if (!peer || peer->sa_family == AF_UNIX) return trusted->unix_sockets;
    if (!trusted->count) return false;
    const struct in6_addr address = address_of(peer);
    return networks_have(trusted, &address);
}

/* LENGTH bytes at TEXT: 192.0.2.1, 192.0.2.1:80, 2001:db8::1, [2001:db8::1] or [2001:db8::1]:80. */
static bool read_entry(const char *text, size_t length, struct in6_addr *address) {
    char entry[CLIENT_TEXT_MAX];
    const char *colon = memchr(text, ':', length), *bracket = memchr(text, ']', length);
    if (length && *text == '[') {
        if (!bracket) return false;
        const size_t rest = length - (size_t)(bracket + 1 - text);
        if (rest && bracket[1] != ':') return false;
        text++;
        length = (size_t)(bracket - text);
    } else if (colon && !memchr(colon + 1, ':', length - (size_t)(colon + 1 - text))) {
        length = (size_t)(colon - text);
    }
    if (length >= sizeof entry) return false;
    snprintf(entry, sizeof entry, "%.*s", (int)length, text);
    return networks_read_address(entry, address);
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* Reads the last entry of the LENGTH bytes at TEXT; sets LENGTH to the bytes before its comma, or
 * to -1 if there is none. */
static bool last_entry(const char *text, long *length, struct in6_addr *address) {
    long end = *length, start = end;
    while (start > 0 && text[start - 1] != ',') start--;
    *length = start - 1;
    while (end > start && is_blank(text[end - 1])) end--;
    while (start < end && is_blank(text[start])) start++;
    return read_entry(text + start, (size_t)(end - start), address);
}

struct client identity_find(const struct networks *trusted, const struct sockaddr *peer,
                            const char *const *lines, int count) {
    const struct client client = { address_of(peer) };
    if (!identity_is_trusted(trusted, peer)) return client;
    return identity_forwarded(trusted, &client, lines, count);
}

struct client identity_forwarded(const struct networks *trusted, const struct client *proxy,
                                 const char *const *lines, int count) {
    struct client client = *proxy;
    for (int i = count - 1; i >= 0; i--) {
        for (long length = (long)strlen(lines[i]); length >= 0;) {
            struct client before;
            if (!last_entry(lines[i], &length, &before.address)) return client;
            client = before;
            if (!networks_have(trusted, &client.address)) return client;
        }
    }
    return client;
}
