// SPDX-License-Identifier: Apache-2.0
/* Probes, metrics, and what the service is. */
#include "server/http/reply.h"
#include "server/http/route.h"
#include "server/ops_json.h"
#include "server/version.h"

#include <stdlib.h>

enum MHD_Result handle_livez(struct exchange *exchange) {
    return reply_json(exchange, MHD_HTTP_OK, json_pack("{s:s}", "status", "live"));
}

static json_t *worker_json(const struct worker_facts *worker) {
    json_t *json =
        json_pack("{s:s, s:s, s:b, s:b, s:i, s:i, s:i}", "device", worker->device, "name",
                  worker->name, "healthy", worker->healthy, "standby", worker->standby, "running",
                  worker->running, "capacity", worker->capacity, "restarts", worker->restarts);
    if (worker->trouble[0]) json_object_set_new(json, "trouble", json_string(worker->trouble));
    return json;
}

/* Ready: some worker at work is healthy, we are not draining, and there is room for a body and in
 * the queue. */
enum MHD_Result handle_readyz(struct exchange *exchange) {
    struct front *front = exchange->front;
    struct worker_facts facts[WORKERS_MAX];
    int waiting;
    const int count = supervisor_workers(front->supervisor, facts);
    supervisor_jobs(front->supervisor, &waiting);
    json_t *workers = json_array();
    bool healthy = false;
    for (int i = 0; i < count; i++) {
        healthy |= facts[i].healthy;
        json_array_append_new(workers, worker_json(&facts[i]));
    }
    const bool draining = front_draining(front) != 0;
    const bool room = waiting < front->config->queue_jobs * 9 / 10 || waiting == 0;
    const bool full = front_full(front);
    const char *status = draining   ? "draining"
                         : !healthy ? "no healthy worker"
                         : !room    ? "queue full"
                         : full     ? "no slot free"
                                    : "ready";
    const bool ready = healthy && room && !full && !draining;
    return reply_json(exchange, ready ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
                      json_pack("{s:s, s:i, s:i, s:o}", "status", status, "queued", waiting,
                                "queue_jobs", (int)front->config->queue_jobs, "workers", workers));
}

enum MHD_Result handle_metrics(struct exchange *exchange) {
    struct front *front = exchange->front;
    struct worker_facts workers[WORKERS_MAX];
    struct metrics_now now = {
        .workers = workers,
        .worker_count = supervisor_workers(front->supervisor, workers),
        .slots_in_use = slots_in_use(front->slots),
        .slots = slots_count(front->slots),
        .exchanges = __atomic_load_n(&front->exchanges, __ATOMIC_RELAXED),
        .body_bytes_held = __atomic_load_n(&front->body_bytes_held, __ATOMIC_RELAXED),
        .answer_bytes_held = __atomic_load_n(&front->answer_bytes_held, __ATOMIC_RELAXED),
        .version = version_text(),
    };
    supervisor_jobs(front->supervisor, &now.queued);
    watch_counts(front->watch, &now.connections);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out) return MHD_NO;
    metrics_print(front->metrics, &now, out);
    fclose(out);
    return reply_text(exchange, "text/plain; version=0.0.4", text);
}

enum MHD_Result handle_ops(struct exchange *exchange) {
    return reply_json(exchange, MHD_HTTP_OK, ops_json());
}

enum MHD_Result handle_root(struct exchange *exchange) {
    return reply_json(exchange, MHD_HTTP_OK,
                      json_pack("{s:s, s:s, s:[s,s,s,s,s,s,s,s]}", "name", "burin", "version",
                                version_text(), "endpoints", "POST /{operator}", "POST /pipeline",
                                "POST /info", "GET /ops", "GET /livez", "GET /readyz",
                                "GET /health", "GET /metrics"));
}
