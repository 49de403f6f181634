// SPDX-License-Identifier: Apache-2.0
/* How it works. The life of the daemon. It starts in the order in which a request goes, from the
 * back: pipes, slots, the threads that watch connections, the workers, and at last the sockets.
 * The workers end first: their jobs come back and resume the connections that wait for them, for
 * the library aborts if it is stopped with one suspended. A request's own way: request_flow.c;
 * front_reload and front_drain: reload.c, drain.c. */
#include "server/http/front.h"

#include "config/memory.h"
#include "server/api/values_json.h"
#include "server/http/exchange.h"
#include "server/http/health.h"
#include "server/http/request_flow.h"
#include "server/log/log.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Addresses that the front takes beside the slots: of each thread its stack, and what malloc sets
 * apart for it. */
static const size_t SPARE_BYTES = 256 << 20, THREAD_BYTES = 72 << 20;

static int core_count(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* On 16 cores with a GPU 8 threads carry 140,000 small requests a second, 4 carry 115,000 to
 * 127,000; bodies of 200 KB, and cores that work alone, go as fast with either. On 32 cores with
 * two GPUs 16 carry fewer than 8: they wait for each other. */
enum { IO_THREADS_MOST = 8 };

int front_io_threads(const struct config *config) {
    if (config->io_threads) return (int)config->io_threads;
    int count = core_count() / 2;
    if (count > IO_THREADS_MOST) count = IO_THREADS_MOST;
    if (count > config->connections_max) count = (int)config->connections_max;
    return count > 2 ? count : config->connections_max > 1 ? 2 : 1;
}

/* The last of all is the admin's. */
static int listener_count(const struct front *front) {
    return front->io_threads + 1;
}

/* ---- start */

static long medium_slots(const struct config *config, int gpus) {
    return config->slots_medium + gpus * config->slots_gpu;
}

static enum status open_pipes(struct front *front, int gpus, struct failure *failure) {
    const struct config *config = front->service.config;
    const long slots =
        config->slots_small + medium_slots(config, gpus) + config->slots_large + config->slots_huge;
    for (int i = 0; i < front->io_threads; i++) {
        struct front_listener *listener = &front->listeners[i];
        const enum status status = completion_pipe_open(listener->pipe, (int)slots, failure);
        if (status) return status;
        front->pipes[i] = listener->pipe[1];
    }
    return STATUS_OK;
}

static enum status open_slots(struct front *front, int gpus, struct failure *failure) {
    const struct config *config = front->service.config;
    /* An answer of 16-bit RGBA, uncompressed, is the largest there can be. */
    const size_t answer = (size_t)config->pixels_max * 8 + (size_t)config->profile_bytes_max;
    const size_t values = VALUES_JSON_MAX + SLOT_PAGE; /* and up to a page before the result */
    const struct slot_options options = {
        .classes = { { (int)config->slots_small, SLOT_SMALL_BYTES },
                     { (int)medium_slots(config, gpus), SLOT_MEDIUM_BYTES },
                     { (int)config->slots_large, SLOT_LARGE_BYTES },
                     { (int)config->slots_huge, 0 } },
        .span_bytes = (size_t)config->body_bytes_max + answer + answer / 64 + values + (2 << 20),
        .preamble = config,
        .preamble_bytes = sizeof *config,
    };
    const size_t spare = SPARE_BYTES + (size_t)front->io_threads * THREAD_BYTES;
    if (slots_check_limit(&options, spare, failure)) return failure->status;
    front->service.slots = slots_create(&options, failure);
    return front->service.slots ? STATUS_OK : STATUS_NO_MEMORY;
}

/* ---- what requests hold, which the deadlines' thread frees when it is short */

static void note_shortage(void *context, enum shortage of, int64_t wanted) {
    static const enum resource resources[] = { [SHORT_OF_SLOTS] = RESOURCE_SLOTS,
                                               [SHORT_OF_BODIES] = RESOURCE_BODIES,
                                               [SHORT_OF_ANSWERS] = RESOURCE_ANSWERS };
    const struct front *front = context;
    deadline_thread_note_pressure(front->deadlines, resources[of], wanted);
}

/* How much of RESOURCE is free. */
static int64_t room_left(const void *context, enum resource resource) {
    const struct service *service = &((const struct front *)context)->service;
    switch (resource) {
    case RESOURCE_SLOTS: return slots_count(service->slots) - slots_in_use(service->slots);
    case RESOURCE_BODIES:
        return service->config->queue_bytes -
               __atomic_load_n(&service->body_bytes_held, __ATOMIC_RELAXED);
    default:
        return service->config->answer_bytes -
               __atomic_load_n(&service->answer_bytes_held, __ATOMIC_RELAXED);
    }
}

static enum status start_watching(struct front *front, struct failure *failure) {
    const struct config *config = front->service.config;
    const struct pressure_options pressure = {
        .room = room_left,
        .context = front,
        .total = { slots_count(front->service.slots), config->queue_bytes, config->answer_bytes },
        .patience_ms = config->body_pressed_ms,
        .rate_max_bytes = config->pressed_rate_bytes,
        .idle_patience_ms = config->idle_pressed_ms,
    };
    const struct deadline_limits limits = {
        .header_ms = config->header_ms,
        .body_ms = config->body_ms,
        .body_rate_bytes = config->body_rate_bytes,
        .keep_alive_ms = config->keep_alive_ms,
        .write_ms = config->write_ms,
        .write_rate_bytes = config->write_rate_bytes,
        .pressure = &pressure,
    };
    front->deadlines = deadline_thread_create(&limits);
    front->lingering = lingering_close_create();
    if (front->deadlines && front->lingering) return STATUS_OK;
    return fail(failure, STATUS_NO_MEMORY,
                "the threads that watch connections could not be started");
}

static enum status list_workers(struct worker_list *workers, const struct config *config,
                                int (*interrupted)(void), struct failure *failure) {
    const struct process_limits limits = { (int)config->worker_start_ms, interrupted };
    return worker_list_make(workers, config->devices, &limits, failure);
}

static enum status start_workers(struct front *front, const struct worker_list *workers,
                                 struct failure *failure) {
    const struct supervisor_options options = { .config = front->service.config,
                                                .slots = front->service.slots,
                                                .pipes = front->pipes,
                                                .pipe_count = front->io_threads,
                                                .generation = front->service.generations.current,
                                                .workers = workers };
    front->service.supervisor = supervisor_create(&options, failure);
    return front->service.supervisor ? STATUS_OK : STATUS_NO_MEMORY;
}

static bool has_admin(const struct front *front, const struct front_sockets *sockets) {
    return sockets->admin >= 0 || front->service.config->admin_listen[0];
}

static void limit_connections(struct front *front, const struct front_sockets *sockets) {
    const struct descriptors now = descriptors_now();
    const long wanted = front->service.config->connections_max;
    front->limits = connection_limits_find(front->service.config, front->io_threads,
                                           has_admin(front, sockets), &now);
    lingering_close_set_max(front->lingering, front->limits.lingering);
    if (front->limits.listen < wanted)
        log_event(LOG_ERROR,
                  "connections_max is %ld, but the limit of open files, %ld, leaves room for %d "
                  "connections: no more are accepted at a time; raise it (ulimit -n, "
                  "LimitNOFILE=) or lower connections_max",
                  wanted, now.limit, front->limits.listen);
}

/* All listeners of `listen` together allow as many as there may be, of which none has nothing. */
static unsigned connections_of(const struct front *front, long place) {
    const int all = front->limits.listen;
    if (front->listeners[place].admin) return (unsigned)front->limits.admin;
    return (unsigned)(all / front->io_threads + (place < all % front->io_threads));
}

static struct admission_options admission_of(struct front_listener *listener) {
    const struct config *config = listener->front->service.config;
    return (struct admission_options){
        .room = overload_room,
        .wanted = overload_wanted,
        .refusal = overload_refusal,
        .client = overload_client,
        .context = listener,
        .refusing_ns = config->refusals_percent * INT64_C(10000000) * core_count() /
                       listener->front->io_threads,
        .waiting_ns = config->processing_ms * INT64_C(1000000),
    };
}

static enum status open_listener(struct front *front, long place, int fd, struct failure *failure) {
    struct front_listener *listener = &front->listeners[place];
    const struct admission_options admission = admission_of(listener);
    const struct listener_options options = {
        .fd = fd,
        .inherited = front->inherited[listener->admin],
        .connections_max = connections_of(front, place),
        .balance = listener->admin ? NULL : &front->balance,
        .admission = listener->admin ? NULL : &admission,
        .connection = { .deadlines = front->deadlines,
                        .lingering = front->lingering,
                        .header_bytes_max = (size_t)front->service.config->header_bytes,
                        .request_bytes = sizeof(struct exchange),
                        .body_place = request_flow_body_place,
                        .body_take = request_flow_body_take },
        .pipe = listener->pipe[0],
        .request = request_flow_proceed,
        .ended = request_flow_ended,
        .jobs_completed = request_flow_jobs_completed,
        .context = listener,
    };
    listener->listener = listener_open(&options);
    if (listener->listener) return STATUS_OK;
    return fail(failure, STATUS_INTERNAL, "the HTTP library could not be started on %.80s",
                listener->admin ? front->service.config->admin_listen
                                : front->service.config->listen);
}

static int open_socket(struct front *front, bool admin, struct failure *failure) {
    const struct config *config = front->service.config;
    return listen_socket_open(admin ? config->admin_listen : config->listen,
                              admin ? "--admin-listen" : "--listen", config->insecure,
                              &front->files[admin], failure);
}

/* FD, or where that is -1 `listen`, for all I/O threads, or `admin_listen`, for one of its own. */
static enum status open_listeners(struct front *front, bool admin, int fd,
                                  struct failure *failure) {
    if (fd < 0) fd = open_socket(front, admin, failure);
    if (fd < 0) return STATUS_INTERNAL;
    if (!admin) listen_socket_address(fd, front->address, sizeof front->address);
    const long first = admin ? front->io_threads : 0;
    const long count = admin ? 1 : front->io_threads;
    enum status status = STATUS_OK;
    for (long i = 0; !status && i < count; i++)
        status = open_listener(front, first + i, fd, failure);
    close(fd); /* each listener has a copy */
    return status;
}

static enum status check_sockets(struct front *front, const struct front_sockets *sockets,
                                 struct failure *failure) {
    const bool insecure = front->service.config->insecure;
    front->inherited[0] = sockets->http >= 0;
    front->inherited[1] = sockets->admin >= 0;
    if (front->inherited[0] && listen_socket_check(sockets->http, "http", insecure, failure))
        return failure->status;
    return front->inherited[1] ? listen_socket_check(sockets->admin, "admin", insecure, failure)
                               : STATUS_OK;
}

/* A socket is taken out of SOCKETS when it is a listener's. */
static enum status start_listeners(struct front *front, struct front_sockets *sockets,
                                   struct failure *failure) {
    const int http = sockets->http, admin = sockets->admin;
    enum status status = STATUS_OK;
    limit_connections(front, sockets);
    if (has_admin(front, sockets)) {
        sockets->admin = -1;
        status = open_listeners(front, true, admin, failure);
    }
    if (status) return status;
    sockets->http = -1;
    return open_listeners(front, false, http, failure);
}

static enum status start(struct front *front, struct front_sockets *sockets,
                         int (*interrupted)(void), struct failure *failure) {
    if (check_sockets(front, sockets, failure)) return failure->status;
    front->service.metrics = metrics_create();
    if (!front->service.metrics)
        return fail(failure, STATUS_NO_MEMORY, "there is no memory for the metrics");
    metrics_add_operators(front->service.metrics, &front->service.generations.current->ops);
    struct worker_list workers;
    enum status status = list_workers(&workers, front->service.config, interrupted, failure);
    const int gpus = workers.count - 1; /* the last is the CPU */
    if (!status) status = open_pipes(front, gpus, failure);
    if (!status) status = open_slots(front, gpus, failure);
    if (!status) status = start_watching(front, failure);
    if (!status) status = start_workers(front, &workers, failure);
    return status ? status : start_listeners(front, sockets, failure);
}

static void close_sockets(const struct front_sockets *sockets) {
    if (sockets->http >= 0) close(sockets->http);
    if (sockets->admin >= 0) close(sockets->admin);
}

struct front *front_create(const struct config *config, struct front_sockets sockets,
                           struct generation *operators, int (*interrupted)(void),
                           struct failure *failure) {
    struct front *front = calloc(1, sizeof *front);
    if (!front) {
        generation_release(operators);
        fail(failure, STATUS_NO_MEMORY, "there is no memory for the daemon");
        return close_sockets(&sockets), NULL;
    }
    front->service.config = config;
    front->service.note_shortage = note_shortage;
    front->service.context = front;
    networks_read(config->trusted_proxies, &front->trusted_proxies);
    types_read(config->prefer, &front->service.prefer);
    generations_init(&front->service.generations, operators);
    for (int i = 0; i < LISTENERS_MAX; i++)
        front->listeners[i] = (struct front_listener){ .front = front, .pipe = { -1, -1 } };
    front->io_threads = front_io_threads(config);
    front->listeners[front->io_threads].admin = true;
    const enum status status = start(front, &sockets, interrupted, failure);
    close_sockets(&sockets);
    if (status) return front_destroy(front), NULL;
    return front;
}

/* ---- running */

bool front_first_is_ready(struct front *front) {
    struct worker_facts workers[WORKERS_MAX];
    return supervisor_workers(front->service.supervisor, workers) && workers[0].healthy;
}

bool front_has_started(struct front *front) {
    struct readiness now;
    health_readiness(front, &now);
    return now.healthy;
}

void front_wait_worker(struct front *front, int timeout_ms, const sigset_t *mask) {
    supervisor_wait_worker(front->service.supervisor, timeout_ms, mask);
}

bool front_is_alive(struct front *front, int timeout_ms) {
    return health_is_alive(front, timeout_ms);
}

const char *front_address(const struct front *front) {
    return front->address;
}

/* ---- stop */

/* RESUME_MS: how long the connections that waited for a job are given to be resumed. */
enum { RESUME_MS = 2000, LOOK_MS = 5 };

void front_destroy(struct front *front) {
    if (!front) return;
    __atomic_store_n(&front->service.draining, 2, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 2; i++) listen_socket_remove_file(&front->files[i]);
    if (front->service.supervisor) supervisor_stop(front->service.supervisor);
    for (int waited = 0;
         waited < RESUME_MS && __atomic_load_n(&front->suspended, __ATOMIC_SEQ_CST) != 0;
         waited += LOOK_MS)
        usleep(LOOK_MS * 1000);
    for (int i = 0; i < listener_count(front); i++) {
        listener_close(front->listeners[i].listener);
        for (int end = 0; end < 2; end++)
            if (front->listeners[i].pipe[end] >= 0) close(front->listeners[i].pipe[end]);
    }
    supervisor_destroy(front->service.supervisor);
    deadline_thread_destroy(front->deadlines);
    lingering_close_destroy(front->lingering);
    slots_destroy(front->service.slots);
    metrics_destroy(front->service.metrics);
    generations_release(&front->service.generations);
    free(front);
}
