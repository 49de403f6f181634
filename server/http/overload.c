// SPDX-License-Identifier: Apache-2.0
/* How it works. While there is much room, two numbers that are read without a lock show it: the
 * slots in use, and the jobs that waited a millisecond ago. Only when the queue may be full is the
 * supervisor asked, which knows each client's jobs. A refusal is printed by problem.c, counted like
 * request_flow.c's, and logged together with the others of its second. */
#include "server/http/overload.h"

#include "pipeline/timing.h"
#include "server/api/json_writer.h"
#include "server/http/exchange.h"
#include "server/http/front.h"
#include "server/http/identity.h"
#include "server/http/problem.h"
#include "server/http/route.h"
#include "server/log/log.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MS_NS INT64_C(1000000)
enum { SEEN_MS = 1, LOG_MS = 1000 };

/* ---- room */

/* NULL: the client is not known. */
static const struct client *counted(const struct client *client) {
    return client_is_unknown(client) ? NULL : client;
}

/* Whether certainly fewer than queue_jobs wait. Takes the supervisor's lock once in SEEN_MS. */
static bool few_wait(struct front_listener *listener, int count) {
    struct queue_seen *seen = &listener->queue_seen;
    const int64_t now = clock_ns();
    if (now - seen->asked_ns >= SEEN_MS * MS_NS) {
        supervisor_jobs(listener->front->service.supervisor, &seen->waiting);
        seen->asked_ns = now;
    }
    return seen->waiting + count < listener->front->service.config->queue_jobs;
}

/* Assumes that the other listeners have let in as many. */
enum room overload_room(void *context, const struct client *client, int count) {
    struct front_listener *listener = context;
    const struct front *front = listener->front;
    const int slots = slots_count(front->service.slots), used = slots_in_use(front->service.slots);
    count *= front->io_threads;
    if (service_draining(&front->service) > 1) return ROOM_FREE; /* request_flow.c refuses it */
    if (used >= slots) return ROOM_NONE;
    if (used + count >= slots) return ROOM_UNSURE;
    if (used + count < front->service.config->queue_jobs || few_wait(listener, count))
        return ROOM_FREE;
    if (supervisor_has_room(front->service.supervisor, counted(client), 0, NULL)) return ROOM_NONE;
    return supervisor_has_room(front->service.supervisor, counted(client), count, NULL)
               ? ROOM_UNSURE
               : ROOM_FREE;
}

/* A request that waits for a slot is a reason to evict clients that hold one and stand still. */
void overload_wanted(void *context) {
    const struct front *front = ((struct front_listener *)context)->front;
    if (service_full(&front->service))
        deadline_thread_note_pressure(front->deadlines, RESOURCE_SLOTS, 1);
}

struct client overload_client(void *context, const struct sockaddr *peer) {
    const struct networks *trusted = &((struct front_listener *)context)->front->trusted_proxies;
    if (identity_is_trusted(trusted, peer)) return (struct client){ in6addr_any };
    const struct client client = identity_find(trusted, peer, NULL, 0);
    return client_unit(&client);
}

/* ---- refusals */

/* Logs one line a second: a line for each would cost more than the refusal. */
static void note_refusal(struct front *front) {
    const int64_t now = clock_ns();
    __atomic_add_fetch(&front->refused_unlogged, 1, __ATOMIC_RELAXED);
    int64_t last = __atomic_load_n(&front->refused_logged_ns, __ATOMIC_RELAXED);
    if (!log_wants(LOG_INFO) || now - last < LOG_MS * MS_NS ||
        !__atomic_compare_exchange_n(&front->refused_logged_ns, &last, now, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        return;
    char memory[128];
    struct json_writer line = json_writer_in(memory, sizeof memory);
    json_writer_key_string(&line, "event", "refused");
    json_writer_key_number(&line, "status", MHD_HTTP_SERVICE_UNAVAILABLE);
    json_writer_key_number(&line, "count",
                           __atomic_exchange_n(&front->refused_unlogged, 0, __ATOMIC_RELAXED));
    log_fields(LOG_INFO, memory);
}

static bool is_named(const struct header_field *header, const char *name) {
    return header->name_length == strlen(name) &&
           strncasecmp(header->name, name, header->name_length) == 0;
}

static const struct header_field *find(const struct request_head *request, const char *name) {
    for (int i = 0; i < request->header_count; i++)
        if (is_named(&request->headers[i], name)) return &request->headers[i];
    return NULL;
}

static bool keeps_alive(const struct request_head *request, const struct request_facts *facts) {
    static const char word[] = "keep-alive";
    const struct header_field *header = find(request, MHD_HTTP_HEADER_CONNECTION);
    if (!header) return facts->http_1_1;
    return header->value_length == strlen(word) &&
           strncasecmp(header->value, word, header->value_length) == 0;
}

/* Without an exemplar, since the log has no line for each. */
static void count_request(struct front *front, const struct request_head *request,
                          enum rejection reason) {
    char path[64] = "/";
    const char *query = memchr(request->target.bytes, '?', request->target.length);
    const size_t length = query ? (size_t)(query - request->target.bytes) : request->target.length;
    snprintf(path, sizeof path, "%.*s", (int)(length < sizeof path ? length : sizeof path),
             request->target.bytes);
    metrics_reject(front->service.metrics, reason);
    metrics_request(front->service.metrics, NULL, route_name(path), MHD_HTTP_SERVICE_UNAVAILABLE, 0,
                    NULL, 0);
}

enum { LINES_MAX = 8 };

/* The lines of one header, terminated. */
struct lines {
    char texts[LINES_MAX][CONFIG_ORIGINS_MAX];
    const char *values[LINES_MAX];
    int count;
};

/* False, and no lines: there are too many, or one is too long. */
static bool read_lines(const struct request_head *request, const char *name, struct lines *lines) {
    lines->count = 0;
    for (int i = 0; i < request->header_count; i++) {
        const struct header_field *header = &request->headers[i];
        if (!is_named(header, name)) continue;
        if (lines->count == LINES_MAX || header->value_length >= sizeof lines->texts[0])
            return lines->count = 0, false;
        char *text = lines->texts[lines->count];
        memcpy(text, header->value, header->value_length);
        text[header->value_length] = '\0';
        lines->values[lines->count++] = text;
    }
    return true;
}

/* The client that a trusted proxy names in the head; :: if it is not clear. */
static struct client forwarded(const struct front *front, const struct request_head *request) {
    struct lines lines;
    if (!read_lines(request, "X-Forwarded-For", &lines)) return (struct client){ in6addr_any };
    const struct client client = identity_forwarded(
        &front->trusted_proxies, &(struct client){ in6addr_any }, lines.values, lines.count);
    return client_unit(&client);
}

/* False: there is room after all. */
static bool find_reason(const struct front *front, const struct client *peer,
                        const struct request_head *request, enum rejection *reason,
                        struct failure *failure) {
    if (service_full(&front->service)) {
        fail(failure, STATUS_BUSY, "%d requests are being served already; try again later",
             slots_count(front->service.slots));
        *reason = REJECTED_SLOTS;
        return true;
    }
    const struct client client = counted(peer) ? *peer : forwarded(front, request);
    *reason = REJECTED_QUEUE;
    return supervisor_has_room(front->service.supervisor, counted(&client), 0, failure) !=
           STATUS_OK;
}

/* Pages of other sites that may read answers may read the refusal, too. */
static void add_fields(const struct front *front, const struct request_head *request,
                       struct problem *problem) {
    struct cors_field fields[CORS_FIELDS_MAX];
    struct lines lines;
    char state[TRACE_STATE_MAX], seconds[16];
    read_lines(request, "tracestate", &lines);
    trace_join_state(problem->trace, lines.values, lines.count, state);
    if (*state) problem_add_field(problem, "tracestate", state);
    read_lines(request, MHD_HTTP_HEADER_ORIGIN, &lines);
    const int count =
        cors_fields_for(front_origins(front), lines.count == 1 ? lines.values[0] : NULL, fields);
    for (int i = 0; i < count; i++) problem_add_field(problem, fields[i].name, fields[i].value);
    snprintf(seconds, sizeof seconds, "%d", supervisor_retry_after_s(front->service.supervisor));
    problem_add_field(problem, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
}

size_t overload_refusal(void *context, const struct client *client,
                        const struct request_head *request, const struct request_facts *facts,
                        char *out, size_t size, bool *last) {
    struct front *front = ((struct front_listener *)context)->front;
    const struct header_field *given = find(request, "X-Request-ID");
    char id[REQUEST_ID_MAX];
    struct lines parents;
    struct trace trace;
    struct failure failure = { 0 };
    enum rejection reason;
    if (!find_reason(front, client, request, &reason, &failure)) return 0;
    exchange_make_id(given ? given->value : "", given ? given->value_length : 0, id);
    read_lines(request, "traceparent", &parents);
    trace_begin(&trace, parents.values, parents.count);
    *last = !keeps_alive(request, facts);
    struct problem problem = { .http_status = MHD_HTTP_SERVICE_UNAVAILABLE,
                               .failure = &failure,
                               .id = id,
                               .trace = &trace,
                               .closes = *last };
    add_fields(front, request, &problem);
    const size_t length = problem_print(&problem, out, size);
    if (length == 0) return 0;
    count_request(front, request, reason);
    note_refusal(front);
    return length;
}
