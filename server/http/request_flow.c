// SPDX-License-Identifier: Apache-2.0
/* How it works. The steps of a request, from top to bottom: its head is checked and routed, its
 * body goes into a slot, its job goes to a worker and comes back, its answer is queued, and its end
 * is counted and logged. All steps run on the I/O thread of its connection, called by the library:
 * request_flow_proceed once for the head, for each piece of the body, at its end, and once more
 * after a resume. Most pieces of a large body come to request_flow_body_received. The first failure
 * is noted, and answered as a problem when an answer may be sent: the library accepts none in the
 * middle of a body. */
#include "server/http/request_flow.h"

#include "server/http/access.h"
#include "server/http/access_log.h"
#include "server/http/cors.h"
#include "server/http/problem.h"
#include "server/http/reply.h"
#include "server/http/route.h"
#include "server/log/log.h"
#include "server/request/capacity.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* A refused body of up to DROP_MAX bytes is read to its end before the refusal, so that every
 * client sees the answer and its next request can be read; a larger one is read for LINGER_MS. */
enum { DROP_MAX = 1 << 20, LINGER_MS = 2000 };

/* ---- answers, at any step */

/* Notes the first failure of the request; later ones are its consequences. Frees its slot, bytes
 * and operators at once, however long the client sends the rest of the body. An address that
 * serves once may come again after a 503. */
static void refuse(struct exchange *exchange, const struct failure *failure) {
    if (!exchange->failure.status) exchange->failure = *failure;
    if (problem_http_status(exchange) == MHD_HTTP_SERVICE_UNAVAILABLE) access_give_back(exchange);
    access_log_note(exchange);
    upload_release(&exchange->request);
    deadline_hold(exchange->connection->deadline, 0);
    request_release_operators(&exchange->request);
}

static void add_header(void *response, const char *name, const char *value) {
    MHD_add_response_header(response, name, value);
}

/* Frees the body, however long the client reads the answer. */
static enum MHD_Result send_reply(struct exchange *exchange, struct reply reply) {
    char parent[TRACE_PARENT_MAX];
    if (!reply.response) return MHD_NO;
    trace_print_parent(&exchange->request.trace, parent);
    MHD_add_response_header(reply.response, "X-Request-ID", exchange->request.id);
    MHD_add_response_header(reply.response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(reply.response, "traceparent", parent);
    reply_fields(exchange, add_header, reply.response);
    if (__atomic_load_n(&exchange->front->last_requests, __ATOMIC_SEQ_CST))
        MHD_add_response_header(reply.response, MHD_HTTP_HEADER_CONNECTION, "close");
    access_log_note(exchange);
    if (reply.slot_bytes) exchange->request.slot = -1;
    upload_release(&exchange->request);
    request_release_operators(&exchange->request);
    exchange->http_status = reply.http_status;
    exchange->bytes_out = reply.bytes;
    exchange->state = EXCHANGE_ANSWERED;
    deadline_enter_write(exchange->connection->deadline, (int64_t)reply.bytes);
    deadline_hold(exchange->connection->deadline, reply.slot_bytes);
    const enum MHD_Result result =
        MHD_queue_response(exchange->library, (unsigned)reply.http_status, reply.response);
    MHD_destroy_response(reply.response);
    return result;
}

static enum MHD_Result send_problem(struct exchange *exchange) {
    return send_reply(exchange, problem_reply(exchange));
}

/* The drain waits for the end of an accepted request. */
static void set_accepted(struct exchange *exchange, bool accepted) {
    if (exchange->accepted == accepted) return;
    exchange->accepted = accepted;
    __atomic_add_fetch(&exchange->front->accepted, accepted ? 1 : -1, __ATOMIC_SEQ_CST);
}

/* The rest of the body is too long to be read for the sake of the next request, or of unknown
 * length. */
static bool much_is_to_come(const struct exchange *exchange) {
    const struct request_facts *facts = &exchange->facts;
    return facts->chunked || facts->length - (int64_t)exchange->request.upload.bytes > DROP_MAX;
}

/* A client that waits for a 100 gets its answer at once. Others are in the middle of sending:
 * closing now would reset the connection before they have read the answer, so the rest is dropped
 * for a while. */
static enum MHD_Result send_problem_early(struct exchange *exchange) {
    const size_t sent = exchange->facts.expects_continue ? 0 : problem_on_socket(exchange);
    if (!sent) return send_problem(exchange);
    exchange->http_status = problem_http_status(exchange);
    exchange->bytes_out = sent;
    exchange->state = EXCHANGE_LINGERING;
    exchange->connection->answered_early = true;
    request_release_operators(&exchange->request);
    set_accepted(exchange, false);
    exchange->request.received_ns = clock_ns();
    deadline_enter_idle(exchange->connection->deadline);
    return MHD_YES;
}

/* ---- the head */

/* recv_filter accepted this head, so the library parses it as we did (engine/README.md). */
static enum status check_head(struct exchange *exchange, struct failure *failure) {
    enum head_excess excess;
    if (connection_refusal(exchange->connection, failure, &excess)) {
        if (excess == EXCESS_LINE) exchange->http_status = MHD_HTTP_URI_TOO_LONG;
        if (excess == EXCESS_HEAD) exchange->http_status = MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE;
        if (excess == EXCESS_EXPECTATION) exchange->http_status = MHD_HTTP_EXPECTATION_FAILED;
        metrics_reject(exchange->front->service.metrics, REJECTED_MALFORMED);
        return failure->status;
    }
    connection_read_facts(exchange->library, &exchange->facts);
    return STATUS_OK;
}

struct query {
    struct exchange *exchange;
    struct failure *failure;
    enum status status;
};

static enum MHD_Result set_argument(void *context, enum MHD_ValueKind kind, const char *name,
                                    const char *value) {
    (void)kind;
    struct query *query = context;
    if (!*name && (!value || !*value)) return MHD_YES; /* nothing between two & */
    query->status = access_set(query->exchange, name, value ? value : "", query->failure);
    return query->status ? MHD_NO : MHD_YES;
}

/* Reads the query into the settings, up to the first argument that is refused. */
static enum status read_query(struct exchange *exchange, struct failure *failure) {
    struct query query = { exchange, failure, STATUS_OK };
    MHD_get_connection_values(exchange->library, MHD_GET_ARGUMENT_KIND, set_argument, &query);
    return query.status;
}

/* Increments `accepted`, then reads `draining`; the drain writes and reads in the reverse order. So
 * either this request is refused or the drain waits for it. */
static enum status begin_work(struct exchange *exchange, struct failure *failure) {
    set_accepted(exchange, true);
    if (service_draining(&exchange->front->service) > 1) {
        set_accepted(exchange, false);
        metrics_reject(exchange->front->service.metrics, REJECTED_DRAINING);
        return fail(failure, STATUS_BUSY, "the daemon is stopping; try another one");
    }
    enum status status = exchange->route->begin(exchange, failure);
    if (!status) status = read_query(exchange, failure);
    const struct upload_head head = {
        .length = exchange->facts.chunked ? -1 : exchange->facts.length,
        .type = connection_header(exchange->library, MHD_HTTP_HEADER_CONTENT_TYPE),
        .coding = exchange_coding(exchange),
    };
    if (!status) status = upload_begin(&exchange->request, &head, failure);
    if (!status && exchange->route->submit)
        status = capacity_check_answer(&exchange->front->service, failure);
    /* Without a form there are no more settings: what they lack is known before the body comes. */
    if (!status && exchange->route->submit && !exchange->request.upload.multipart)
        status = settings_complete(&exchange->request.settings, failure);
    return status ? status : access_enter(exchange, failure);
}

static enum status find_work(struct exchange *exchange, const char *path, struct failure *failure) {
    const struct route_match match =
        route_find(&exchange->request.generation->ops, exchange->keys, exchange->method, path,
                   exchange->listener->admin, failure);
    exchange->route = match.route;
    exchange->http_status = match.http_status;
    exchange->allow = match.allow;
    if (!match.route) return failure->status;
    if (!match.route->begin && !match.route->keyed) return STATUS_OK;
    snprintf(exchange->request.label, sizeof exchange->request.label, "%.47s", route_name(path));
    if (exchange->keys && access_check(exchange, failure)) return failure->status;
    return match.route->begin ? begin_work(exchange, failure) : STATUS_OK;
}

static enum status find_route(struct exchange *exchange, const char *path,
                              struct failure *failure) {
    exchange->path = path;
    if (exchange->front->once) exchange->keys = current_hold(&exchange->front->keys);
    exchange->route = cors_preflight(exchange);
    return exchange->route ? STATUS_OK : find_work(exchange, path, failure);
}

/* The body has not come yet. An answer queued now would end the connection, unless there is no
 * body: so a refusal waits for the end of a small body, unless its client waits for a 100. */
static enum MHD_Result read_head(struct exchange *exchange, const char *path) {
    struct failure failure = { 0 };
    if (check_head(exchange, &failure)) {
        refuse(exchange, &failure);
        return send_problem(exchange);
    }
    if (find_route(exchange, path, &failure)) refuse(exchange, &failure);
    request_release_unplanned(&exchange->request);
    exchange->state = EXCHANGE_BODY;
    const struct request_facts *facts = &exchange->facts;
    if (exchange->failure.status && (facts->expects_continue || much_is_to_come(exchange)))
        return send_problem_early(exchange);
    deadline_enter_body(exchange->connection->deadline, facts->chunked ? -1 : facts->length);
    return MHD_YES;
}

/* ---- its body */

static enum MHD_Result drop_lingering(struct exchange *exchange, size_t length) {
    exchange->request.upload.bytes += length;
    const uint64_t most = 2 * (uint64_t)exchange->request.upload.bytes_max;
    const bool enough = clock_ns() - exchange->request.received_ns > LINGER_MS * INT64_C(1000000);
    return enough || exchange->request.upload.bytes > most ? MHD_NO : MHD_YES;
}

/* The body is read only for the sake of the next request. */
static enum status drop_unwanted(struct exchange *exchange, size_t length,
                                 struct failure *failure) {
    exchange->request.upload.bytes += length;
    const uint64_t most = (uint64_t)exchange->request.upload.bytes_max + DROP_MAX;
    if (exchange->request.upload.bytes <= most) return STATUS_OK;
    return fail(failure, STATUS_BODY_TOO_LARGE, "the body is larger than %ld bytes",
                exchange->request.upload.bytes_max);
}

/* A slow body must not delay a reload for long. */
static enum status check_reload(const struct exchange *exchange, struct failure *failure) {
    const int64_t end = __atomic_load_n(&exchange->front->reload_waits_until, __ATOMIC_RELAXED);
    if (!end || !exchange->request.generation ||
        generation_in_force(exchange->request.generation) || clock_ns() < end)
        return STATUS_OK;
    return fail(failure, STATUS_BUSY,
                "users' operators were changed twice while this body was received; send it again");
}

static enum MHD_Result read_body(struct exchange *exchange, const char *bytes, size_t length) {
    struct failure failure = { 0 };
    exchange->facts.expects_continue = false; /* the library has sent its 100 */
    if (exchange->state == EXCHANGE_LINGERING) return drop_lingering(exchange, length);
    deadline_body_progress(exchange->connection->deadline,
                           (int64_t)(exchange->request.upload.bytes + length));
    const bool wanted = !exchange->failure.status && exchange->route->begin;
    enum status status =
        wanted ? upload_feed(&exchange->request, (const uint8_t *)bytes, length, &failure)
               : drop_unwanted(exchange, length, &failure);
    deadline_hold(exchange->connection->deadline, exchange->request.upload.held);
    request_release_unplanned(&exchange->request);
    if (!status) status = check_reload(exchange, &failure);
    if (!status) return MHD_YES;
    refuse(exchange, &failure);
    return !wanted || much_is_to_come(exchange) ? send_problem_early(exchange) : MHD_YES;
}

/* A large body bypasses the library (engine/recv_filter.h): all but its last byte comes here. */
void *request_flow_body_buffer(void *memory, size_t *size) {
    struct exchange *exchange = memory;
    const bool wanted = exchange->state == EXCHANGE_BODY && !exchange->failure.status &&
                        exchange->route->begin != NULL;
    return wanted ? upload_buffer(&exchange->request, size) : NULL;
}

bool request_flow_body_received(void *memory, const void *bytes, size_t length) {
    struct exchange *exchange = memory;
    if (exchange->state != EXCHANGE_BODY && exchange->state != EXCHANGE_LINGERING) return false;
    return read_body(exchange, bytes, length) == MHD_YES;
}

/* ---- its job */

/* Called by the deadline thread while no other thread uses the exchange. A job that cannot be
 * stopped, such as a WebP's, goes on for a while; the drain does not wait for it. */
static void abandon_job(void *context) {
    struct exchange *exchange = context;
    request_cancel(&exchange->request);
    exchange->abandoned = true;
    __atomic_add_fetch(&exchange->front->abandoned, 1, __ATOMIC_SEQ_CST);
    set_accepted(exchange, false);
}

static void resume(struct job_owner *owner) {
    struct exchange *exchange =
        (struct exchange *)((char *)owner - offsetof(struct exchange, request.owner));
    MHD_resume_connection(exchange->library);
    __atomic_sub_fetch(&exchange->front->suspended, 1, __ATOMIC_RELEASE);
}

/* The job may be done already, but it comes back to this thread, and so not before we return. */
static enum MHD_Result wait_for_job(struct exchange *exchange) {
    exchange->state = EXCHANGE_WAITING;
    __atomic_add_fetch(&exchange->front->suspended, 1, __ATOMIC_RELAXED);
    MHD_suspend_connection(exchange->library);
    deadline_enter_waiting(exchange->connection->deadline, abandon_job, exchange);
    return MHD_YES;
}

/* Refuses a chunked body with broken framing, which is incomplete. */
static void check_framing(struct exchange *exchange) {
    struct failure failure = { 0 };
    enum head_excess ignored;
    if (!connection_refusal(exchange->connection, &failure, &ignored)) return;
    metrics_reject(exchange->front->service.metrics, REJECTED_MALFORMED);
    exchange->unreadable_rest = true;
    refuse(exchange, &failure);
}

static enum MHD_Result end_body(struct exchange *exchange) {
    const struct route *route = exchange->route;
    struct failure failure = { 0 };
    struct reply reply = { 0 };
    if (exchange->facts.chunked) check_framing(exchange);
    exchange->request.received_ns = clock_ns();
    if (exchange->failure.status) return send_problem(exchange);
    enum status status = route->begin ? upload_finish(&exchange->request, &failure) : STATUS_OK;
    if (!status && route->submit) {
        status = route->submit(exchange, &failure);
        if (!status) access_submitted(exchange);
        if (!status) return wait_for_job(exchange);
    } else if (!status) {
        access_spend(exchange);
        request_hold_operators(&exchange->request);
        status = route->answer(exchange, &reply, &failure);
    }
    if (!status) return send_reply(exchange, reply);
    refuse(exchange, &failure);
    return send_problem(exchange);
}

/* Finished jobs may have come back to this thread. */
void request_flow_jobs_completed(void *context, int pipe) {
    struct front_listener *listener = context;
    request_take_completed(&listener->front->service, (int)(listener - listener->front->listeners),
                           pipe, &listener->looked_ns);
}

static enum MHD_Result answer_job(struct exchange *exchange) {
    deadline_enter_write(exchange->connection->deadline, 0);
    const struct job *job = request_job(&exchange->request);
    struct failure failure = job->failure;
    struct reply reply = { 0 };
    access_returned(exchange);
    /* Else the job left the queue without having run. */
    if (failure.status != STATUS_BUSY || job->lost_runs) access_spend(exchange);
    if (failure.status == STATUS_BUSY) request_count_refusal(&exchange->request, failure.status);
    if (!failure.status && !reply_job(exchange, &reply, &failure))
        return send_reply(exchange, reply);
    refuse(exchange, &failure);
    return send_problem(exchange);
}

/* ---- its end */

void request_flow_ended(void *context, struct MHD_Connection *library, void **state,
                        enum MHD_RequestTerminationCode how) {
    (void)context, (void)library;
    struct exchange *exchange = *state;
    if (!exchange) return;
    struct front *front = exchange->front;
    const double total_ms = ns_to_ms(clock_ns() - exchange->request.start_ns);
    connection_end_request(exchange->connection);
    const bool answered = exchange->state == EXCHANGE_LINGERING; /* the rest does not matter */
    if (how != MHD_REQUEST_TERMINATED_COMPLETED_OK && !answered) exchange->http_status = 499;
    if (exchange->route && exchange->route->begin)
        metrics_request(front->service.metrics,
                        log_wants(LOG_INFO) ? &exchange->request.trace : NULL,
                        exchange->request.label, exchange->http_status, total_ms,
                        exchange->device[0] ? &exchange->timing : NULL, exchange->pixels);
    access_log_write(exchange, total_ms);
    access_leave(exchange);
    key_table_release(exchange->keys);
    if (exchange->request.grant.key[0])
        metrics_request_of_key(front->service.metrics, exchange->request.grant.key,
                               exchange->http_status, exchange->device_ms, exchange->pixels);
    upload_release(&exchange->request);
    request_release_operators(&exchange->request);
    settings_release(&exchange->request.settings);
    set_accepted(exchange, false);
    if (exchange->abandoned) __atomic_sub_fetch(&front->abandoned, 1, __ATOMIC_SEQ_CST);
    *state = NULL;
    __atomic_sub_fetch(&front->exchanges, 1, __ATOMIC_RELEASE);
}

/* ---- the library's calls */

enum MHD_Result request_flow_proceed(void *context, struct MHD_Connection *library,
                                     const char *path, const char *method, const char *version,
                                     const char *body, size_t *length, void **state) {
    (void)version;
    struct exchange *exchange = *state;
    if (!exchange) {
        exchange = *state = exchange_begin(context, library, method);
        if (!exchange) return MHD_NO;
        exchange->request.owner.completed = resume;
        return read_head(exchange, path);
    }
    if (*length) {
        const size_t bytes = *length;
        *length = 0;
        return read_body(exchange, body, bytes);
    }
    if (exchange->state == EXCHANGE_WAITING) return answer_job(exchange);
    if (exchange->state == EXCHANGE_LINGERING) return MHD_NO; /* answered already: closes */
    return end_body(exchange);
}
