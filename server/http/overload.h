// SPDX-License-Identifier: Apache-2.0
/* overload.h - whether there is room for one more request, and the refusal if there is none: the
 * same 503 that request_flow.c would send, made without the library.
 *
 * Used by:  front.c passes the functions to the engine (engine/admission.h).
 * Owns:     nothing.
 * Fails:    never; a refusal of 0 bytes lets the request in, and request_flow.c decides.
 * Threads:  the listener's I/O thread.
 * Limits:   queue_jobs and the slots.
 */
#ifndef BURIN_OVERLOAD_H
#define BURIN_OVERLOAD_H

#include "server/http/engine/admission.h"

#include <stddef.h>
#include <stdint.h>

/* The number of waiting jobs when the listener last asked. */
struct queue_seen {
    int64_t asked_ns;
    int waiting;
};

/* The functions of struct admission_options. LISTENER: a struct front_listener. COUNT: its requests
 * that were let in a moment ago. */
enum room overload_room(void *listener, const struct client *client, int count);

/* A request is refused or waits, perhaps for a slot. */
void overload_wanted(void *listener);

/* A trusted proxy sends requests of many clients, whose addresses are in the heads: its requests
 * all count for ::, and a head is read before its request is refused. */
struct client overload_client(void *listener, const struct sockaddr *peer);

size_t overload_refusal(void *listener, const struct client *client,
                        const struct request_head *request, const struct request_facts *facts,
                        char *out, size_t size, bool *last);

#endif
