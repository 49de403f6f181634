// SPDX-License-Identifier: Apache-2.0
#include "server/jobs/supervisor.h"

#include "server/jobs/channel.h"
#include "server/jobs/completion_pipe.h"
#include "server/jobs/process.h"
#include "server/jobs/queue.h"
#include "server/jobs/worker_handle.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { TICK_MS = 50, LATE_MS = 1000, MESSAGES = 64 };
enum { NOWHERE = -1, OVER = -2 }; /* of `place`: waits or is not here; on its way back */
static const int64_t ms_ns = 1000000;

struct supervisor {
    struct supervisor_options options;
    pthread_mutex_t lock; /* everything below */
    struct queue *queue;
    struct worker_handle workers[WORKERS_MAX];
    int worker_count;
    short *place;   /* by slot: the worker that runs it, NOWHERE or OVER */
    uint32_t runs;  /* numbers them */
    short *died_at; /* by slot: the worker whose worker died with it, or NOWHERE */
    int running;
    bool draining, stopping;
    double service_ms; /* smoothed time of a job in a worker; 0 before the first */
    int events, wake;
    pthread_t thread;
    bool threaded;
};

static void wake_up(const struct supervisor *supervisor) {
    const uint64_t one = 1;
    if (write(supervisor->wake, &one, sizeof one) < 0) return; /* full: it is awake anyway */
}

static struct job *job_of(const struct supervisor *supervisor, int slot) {
    return slot_job(supervisor->options.slots, slot);
}

/* The job is over, though no worker said so: its line's reader takes it from here. */
static void send_back(struct supervisor *supervisor, int slot) {
    struct job *job = job_of(supervisor, slot);
    supervisor->place[slot] = OVER;
    job->run_number = ++supervisor->runs;
    completion_pipe_send(supervisor->options.pipes[job->io_thread],
                         &(struct completion){ slot, job->run_number });
}

/* ---- handing out */

static bool any_gpu_healthy(const struct supervisor *supervisor) {
    for (int i = 0; i < supervisor->worker_count; i++)
        if (!supervisor->workers[i].cpu && worker_handle_healthy(&supervisor->workers[i]))
            return true;
    return false;
}

/* The least busy healthy worker that may run the job, or NULL. A job with which a worker died goes
 * to another worker where there is one. */
static struct worker_handle *choose(struct supervisor *supervisor, int slot) {
    const struct job *job = job_of(supervisor, slot);
    const bool spare_cpu =
        strcmp(job->device, "auto") == 0 && any_gpu_healthy(supervisor) && !job->deaths;
    struct worker_handle *best = NULL;
    for (int i = 0; i < supervisor->worker_count; i++) {
        struct worker_handle *worker = &supervisor->workers[i];
        if (!worker_handle_healthy(worker) || !worker_handle_serves(worker, job->device) ||
            (spare_cpu && worker->cpu))
            continue;
        const bool again = supervisor->died_at[slot] == i;
        const bool best_again = best && supervisor->died_at[slot] == best - supervisor->workers;
        if (!best || (best_again && !again) ||
            (best_again == again && worker->running < best->running))
            best = worker;
    }
    return best;
}

static bool hand_out(struct supervisor *supervisor, struct worker_handle *worker, int slot) {
    struct job *job = job_of(supervisor, slot);
    job->run_number = ++supervisor->runs;
    if (!worker_handle_send_job(worker, slot, job)) return false;
    supervisor->running++;
    supervisor->place[slot] = (short)(worker - supervisor->workers);
    return true;
}

/* Oldest first; a worker without room, or one that must empty for a suspect, is left alone for the
 * rest. */
static void dispatch(struct supervisor *supervisor) {
    bool full[WORKERS_MAX] = { false };
    int open = supervisor->worker_count;
    for (int slot = queue_first(supervisor->queue), next; slot >= 0 && open > 0; slot = next) {
        next = queue_next(supervisor->queue, slot);
        struct worker_handle *worker = choose(supervisor, slot);
        if (!worker || full[worker - supervisor->workers]) continue;
        if (worker_handle_has_room(worker, job_of(supervisor, slot), supervisor->service_ms) &&
            hand_out(supervisor, worker, slot)) {
            queue_remove(supervisor->queue, slot);
        } else {
            full[worker - supervisor->workers] = true;
            open--;
        }
    }
}

/* ---- workers come and go */

static void start(struct supervisor *supervisor, struct worker_handle *worker) {
    if (!worker_handle_start(worker, slots_fd(supervisor->options.slots), supervisor->options.pipes,
                             supervisor->options.pipe_count))
        return;
    struct epoll_event event = { .events = EPOLLIN,
                                 .data.u32 = (uint32_t)(worker - supervisor->workers) };
    epoll_ctl(supervisor->events, EPOLL_CTL_ADD, worker->channel, &event);
}

/* What the dead worker had goes first in line; what it had begun is suspected. */
static void recover(struct supervisor *supervisor, const struct worker_handle *worker, int slot) {
    struct job *job = job_of(supervisor, slot);
    supervisor->place[slot] = NOWHERE;
    supervisor->running--;
    const bool begun = __atomic_load_n(&job->started, __ATOMIC_ACQUIRE);
    if (begun) {
        job->deaths++;
        supervisor->died_at[slot] = (short)(worker - supervisor->workers);
    }
    const enum status late = progress_state(&job->progress);
    if (__atomic_load_n(&job->finished_ns, __ATOMIC_ACQUIRE))
        ; /* its answer is whole: the worker died before or after it could say so */
    else if (late == STATUS_CANCELLED)
        fail(&job->failure, late, "the client has left");
    else if (late == STATUS_DEADLINE)
        fail(&job->failure, late, "not done within the time allowed");
    else if (job->deaths >= 2)
        fail(&job->failure, STATUS_INTERNAL,
             "two workers died with this image; it will not be tried again");
    else {
        queue_push_front(supervisor->queue, slot);
        return;
    }
    send_back(supervisor, slot);
}

static void bury(struct supervisor *supervisor, struct worker_handle *worker) {
    worker_handle_end(worker); /* its channel leaves epoll with it */
    for (int slot = 0; slot < slots_count(supervisor->options.slots); slot++)
        if (supervisor->place[slot] == worker - supervisor->workers)
            recover(supervisor, worker, slot);
    if (!supervisor->stopping && worker->restart_ns <= clock_ns()) start(supervisor, worker);
}

/* ---- messages */

static void heard(struct supervisor *supervisor, struct worker_handle *worker) {
    struct message messages[MESSAGES];
    const int count = channel_take(worker->channel, messages, MESSAGES, 0);
    for (int i = 0; i < count; i++) worker_handle_receive(worker, &messages[i]);
    if (count == 0) bury(supervisor, worker);
}

/* ---- time passes */

/* Is there a worker that DEVICE may wait for? */
static bool any_hope(struct supervisor *supervisor, const char *device) {
    const int64_t now = clock_ns();
    bool hope = false;
    for (int i = 0; i < supervisor->worker_count; i++)
        if (worker_handle_serves(&supervisor->workers[i], device))
            hope |= !worker_handle_hopeless(&supervisor->workers[i], now);
    return hope;
}

static void look_at_waiting(struct supervisor *supervisor) {
    for (int slot = queue_first(supervisor->queue), next; slot >= 0; slot = next) {
        next = queue_next(supervisor->queue, slot);
        struct job *job = job_of(supervisor, slot);
        const enum status late = progress_state(&job->progress);
        if (late)
            fail(&job->failure, late, "waited in the queue until its time was over");
        else if (!any_hope(supervisor, job->device))
            fail(&job->failure, STATUS_BUSY, "no worker for device %s is healthy; try again later",
                 job->device);
        else
            continue;
        queue_remove(supervisor->queue, slot);
        send_back(supervisor, slot);
    }
}

/* Whether its jobs go on. True if one overran its deadline by as much again: nobody looks at that
 * one any more, whatever the other lanes do. */
static bool hangs(const struct supervisor *supervisor, struct worker_handle *worker, int64_t now) {
    bool over = false;
    for (int slot = 0; slot < slots_count(supervisor->options.slots); slot++) {
        if (supervisor->place[slot] != worker - supervisor->workers) continue;
        const struct progress *progress = &job_of(supervisor, slot)->progress;
        const int64_t deadline = progress->deadline_ns;
        worker_handle_moved(worker, __atomic_load_n(&progress->seen_ns, __ATOMIC_RELAXED));
        if (deadline && now - deadline > supervisor->options.config->processing_ms * ms_ns)
            over = true;
    }
    return over;
}

static void look_at_worker(struct supervisor *supervisor, struct worker_handle *worker) {
    const int64_t now = clock_ns();
    if (!worker->pid) {
        if (now >= worker->restart_ns && !supervisor->stopping) start(supervisor, worker);
    } else if ((worker->running && hangs(supervisor, worker, now)) ||
               !worker_handle_check(worker, now,
                                    supervisor->options.config->self_test_ms * ms_ns)) {
        worker_handle_kill(worker); /* its line closes when it has ended */
    }
}

/* DUE: when it should have been. A front that was stopped, alone or with its workers, cannot tell
 * who was silent meanwhile. */
static void tick(struct supervisor *supervisor, int64_t due) {
    const int64_t now = clock_ns();
    look_at_waiting(supervisor);
    for (int i = 0; i < supervisor->worker_count; i++) {
        if (now - due > LATE_MS * ms_ns) worker_handle_reset_clocks(&supervisor->workers[i], now);
        look_at_worker(supervisor, &supervisor->workers[i]);
    }
}

static void *supervise(void *argument) {
    struct supervisor *supervisor = argument;
    struct epoll_event events[WORKERS_MAX + 1];
    int64_t next_tick = clock_ns();
    for (;;) {
        const int count = epoll_wait(supervisor->events, events, WORKERS_MAX + 1, TICK_MS);
        pthread_mutex_lock(&supervisor->lock);
        if (supervisor->stopping) break;
        for (int i = 0; i < count; i++) {
            const uint32_t which = events[i].data.u32;
            uint64_t woken;
            if (which == WORKERS_MAX) {
                if (read(supervisor->wake, &woken, sizeof woken) < 0) continue;
            } else if (supervisor->workers[which].pid) {
                heard(supervisor, &supervisor->workers[which]);
            }
        }
        if (clock_ns() >= next_tick) {
            tick(supervisor, next_tick);
            next_tick = clock_ns() + TICK_MS * ms_ns;
        }
        dispatch(supervisor);
        pthread_mutex_unlock(&supervisor->lock);
    }
    pthread_mutex_unlock(&supervisor->lock);
    return NULL;
}

/* ---- life */

static enum status begin(struct supervisor *supervisor, struct failure *failure) {
    const int slots = slots_count(supervisor->options.slots);
    supervisor->queue = queue_create((int)supervisor->options.config->queue_jobs, slots);
    supervisor->place = malloc((size_t)slots * sizeof(short));
    supervisor->died_at = malloc((size_t)slots * sizeof(short));
    supervisor->events = epoll_create1(EPOLL_CLOEXEC);
    supervisor->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!supervisor->queue || !supervisor->place || !supervisor->died_at ||
        supervisor->events < 0 || supervisor->wake < 0)
        return fail(failure, STATUS_NO_MEMORY, "no memory for the supervisor");
    for (int i = 0; i < slots; i++) supervisor->place[i] = NOWHERE;
    struct epoll_event event = { .events = EPOLLIN, .data.u32 = WORKERS_MAX };
    epoll_ctl(supervisor->events, EPOLL_CTL_ADD, supervisor->wake, &event);
    const enum status status = worker_list_make(supervisor->workers, &supervisor->worker_count,
                                                supervisor->options.config->devices, failure);
    if (status) return status;
    for (int i = 0; i < supervisor->worker_count; i++) start(supervisor, &supervisor->workers[i]);
    supervisor->threaded = pthread_create(&supervisor->thread, NULL, supervise, supervisor) == 0;
    return supervisor->threaded ? STATUS_OK
                                : fail(failure, STATUS_NO_MEMORY, "no thread for the supervisor");
}

struct supervisor *supervisor_create(const struct supervisor_options *options,
                                     struct failure *failure) {
    struct supervisor *supervisor = calloc(1, sizeof *supervisor);
    if (!supervisor) return fail(failure, STATUS_NO_MEMORY, "no memory for the supervisor"), NULL;
    supervisor->options = *options;
    supervisor->events = supervisor->wake = -1;
    pthread_mutex_init(&supervisor->lock, NULL);
    if (begin(supervisor, failure)) return supervisor_destroy(supervisor), NULL;
    return supervisor;
}

static void return_the_rest(struct supervisor *supervisor) {
    for (int slot = 0; slot < slots_count(supervisor->options.slots); slot++) {
        if (supervisor->place[slot] < 0 && !queue_remove(supervisor->queue, slot)) continue;
        fail(&job_of(supervisor, slot)->failure, STATUS_BUSY, "the daemon is stopping");
        send_back(supervisor, slot);
    }
}

/* The I/O threads still ask who is healthy, and must not wait for a process to end. */
static void leave(struct supervisor *supervisor, struct worker_handle *worker) {
    pthread_mutex_lock(&supervisor->lock);
    const pid_t pid = worker->pid;
    const int channel = worker->channel;
    worker->pid = 0;
    worker->channel = -1;
    pthread_mutex_unlock(&supervisor->lock);
    if (!pid) return;
    process_end(pid);
    close(channel);
}

void supervisor_stop(struct supervisor *supervisor) {
    pthread_mutex_lock(&supervisor->lock);
    supervisor->stopping = supervisor->draining = true;
    pthread_mutex_unlock(&supervisor->lock);
    if (!supervisor->threaded) return;
    wake_up(supervisor);
    pthread_join(supervisor->thread, NULL);
    supervisor->threaded = false;
    for (int i = 0; i < supervisor->worker_count; i++) leave(supervisor, &supervisor->workers[i]);
    pthread_mutex_lock(&supervisor->lock);
    return_the_rest(supervisor);
    pthread_mutex_unlock(&supervisor->lock);
}

void supervisor_destroy(struct supervisor *supervisor) {
    if (!supervisor) return;
    supervisor_stop(supervisor);
    if (supervisor->events >= 0) close(supervisor->events);
    if (supervisor->wake >= 0) close(supervisor->wake);
    queue_destroy(supervisor->queue);
    free(supervisor->place);
    free(supervisor->died_at);
    pthread_mutex_destroy(&supervisor->lock);
    free(supervisor);
}

/* ---- questions and orders */

static bool served(const struct supervisor *supervisor, const char *device) {
    for (int i = 0; i < supervisor->worker_count; i++)
        if (worker_handle_serves(&supervisor->workers[i], device)) return true;
    return false;
}

enum status supervisor_submit(struct supervisor *supervisor, int slot, struct failure *failure) {
    struct job *job = job_of(supervisor, slot);
    enum status status = STATUS_OK;
    pthread_mutex_lock(&supervisor->lock);
    supervisor->place[slot] = supervisor->died_at[slot] = NOWHERE;
    job->submitted_ns = clock_ns();
    if (supervisor->draining)
        status = fail(failure, STATUS_BUSY, "the daemon is stopping; try another one");
    else if (!served(supervisor, job->device))
        status =
            fail(failure, STATUS_BAD_PARAM,
                 "device \"%s\" is not served here; GET /readyz lists those that are", job->device);
    else if (!any_hope(supervisor, job->device))
        status = fail(failure, STATUS_BUSY, "no worker for device %s is healthy; try again later",
                      job->device);
    else if (!queue_push(supervisor->queue, slot))
        status = fail(failure, STATUS_BUSY, "%d jobs are waiting already; try again later",
                      queue_length(supervisor->queue));
    else
        dispatch(supervisor);
    pthread_mutex_unlock(&supervisor->lock);
    return status;
}

static void account(struct supervisor *supervisor, struct worker_handle *worker,
                    const struct job *job) {
    supervisor->running--;
    worker->running--;
    worker->alone = false;
    worker_handle_moved(worker, clock_ns());
    const double ms =
        ns_to_ms(job->finished_ns - job->submitted_ns) - job->timing.stage_ms[STAGE_QUEUE];
    supervisor->service_ms += (ms - supervisor->service_ms) / (supervisor->service_ms > 0 ? 16 : 1);
}

bool supervisor_returned(struct supervisor *supervisor, int slot, uint32_t number) {
    if (slot < 0 || slot >= slots_count(supervisor->options.slots)) return false;
    const struct job *job = job_of(supervisor, slot);
    pthread_mutex_lock(&supervisor->lock);
    const int place = supervisor->place[slot];
    const bool last_word = job->run_number == number && place != NOWHERE;
    if (last_word) {
        supervisor->place[slot] = NOWHERE;
        if (place != OVER) {
            account(supervisor, &supervisor->workers[place], job);
            dispatch(supervisor);
        }
    }
    pthread_mutex_unlock(&supervisor->lock);
    return last_word;
}

void supervisor_cancel(struct supervisor *supervisor, int slot) {
    struct job *job = job_of(supervisor, slot);
    pthread_mutex_lock(&supervisor->lock);
    __atomic_store_n(&job->progress.cancelled, 1, __ATOMIC_RELAXED);
    const bool waiting = queue_remove(supervisor->queue, slot);
    if (waiting) {
        fail(&job->failure, STATUS_CANCELLED, "the client has left");
        send_back(supervisor, slot);
    }
    pthread_mutex_unlock(&supervisor->lock);
}

void supervisor_drain(struct supervisor *supervisor) {
    pthread_mutex_lock(&supervisor->lock);
    supervisor->draining = true;
    pthread_mutex_unlock(&supervisor->lock);
}

int supervisor_jobs(struct supervisor *supervisor, int *waiting) {
    pthread_mutex_lock(&supervisor->lock);
    const int queued = queue_length(supervisor->queue), running = supervisor->running;
    pthread_mutex_unlock(&supervisor->lock);
    if (waiting) *waiting = queued;
    return queued + running;
}

int supervisor_workers(struct supervisor *supervisor, struct worker_facts facts[WORKERS_MAX]) {
    const int64_t every_ns = supervisor->options.config->self_test_ms * ms_ns;
    pthread_mutex_lock(&supervisor->lock);
    const int count = supervisor->worker_count;
    for (int i = 0; i < count; i++) {
        worker_handle_describe(&supervisor->workers[i], clock_ns(), every_ns, &facts[i]);
        facts[i].standby = facts[i].cpu && count > 1;
    }
    pthread_mutex_unlock(&supervisor->lock);
    return count;
}

int supervisor_retry_after_s(struct supervisor *supervisor) {
    pthread_mutex_lock(&supervisor->lock);
    int capacity = 1;
    for (int i = 0; i < supervisor->worker_count; i++)
        if (worker_handle_healthy(&supervisor->workers[i]))
            capacity += supervisor->workers[i].capacity / 2;
    const double ms = supervisor->service_ms * (queue_length(supervisor->queue) + 1) / capacity;
    pthread_mutex_unlock(&supervisor->lock);
    return ms < 1000 ? 1 : ms > 30000 ? 30 : (int)(ms / 1000) + 1;
}
