// SPDX-License-Identifier: Apache-2.0
/* Probes, metrics, and what the service is and can. */
#include "server/http/health.h"
#include "server/http/reply.h"
#include "server/http/route.h"
#include "server/log/log.h"
#include "server/version.h"

#include <stdlib.h>

enum status handle_livez(struct exchange *exchange, struct reply *reply, struct failure *failure) {
    (void)exchange, (void)failure;
    *reply = reply_json(MHD_HTTP_OK, json_pack("{s:s}", "status", "live"));
    return STATUS_OK;
}

static json_t *worker_json(const struct worker_facts *worker) {
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:b, s:b, s:i, s:i, s:i}", "device", worker->device, "role",
                  worker->operators ? "operators" : "built-in", "name", worker->name, "healthy",
                  worker->healthy, "standby", worker->standby, "running", worker->running,
                  "capacity", worker->capacity, "restarts", worker->restarts);
    if (worker->trouble[0]) json_object_set_new(json, "trouble", json_string(worker->trouble));
    return json;
}

enum status handle_readyz(struct exchange *exchange, struct reply *reply, struct failure *failure) {
    (void)failure;
    struct front *front = exchange->front;
    struct readiness now;
    health_readiness(front, &now);
    json_t *workers = json_array();
    for (int i = 0; i < now.worker_count; i++)
        json_array_append_new(workers, worker_json(&now.workers[i]));
    *reply = reply_json(now.ready ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
                        json_pack("{s:s, s:i, s:i, s:o}", "status", now.status, "queued",
                                  now.waiting, "queue_jobs", (int)front->service.config->queue_jobs,
                                  "workers", workers));
    return STATUS_OK;
}

enum status handle_metrics(struct exchange *exchange, struct reply *reply,
                           struct failure *failure) {
    (void)failure;
    struct front *front = exchange->front;
    struct worker_facts workers[WORKERS_MAX];
    struct metrics_now now = {
        .workers = workers,
        .worker_count = supervisor_workers(front->service.supervisor, workers),
        .clients = supervisor_clients(front->service.supervisor),
        .slots_in_use = slots_in_use(front->service.slots),
        .slots = slots_count(front->service.slots),
        .exchanges = __atomic_load_n(&front->exchanges, __ATOMIC_RELAXED),
        .body_bytes_held = __atomic_load_n(&front->service.body_bytes_held, __ATOMIC_RELAXED),
        .answer_bytes_held = __atomic_load_n(&front->service.answer_bytes_held, __ATOMIC_RELAXED),
        .log_lines_dropped =
            log_lines_dropped() +
            __atomic_load_n(slots_log_dropped(front->service.slots), __ATOMIC_RELAXED),
        .version = version_text(),
    };
    supervisor_jobs(front->service.supervisor, &now.queued);
    deadline_thread_counts(front->deadlines, &now.connections);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out) return STATUS_OK; /* no memory: the reply stays empty */
    metrics_print(front->service.metrics, &now, out);
    fclose(out);
    *reply = reply_text("text/plain; version=0.0.4", "no-cache", text);
    return STATUS_OK;
}

enum status handle_options(struct exchange *exchange, struct reply *reply,
                           struct failure *failure) {
    (void)exchange, (void)failure;
    reply->http_status = MHD_HTTP_NO_CONTENT;
    reply->response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    if (reply->response)
        MHD_add_response_header(reply->response, MHD_HTTP_HEADER_ALLOW,
                                "GET, HEAD, POST, PUT, OPTIONS");
    return STATUS_OK;
}

enum status handle_root(struct exchange *exchange, struct reply *reply, struct failure *failure) {
    if (page_is_wanted(exchange)) return handle_page(exchange, reply, failure);
    *reply = reply_json(MHD_HTTP_OK,
                        json_pack("{s:s, s:s, s:[s,s,s,s,s,s,s,s,s,s]}", "name", "burin", "version",
                                  version_text(), "endpoints", "POST /{operator}", "POST /pipeline",
                                  "POST /info", "GET /ops", "GET /openapi.json", "GET /livez",
                                  "GET /readyz", "GET /health", "GET /metrics",
                                  "GET /progress/{request-id}"));
    if (reply->response) MHD_add_response_header(reply->response, MHD_HTTP_HEADER_VARY, "Accept");
    return STATUS_OK;
}
