// SPDX-License-Identifier: Apache-2.0
#include "server/http/health.h"

#include "pipeline/timing.h"

#include <string.h>
#include <unistd.h>

enum { LOOK_MS = 5 };

void health_readiness(struct front *front, struct readiness *readiness) {
    const long capacity = front->service.config->queue_jobs;
    bool healthy = false;
    readiness->worker_count = supervisor_workers(front->service.supervisor, readiness->workers);
    supervisor_jobs(front->service.supervisor, &readiness->waiting);
    for (int i = 0; i < readiness->worker_count; i++)
        healthy |= readiness->workers[i].healthy && !readiness->workers[i].operators;
    readiness->healthy = healthy;
    const bool room = readiness->waiting < capacity * 9 / 10 || readiness->waiting == 0;
    readiness->status = service_draining(&front->service) ? "draining"
                        : !healthy                        ? "no healthy worker"
                        : !room                           ? "queue full"
                        : service_full(&front->service)   ? "no slot free"
                                                          : "ready";
    readiness->ready = strcmp(readiness->status, "ready") == 0;
}

/* ---- threads that go on */

/* The turns that each thread had taken at some moment. */
struct turns {
    uint64_t io[LISTENERS_MAX], supervisor;
};

static void note_and_wake(const struct front *front, struct turns *turns) {
    for (int i = 0; i < LISTENERS_MAX; i++) {
        if (!front->listeners[i].listener) continue;
        turns->io[i] = listener_turns(front->listeners[i].listener);
        listener_wake(front->listeners[i].listener);
    }
    turns->supervisor =
        supervisor_turns(front->service.supervisor); /* it wakes by itself, every 50 ms */
}

static bool all_went_on(const struct front *front, const struct turns *turns) {
    for (int i = 0; i < LISTENERS_MAX; i++)
        if (front->listeners[i].listener &&
            listener_turns(front->listeners[i].listener) == turns->io[i])
            return false;
    return supervisor_turns(front->service.supervisor) != turns->supervisor;
}

/* What is judged are the threads without which no request is served. An I/O thread that hangs
 * leaves its connections without an answer; the supervisor's hands out the jobs. Whether workers go
 * on the supervisor judges, and replaces them. The threads that watch connections share locks with
 * these: if one of them hangs in a lock, so do these. The main thread only waits. */
bool health_is_alive(const struct front *front, int timeout_ms) {
    const int64_t end = clock_ns() + timeout_ms * INT64_C(1000000);
    struct turns turns;
    note_and_wake(front, &turns);
    while (!all_went_on(front, &turns)) {
        if (clock_ns() >= end) return false;
        usleep(LOOK_MS * 1000);
    }
    return true;
}
