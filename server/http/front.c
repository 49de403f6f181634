// SPDX-License-Identifier: Apache-2.0
/* How it works. The life of the daemon. It starts from the far end of a request's way: pipes,
 * slots, the threads that watch connections, the workers, and last the sockets. The workers end
 * first: their jobs come back and resume the connections that wait for them, since the library
 * aborts if it is stopped with a suspended one. The way of a request: request_flow.c. front_reload
 * and front_drain: reload.c, drain.c. */
#include "server/http/front.h"

#include "config/memory.h"
#include "pipeline/timing.h"
#include "server/access/once.h"
#include "server/api/values_json.h"
#include "server/descriptors.h"
#include "server/http/exchange.h"
#include "server/http/request_flow.h"
#include "server/log/log.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Address space that the front takes beside the slots. A thread: its stack and its malloc arena. */
static const size_t SPARE_BYTES = 256 << 20, THREAD_BYTES = 72 << 20;

static int core_count(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* On 16 cores with a GPU 8 threads serve 140,000 small requests a second, 4 threads 115,000 to
 * 127,000; bodies of 200 KB, and cores without a GPU, are as fast with either. On 32 cores with two
 * GPUs 16 threads serve fewer than 8: they wait for each other. */
enum { IO_THREADS_MOST = 8 };

/* The key io_threads; if that is 0, as many as fit this machine. */
static int io_threads_of(const struct config *config) {
    if (config->io_threads) return (int)config->io_threads;
    int count = core_count() / 2;
    if (count > IO_THREADS_MOST) count = IO_THREADS_MOST;
    if (count > config->connections_max) count = (int)config->connections_max;
    return count > 2 ? count : config->connections_max > 1 ? 2 : 1;
}

/* ---- limits of open files: each connection takes a descriptor */

/* Descriptors. LISTENER: its copy of the socket, an epoll and an eventfd of its own and of the
 * library. SHARED: slots, the launcher's socket, three of the supervisor, two each of the threads
 * that watch and linger, a socket that is opened before its listeners have copies, and a worker's
 * channel. START: a worker's channel, and twice what the worker inherits beside the pipes: copies
 * may need higher numbers than those that are free. RELOAD: the operators' texts, a process that
 * checks one of them, its file and folder, and a channel to each new worker. SPARE: a message to
 * the service manager, a file of /proc and the like, and later additions. */
enum { LISTENER = 5, PIPE = 2, SHARED = 11, START = 2 + 2 * 3, RELOAD = 12, SPARE = 16 };

/* admin_listen serves probes and metrics, a request or two each. */
enum { ADMIN_CONNECTIONS_MAX = 64 };

/* Descriptors opened after the start, in the worst case: a dead worker can be restarted even with
 * all connections open. */
static long reserve_of(const struct config *config, int io_threads, bool admin) {
    return (io_threads + admin) * LISTENER + START + 2 * io_threads +
           (config->operators_dir[0] ? RELOAD : 0) + SPARE;
}

static long smaller(long a, long b) {
    return a < b ? a : b;
}

static long larger(long a, long b) {
    return a > b ? a : b;
}

enum status front_check_descriptors(const struct config *config, bool admin,
                                    struct failure *failure) {
    const struct descriptors now = descriptors_now();
    const int io_threads = io_threads_of(config);
    const long need = now.open + io_threads * PIPE + SHARED +
                      reserve_of(config, io_threads, admin) + io_threads + admin;
    if (need <= now.limit) return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM,
                "the limit of open files is %ld, and burin needs %ld with io_threads %d, and one "
                "more for each connection: raise it (ulimit -n, LimitNOFILE=)%s",
                now.limit, need, io_threads, io_threads > 1 ? ", or lower io_threads" : "");
}

/* NOW: everything but the listeners is open. */
static struct connection_limits find_limits(const struct config *config, int io_threads, bool admin,
                                            const struct descriptors *now) {
    const long wanted_admin = admin ? smaller(config->connections_max, ADMIN_CONNECTIONS_MAX) : 0;
    const long left = now->limit - now->open - reserve_of(config, io_threads, admin);
    struct connection_limits limits = { (int)config->connections_max, (int)wanted_admin,
                                        LINGERING_MAX };
    if (left >= config->connections_max + wanted_admin + LINGERING_MAX) return limits;
    /* Most of it goes to `listen`. */
    const long part = larger(left / 16, 0);
    limits.lingering = (int)smaller(part, LINGERING_MAX);
    limits.admin = (int)(admin ? larger(smaller(part, wanted_admin), 1) : 0);
    limits.listen = (int)larger(
        smaller(left - limits.lingering - limits.admin, config->connections_max), io_threads);
    return limits;
}

/* ---- start */

static int count_slots(const struct config *config, int gpus) {
    return (int)config->slots + gpus * SLOTS_GPU;
}

static enum status open_pipes(struct front *front, int gpus, struct failure *failure) {
    const int slots = count_slots(front->service.config, gpus);
    for (int i = 0; i < front->io_threads; i++) {
        struct front_listener *listener = &front->listeners[i];
        const enum status status = completion_pipe_open(listener->pipe, slots, failure);
        if (status) return status;
        front->pipes[i] = listener->pipe[1];
    }
    return STATUS_OK;
}

static enum status open_slots(struct front *front, int gpus, struct failure *failure) {
    const struct config *config = front->service.config;
    const size_t pixels = (size_t)config->pixels_max, profile = (size_t)config->profile_bytes_max;
    const size_t overlays = *config->overlays_dir ? (size_t)config->overlays_bytes_max : 0;
    /* The largest possible answer is uncompressed. */
    const size_t answer = pixels * PIXEL_BYTES_MAX + profile + 2 * METADATA_MAX;
    const size_t left = pixels * LEFT_BYTES_MAX + 2 * profile;
    const size_t values = VALUES_JSON_MAX + SLOT_PAGE; /* the result starts at a page */
    const struct slot_options options = {
        .count = count_slots(config, gpus),
        .base_bytes = SLOT_BASE_BYTES,
        .hot_bytes_max = (size_t)memory_slots_grow(config, gpus),
        .idle_ms = config->slot_idle_ms,
        .span_bytes = (size_t)config->body_bytes_max + overlays + left + answer + answer / 64 +
                      values + (2 << 20),
        .preamble = config,
        .preamble_bytes = sizeof *config,
    };
    const size_t spare = SPARE_BYTES + (size_t)front->io_threads * THREAD_BYTES;
    if (slots_check_limit(&options, spare, failure)) return failure->status;
    front->service.slots = slots_create(&options, failure);
    return front->service.slots ? STATUS_OK : STATUS_NO_MEMORY;
}

/* Requests were refused: the deadline thread makes room (engine/eviction.h). */
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

static enum status start_workers(struct front *front, const struct worker_list *workers,
                                 struct failure *failure) {
    const struct supervisor_options options = { .config = front->service.config,
                                                .slots = front->service.slots,
                                                .pipes = front->pipes,
                                                .pipe_count = front->io_threads,
                                                .generation = front->service.operators.thing,
                                                .workers = workers };
    front->service.supervisor = supervisor_create(&options, failure);
    return front->service.supervisor ? STATUS_OK : STATUS_NO_MEMORY;
}

/* Those who may not use it are refused, or a proxy does that. No key is asked for on ADMIN. */
static bool may_be_reached(const struct config *config, bool admin) {
    return config->insecure || (config->keys_file[0] && !admin);
}

static enum status open_access(struct front *front, struct failure *failure) {
    if (!front->keys.thing) return STATUS_OK;
    bool good = front_adopt_keys(front, front->keys.thing);
    front->once = once_open();
    for (int i = 0; i < front->io_threads && good; i++)
        good = (front->listeners[i].hasher = hasher_open());
    if (front->once && good) return STATUS_OK;
    return fail(failure, STATUS_NO_MEMORY, "there is no memory to check keys");
}

static void close_access(struct front *front) {
    for (int i = 0; i < front->io_threads; i++) hasher_close(front->listeners[i].hasher);
    once_close(front->once);
    key_table_release(current_replace(&front->keys, NULL));
    overlays_release(current_replace(&front->service.overlays, NULL));
}

static bool has_admin(const struct front *front, const struct front_sockets *sockets) {
    return sockets->admin >= 0 || front->service.config->admin_listen[0];
}

static void limit_connections(struct front *front, const struct front_sockets *sockets) {
    const struct descriptors now = descriptors_now();
    const long wanted = front->service.config->connections_max;
    front->limits =
        find_limits(front->service.config, front->io_threads, has_admin(front, sockets), &now);
    lingering_close_set_max(front->lingering, front->limits.lingering);
    if (front->limits.listen < wanted)
        log_event(LOG_ERROR, "connections_limited",
                  "connections_max is %ld, but the limit of open files, %ld, leaves room for %d "
                  "connections: no more are accepted at a time; raise it (ulimit -n, "
                  "LimitNOFILE=) or lower connections_max",
                  wanted, now.limit, front->limits.listen);
}

/* The listeners of `listen` share limits.listen; each gets at least one. */
static unsigned connections_of(const struct front *front, long index) {
    const int all = front->limits.listen;
    if (front->listeners[index].admin) return (unsigned)front->limits.admin;
    return (unsigned)(all / front->io_threads + (index < all % front->io_threads));
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

static enum status open_listener(struct front *front, long index, const int sockets[LISTEN_SOCKETS],
                                 struct failure *failure) {
    struct front_listener *listener = &front->listeners[index];
    const struct admission_options admission = admission_of(listener);
    const struct listener_options options = {
        .sockets = { sockets[0], sockets[1] },
        .inherited = front->inherited[listener->admin],
        .connections_max = connections_of(front, index),
        .balance = listener->admin ? NULL : &front->balance,
        .admission = listener->admin ? NULL : &admission,
        .connection = { .deadlines = front->deadlines,
                        .lingering = front->lingering,
                        .header_bytes_max = (size_t)front->service.config->header_bytes,
                        .request_bytes = sizeof(struct exchange),
                        .body_buffer = request_flow_body_buffer,
                        .body_received = request_flow_body_received },
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

/* The listeners of `listen`, one for each I/O thread, or the one of `admin_listen`. FD: the socket;
 * -1: opens it. */
static enum status open_listeners(struct front *front, bool admin, int fd,
                                  struct failure *failure) {
    const struct config *config = front->service.config;
    int sockets[LISTEN_SOCKETS] = { fd, -1 };
    if (fd < 0 &&
        listen_socket_open(admin ? config->admin_listen : config->listen,
                           admin ? "--admin-listen" : "--listen", may_be_reached(config, admin),
                           sockets, &front->files[admin], failure))
        return failure->status;
    if (!admin) listen_sockets_address(sockets, front->address, sizeof front->address);
    const long first = admin ? front->io_threads : 0;
    const long count = admin ? 1 : front->io_threads;
    enum status status = STATUS_OK;
    for (long i = 0; !status && i < count; i++)
        status = open_listener(front, first + i, sockets, failure);
    for (int i = 0; i < LISTEN_SOCKETS; i++) /* each listener has copies */
        if (sockets[i] >= 0) close(sockets[i]);
    return status;
}

static enum status check_sockets(struct front *front, const struct front_sockets *sockets,
                                 struct failure *failure) {
    const struct config *config = front->service.config;
    const bool insecure = may_be_reached(config, false), admin = may_be_reached(config, true);
    front->inherited[0] = sockets->http >= 0;
    front->inherited[1] = sockets->admin >= 0;
    if (front->inherited[0] && listen_socket_check(sockets->http, "http", insecure, failure))
        return failure->status;
    return front->inherited[1] ? listen_socket_check(sockets->admin, "admin", admin, failure)
                               : STATUS_OK;
}

/* Sets a socket in SOCKETS to -1 when its listeners take it over. */
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
    if (open_access(front, failure)) return failure->status;
    const struct generation *operators = front->service.operators.thing;
    metrics_add_operators(front->service.metrics, &operators->ops);
    struct worker_list workers;
    const struct process_limits limits = { (int)front->service.config->worker_start_ms,
                                           interrupted };
    enum status status =
        worker_list_make(&workers, front->service.config->devices, &limits, failure);
    const int gpus = workers.count - 1; /* the last worker is the CPU's */
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
                           struct generation *operators, struct overlays *overlays,
                           struct key_table *keys, int (*interrupted)(void),
                           struct failure *failure) {
    struct front *front = calloc(1, sizeof *front);
    if (!front) {
        generation_release(operators);
        overlays_release(overlays);
        key_table_release(keys);
        fail(failure, STATUS_NO_MEMORY, "there is no memory for the daemon");
        return close_sockets(&sockets), NULL;
    }
    front->service.config = config;
    front->service.note_shortage = note_shortage;
    front->service.context = front;
    networks_read(config->trusted_proxies, &front->trusted_proxies);
    types_read(config->prefer, &front->service.prefer);
    current_init(&front->service.operators, NULL);
    generation_replace(&front->service.operators, operators);
    current_init(&front->service.overlays, overlays);
    current_init(&front->keys, keys);
    pthread_mutex_init(&front->outcome_lock, NULL);
    for (int i = 0; i < LISTENERS_MAX; i++)
        front->listeners[i] = (struct front_listener){ .front = front, .pipe = { -1, -1 } };
    front->start_ns = clock_ns();
    front->io_threads = io_threads_of(config);
    front->listeners[front->io_threads].admin = true;
    const enum status status =
        front_set_origins(front, config->cors_origins)
            ? start(front, &sockets, interrupted, failure)
            : fail(failure, STATUS_NO_MEMORY, "there is no memory for cors_origins");
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
    struct worker_facts workers[WORKERS_MAX];
    const int count = supervisor_workers(front->service.supervisor, workers);
    for (int i = 0; i < count; i++)
        if (workers[i].healthy && !workers[i].operators && !workers[i].decodes) return true;
    return false;
}

void front_wait_worker(struct front *front, int timeout_ms, const sigset_t *mask) {
    supervisor_wait_worker(front->service.supervisor, timeout_ms, mask);
}

/* The turns of each thread so far. */
struct turns {
    uint64_t io[LISTENERS_MAX], supervisor;
};

static void note_and_wake(const struct front *front, struct turns *turns) {
    for (int i = 0; i < LISTENERS_MAX; i++) {
        if (!front->listeners[i].listener) continue;
        turns->io[i] = listener_turns(front->listeners[i].listener);
        listener_wake(front->listeners[i].listener);
    }
    turns->supervisor = supervisor_turns(front->service.supervisor); /* it wakes every 50 ms */
}

static bool all_went_on(const struct front *front, const struct turns *turns) {
    for (int i = 0; i < LISTENERS_MAX; i++)
        if (front->listeners[i].listener &&
            listener_turns(front->listeners[i].listener) == turns->io[i])
            return false;
    return supervisor_turns(front->service.supervisor) != turns->supervisor;
}

enum { LOOK_MS = 5 };

/* Checks the threads that every request needs: I/O threads, and the supervisor's, which hands out
 * the jobs. The supervisor checks and replaces workers itself. The threads that watch connections
 * share locks with these: if one hangs in a lock, so do these. The main thread only waits. */
bool front_is_alive(struct front *front, int timeout_ms) {
    const int64_t end = clock_ns() + timeout_ms * INT64_C(1000000);
    struct turns turns;
    note_and_wake(front, &turns);
    while (!all_went_on(front, &turns)) {
        if (clock_ns() >= end) return false;
        usleep(LOOK_MS * 1000);
    }
    return true;
}

const char *front_address(const struct front *front) {
    return front->address;
}

/* ---- stop */

/* The time for connections that wait for a job to be resumed. */
enum { RESUME_MS = 2000 };

void front_destroy(struct front *front) {
    if (!front) return;
    __atomic_store_n(&front->service.draining, 2, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 2; i++) listen_socket_remove_file(&front->files[i]);
    if (front->service.supervisor) supervisor_stop(front->service.supervisor);
    for (int waited = 0;
         waited < RESUME_MS && __atomic_load_n(&front->suspended, __ATOMIC_SEQ_CST) != 0;
         waited += LOOK_MS)
        usleep(LOOK_MS * 1000);
    for (int i = 0; i <= front->io_threads; i++) { /* the last is the admin's */
        listener_close(front->listeners[i].listener);
        for (int end = 0; end < 2; end++)
            if (front->listeners[i].pipe[end] >= 0) close(front->listeners[i].pipe[end]);
    }
    supervisor_destroy(front->service.supervisor);
    deadline_thread_destroy(front->deadlines);
    lingering_close_destroy(front->lingering);
    slots_destroy(front->service.slots);
    metrics_destroy(front->service.metrics);
    close_access(front);
    generation_release(current_replace(&front->service.operators, NULL));
    json_decref(front->outcome);
    for (struct origins *last; (last = front->origins); free(last)) front->origins = last->before;
    free(front);
}
