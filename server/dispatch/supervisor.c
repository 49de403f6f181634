// SPDX-License-Identifier: Apache-2.0
/* How it works. One thread waits for messages of the workers. Every 50 ms it starts workers, judges
 * them, kills the lost, reaps the ended, and expires jobs. I/O threads submit, cancel and ask
 * meanwhile. dispatcher.c decides about jobs, worker_handle.c about one worker; this file gives
 * both their lock, clock and order.
 *
 * Locks. `lock` guards everything and is the last one taken: http/ calls supervisor_cancel while it
 * holds the lock of a connection's deadline, and nothing called from here takes a lock but that of
 * the slots, under which nobody waits. No thread waits under it: the channel's end does not block,
 * a completion pipe has room for every slot, and reaping does not wait. Starting or killing a
 * worker, or looking at its threads, takes a millisecond, or two seconds if the launcher hangs.
 * Only the supervisor's thread does so, without the lock, with one start and one kill each turn.
 *
 * Users' operators have two banks of workers, one generation each. A bank whose generation has no
 * other holder has no job and will get none: it ends, and is free for the next generation.
 *
 * A worker ends in this order: its channel closes or it is killed, its process ends and is reaped,
 * its jobs are recovered, the next process starts. supervisor_stop ends all workers and returns
 * their jobs. */
#include "server/dispatch/supervisor.h"

#include "server/jobs/channel.h"
#include "server/log/log.h"
#include "server/process/process.h"
#include "server/process/stillness.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* REAP_MS: how often a killed process is tried to be reaped. LATE_MS: after the front itself did
 * not run for this long, the workers' silence proves nothing. */
enum { TICK_MS = 50, REAP_MS = 5, LATE_MS = 1000, MESSAGES = 64, WAKE = WORKERS_MAX };
static const int64_t ms_ns = 1000000;

struct supervisor {
    struct supervisor_options options;
    pthread_mutex_t lock; /* guards everything below but the descriptors and the thread */
    struct worker_list workers;
    struct generation *banks[WORKER_BANKS]; /* generation of each bank, held; NULL: free */
    struct dispatcher *dispatcher;
    bool draining, stopping;
    int events, wake;     /* epoll; an eventfd that ends its wait */
    int ready;            /* an eventfd: a worker has become ready */
    int trimmed;          /* a slot that GPUs' workers unregister; -1: none */
    uint32_t trim_number; /* of that request */
    pthread_t thread;
    bool threaded;
    uint64_t turns; /* of the thread's loop; atomic */
};

/* ---- workers come and go */

/* Called without the lock. */
static void start_worker(struct supervisor *supervisor, struct worker_handle *worker) {
    const struct supervisor_options *options = &supervisor->options;
    struct epoll_event event = { .events = EPOLLIN,
                                 .data.u32 = (uint32_t)(worker - supervisor->workers.all) };
    const struct worker_process process = worker_handle_launch(worker, slots_files(options->slots),
                                                               options->pipes, options->pipe_count);
    pthread_mutex_lock(&supervisor->lock);
    if (worker_handle_start(worker, &process))
        epoll_ctl(supervisor->events, EPOLL_CTL_ADD, worker->channel, &event);
    pthread_mutex_unlock(&supervisor->lock);
}

/* Called without the lock, by the thread that alone reaps, so the pid stays valid. False: the
 * launcher does not answer. */
static bool kill_worker(struct supervisor *supervisor, struct worker_handle *worker) {
    if (!process_kill(worker->pid)) return false;
    pthread_mutex_lock(&supervisor->lock);
    worker->kill_due = false;
    pthread_mutex_unlock(&supervisor->lock);
    return true;
}

static void receive(struct supervisor *supervisor, struct worker_handle *worker) {
    struct message messages[MESSAGES];
    const uint64_t one = 1;
    const bool was_ready = worker->ready;
    const int count = channel_take(worker->channel, messages, MESSAGES, 0);
    for (int i = 0; i < count; i++) worker_handle_receive(worker, &messages[i]);
    if (worker->ready && !was_ready && write(supervisor->ready, &one, sizeof one) < 0)
        log_event(LOG_ERROR, "worker_unannounced", "cannot announce that worker %s is ready",
                  worker->label);
    if (count != 0) return;
    epoll_ctl(supervisor->events, EPOLL_CTL_DEL, worker->channel, NULL);
    worker_handle_close(worker);
}

static bool is_ending(const struct worker_handle *worker) {
    return worker->pid && worker->channel < 0;
}

/* True while there is a process that has yet to end. */
static bool reap(struct supervisor *supervisor) {
    bool ending = false;
    for (int i = 0; i < supervisor->workers.count; i++) {
        struct worker_handle *worker = &supervisor->workers.all[i];
        if (!is_ending(worker)) continue;
        if (worker_handle_reap(worker))
            dispatcher_recover(supervisor->dispatcher, worker);
        else
            ending = true;
    }
    return ending;
}

static void check_worker(struct supervisor *supervisor, struct worker_handle *worker, int64_t now) {
    const struct config *config = supervisor->options.config;
    const struct worker_patience patience = { .start_ns = config->worker_start_ms * ms_ns,
                                              .self_test_ns = config->self_test_ms * ms_ns,
                                              .still_ns = config->worker_still_ms * ms_ns };
    if (!worker->pid || is_ending(worker)) return;
    const bool hangs = dispatcher_hangs(supervisor->dispatcher, worker, now);
    if (!worker_handle_check(worker, now, &patience) || hangs) worker_handle_kill(worker);
}

/* If this fails, the thread wakes by itself within 50 ms. */
static void wake_thread(struct supervisor *supervisor) {
    const uint64_t one = 1;
    const ssize_t ignored = write(supervisor->wake, &one, sizeof one);
    (void)ignored;
}

/* ---- users' operators */

static void fill_bank(struct supervisor *supervisor, int bank, struct generation *generation) {
    struct worker_handle *workers = worker_list_bank(&supervisor->workers, bank);
    supervisor->banks[bank] = generation_hold(generation);
    for (int i = 0; i < supervisor->workers.devices; i++) {
        worker_handle_init(&workers[i], supervisor->workers.all[i].device, true);
        workers[i].generation = generation;
    }
}

static void end_bank(struct supervisor *supervisor, int bank) {
    struct worker_handle *workers = worker_list_bank(&supervisor->workers, bank);
    bool ended = true;
    for (int i = 0; i < supervisor->workers.devices; i++) {
        if (workers[i].channel >= 0)
            epoll_ctl(supervisor->events, EPOLL_CTL_DEL, workers[i].channel, NULL);
        worker_handle_end(&workers[i], clock_ns());
        ended = ended && !workers[i].pid;
    }
    if (!ended) return;
    for (int i = 0; i < supervisor->workers.devices; i++) workers[i].generation = NULL;
    generation_release(supervisor->banks[bank]);
    supervisor->banks[bank] = NULL;
}

/* Ends the process of a cell that had no job for long. */
static void end_left_cell(struct supervisor *supervisor, struct worker_handle *worker,
                          int64_t now) {
    /* A new one gets its first job within a tick. */
    const int64_t idle_ms = supervisor->options.config->cell_idle_ms;
    const int64_t idle_ns = (idle_ms > TICK_MS ? idle_ms : TICK_MS) * ms_ns;
    if (!worker_handle_is_left(worker, now, idle_ns)) return;
    if (worker->channel >= 0) epoll_ctl(supervisor->events, EPOLL_CTL_DEL, worker->channel, NULL);
    worker_handle_end(worker, now);
}

bool supervisor_start_operators(struct supervisor *supervisor, struct generation *generation) {
    int bank = 0;
    if (!generation->ops.added_count) return true;
    pthread_mutex_lock(&supervisor->lock);
    while (bank < WORKER_BANKS && supervisor->banks[bank]) bank++;
    if (bank < WORKER_BANKS) fill_bank(supervisor, bank, generation);
    pthread_mutex_unlock(&supervisor->lock);
    wake_thread(supervisor);
    return bank < WORKER_BANKS;
}

/* The workers of the generation in force; if that has none, the built-in ones. */
static const struct worker_handle *workers_in_force(struct supervisor *supervisor) {
    for (int b = 0; b < WORKER_BANKS; b++)
        if (supervisor->banks[b] && generation_in_force(supervisor->banks[b]))
            return worker_list_bank(&supervisor->workers, b);
    return supervisor->workers.all;
}

bool supervisor_operators_ready(struct supervisor *supervisor,
                                const struct generation *generation) {
    bool ready = true;
    pthread_mutex_lock(&supervisor->lock);
    for (int b = 0; b < WORKER_BANKS; b++)
        if (supervisor->banks[b] == generation)
            ready = worker_list_can_follow(&supervisor->workers,
                                           worker_list_bank(&supervisor->workers, b),
                                           workers_in_force(supervisor));
    pthread_mutex_unlock(&supervisor->lock);
    return ready;
}

/* ---- memory that slots do not need any more */

/* Returns a slot that no worker has registered beyond its base any more, or -1. */
static int trim_slot(struct supervisor *supervisor, int64_t now) {
    bool unpins = false;
    if (supervisor->trimmed < 0) {
        /* CUDA unregisters memory once running kernels have ended, and launches wait for that. */
        supervisor->trimmed = slots_trim_begin(supervisor->options.slots, now,
                                               worker_list_gpu_works(&supervisor->workers));
        supervisor->trim_number++;
    }
    const int slot = supervisor->trimmed;
    for (int i = 0; i < supervisor->workers.count && slot >= 0; i++)
        unpins |=
            worker_handle_unpins(&supervisor->workers.all[i], slot, supervisor->trim_number, now);
    if (!unpins) supervisor->trimmed = -1;
    return unpins ? -1 : slot;
}

/* ---- the thread */

/* DUE: when this tick should have been. */
static void tick(struct supervisor *supervisor, int64_t due) {
    const int64_t now = clock_ns();
    dispatcher_expire(supervisor->dispatcher);
    dispatcher_sweep(supervisor->dispatcher, now);
    for (int b = 0; b < WORKER_BANKS; b++)
        if (supervisor->banks[b] && generation_is_left(supervisor->banks[b]))
            end_bank(supervisor, b);
    for (int i = 0; i < supervisor->workers.count; i++) {
        struct worker_handle *worker = &supervisor->workers.all[i];
        if (now - due > LATE_MS * ms_ns) worker_handle_reset_clocks(worker, now);
        check_worker(supervisor, worker, now);
        end_left_cell(supervisor, worker, now);
    }
}

static void take_events(struct supervisor *supervisor, const struct epoll_event *events,
                        int count) {
    for (int i = 0; i < count; i++) {
        const uint32_t which = events[i].data.u32;
        uint64_t woken;
        if (which == WAKE) {
            if (read(supervisor->wake, &woken, sizeof woken) < 0) continue;
        } else if (supervisor->workers.all[which].channel >= 0) {
            receive(supervisor, &supervisor->workers.all[which]);
        }
    }
}

static void *supervise(void *argument) {
    struct supervisor *supervisor = argument;
    struct epoll_event events[WORKERS_MAX + 1];
    int64_t next_tick = clock_ns();
    int wait_ms = 0, trimmed = -1;
    pthread_setname_np(pthread_self(), "supervisor");
    for (;;) {
        const int count = epoll_wait(supervisor->events, events, WORKERS_MAX + 1, wait_ms);
        if (clock_ns() >= next_tick) stillness_look_at_all();
        pthread_mutex_lock(&supervisor->lock);
        if (supervisor->stopping) break;
        take_events(supervisor, events, count);
        wait_ms = reap(supervisor) ? REAP_MS : TICK_MS;
        const bool tick_due = clock_ns() >= next_tick;
        if (tick_due || supervisor->trimmed >= 0) trimmed = trim_slot(supervisor, clock_ns());
        if (tick_due) {
            tick(supervisor, next_tick);
            next_tick = clock_ns() + TICK_MS * ms_ns;
        }
        dispatcher_assign(supervisor->dispatcher);
        struct worker_handle *lost = worker_list_next_kill(&supervisor->workers);
        struct worker_handle *due = worker_list_next_start(&supervisor->workers, clock_ns());
        pthread_mutex_unlock(&supervisor->lock);
        if (trimmed >= 0) slots_trim_end(supervisor->options.slots, trimmed);
        trimmed = -1;
        if (lost && kill_worker(supervisor, lost)) wait_ms = 0;
        if (due) {
            start_worker(supervisor, due);
            wait_ms = 0; /* more workers may be due */
        }
        __atomic_add_fetch(&supervisor->turns, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&supervisor->lock);
    return NULL;
}

/* ---- life */

static enum status begin(struct supervisor *supervisor, struct failure *failure) {
    const struct supervisor_options *options = &supervisor->options;
    const struct dispatcher_options how = { .config = options->config,
                                            .slots = options->slots,
                                            .pipes = options->pipes,
                                            .workers = &supervisor->workers };
    if (options->config->operators_dir[0]) worker_list_add_operators(&supervisor->workers);
    const long cells = options->config->cells;
    worker_list_add_cells(&supervisor->workers, cells ? (int)cells : process_cores());
    if (options->generation && options->generation->ops.added_count)
        fill_bank(supervisor, 0, options->generation);
    supervisor->dispatcher = dispatcher_create(&how, failure);
    if (!supervisor->dispatcher) return STATUS_NO_MEMORY;
    supervisor->events = epoll_create1(EPOLL_CLOEXEC);
    supervisor->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    supervisor->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = { .events = EPOLLIN, .data.u32 = WAKE };
    if (supervisor->events < 0 || supervisor->wake < 0 || supervisor->ready < 0 ||
        epoll_ctl(supervisor->events, EPOLL_CTL_ADD, supervisor->wake, &event) < 0)
        return fail(failure, STATUS_NO_MEMORY, "no descriptors for the supervisor");
    supervisor->threaded = pthread_create(&supervisor->thread, NULL, supervise, supervisor) == 0;
    return supervisor->threaded ? STATUS_OK
                                : fail(failure, STATUS_NO_MEMORY, "no thread for the supervisor");
}

struct supervisor *supervisor_create(const struct supervisor_options *options,
                                     struct failure *failure) {
    struct supervisor *supervisor = calloc(1, sizeof *supervisor);
    if (!supervisor)
        return fail(failure, STATUS_NO_MEMORY, "out of memory for the supervisor"), NULL;
    supervisor->options = *options;
    supervisor->workers = *options->workers;
    supervisor->events = supervisor->wake = supervisor->ready = supervisor->trimmed = -1;
    pthread_mutex_init(&supervisor->lock, NULL);
    if (begin(supervisor, failure)) return supervisor_destroy(supervisor), NULL;
    return supervisor;
}

/* Kills all workers, then waits for them together, without the lock: the I/O threads still ask
 * which worker is healthy. */
static void end_workers(struct supervisor *supervisor) {
    pid_t pids[WORKERS_MAX];
    pthread_mutex_lock(&supervisor->lock);
    for (int i = 0; i < supervisor->workers.count; i++) {
        struct worker_handle *worker = &supervisor->workers.all[i];
        pids[i] = worker->pid;
        if (worker->channel >= 0) close(worker->channel);
        worker->pid = 0;
        worker->channel = -1;
    }
    pthread_mutex_unlock(&supervisor->lock);
    for (int i = 0; i < supervisor->workers.count; i++)
        if (pids[i] && !process_kill(pids[i])) break; /* workers end with their channel too */
    const int64_t until = clock_ns() + PROCESS_END_MS * ms_ns;
    for (int i = 0, code; i < supervisor->workers.count; i++)
        if (pids[i] && !process_end(pids[i], until, &code))
            log_event(LOG_ERROR, "worker_not_ended",
                      "worker %s does not end: its driver hangs, or the launcher does not kill it",
                      supervisor->workers.all[i].label);
}

void supervisor_stop(struct supervisor *supervisor) {
    pthread_mutex_lock(&supervisor->lock);
    const bool stopped = supervisor->stopping;
    supervisor->stopping = supervisor->draining = true;
    pthread_mutex_unlock(&supervisor->lock);
    if (stopped) return;
    if (supervisor->threaded) {
        wake_thread(supervisor);
        pthread_join(supervisor->thread, NULL);
    }
    end_workers(supervisor);
    pthread_mutex_lock(&supervisor->lock);
    if (supervisor->dispatcher) dispatcher_send_back_all(supervisor->dispatcher);
    pthread_mutex_unlock(&supervisor->lock);
}

void supervisor_destroy(struct supervisor *supervisor) {
    if (!supervisor) return;
    supervisor_stop(supervisor);
    if (supervisor->events >= 0) close(supervisor->events);
    if (supervisor->wake >= 0) close(supervisor->wake);
    if (supervisor->ready >= 0) close(supervisor->ready);
    dispatcher_destroy(supervisor->dispatcher);
    for (int b = 0; b < WORKER_BANKS; b++) generation_release(supervisor->banks[b]);
    pthread_mutex_destroy(&supervisor->lock);
    free(supervisor);
}

/* ---- a job's way */

enum status supervisor_submit(struct supervisor *supervisor, int slot, struct failure *failure) {
    pthread_mutex_lock(&supervisor->lock);
    const enum status status =
        supervisor->draining ? fail(failure, STATUS_BUSY, "the daemon is stopping; try another one")
                             : dispatcher_submit(supervisor->dispatcher, slot, failure);
    /* A cell may have to be started. */
    const bool cell = job_is_in_cell(slot_job(supervisor->options.slots, slot));
    pthread_mutex_unlock(&supervisor->lock);
    if (cell) wake_thread(supervisor);
    return status;
}

bool supervisor_returned(struct supervisor *supervisor, int slot, uint32_t run_number) {
    pthread_mutex_lock(&supervisor->lock);
    const bool last = dispatcher_completed(supervisor->dispatcher, slot, run_number);
    pthread_mutex_unlock(&supervisor->lock);
    return last;
}

int supervisor_overdue(struct supervisor *supervisor, int io_thread, struct completion *completions,
                       int count) {
    pthread_mutex_lock(&supervisor->lock);
    const int found =
        dispatcher_overdue(supervisor->dispatcher, io_thread, clock_ns(), completions, count);
    pthread_mutex_unlock(&supervisor->lock);
    return found;
}

void supervisor_cancel(struct supervisor *supervisor, int slot) {
    pthread_mutex_lock(&supervisor->lock);
    dispatcher_cancel(supervisor->dispatcher, slot);
    pthread_mutex_unlock(&supervisor->lock);
}

void supervisor_drain(struct supervisor *supervisor) {
    pthread_mutex_lock(&supervisor->lock);
    supervisor->draining = true;
    pthread_mutex_unlock(&supervisor->lock);
}

/* ---- questions */

int supervisor_jobs(struct supervisor *supervisor, int *waiting) {
    pthread_mutex_lock(&supervisor->lock);
    const int queued = dispatcher_waiting(supervisor->dispatcher);
    const int running = dispatcher_running(supervisor->dispatcher);
    pthread_mutex_unlock(&supervisor->lock);
    if (waiting) *waiting = queued;
    return queued + running;
}

enum status supervisor_has_room(struct supervisor *supervisor, const struct client *client,
                                int more, struct failure *failure) {
    pthread_mutex_lock(&supervisor->lock);
    const enum status status = dispatcher_has_room(supervisor->dispatcher, client, more, failure);
    pthread_mutex_unlock(&supervisor->lock);
    return status;
}

int supervisor_clients(struct supervisor *supervisor) {
    pthread_mutex_lock(&supervisor->lock);
    const int clients = dispatcher_clients(supervisor->dispatcher);
    pthread_mutex_unlock(&supervisor->lock);
    return clients;
}

static void set_standby(struct worker_facts *facts, int count) {
    for (int i = 0; i < count; i++)
        for (int j = 0; facts[i].cpu && !facts[i].decodes && !facts[i].running && j < count; j++)
            facts[i].standby |=
                !facts[j].cpu && facts[j].healthy && facts[j].operators == facts[i].operators;
}

int supervisor_workers(struct supervisor *supervisor, struct worker_facts facts[WORKERS_MAX]) {
    const int64_t every_ns = supervisor->options.config->self_test_ms * ms_ns;
    pthread_mutex_lock(&supervisor->lock);
    int count = 0;
    bool cells = false;
    for (int i = 0; i < supervisor->workers.count; i++) {
        const struct worker_handle *worker = &supervisor->workers.all[i];
        if (worker->operators && (!worker->generation || !generation_in_force(worker->generation)))
            continue;
        cells |= worker->decodes && (worker->wanted || worker->pid);
        worker_handle_describe(worker, clock_ns(), every_ns, &facts[count]);
        dispatcher_statistics(supervisor->dispatcher, i, &facts[count].statistics);
        if (worker->decodes && count && facts[count - 1].decodes)
            worker_facts_join(&facts[count - 1], &facts[count]);
        else
            count++;
    }
    count -= count && facts[count - 1].decodes && !cells;
    set_standby(facts, count);
    pthread_mutex_unlock(&supervisor->lock);
    return count;
}

bool supervisor_progress(struct supervisor *supervisor, const char *request_id,
                         struct job_progress *progress) {
    pthread_mutex_lock(&supervisor->lock);
    const bool found = dispatcher_progress(supervisor->dispatcher, request_id, progress);
    pthread_mutex_unlock(&supervisor->lock);
    return found;
}

void supervisor_wait_worker(struct supervisor *supervisor, int timeout_ms, const sigset_t *mask) {
    const struct timespec timeout = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };
    struct pollfd ready = { .fd = supervisor->ready, .events = POLLIN };
    uint64_t times;
    if (ppoll(&ready, 1, &timeout, mask) > 0 && read(supervisor->ready, &times, sizeof times) < 0)
        return; /* the caller checks the workers anyway */
}

uint64_t supervisor_turns(const struct supervisor *supervisor) {
    return __atomic_load_n(&supervisor->turns, __ATOMIC_ACQUIRE);
}

int supervisor_retry_after_s(struct supervisor *supervisor) {
    pthread_mutex_lock(&supervisor->lock);
    const int seconds = dispatcher_retry_after_s(supervisor->dispatcher);
    pthread_mutex_unlock(&supervisor->lock);
    return seconds;
}
