// SPDX-License-Identifier: Apache-2.0
/* HOW. libmicrohttpd is the socket engine: a few threads (io.c), epoll, requests suspended while
 * their job is away. Its traps are kept shut here: our own header gate runs first; a job comes back
 * to the thread that sent it, so a connection is never woken before it sleeps; responses are queued
 * in the handler alone; every sleeping connection is woken before the library is stopped; its
 * timeouts, which any byte resets, are replaced by the watcher's. */
#include "server/http/front.h"

#include "server/http/drain.h"
#include "server/http/engine/connection.h"
#include "server/http/engine/lingering_close.h"
#include "server/http/engine/listen_socket.h"
#include "server/http/reply.h"
#include "server/http/route.h"
#include "server/http/upload.h"
#include "server/jobs/line.h"
#include "server/log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* Beyond these a small body is read to its end before a refusal, so that every client sees the
 * answer. */
enum { SWALLOW_MAX = 1 << 20, LINGER_MS = 2000 };

/* ---- a request begins */

static struct exchange *exchange_create(const struct door *door, struct MHD_Connection *connection,
                                        const char *method) {
    struct front *front = door->front;
    struct link *link = link_of(connection);
    if (!link || !link->filter) return NULL;
    struct exchange *exchange = &link->exchange;
    exchange_clear(exchange);
    exchange->front = front;
    exchange->door = door;
    exchange->connection = connection;
    exchange->deadline = link->deadline;
    exchange->method = method;
    exchange->slot = -1;
    exchange->start_ns = link->start_ns;
    strcpy(exchange->target, link->target);
    strcpy(exchange->label, "other");
    exchange_name(exchange);
    __atomic_add_fetch(&front->exchanges, 1, __ATOMIC_RELAXED);
    return exchange;
}

/* Twice: the bytes as they came, and what the library read in them. */
static enum status pass_gate(struct exchange *exchange, const char *version, int *http_status,
                             struct failure *failure) {
    const struct link *link = link_of(exchange->connection);
    struct request_head request;
    bool too_long;
    if (recv_filter_refusal(link->filter, link->requests, failure, &too_long)) {
        if (too_long) *http_status = MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE;
        return failure->status;
    }
    request_check_collect(exchange->connection, exchange->method, exchange->target, version,
                          &request);
    return request_check_head(&request, &exchange->facts, failure);
}

/* While it is accepted, the drain waits for its end. */
static void set_accepted(struct exchange *exchange, bool accepted) {
    if (exchange->accepted == accepted) return;
    exchange->accepted = accepted;
    __atomic_add_fetch(&exchange->front->accepted, accepted ? 1 : -1, __ATOMIC_SEQ_CST);
}

/* Counted first, then asked whether the daemon stops, and the drain does it the other way round: so
 * either this request is refused, or the drain waits for it. */
static enum status begin_work(struct exchange *exchange, struct failure *failure) {
    if (!exchange->route->begin) return STATUS_OK;
    set_accepted(exchange, true);
    if (front_draining(exchange->front) > 1) {
        set_accepted(exchange, false);
        metrics_reject(exchange->front->metrics, REJECTED_DRAINING);
        return fail(failure, STATUS_BUSY, "the daemon is stopping; try another one");
    }
    return exchange->route->begin(exchange, failure);
}

/* More of its body than is worth reading for the sake of the next request, or nobody knows. */
static bool much_is_to_come(const struct exchange *exchange) {
    const struct request_facts *facts = &exchange->facts;
    return facts->chunked || facts->length - (int64_t)exchange->upload.bytes > SWALLOW_MAX;
}

/* A client that waits for leave to send gets its answer at once. Any other is in the middle of
 * sending: closing now would reset the line before it has read why, so what it sends is dropped for
 * a while. */
static enum MHD_Result refuse_large(struct exchange *exchange, int http_status) {
    if (exchange->facts.expects_continue || !reply_on_socket(exchange, http_status))
        return reply_problem(exchange, http_status);
    exchange->state = EXCHANGE_LINGERING;
    set_accepted(exchange, false);
    exchange->received_ns = clock_ns();
    deadline_enter_idle(exchange->deadline);
    return MHD_YES;
}

static enum MHD_Result linger(struct exchange *exchange, size_t *length) {
    exchange->upload.bytes += *length;
    *length = 0;
    const uint64_t most = 2 * (uint64_t)exchange->front->config->body_bytes_max;
    const bool enough = clock_ns() - exchange->received_ns > LINGER_MS * INT64_C(1000000);
    return enough || exchange->upload.bytes > most ? MHD_NO : MHD_YES;
}

/* First call of the handler: headers are there, the body is not. An answer queued now ends the
 * connection unless there is no body, so a refusal waits for the end of a small one. */
static enum MHD_Result begin(struct exchange *exchange, const char *path, const char *version) {
    struct failure failure = { 0 };
    int http_status = 0;
    if (pass_gate(exchange, version, &http_status, &failure)) {
        metrics_reject(exchange->front->metrics, REJECTED_MALFORMED);
        exchange_fail(exchange, &failure);
        return reply_problem(exchange, http_status);
    }
    if (strlen(exchange->target) >= TARGET_MAX - 1) {
        fail(&failure, STATUS_BAD_REQUEST, "the target is over %d bytes long", TARGET_MAX - 2);
        exchange_fail(exchange, &failure);
        return reply_problem(exchange, MHD_HTTP_URI_TOO_LONG);
    }
    exchange->route =
        route_find(exchange->method, path, exchange->door->admin, &http_status, &failure);
    if (exchange->route && exchange->route->begin)
        snprintf(exchange->label, sizeof exchange->label, "%.31s", path + 1);
    if (!exchange->route || begin_work(exchange, &failure)) {
        exchange_fail(exchange, &failure);
        exchange_release(exchange);
    }
    exchange->http_status = http_status;
    exchange->state = EXCHANGE_BODY;
    if (exchange->failure.status && much_is_to_come(exchange))
        return refuse_large(exchange, http_status);
    const struct request_facts *facts = &exchange->facts;
    deadline_enter_body(exchange->deadline, facts->chunked ? -1 : facts->length);
    return MHD_YES;
}

/* ---- its body */

static enum MHD_Result take_body(struct exchange *exchange, const char *bytes, size_t *length) {
    struct failure failure = { 0 };
    enum status status = STATUS_OK;
    exchange->facts.expects_continue = false; /* it has been told to go on */
    if (exchange->state == EXCHANGE_LINGERING) return linger(exchange, length);
    deadline_body_progress(exchange->deadline, (int64_t)(exchange->upload.bytes + *length));
    if (exchange->failure.status || !exchange->route->begin)
        exchange->upload.bytes += *length; /* read for the sake of the next request, and dropped */
    else
        status = upload_feed(exchange, (const uint8_t *)bytes, *length, &failure);
    *length = 0;
    if (status) {
        exchange_fail(exchange, &failure);
        exchange_release(exchange);
        if (much_is_to_come(exchange)) return refuse_large(exchange, 0);
    }
    const uint64_t most = (uint64_t)exchange->front->config->body_bytes_max + SWALLOW_MAX;
    if (exchange->upload.bytes <= most) return MHD_YES;
    return refuse_large(exchange, 0);
}

/* ---- its answer */

static enum MHD_Result answer(struct exchange *exchange) {
    deadline_enter_write(exchange->deadline, 0);
    if (exchange->failure.status) return reply_problem(exchange, exchange->http_status);
    exchange->failure = exchange_job(exchange)->failure;
    if (!exchange->failure.status) return reply_job(exchange);
    exchange_release(exchange);
    return reply_problem(exchange, 0);
}

/* The framing of its body was not kept: what has come of it is nothing whole. */
static void judge_body(struct exchange *exchange) {
    const struct link *link = link_of(exchange->connection);
    struct failure failure = { 0 };
    bool ignored;
    if (!recv_filter_refusal(link->filter, link->requests, &failure, &ignored)) return;
    metrics_reject(exchange->front->metrics, REJECTED_MALFORMED);
    exchange->spoiled = true;
    exchange_fail(exchange, &failure);
    exchange_release(exchange);
}

static enum MHD_Result finish(struct exchange *exchange) {
    if (exchange->state == EXCHANGE_WAITING) return answer(exchange);
    if (exchange->state == EXCHANGE_LINGERING) return MHD_NO; /* answered already: close */
    if (exchange->facts.chunked) judge_body(exchange);
    exchange->received_ns = clock_ns();
    if (exchange->failure.status) return reply_problem(exchange, exchange->http_status);
    return exchange->route->finish(exchange);
}

/* Finished jobs have come back to this thread: wake the connections that sleep on them. */
static void jobs_returned(void *context, int line) {
    struct front *front = context;
    struct returned returned[64];
    const int count = line_take(line, returned, 64);
    for (int i = 0; i < count; i++) {
        if (!supervisor_returned(front->supervisor, returned[i].slot, returned[i].number)) continue;
        const struct exchange *exchange = slot_owner(front->slots, returned[i].slot);
        MHD_resume_connection(exchange->connection);
        __atomic_sub_fetch(&front->asleep, 1, __ATOMIC_RELEASE);
    }
}

/* ---- callbacks of the library */

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *body, size_t *length, void **state) {
    struct exchange *exchange = *state;
    if (!exchange) {
        exchange = *state = exchange_create(context, connection, method);
        return exchange ? begin(exchange, path, version) : MHD_NO;
    }
    return *length ? take_body(exchange, body, length) : finish(exchange);
}

static void *on_target(void *context, const char *target, struct MHD_Connection *connection) {
    (void)context;
    struct link *link = link_of(connection);
    if (link) link_begin(link, target);
    return NULL;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode how) {
    (void)context;
    struct exchange *exchange = *state;
    if (!exchange) return;
    struct front *front = exchange->front;
    const double total_ms = ns_to_ms(clock_ns() - exchange->start_ns);
    link_end(link_of(connection));
    const bool answered = exchange->state == EXCHANGE_LINGERING; /* whatever came of the rest */
    if (how != MHD_REQUEST_TERMINATED_COMPLETED_OK && !answered) exchange->http_status = 499;
    if (exchange->route && exchange->route->begin)
        metrics_request(front->metrics, exchange->label, exchange->http_status, total_ms,
                        exchange->device[0] ? &exchange->timing : NULL, exchange->pixels);
    exchange_log(exchange, total_ms);
    exchange_release(exchange);
    set_accepted(exchange, false);
    *state = NULL;
    __atomic_sub_fetch(&front->exchanges, 1, __ATOMIC_RELEASE);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **link,
                          enum MHD_ConnectionNotificationCode what) {
    struct front *front = ((struct door *)context)->front;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *link = link_open(front, connection);
    } else if (*link) {
        link_close(*link, front, connection);
        *link = NULL;
    }
}

/* Mostly of clients that leave in the middle: no error of ours, and as many lines as they like. */
static void on_library_log(void *context, const char *format, va_list arguments) {
    (void)context;
    char text[256];
    vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\n")] = '\0';
    log_event(LOG_INFO, "http: %s", text);
}

static void on_panic(void *context, const char *file, unsigned int line, const char *reason) {
    (void)context;
    log_event(LOG_ERROR, "http: panic at %s:%u: %s", file, line, reason ? reason : "");
    abort();
}

/* ---- life */

/* All doors of `listen` together allow connections_max, of which none has nothing. */
static unsigned connections_of(const struct door *door) {
    const struct config *config = door->front->config;
    if (door->admin) return (unsigned)config->connections_max;
    const long place = door - door->front->doors;
    return (unsigned)(config->connections_max / config->io_threads +
                      (place < config->connections_max % config->io_threads));
}

/* LISTENER is shared by the doors of one address; each closes its own copy. */
static struct MHD_Daemon *open_daemon(struct door *door, int listener) {
    const struct config *config = door->front->config;
    const int fd = fcntl(listener, F_DUPFD_CLOEXEC, 0);
    const unsigned flags =
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_ERROR_LOG;
    /* The library keeps half of it for what it reads; the rest is for its records of headers and
     * arguments, 64 bytes each and as many as the gate lets pass, and for the head of the answer.
     * Beyond 32 KiB it maps pages for every connection, which then costs twice as much. */
    const size_t longest = (size_t)config->header_bytes;
    const size_t memory = longest <= 16 << 10 ? 32 << 10 : (16 << 10) + 2 * longest;
    struct MHD_Daemon *daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, door, MHD_OPTION_EXTERNAL_LOGGER, on_library_log, NULL,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, connections_of(door),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
        door, MHD_OPTION_NOTIFY_COMPLETED, on_completed, door, MHD_OPTION_URI_LOG_CALLBACK,
        on_target, door, MHD_OPTION_END);
    if (!daemon) close(fd);
    return daemon;
}

static enum status open_doors(struct front *front, bool admin, struct failure *failure) {
    const struct config *config = front->config;
    const char *address = admin ? config->admin_listen : config->listen;
    const int listener = listen_socket_open(address, admin ? "--admin-listen" : "--listen",
                                            config->insecure, &front->files[admin], failure);
    if (listener < 0) return STATUS_INTERNAL;
    if (!admin) front->port = listen_socket_port(listener);
    enum status status = STATUS_OK;
    for (long i = 0; !status && i < (admin ? 1 : config->io_threads); i++) {
        struct door *door = &front->doors[admin ? config->io_threads : i];
        door->admin = admin;
        if (admin) door->line[0] = -1;
        struct MHD_Daemon *daemon = open_daemon(door, listener);
        if (daemon) door->io = io_thread_start(daemon, door->line[0], jobs_returned, front);
        if (daemon && !door->io) MHD_stop_daemon(daemon);
        if (!door->io)
            status = fail(failure, STATUS_INTERNAL,
                          "the HTTP library could not be started on %.80s", address);
    }
    close(listener);
    return status;
}

static enum status open_lines(struct front *front, struct failure *failure) {
    front->door_count = (int)front->config->io_threads + 1;
    for (int i = 0; i < front->door_count; i++) {
        front->doors[i].front = front;
        if (!line_open(front->doors[i].line))
            return fail(failure, STATUS_NO_MEMORY, "no descriptors for the way back of jobs");
    }
    return STATUS_OK;
}

static struct slots *open_slots(const struct config *config, struct failure *failure) {
    /* An answer of 16-bit RGBA, uncompressed, is the largest there can be. */
    const size_t answer = (size_t)config->pixels_max * 8 + (size_t)config->profile_bytes_max;
    const struct slot_options options = {
        .classes = { { (int)config->slots_small, 256 << 10 },
                     { (int)config->slots_medium, 8 << 20 },
                     { (int)config->slots_large, 0 } },
        .span_bytes = (size_t)config->body_bytes_max + answer + answer / 64 + (2 << 20),
        .preamble = config,
        .preamble_bytes = sizeof *config,
    };
    return slots_create(&options, failure);
}

static enum status open_all(struct front *front, struct failure *failure) {
    const struct config *config = front->config;
    MHD_set_panic_func(on_panic, NULL);
    front->metrics = metrics_create();
    if (open_lines(front, failure)) return STATUS_NO_MEMORY;
    front->slots = open_slots(config, failure);
    if (!front->slots || !front->metrics) return STATUS_NO_MEMORY;
    const struct deadline_limits limits = {
        .header_ms = config->header_ms,
        .body_ms = config->body_ms,
        .body_rate_bytes = config->body_rate_bytes,
        .body_pressed_ms = config->body_pressed_ms,
        .keep_alive_ms = config->keep_alive_ms,
        .write_ms = config->write_ms,
        .write_rate_bytes = config->write_rate_bytes,
        .pressed = upload_pressed,
        .context = front,
    };
    front->deadlines = deadlines_create(&limits);
    front->lingering = lingering_close_create();
    if (!front->deadlines || !front->lingering)
        return fail(failure, STATUS_NO_MEMORY, "no thread to watch connections");
    for (int i = 0; i < (int)config->io_threads; i++) front->lines[i] = front->doors[i].line[1];
    const struct supervisor_options options = { .config = config,
                                                .slots = front->slots,
                                                .lines = front->lines,
                                                .line_count = (int)config->io_threads };
    front->supervisor = supervisor_create(&options, failure);
    if (!front->supervisor) return STATUS_NO_MEMORY;
    if (config->admin_listen[0] && open_doors(front, true, failure)) return STATUS_INTERNAL;
    return open_doors(front, false, failure);
}

struct front *front_create(const struct config *config, struct failure *failure) {
    struct front *front = calloc(1, sizeof *front);
    if (!front) return fail(failure, STATUS_NO_MEMORY, "no memory for the front"), NULL;
    front->config = config;
    if (getrandom(&front->run_id, sizeof front->run_id, 0) < 0) front->run_id = (uint32_t)getpid();
    if (open_all(front, failure)) return front_destroy(front), NULL;
    return front;
}

int front_wait_ready(struct front *front, int timeout_ms) {
    for (int waited = 0; waited < timeout_ms; waited += 5) {
        struct seat_facts seats[SEATS_MAX];
        const int count = supervisor_seats(front->supervisor, seats);
        if (count && seats[0].healthy) return 1;
        usleep(5000);
    }
    return 0;
}

int front_port(const struct front *front) {
    return front->port;
}

void front_drain(struct front *front, int (*interrupted)(void)) {
    drain_run(front, interrupted);
    supervisor_drain(front->supervisor);
}

static int never(void) {
    return 0;
}

/* Workers first: their jobs come back and wake the connections that sleep on them, for the library
 * aborts if it is stopped with one asleep. */
void front_destroy(struct front *front) {
    if (!front) return;
    __atomic_store_n(&front->draining, 2, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 2; i++) listen_socket_remove_file(&front->files[i]);
    if (front->supervisor) supervisor_stop(front->supervisor);
    drain_wait(&front->asleep, 2000, never);
    for (int i = 0; i < front->door_count; i++) {
        io_thread_stop(front->doors[i].io);
        for (int end = 0; end < 2; end++)
            if (front->doors[i].line[end] >= 0) close(front->doors[i].line[end]);
    }
    supervisor_destroy(front->supervisor);
    deadlines_destroy(front->deadlines);
    lingering_close_destroy(front->lingering);
    slots_destroy(front->slots);
    metrics_destroy(front->metrics);
    free(front);
}
