// SPDX-License-Identifier: Apache-2.0
/* service.h - shared by all requests: configuration, operators, slots, workers, and how much of the
 * daemon's memory is taken.
 *
 * Used by:  request/; http/front_state.h, whose front creates and owns every part of it.
 * Owns:     nothing itself.
 * Threads:  read-only, except the counters, which are atomic, and operators and overlays, which
 *           have locks (current.h).
 */
#ifndef BURIN_SERVICE_H
#define BURIN_SERVICE_H

#include "config/config.h"
#include "config/types.h"
#include "server/api/metrics.h"
#include "server/dispatch/supervisor.h"
#include "server/generation.h"
#include "server/jobs/slot.h"

/* Requests are refused for lack of slots, of bytes for uploads, or of bytes for answers. */
enum shortage { SHORT_OF_SLOTS, SHORT_OF_BODIES, SHORT_OF_ANSWERS };

struct service {
    const struct config *config;
    struct types prefer;      /* the image types of the key `prefer` */
    struct current operators; /* a generation: new requests get it */
    struct current overlays;  /* a set of overlays.h, of the key `overlays_dir` */
    struct slots *slots;
    struct supervisor *supervisor;
    struct metrics *metrics;

    /* Called by any thread when a request is refused because WANTED slots or bytes are not free, or
     * when the last one was taken (0). */
    void (*note_shortage)(void *context, enum shortage of, int64_t wanted);
    void *context;

    /* atomic */
    int64_t body_bytes_held;   /* of bodies until their request is answered; at most queue_bytes */
    int64_t answer_bytes_held; /* of slots whose answer is being sent, uploads included; at most
                                  answer_bytes plus one answer */
    int draining;              /* 0: no; 1: readiness says no; 2: new requests are refused */
};

static inline int service_draining(const struct service *service) {
    return __atomic_load_n(&service->draining, __ATOMIC_SEQ_CST);
}

/* Every slot is taken. */
static inline bool service_full(const struct service *service) {
    return slots_in_use(service->slots) >= slots_count(service->slots);
}

#endif
