// SPDX-License-Identifier: Apache-2.0
/* How it works. A walk over the queue, in its order, asks the forecast where each job should go. A
 * job waits for that worker if it has no room, even where another has some, and counts there as
 * ahead of those behind it. A walk costs some 50 ns a job, and is taken for each that comes or
 * goes: most end after a few jobs that wait, and one in four milliseconds looks at all.
 *
 * `places` says of every slot where its job is: WAITING covers the queue and jobs that are not here
 * at all, COMING_BACK those that were sent back from here, a number the worker that runs it. Each
 * run of a slot has a number, which its completion carries: a worker may die just after it told of
 * a job, and that is no news of the next run. A job that its dead worker had begun is suspected: it
 * runs again alone, elsewhere where that can be, and is given up when a second worker dies. */
#include "server/dispatch/dispatcher.h"

#include "server/dispatch/admission.h"
#include "server/dispatch/dispatcher_state.h"
#include "server/dispatch/lane_watch.h"
#include "server/jobs/answer.h"
#include "server/jobs/completion_pipe.h"
#include "server/log/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SMOOTHING = 16, PASSED_MAX = 32, WHOLE_WALK_MS = 4 };
static const int64_t ms_ns = 1000000;

struct dispatcher *dispatcher_create(const struct dispatcher_options *options,
                                     struct failure *failure) {
    struct dispatcher *dispatcher = calloc(1, sizeof *dispatcher);
    const int slots = slots_count(options->slots);
    if (dispatcher) {
        dispatcher->options = *options;
        const struct queue_options how = { (int)options->config->queue_jobs, slots };
        dispatcher->queue = queue_create(&how);
        dispatcher->places = malloc((size_t)slots * sizeof *dispatcher->places);
    }
    if (!dispatcher || !dispatcher->queue || !dispatcher->places)
        return fail(failure, STATUS_NO_MEMORY, "out of memory for the queue of jobs"),
               dispatcher_destroy(dispatcher), NULL;
    for (int i = 0; i < slots; i++)
        dispatcher->places[i] = (struct place){ .at = WAITING, .died_at = NOWHERE };
    forecast_init(&dispatcher->forecast, options->workers);
    return dispatcher;
}

void dispatcher_destroy(struct dispatcher *dispatcher) {
    if (!dispatcher) return;
    queue_destroy(dispatcher->queue);
    free(dispatcher->places);
    free(dispatcher);
}

static short number_of(const struct dispatcher *dispatcher, const struct worker_handle *worker) {
    return (short)(worker - dispatcher->options.workers->all);
}

/* The job is over, though no worker said so: the reader of its pipe takes it from here. */
static void send_back(struct dispatcher *dispatcher, int slot) {
    struct job *job = job_of(dispatcher, slot);
    dispatcher->places[slot].at = COMING_BACK;
    dispatcher->places[slot].sent.ns = clock_coarse_ns();
    job->run_number = ++dispatcher->runs;
    completion_pipe_send(dispatcher->options.pipes[dispatcher->places[slot].io_thread],
                         &(struct completion){ slot, job->run_number });
}

/* ---- handing out */

/* Long jobs that a GPU's worker may have: they never take all the room. It makes batches of those
 * that may share one. */
static int longs_max(const struct worker_handle *worker) {
    return worker->capacity / 2 > 2 ? worker->capacity / 2 - 1 : 1;
}

/* A long job finds no room where short ones still do. */
static bool has_room(const struct dispatcher *dispatcher, int number, const struct job *job,
                     enum job_duration duration) {
    const struct worker_handle *worker = &dispatcher->options.workers->all[number];
    const struct backlog *backlog = &dispatcher->forecast.backlogs[number];
    const bool measured = dispatcher->forecast.costs[number].mean_ms > 0;
    if (!worker_handle_has_room(worker, job)) return false;
    if (job->deaths) return true;
    if (backlog->apart) return backlog_has_room(backlog, duration, measured);
    return duration != JOB_LONG || backlog->longs < longs_max(worker);
}

/* What is known now of the worker that had none for JOB. */
static void note_full(const struct dispatcher *dispatcher, struct forecast_round *round, int number,
                      const struct job *job, enum job_duration duration) {
    const bool for_others =
        !job->deaths && worker_handle_has_room(&dispatcher->options.workers->all[number], job);
    forecast_is_full(round, number, for_others ? duration : JOB_DURATIONS);
}

static bool hand_to(struct dispatcher *dispatcher, int worker, int slot,
                    const struct backlog_job *backlog) {
    struct job *job = job_of(dispatcher, slot);
    struct place *place = &dispatcher->places[slot];
    job->run_number = ++dispatcher->runs;
    job->predicted_ms = backlog->ms;
    job->duration = backlog->duration;
    job->unbatched = forecast_is_unbatched(&dispatcher->forecast, &place->forecast, worker);
    *shared_job_of(dispatcher, slot) = *job;
    if (!worker_handle_send_job(&dispatcher->options.workers->all[worker], slot, job)) return false;
    dispatcher->running++;
    place->at = (short)worker;
    sweep_note_sent(&dispatcher->channels[worker], &place->sent, clock_coarse_ns());
    place->forecast.backlog = *backlog;
    backlog_add(&dispatcher->forecast.backlogs[worker], backlog);
    return true;
}

/* To the worker that the job should go to. False: it waits for that, or there is none. */
static bool hand_out(struct dispatcher *dispatcher, struct forecast_round *round, int slot) {
    const struct job *job = job_of(dispatcher, slot);
    const struct place *place = &dispatcher->places[slot];
    const int worker = forecast_choose(&dispatcher->forecast, round, &place->forecast,
                                       place->died_at, job->deaths > 0);
    if (worker == NOWHERE) return false;
    const struct backlog_job backlog = forecast_count(round, &place->forecast, worker);
    if (round->full[worker] >> backlog.duration & 1) return false;
    if (has_room(dispatcher, worker, job, backlog.duration) &&
        hand_to(dispatcher, worker, slot, &backlog)) {
        queue_serve(dispatcher->queue, slot);
        return true;
    }
    note_full(dispatcher, round, worker, job, backlog.duration);
    return false;
}

/* NEWCOMER: has come since the last walk; NOWHERE: none. There may be room for it where there is
 * none for those ahead, so it is looked at even if the walk ends before it. */
static void walk(struct dispatcher *dispatcher, int newcomer) {
    struct forecast_round round;
    int slot = queue_first(dispatcher->queue);
    if (slot < 0) return;
    forecast_begin(&dispatcher->forecast, &round);
    const bool whole = round.now - dispatcher->whole_walk_ns >= WHOLE_WALK_MS * ms_ns;
    if (whole) dispatcher->whole_walk_ns = round.now;
    for (int passed = 0; slot >= 0 && round.open > 0 && (whole || passed < PASSED_MAX);
         slot = queue_next(dispatcher->queue))
        passed += !hand_out(dispatcher, &round, slot);
    if (slot >= 0 && round.open > 0 && newcomer != NOWHERE &&
        queue_has(dispatcher->queue, newcomer))
        hand_out(dispatcher, &round, newcomer);
}

void dispatcher_hand_out(struct dispatcher *dispatcher) {
    walk(dispatcher, NOWHERE);
}

/* ---- coming and going */

enum status dispatcher_has_room(const struct dispatcher *dispatcher, const struct client *client,
                                int more, struct failure *failure) {
    if (queue_has_room(dispatcher->queue, client, more)) return STATUS_OK;
    return fail(failure, STATUS_BUSY, "%d jobs are waiting already; try again later",
                queue_length(dispatcher->queue));
}

/* A client's share of all workers' time is counted in that of the one that is fastest for it. */
static enum status push(struct dispatcher *dispatcher, int slot, struct failure *failure) {
    const struct job *job = job_of(dispatcher, slot);
    const struct queue_job entry = {
        job->client, forecast_least_ms(&dispatcher->forecast, &dispatcher->places[slot].forecast),
        job->submitted_ns
    };
    return queue_push(dispatcher->queue, slot, &entry)
               ? STATUS_OK
               : dispatcher_has_room(dispatcher, &entry.client, 0, failure);
}

/* The newcomer has come on top of a full queue, and still waits: another's job makes room. */
static void displace(struct dispatcher *dispatcher) {
    const int slot = queue_displace(dispatcher->queue);
    if (slot < 0) return;
    fail(&job_of(dispatcher, slot)->failure, STATUS_BUSY,
         "%d jobs are waiting, most of them yours, and this one made room for another client's; "
         "try again later",
         queue_length(dispatcher->queue));
    send_back(dispatcher, slot);
}

static int waiting_for_operators(const struct dispatcher *dispatcher) {
    int waiting = 0;
    for (int slot = 0; slot < slots_count(dispatcher->options.slots); slot++)
        waiting += queue_has(dispatcher->queue, slot) && job_of(dispatcher, slot)->generation != 0;
    return waiting;
}

/* Goes on from ROUND's beginning over those that are ahead of the job, whatever there is room for.
 */
static double wait_in_line_ms(struct dispatcher *dispatcher, struct forecast_round *round,
                              int newcomer) {
    double own_ms;
    for (int slot = queue_first(dispatcher->queue); slot >= 0 && slot != newcomer;
         slot = queue_next(dispatcher->queue)) {
        const struct place *place = &dispatcher->places[slot];
        const int worker = forecast_choose(&dispatcher->forecast, round, &place->forecast,
                                           place->died_at, job_of(dispatcher, slot)->deaths > 0);
        if (worker != NOWHERE) forecast_count(round, &place->forecast, worker);
    }
    return forecast_wait_ms(&dispatcher->forecast, round, &dispatcher->places[newcomer].forecast,
                            &own_ms);
}

/* The job waits. If it is predicted to wait for too long, it is the caller's again. Mostly what all
 * others take together is not much, and nobody needs to know who is ahead. */
static enum status check_time(struct dispatcher *dispatcher, int slot, struct failure *failure) {
    const struct config *config = dispatcher->options.config;
    const struct forecast_job *forecast = &dispatcher->places[slot].forecast;
    const int64_t deadline_ns = job_of(dispatcher, slot)->progress.deadline_ns;
    struct forecast_round round;
    double own_ms;
    forecast_begin(&dispatcher->forecast, &round);
    const double left_ms = deadline_ns ? ns_to_ms(deadline_ns - round.now) : INFINITY;
    const double workers_ms = forecast_wait_ms(&dispatcher->forecast, &round, forecast, &own_ms);
    const double most_ms = workers_ms + queue_cost_ms(dispatcher->queue);
    if (!admission_check_time(config, most_ms, own_ms, left_ms, NULL)) return STATUS_OK;
    const double wait_ms = wait_in_line_ms(dispatcher, &round, slot);
    const enum status status = admission_check_time(config, wait_ms, own_ms, left_ms, failure);
    if (status) queue_remove(dispatcher->queue, slot);
    return status;
}

enum status dispatcher_submit(struct dispatcher *dispatcher, int slot, struct failure *failure) {
    struct job *job = job_of(dispatcher, slot);
    struct place *place = &dispatcher->places[slot];
    place->at = WAITING;
    place->died_at = NOWHERE;
    place->io_thread = job->io_thread;
    forecast_predict(&dispatcher->forecast, job, &place->forecast);
    job->submitted_ns = clock_ns();
    const struct config *config = dispatcher->options.config;
    enum status status =
        admission_check(config, dispatcher->options.workers, job,
                        forecast_least_ms(&dispatcher->forecast, &place->forecast), failure);
    if (!status && job->generation)
        status = admission_check_operators(config, waiting_for_operators(dispatcher), failure);
    if (!status) status = push(dispatcher, slot, failure);
    if (status) return status;
    walk(dispatcher, slot);
    if (queue_has(dispatcher->queue, slot)) status = check_time(dispatcher, slot, failure);
    displace(dispatcher);
    return status;
}

/* False: the worker wrote what cannot be an answer. Then it is killed, and the job runs once more
 * as if the worker had died with it. */
static bool take_answer(struct dispatcher *dispatcher, struct worker_handle *worker, int slot) {
    struct job *job = job_of(dispatcher, slot);
    if (worker->distrusted) return false;
    if (answer_take(dispatcher->options.slots, slot, clock_ns())) return true;
    log_event(LOG_ERROR, "job %s: the worker's answer cannot be one", job->request_id);
    job->deaths++;
    job->lost_runs++;
    worker_handle_distrust(worker);
    return false;
}

static void record_run(struct dispatcher *dispatcher, struct worker_handle *worker, int slot) {
    const struct job *job = job_of(dispatcher, slot);
    const double ms =
        ns_to_ms(job->finished_ns - job->submitted_ns) - job->timing.stage_ms[STAGE_QUEUE];
    dispatcher->running--;
    worker_handle_completed(worker, clock_ns());
    forecast_learn(&dispatcher->forecast, number_of(dispatcher, worker),
                   &dispatcher->places[slot].forecast, job);
    if (worker->operators) return; /* they say nothing of how long others take */
    dispatcher->service_ms +=
        (ms - dispatcher->service_ms) / (dispatcher->service_ms > 0 ? SMOOTHING : 1);
}

bool dispatcher_completed(struct dispatcher *dispatcher, int slot, uint32_t run_number) {
    if (slot < 0 || slot >= slots_count(dispatcher->options.slots)) return false;
    const struct job *job = job_of(dispatcher, slot);
    const int at = dispatcher->places[slot].at;
    if (job->run_number != run_number || at == WAITING) return false;
    if (at != COMING_BACK && !take_answer(dispatcher, &dispatcher->options.workers->all[at], slot))
        return false;
    dispatcher->places[slot].at = WAITING;
    if (at != COMING_BACK) {
        sweep_note_received(&dispatcher->channels[at], &dispatcher->places[slot].sent);
        record_run(dispatcher, &dispatcher->options.workers->all[at], slot);
        dispatcher_hand_out(dispatcher);
        if (!dispatcher->running && !queue_length(dispatcher->queue)) queue_rest(dispatcher->queue);
    }
    return true;
}

void dispatcher_cancel(struct dispatcher *dispatcher, int slot) {
    struct job *job = job_of(dispatcher, slot), *shared = shared_job_of(dispatcher, slot);
    job->progress.cancelled = 1;
    __atomic_store_n(&shared->progress.cancelled, 1, __ATOMIC_RELAXED);
    if (!queue_remove(dispatcher->queue, slot)) return;
    fail(&job->failure, STATUS_CANCELLED, "the client has disconnected");
    send_back(dispatcher, slot);
}

/* ---- what the supervisor finds */

void dispatcher_expire(struct dispatcher *dispatcher) {
    for (int slot = 0; slot < slots_count(dispatcher->options.slots); slot++) {
        struct job *job = job_of(dispatcher, slot);
        if (!queue_has(dispatcher->queue, slot)) continue;
        const enum status late = progress_state(&job->progress);
        if (late)
            fail(&job->failure, late, "waited in the queue until the time allowed was over");
        else if (!admission_check_hope(dispatcher->options.config, dispatcher->options.workers, job,
                                       &job->failure))
            continue;
        queue_remove(dispatcher->queue, slot);
        send_back(dispatcher, slot);
    }
}

bool dispatcher_hangs(struct dispatcher *dispatcher, struct worker_handle *worker, int64_t now) {
    const int64_t grace_ns = dispatcher->options.config->processing_ms * ms_ns;
    const int64_t still_ns = dispatcher->options.config->worker_still_ms * ms_ns;
    bool hangs = false;
    for (int slot = 0; worker->running && slot < slots_count(dispatcher->options.slots); slot++) {
        if (dispatcher->places[slot].at != number_of(dispatcher, worker)) continue;
        const struct job *shared = shared_job_of(dispatcher, slot);
        const int64_t deadline = job_of(dispatcher, slot)->progress.deadline_ns;
        const int64_t seen = __atomic_load_n(&shared->progress.seen_ns, __ATOMIC_RELAXED);
        if (seen <= now) worker_handle_moved(worker, seen);
        hangs |= deadline && now - deadline > grace_ns;
        hangs |= lane_watch_hangs(&dispatcher->places[slot].lane, shared, worker, still_ns, now);
    }
    return hangs;
}

/* The answer is there: the worker died before or after it could say so. */
static bool has_finished(struct dispatcher *dispatcher, const struct worker_handle *worker,
                         int slot) {
    return __atomic_load_n(&shared_job_of(dispatcher, slot)->finished_ns, __ATOMIC_ACQUIRE) &&
           !worker->distrusted && answer_take(dispatcher->options.slots, slot, clock_ns());
}

/* Why a job whose worker died need not run again, written into the job; false: it should. */
static bool is_over(struct job *job) {
    const enum status late = progress_state(&job->progress);
    if (late == STATUS_CANCELLED)
        fail(&job->failure, late, "the client has disconnected");
    else if (late == STATUS_DEADLINE)
        fail(&job->failure, late, "not done within the time allowed");
    else if (job->deaths >= 2)
        fail(&job->failure, STATUS_INTERNAL,
             "two workers died with this image; it will not be tried again");
    else
        return false;
    return true;
}

static void recover(struct dispatcher *dispatcher, const struct worker_handle *worker, int slot) {
    struct job *job = job_of(dispatcher, slot);
    dispatcher->places[slot].at = WAITING;
    dispatcher->running--;
    backlog_remove(&dispatcher->forecast.backlogs[number_of(dispatcher, worker)],
                   &dispatcher->places[slot].forecast.backlog);
    const struct job *shared = shared_job_of(dispatcher, slot);
    if (__atomic_load_n(&shared->started, __ATOMIC_ACQUIRE)) {
        job->lost_runs++;
        job->deaths += !worker->stood_still && !worker->distrusted;
        dispatcher->places[slot].died_at = number_of(dispatcher, worker);
    }
    if (has_finished(dispatcher, worker, slot) || is_over(job))
        send_back(dispatcher, slot);
    else
        queue_push_front(dispatcher->queue, slot);
}

void dispatcher_recover(struct dispatcher *dispatcher, const struct worker_handle *worker) {
    const short number = number_of(dispatcher, worker);
    backlog_end_window(&dispatcher->forecast.backlogs[number]);
    for (int slot = 0; slot < slots_count(dispatcher->options.slots); slot++)
        if (dispatcher->places[slot].at == number) recover(dispatcher, worker, slot);
}

void dispatcher_send_back_all(struct dispatcher *dispatcher) {
    for (int slot = 0; slot < slots_count(dispatcher->options.slots); slot++) {
        if (dispatcher->places[slot].at < 0 && !queue_remove(dispatcher->queue, slot)) continue;
        fail(&job_of(dispatcher, slot)->failure, STATUS_BUSY, "the daemon is stopping");
        send_back(dispatcher, slot);
    }
}

/* ---- questions */

int dispatcher_waiting(const struct dispatcher *dispatcher) {
    return queue_length(dispatcher->queue);
}

int dispatcher_clients(const struct dispatcher *dispatcher) {
    return queue_clients(dispatcher->queue);
}

int dispatcher_running(const struct dispatcher *dispatcher) {
    return dispatcher->running;
}

static bool has_id(const struct dispatcher *dispatcher, int slot, const char *request_id) {
    return strncmp(job_of(dispatcher, slot)->request_id, request_id, REQUEST_ID_MAX) == 0;
}

/* -1: it neither waits nor runs. A job's id does not change while it is here. */
static int find_request(const struct dispatcher *dispatcher, const char *request_id) {
    for (int slot = 0; slot < slots_count(dispatcher->options.slots); slot++)
        if (queue_has(dispatcher->queue, slot) && has_id(dispatcher, slot, request_id)) return slot;
    for (int slot = 0; slot < slots_count(dispatcher->options.slots); slot++)
        if (dispatcher->places[slot].at >= 0 && has_id(dispatcher, slot, request_id)) return slot;
    return -1;
}

bool dispatcher_progress(const struct dispatcher *dispatcher, const char *request_id,
                         struct job_progress *progress) {
    const int slot = find_request(dispatcher, request_id);
    if (slot < 0) return false;
    const struct job *job = job_of(dispatcher, slot), *shared = shared_job_of(dispatcher, slot);
    const int at = dispatcher->places[slot].at;
    *progress = (struct job_progress){
        .waiting = at < 0,
        .in_order = at >= 0 && dispatcher->options.workers->all[at].cpu,
        .step = __atomic_load_n(&shared->progress.step, __ATOMIC_RELAXED),
        .done = __atomic_load_n(&shared->progress.done, __ATOMIC_RELAXED),
        .total = __atomic_load_n(&shared->progress.total, __ATOMIC_RELAXED),
        .plan = job->plan,
        .generation = job->generation,
    };
    return true;
}

void dispatcher_account(const struct dispatcher *dispatcher, int worker,
                        struct worker_account *account) {
    forecast_account(&dispatcher->forecast, worker, account);
}

int dispatcher_retry_after_s(const struct dispatcher *dispatcher) {
    const struct worker_list *workers = dispatcher->options.workers;
    int capacity = 1;
    for (int i = 0; i < workers->count; i++)
        if (worker_handle_healthy(&workers->all[i])) capacity += workers->all[i].capacity / 2;
    const double ms = dispatcher->service_ms * (queue_length(dispatcher->queue) + 1) / capacity;
    return ms > 30000 ? 30 : ms >= 1000 ? (int)(ms / 1000) + 1 : 1;
}
