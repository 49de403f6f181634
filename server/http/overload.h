// SPDX-License-Identifier: Apache-2.0
/* overload.h - when there is no room for one more request, and the refusal that its client gets
 * then: the same 503 that request_flow.c would give, made without the library.
 *
 * Used by:  front.c hands the functions to the engine (engine/admission.h).
 * Fails:    never; a refusal of 0 bytes lets the request in, to be judged by request_flow.c.
 * Threads:  the listener's I/O thread.
 * Limits:   queue_jobs and the slots.
 */
#ifndef BURIN_OVERLOAD_H
#define BURIN_OVERLOAD_H

#include "server/http/engine/admission.h"

#include <stddef.h>
#include <stdint.h>

/* How many jobs wait, as far as a listener has asked. */
struct queue_seen {
    int64_t asked_ns;
    int waiting;
};

/* LISTENER: a struct front_listener; COUNT: requests of it that were let in a moment ago. */
enum room overload_room(void *listener, const struct client *client, int count);

/* A request is refused or waits: it needs a slot, maybe. */
void overload_wanted(void *listener);

/* A trusted proxy's requests are many clients', who stand in their heads: all together they are ::,
 * and a head is looked at before its request is refused. */
struct client overload_client(void *listener, const struct sockaddr *peer);

size_t overload_refusal(void *listener, const struct client *client,
                        const struct request_head *request, const struct request_facts *facts,
                        char *out, size_t size, bool *last);

#endif
