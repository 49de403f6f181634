// SPDX-License-Identifier: Apache-2.0
#include "server/client.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { UNIT_BYTES = 8 };

bool client_is_unknown(const struct client *client) {
    return IN6_IS_ADDR_UNSPECIFIED(&client->address);
}

bool client_is_same(const struct client *a, const struct client *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

static uint64_t mix(uint64_t bits) {
    bits = (bits ^ bits >> 32) * UINT64_C(0xd6e8feb86659fd93);
    bits = (bits ^ bits >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return bits ^ bits >> 32;
}

uint64_t client_hash(const struct client *client, const uint64_t seed[2]) {
    uint64_t halves[2];
    memcpy(halves, &client->address, sizeof halves);
    return mix(mix(halves[0] ^ seed[0]) ^ halves[1] ^ seed[1]);
}

struct client client_unit(const struct client *client) {
    struct client unit = *client;
    if (!IN6_IS_ADDR_V4MAPPED(&client->address))
        memset(unit.address.s6_addr + UNIT_BYTES, 0, sizeof unit.address.s6_addr - UNIT_BYTES);
    return unit;
}

void client_print(const struct client *client, char text[CLIENT_TEXT_MAX]) {
    if (client_is_unknown(client))
        snprintf(text, CLIENT_TEXT_MAX, "unix");
    else if (IN6_IS_ADDR_V4MAPPED(&client->address))
        inet_ntop(AF_INET, client->address.s6_addr + 12, text, CLIENT_TEXT_MAX);
    else
        inet_ntop(AF_INET6, &client->address, text, CLIENT_TEXT_MAX);
}
