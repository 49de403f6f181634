// SPDX-License-Identifier: Apache-2.0
#include "config/formats.h"

#include "config/config.h"
#include "config/devices.h"
#include "config/networks.h"
#include "config/origins.h"
#include "config/types.h"
#include "pipeline/param.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* ---- addresses */

static bool is_path(const char *text) {
    return *text && strlen(text) < sizeof((struct sockaddr_un *)0)->sun_path;
}

static bool is_port(const char *text) {
    long port;
    return strspn(text, "0123456789") == strlen(text) && param_integer(text, &port) &&
           port <= 65535;
}

/* Not by inet_pton: an address of one network's own names the interface behind a %. */
static bool is_ipv6(const char *host) {
    const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_family = AF_INET6 };
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, NULL, &hints, &found) != 0) return false;
    freeaddrinfo(found);
    return true;
}

bool formats_address(const char *text) {
    if (strncmp(text, "unix:", 5) == 0) return is_path(text + 5);
    char host[CONFIG_TEXT_MAX];
    struct in_addr ipv4;
    const char *colon = strrchr(text, ':');
    if (!colon || !is_port(colon + 1)) return false;
    const int length = snprintf(host, sizeof host, "%.*s", (int)(colon - text), text);
    if (length >= (int)sizeof host) return false;
    if (*host != '[') return inet_pton(AF_INET, host, &ipv4) == 1;
    if (host[length - 1] != ']') return false;
    host[length - 1] = '\0';
    return is_ipv6(host + 1);
}

bool formats_address_or_empty(const char *text) {
    return !*text || formats_address(text);
}

/* Whether it is there is asked when it is used. */
bool formats_path_or_empty(const char *text) {
    return strlen(text) < CONFIG_TEXT_MAX;
}

/* ---- devices */

bool formats_devices(const char *text) {
    struct devices ignored;
    return devices_read(text, &ignored);
}

/* ---- origins */

bool formats_origins(const char *text) {
    return origins_are_a_list(text);
}

/* ---- types of images */

bool formats_types(const char *text) {
    struct types ignored;
    return types_read(text, &ignored);
}

/* ---- networks */

bool formats_networks(const char *text) {
    struct networks ignored;
    return networks_read(text, &ignored);
}
