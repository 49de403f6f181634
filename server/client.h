// SPDX-License-Identifier: Apache-2.0
/* client.h - the sender of a request: the queue is fair between clients, and the log names them.
 *
 * A client is an address, which http/identity.h finds. An IPv4 address is ::ffff:a.b.c.d. All users
 * of a unix socket are one client, ::, which is also an unknown one. In the queue all requests with
 * keys of one group are one client, too (access/quota.h).
 *
 * Used by:  http/identity.c makes clients; request/, jobs/job.h and dispatch/queue.c carry and
 *           compare them; http/engine/admission.c takes turns between them.
 * Owns:     nothing; plain data without pointers, since jobs carry it from process to process.
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

/* SEED: two secret numbers, so that no client can choose addresses with the same hash. */
uint64_t client_hash(const struct client *client, const uint64_t seed[2]);

/* The client that CLIENT counts as when clients share: the first 64 bits of an IPv6 address, since
 * a host has all addresses within them. */
struct client client_unit(const struct client *client);

/* 192.0.2.1, 2001:db8::1, or unix. */
void client_print(const struct client *client, char text[CLIENT_TEXT_MAX]);

#endif
