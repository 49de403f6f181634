// SPDX-License-Identifier: Apache-2.0
/* health.h - is the daemon ready for a request, and does it go on at all?
 *
 * Used by:  handle_health.c, and front.c for the service manager.
 * Threads:  any may ask for readiness; one at a time whether it is alive.
 */
#ifndef BURIN_HEALTH_H
#define BURIN_HEALTH_H

#include "server/http/front_state.h"

struct readiness {
    const char *status; /* "ready", or why not */
    bool ready;
    bool healthy; /* some worker for built-in operators is */
    int waiting;  /* jobs in the queue */
    int worker_count;
    struct worker_facts workers[WORKERS_MAX];
};

/* Ready: some worker for built-in operators is healthy, we are not draining, and there is room for
 * a body and in the queue. Workers for users' operators do not count: an operator that crashes its
 * worker shall not keep a balancer's other requests away. */
void health_readiness(struct front *front, struct readiness *readiness);

/* As front_is_alive says. */
bool health_is_alive(const struct front *front, int timeout_ms);

#endif
