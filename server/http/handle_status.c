// SPDX-License-Identifier: Apache-2.0
/* How the daemon is: probes, metrics, how far a request is; and its name and paths. */
#include "pipeline/plan_tree.h"
#include "server/http/reply.h"
#include "server/http/route.h"
#include "server/log/log.h"
#include "server/request/negotiation.h"
#include "server/version.h"

#include <malloc.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum status handle_livez(struct exchange *exchange, struct reply *reply, struct failure *failure) {
    (void)exchange, (void)failure;
    *reply = reply_json(MHD_HTTP_OK, json_pack("{s:s}", "status", "live"));
    return STATUS_OK;
}

static json_t *worker_json(const struct worker_facts *worker) {
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:b, s:b, s:i, s:i, s:i}", "device", worker->device, "role",
        worker->operators ? "operators"
        : worker->decodes ? "decoding"
                          : "built-in",
        "name", worker->name, "healthy", worker->healthy, "standby", worker->standby, "running",
        worker->running, "capacity", worker->capacity, "restarts", worker->restarts);
    if (worker->trouble[0]) json_object_set_new(json, "trouble", json_string(worker->trouble));
    return json;
}

/* Why the daemon is not ready for a request; NULL: it is. Workers for users' operators, and the
 * decoding cell's, do not count: an operator or an image that crashes its worker should not keep a
 * load balancer's other requests away. */
static const char *why_not_ready(const struct service *service, const struct worker_facts *workers,
                                 int worker_count, int waiting) {
    const long capacity = service->config->queue_jobs;
    bool healthy = false;
    for (int i = 0; i < worker_count; i++)
        healthy |= workers[i].healthy && !workers[i].operators && !workers[i].decodes;
    if (service_draining(service)) return "draining";
    if (!healthy) return "no healthy worker";
    if (waiting >= capacity * 9 / 10 && waiting != 0) return "queue full";
    return service_full(service) ? "no slot free" : NULL;
}

enum status handle_readyz(struct exchange *exchange, struct reply *reply, struct failure *failure) {
    (void)failure;
    struct front *front = exchange->front;
    const struct service *service = &front->service;
    struct worker_facts workers[WORKERS_MAX];
    const int worker_count = supervisor_workers(service->supervisor, workers);
    int waiting;
    supervisor_jobs(service->supervisor, &waiting);
    const char *why_not = why_not_ready(service, workers, worker_count, waiting);
    json_t *list = json_array();
    for (int i = 0; i < worker_count; i++) json_array_append_new(list, worker_json(&workers[i]));
    pthread_mutex_lock(&front->outcome_lock);
    json_t *outcome = json_deep_copy(front->outcome);
    pthread_mutex_unlock(&front->outcome_lock);
    *reply =
        reply_json(why_not ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK,
                   json_pack("{s:s, s:i, s:i, s:o, s:o*}", "status", why_not ? why_not : "ready",
                             "queued", waiting, "queue_jobs", (int)service->config->queue_jobs,
                             "workers", list, "reload", outcome));
    return STATUS_OK;
}

static int weight_of(const struct header_lines *lines, const char *media_type) {
    int most = 0;
    for (int i = 0; i < lines->count; i++) {
        const int weight = negotiation_weight(lines->values[i], media_type);
        if (weight > most) most = weight;
    }
    return most;
}

/* A scraper that knows OpenMetrics names the type in Accept. */
static bool wants_open_metrics(const struct exchange *exchange) {
    struct header_lines lines;
    connection_header_lines(exchange->library, MHD_HTTP_HEADER_ACCEPT, &lines);
    const int weight = weight_of(&lines, "application/openmetrics-text");
    return weight > 0 && weight >= weight_of(&lines, "text/plain");
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
        .slots_grown = (int64_t)slots_grown(front->service.slots),
        .exchanges = __atomic_load_n(&front->exchanges, __ATOMIC_RELAXED),
        .body_bytes_held = __atomic_load_n(&front->service.body_bytes_held, __ATOMIC_RELAXED),
        .answer_bytes_held = __atomic_load_n(&front->service.answer_bytes_held, __ATOMIC_RELAXED),
        .log_lines_dropped =
            log_lines_dropped() +
            __atomic_load_n(slots_log_dropped(front->service.slots), __ATOMIC_RELAXED),
        .version = version_text(),
        .open_metrics = wants_open_metrics(exchange),
    };
    supervisor_jobs(front->service.supervisor, &now.queued);
    deadline_thread_counts(front->deadlines, &now.connections);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out) return STATUS_OK; /* no memory: the reply stays empty */
    metrics_print(front->service.metrics, &now, out);
    fclose(out);
    *reply =
        reply_text(now.open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                    : "text/plain; version=0.0.4",
                   "no-cache", text);
    if (reply->response) MHD_add_response_header(reply->response, MHD_HTTP_HEADER_VARY, "Accept");
    return STATUS_OK;
}

/* The step is known unless a GPU has all of several steps at once. */
static json_t *progress_json(const struct generation *operators, const struct job_progress *now) {
    struct plan_tree plans;
    json_t *json = json_pack("{s:s}", "state", now->waiting ? "waiting" : "running");
    const bool known = !now->generation || now->generation == operators->number;
    if (now->waiting || !known || plan_tree_unpack(&plans, &operators->ops, &now->plan, NULL))
        return json;
    const struct step *step = plan_tree_step(&plans, now->step);
    if (!step) return json;
    const bool step_known = now->in_order || !plan_tree_step(&plans, 1);
    const struct op *op = step->op;
    if (step_known) json_object_set_new(json, "step", json_integer(now->step));
    if (step_known) json_object_set_new(json, "operation", json_string(op->name));
    if (!now->total) return json;
    json_object_set_new(json, "done", json_integer(now->done));
    json_object_set_new(json, "total", json_integer(now->total));
    json_object_set_new(json, "unit",
                        json_string(step_known && op->unit ? op->unit : plan_tree_unit(&plans)));
    return json;
}

/* A request that is not here is an answer too: it may have ended just now. */
enum status handle_progress(struct exchange *exchange, struct reply *reply,
                            struct failure *failure) {
    (void)failure;
    struct job_progress now;
    const char *id = exchange->path + strlen(PROGRESS_PATH);
    const bool found = supervisor_progress(exchange->front->service.supervisor, id, &now);
    *reply = reply_json(MHD_HTTP_OK, found ? progress_json(exchange->request.generation, &now)
                                           : json_pack("{s:s}", "state", "unknown"));
    return STATUS_OK;
}

/* Requests of other keys of the group count, too. */
enum status handle_quota(struct exchange *exchange, struct reply *reply, struct failure *failure) {
    (void)failure;
    const struct grant *grant = &exchange->request.grant;
    struct quota_balance balances[QUOTA_LIMITS];
    json_t *limits = json_object();
    const int in_progress = quota_look(&grant->use, clock_ns(), balances);
    for (int i = 0; i < QUOTA_LIMITS; i++)
        if (balances[i].most > 0)
            json_object_set_new(limits, quota_limit_name((enum quota_limit)i),
                                json_pack("{s:f, s:f, s:f}", "most", balances[i].most, "left",
                                          balances[i].left, "full_after_s",
                                          (double)balances[i].full_ns / 1e9));
    *reply = reply_json(MHD_HTTP_OK, json_pack("{s:s, s:s, s:i, s:o}", "key", grant->key, "group",
                                               quota_group(grant->use.quota), "in_progress",
                                               in_progress, "limits", limits));
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

/* ---- for clients of imaginary */

/* The version is that of the interface. */
enum status handle_imaginary(struct exchange *exchange, struct reply *reply,
                             struct failure *failure) {
    (void)exchange, (void)failure;
    *reply =
        reply_json(MHD_HTTP_OK, json_pack("{s:s, s:s, s:s, s:s}", "imaginary", "1.2.4", "bimg",
                                          "0.0.0", "libvips", "0.0.0", "burin", version_text()));
    return STATUS_OK;
}

static json_t *mebibytes(size_t bytes) {
    return json_real((double)(bytes * 100 >> 20) / 100);
}

/* Members of Go's runtime have the nearest figure of this process: the heap, requests for
 * goroutines, slots for objects. */
enum status handle_imaginary_health(struct exchange *exchange, struct reply *reply,
                                    struct failure *failure) {
    (void)failure;
    const struct front *front = exchange->front;
    const struct mallinfo2 heap = mallinfo2();
    const size_t used = heap.uordblks + heap.hblkhd, obtained = heap.arena + heap.hblkhd;
    cpu_set_t cores;
    const int cpus = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
    *reply = reply_json(
        MHD_HTTP_OK,
        json_pack("{s:I, s:o, s:o, s:i, s:i, s:i, s:o, s:o, s:i, s:o}", "uptime",
                  (json_int_t)((clock_ns() - front->start_ns) / 1000000000), "allocatedMemory",
                  mebibytes(used), "totalAllocatedMemory", mebibytes(obtained), "goroutines",
                  __atomic_load_n(&front->exchanges, __ATOMIC_RELAXED), "completedGCCycles", 0,
                  "cpus", cpus, "maxHeapUsage", mebibytes(obtained), "heapInUse", mebibytes(used),
                  "objectsInUse", slots_in_use(front->service.slots), "OSMemoryObtained",
                  mebibytes(obtained)));
    return STATUS_OK;
}
