// SPDX-License-Identifier: Apache-2.0
/* client.h - who asks: the queue is fair between clients, and the log names them.
 *
 * Today a client is an address; http/identity.h finds it. An IPv4 address is ::ffff:a.b.c.d. All
 * who connect through a unix socket are one client, ::, which is also an unknown one.
 *
 * Used by:  http/identity.c makes clients; request/, jobs/job.h and dispatch/queue.c carry and
 *           compare them; http/engine/admission.c lets them wait for each other.
 * Owns:     nothing; plain data, without a pointer: jobs carry it from process to process.
 * Threads:  any; no state.
 */
#ifndef BURIN_CLIENT_H
#define BURIN_CLIENT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct client {
    struct in6_addr address;
};

enum { CLIENT_TEXT_MAX = INET6_ADDRSTRLEN };

/* No address is known. */
bool client_is_unknown(const struct client *client);

bool client_is_same(const struct client *a, const struct client *b);

/* SEED: two secret numbers, so that nobody can choose addresses with the same hash. */
uint64_t client_hash(const struct client *client, const uint64_t seed[2]);

/* The client that CLIENT counts as where clients share: of an IPv6 address the first 64 bits, for a
 * host has as many addresses as it likes within them. */
struct client client_unit(const struct client *client);

/* 192.0.2.1, 2001:db8::1, or unix. */
void client_print(const struct client *client, char text[CLIENT_TEXT_MAX]);

#endif
