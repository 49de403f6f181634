// SPDX-License-Identifier: Apache-2.0
/* How it works. A walk over the queue, in its order, asks the forecast which worker each job should
 * go to. A job waits for that worker even if another one has room, and counts there as ahead of the
 * jobs behind it. A walk costs some 50 ns a job and happens whenever a job comes or goes: most
 * walks end after a few jobs that must wait; one every four milliseconds looks at all of them.
 *
 * `states` says for every slot where its job is. Each run of a slot has a number, which its
 * completion carries: a worker may die just after it reported a completion, which must not count
 * for the next run. Some jobs have several (runs.h). A job that a dead worker
 * had begun is a suspect: it runs again alone, elsewhere if possible; two deaths end it. */
#include "server/dispatch/dispatcher.h"

#include "server/dispatch/admission.h"
#include "server/dispatch/culprit.h"
#include "server/jobs/answer.h"
#include "server/log/log.h"

#include <stdlib.h>
#include <string.h>

/* SMOOTHING: weight of the past in service_ms. PASSED_MAX: jobs that a short walk finds no room
 * for. */
enum { SMOOTHING = 16, PASSED_MAX = 32, WHOLE_WALK_MS = 4 };
static const int64_t ms_ns = 1000000;

struct dispatcher *dispatcher_create(const struct dispatcher_options *options,
                                     struct failure *failure) {
    struct dispatcher *dispatcher = calloc(1, sizeof *dispatcher);
    if (dispatcher) {
        dispatcher->options = *options;
        dispatcher->slots = slots_count(options->slots);
        dispatcher->queue = queue_create(
            &(struct queue_options){ (int)options->config->queue_jobs, dispatcher->slots });
        dispatcher->states = malloc((size_t)dispatcher->slots * sizeof *dispatcher->states);
    }
    if (!dispatcher || !dispatcher->queue || !dispatcher->states)
        return fail(failure, STATUS_NO_MEMORY, "out of memory for the queue of jobs"),
               dispatcher_destroy(dispatcher), NULL;
    for (int i = 0; i < dispatcher->slots; i++)
        dispatcher->states[i] = (struct job_state){ .worker = WAITING, .died_on = NO_WORKER };
    forecast_init(&dispatcher->forecast, options->workers);
    return dispatcher;
}

void dispatcher_destroy(struct dispatcher *dispatcher) {
    if (!dispatcher) return;
    queue_destroy(dispatcher->queue);
    free(dispatcher->states);
    free(dispatcher);
}

/* Completes a job in the worker's place: the reader of its pipe gets it next. */
static void send_back(struct dispatcher *dispatcher, int slot) {
    struct job *job = job_of(dispatcher, slot);
    struct job_state *state = &dispatcher->states[slot];
    state->worker = RETURNING;
    state->sent.ns = clock_coarse_ns();
    job->run_number = ++dispatcher->runs;
    completion_pipe_send(dispatcher->options.pipes[state->io_thread],
                         &(struct completion){ slot, job->run_number });
}

/* ---- sending jobs to workers */

static bool has_room(const struct dispatcher *dispatcher, int number, const struct job *job,
                     enum job_duration duration) {
    const struct worker_handle *worker = &dispatcher->options.workers->all[number];
    if (!worker_handle_has_room(worker, job)) return false;
    return job->deaths || forecast_has_room(&dispatcher->forecast, number, duration);
}

static bool send_job(struct dispatcher *dispatcher, int worker, int slot,
                     const struct backlog_job *backlog) {
    struct job *job = job_of(dispatcher, slot);
    struct job_state *state = &dispatcher->states[slot];
    job->run_number = ++dispatcher->runs;
    job->predicted_ms = backlog->ms;
    job->duration = backlog->duration == JOB_ENGINE ? JOB_MEDIUM : backlog->duration;
    job->own_batch = job->run == RUN_ENGINE ||
                     forecast_needs_own_batch(&dispatcher->forecast, &state->forecast, worker);
    runs_share(job, shared_job_of(dispatcher, slot));
    if (!worker_handle_send_job(&dispatcher->options.workers->all[worker], slot, job)) return false;
    dispatcher->running++;
    runs_hold(&dispatcher->held, dispatcher->options.config, job, &state->earlier);
    state->worker = worker;
    sweep_note_sent(&dispatcher->channels[worker], &state->sent, clock_coarse_ns());
    state->forecast.backlog = *backlog;
    backlog_add(&dispatcher->forecast.backlogs[worker], backlog);
    return true;
}

/* Sends the job to the worker that is predicted to answer first. False: that worker is full, or no
 * worker may run the job. */
static bool assign(struct dispatcher *dispatcher, struct forecast_round *round, int slot) {
    const struct job *job = job_of(dispatcher, slot);
    const struct earlier_runs *earlier = &dispatcher->states[slot].earlier;
    if (!runs_have_room(&dispatcher->held, dispatcher->options.config, job, earlier)) return false;
    const int worker = dispatcher_choose(dispatcher, round, slot);
    if (worker == NO_WORKER) return false;
    const struct backlog_job backlog =
        forecast_reserve(round, &dispatcher->states[slot].forecast, worker);
    if (round->full[worker] >> backlog.duration & 1) return false;
    if (has_room(dispatcher, worker, job, backlog.duration) &&
        send_job(dispatcher, worker, slot, &backlog)) {
        queue_serve(dispatcher->queue, slot);
        return true;
    }
    const bool for_others =
        !job->deaths && worker_handle_has_room(&dispatcher->options.workers->all[worker], job);
    forecast_mark_full(round, worker, backlog.duration, !for_others);
    return false;
}

/* NEWCOMER: the job queued since the last walk, or -1. There may be room for it where there is none
 * for the jobs ahead, so the walk looks at it even if it ends before. */
static void walk(struct dispatcher *dispatcher, int newcomer) {
    struct forecast_round round;
    int slot = queue_first(dispatcher->queue);
    if (slot < 0) return;
    forecast_begin(&dispatcher->forecast, &round);
    dispatcher->held.crowded = false;
    const bool whole = round.now - dispatcher->whole_walk_ns >= WHOLE_WALK_MS * ms_ns;
    if (whole) dispatcher->whole_walk_ns = round.now;
    for (int passed = 0; slot >= 0 && round.open > 0 && (whole || passed < PASSED_MAX);
         slot = queue_next(dispatcher->queue))
        passed += !assign(dispatcher, &round, slot);
    if (slot >= 0 && round.open > 0 && newcomer >= 0 && queue_has(dispatcher->queue, newcomer))
        assign(dispatcher, &round, newcomer);
}

void dispatcher_assign(struct dispatcher *dispatcher) {
    walk(dispatcher, -1);
}

/* ---- a job comes */

enum status dispatcher_has_room(const struct dispatcher *dispatcher, const struct client *client,
                                int more, struct failure *failure) {
    if (queue_has_room(dispatcher->queue, client, more)) return STATUS_OK;
    return fail(failure, STATUS_BUSY, "%d jobs are waiting already; try again later",
                queue_length(dispatcher->queue));
}

enum status dispatcher_submit(struct dispatcher *dispatcher, int slot, struct failure *failure) {
    const struct config *config = dispatcher->options.config;
    struct job *job = job_of(dispatcher, slot);
    struct job_state *state = &dispatcher->states[slot];
    state->worker = WAITING;
    state->died_on = NO_WORKER;
    state->io_thread = job->io_thread;
    job->submitted_ns = clock_ns();
    double least_ms = 0; /* of all runs, on the worker that is fastest for each */
    state->cells_ms = 0;
    enum status status = STATUS_OK;
    int32_t runs[RUNS_MAX]; /* the last one first */
    const bool engine = worker_list_has_engine(dispatcher->options.workers, job);
    for (int i = 0, count = runs_list(job, engine, runs); i < count && !status; i++) {
        job->run = runs[i];
        forecast_predict(&dispatcher->forecast, job, &state->forecast);
        const double ms = forecast_least_ms(&dispatcher->forecast, &state->forecast);
        least_ms += ms;
        if (job_is_in_cell(job)) state->cells_ms += ms;
        status = worker_list_check(dispatcher->options.workers, job, config->no_worker_ms * ms_ns,
                                   failure);
    }
    const struct queue_job entry = { job->client, least_ms, job->submitted_ns, job->share };
    job->least_ms = least_ms;
    if (!status) status = forecast_check_length(config, least_ms, failure);
    if (!status && job->generation) status = admission_check_operators(dispatcher, failure);
    if (!status && !queue_push(dispatcher->queue, slot, &entry))
        status = dispatcher_has_room(dispatcher, &entry.client, 0, failure);
    if (status) return status;
    walk(dispatcher, slot);
    if (queue_has(dispatcher->queue, slot))
        status = admission_check_time(dispatcher, slot, failure);
    const int displaced = queue_displace(dispatcher->queue);
    if (displaced >= 0) {
        runs_displace(job_of(dispatcher, displaced), queue_length(dispatcher->queue));
        send_back(dispatcher, displaced);
    }
    return status;
}

/* ---- a job returns */

/* Takes over the answer in the slot, if it is valid. */
static bool take_valid(struct dispatcher *dispatcher, const struct worker_handle *worker,
                       int slot) {
    if (!answer_take(dispatcher->options.slots, slot, clock_ns())) return false;
    culprit_name(job_of(dispatcher, slot), worker->generation, worker->cpu);
    return true;
}

/* False: the worker returned an invalid answer. The worker is killed, and the job runs once more as
 * if the worker had died with it. */
static bool take_answer(struct dispatcher *dispatcher, struct worker_handle *worker, int slot) {
    struct job *job = job_of(dispatcher, slot);
    if (worker->distrusted) return false;
    if (take_valid(dispatcher, worker, slot)) return true;
    log_event_of(LOG_ERROR, "answer_invalid", job->request_id, job->trace_id,
                 "job %.63s: the worker returned an invalid answer", job->request_id);
    job->deaths++;
    job->lost_runs++;
    worker_handle_distrust(worker);
    return false;
}

/* JOB has got its next run. */
static void predict_next(struct dispatcher *dispatcher, int slot) {
    const struct job *job = job_of(dispatcher, slot);
    struct job_state *state = &dispatcher->states[slot];
    state->died_on = NO_WORKER;
    if (job->run == RUN_PLAN) /* a cell has decoded */
        state->cells_ms -= forecast_least_ms(&dispatcher->forecast, &state->forecast);
    forecast_predict(&dispatcher->forecast, job, &state->forecast);
    if (job->run != RUN_DECODE) return;
    state->cells_ms += forecast_least_ms(&dispatcher->forecast, &state->forecast);
    worker_list_want_cells(dispatcher->options.workers, 1); /* an engine has not decoded */
}

static void begin_next(struct dispatcher *dispatcher, int slot) {
    const struct job *job = job_of(dispatcher, slot);
    const struct queue_job entry = { job->client, 0, job->submitted_ns, job->share };
    predict_next(dispatcher, slot);
    queue_push_again(dispatcher->queue, slot, &entry);
}

static void leave_engine(struct dispatcher *dispatcher, int slot) {
    runs_leave_engine(&dispatcher->held, job_of(dispatcher, slot),
                      &dispatcher->states[slot].earlier);
    predict_next(dispatcher, slot);
}

bool dispatcher_completed(struct dispatcher *dispatcher, int slot, uint32_t run_number) {
    if (slot < 0 || slot >= dispatcher->slots) return false;
    struct job *job = job_of(dispatcher, slot);
    struct job_state *state = &dispatcher->states[slot];
    const int number = state->worker;
    if (job->run_number != run_number || number == WAITING) return false;
    struct worker_handle *worker =
        number == RETURNING ? NULL : &dispatcher->options.workers->all[number];
    if (worker && !take_answer(dispatcher, worker, slot)) return false;
    state->worker = WAITING;
    if (!worker) return runs_release(&dispatcher->held, &state->earlier), true;
    sweep_note_received(&dispatcher->channels[number], &state->sent);
    dispatcher->running--;
    worker_handle_completed(worker, clock_ns());
    forecast_learn(&dispatcher->forecast, number, &state->forecast, job);
    if (!worker->operators && !worker->decodes) { /* these do not predict how long others take */
        const double ms =
            ns_to_ms(job->finished_ns - job->submitted_ns) - job->timing.stage_ms[STAGE_QUEUE];
        dispatcher->service_ms +=
            (ms - dispatcher->service_ms) / (dispatcher->service_ms > 0 ? SMOOTHING : 1);
    }
    const bool again = runs_go_on(&dispatcher->held, job, &state->earlier);
    if (again) begin_next(dispatcher, slot);
    dispatcher_assign(dispatcher);
    if (!dispatcher->running && !queue_length(dispatcher->queue))
        queue_forget_usage(dispatcher->queue);
    return !again;
}

void dispatcher_cancel(struct dispatcher *dispatcher, int slot) {
    struct job *job = job_of(dispatcher, slot), *shared = shared_job_of(dispatcher, slot);
    job->progress.cancelled = 1;
    __atomic_store_n(&shared->progress.cancelled, 1, __ATOMIC_RELAXED);
    if (!queue_remove(dispatcher->queue, slot)) return;
    fail(&job->failure, STATUS_CANCELLED, "the client has disconnected");
    send_back(dispatcher, slot);
}

/* ---- faults */

void dispatcher_expire(struct dispatcher *dispatcher) {
    const int64_t patience_ns = dispatcher->options.config->no_worker_ms * ms_ns;
    int for_cells = 0;
    for (int slot = 0; slot < dispatcher->slots; slot++) {
        struct job *job = job_of(dispatcher, slot);
        if (!queue_has(dispatcher->queue, slot)) continue;
        if (job->run == RUN_ENGINE && !worker_list_has_engine(dispatcher->options.workers, job))
            leave_engine(dispatcher, slot);
        for_cells += job_is_in_cell(job);
        const enum status late = progress_state(&job->progress);
        if (late)
            fail(&job->failure, late, "waited in the queue until the time allowed was over");
        else if (!worker_list_check(dispatcher->options.workers, job, patience_ns, &job->failure))
            continue;
        else
            job->failure.status = STATUS_BUSY; /* it was served when the job came */
        queue_remove(dispatcher->queue, slot);
        send_back(dispatcher, slot);
    }
    worker_list_want_cells(dispatcher->options.workers, for_cells);
}

void dispatcher_sweep(struct dispatcher *dispatcher, int64_t now) {
    if (now - dispatcher->sweep_ns < SWEEP_MS * ms_ns) return;
    dispatcher->sweep_ns = now;
    for (int slot = 0; slot < dispatcher->slots; slot++) {
        const struct job_state *state = &dispatcher->states[slot];
        if (state->worker >= 0 && sweep_is_received(shared_job_of(dispatcher, slot)))
            sweep_note_received(&dispatcher->channels[state->worker], &state->sent);
    }
    for (int slot = 0; slot < dispatcher->slots; slot++) {
        struct job_state *state = &dispatcher->states[slot];
        if (state->worker < 0) continue;
        struct sweep_channel *channel = &dispatcher->channels[state->worker];
        const struct sweep_job what = { slot,
                                        job_of(dispatcher, slot),
                                        shared_job_of(dispatcher, slot),
                                        &dispatcher->options.workers->all[state->worker],
                                        channel,
                                        &state->sent };
        if (sweep_send_again(&what, now)) sweep_note_sent(channel, &state->sent, now);
    }
}

int dispatcher_overdue(const struct dispatcher *dispatcher, int io_thread, int64_t now,
                       struct completion *completions, int count) {
    int found = 0;
    for (int slot = 0; slot < dispatcher->slots && found < count; slot++) {
        const struct job *job = job_of(dispatcher, slot);
        const struct job_state *state = &dispatcher->states[slot];
        if (state->io_thread != io_thread || state->worker == WAITING) continue;
        const bool overdue = state->worker == RETURNING
                                 ? now - state->sent.ns >= SWEEP_OLD_MS * ms_ns
                                 : sweep_look(shared_job_of(dispatcher, slot), state->sent.ns,
                                              now) == SWEEP_NOT_REPORTED;
        if (!overdue) continue;
        sweep_log_loss(job, now);
        completions[found++] = (struct completion){ slot, job->run_number };
    }
    return found;
}

bool dispatcher_hangs(struct dispatcher *dispatcher, struct worker_handle *worker, int64_t now) {
    const int64_t grace_ns = dispatcher->options.config->processing_ms * ms_ns;
    const int64_t still_ns = dispatcher->options.config->worker_still_ms * ms_ns;
    bool hangs = false;
    const int number = (int)(worker - dispatcher->options.workers->all);
    for (int slot = 0; worker->running && slot < dispatcher->slots; slot++) {
        struct job_state *state = &dispatcher->states[slot];
        if (state->worker != number) continue;
        const struct job *shared = shared_job_of(dispatcher, slot);
        const int64_t deadline = job_of(dispatcher, slot)->progress.deadline_ns;
        const int64_t seen = __atomic_load_n(&shared->progress.seen_ns, __ATOMIC_RELAXED);
        if (seen <= now) worker_handle_moved(worker, seen);
        hangs |= deadline && now - deadline > grace_ns;
        hangs |= worker_handle_lane_hangs(worker, &state->lane, shared, still_ns, now);
    }
    return hangs;
}

static void recover(struct dispatcher *dispatcher, const struct worker_handle *worker, int slot) {
    struct job *job = job_of(dispatcher, slot);
    const struct job *shared = shared_job_of(dispatcher, slot);
    struct job_state *state = &dispatcher->states[slot];
    dispatcher->running--;
    backlog_remove(&dispatcher->forecast.backlogs[state->worker], &state->forecast.backlog);
    if (__atomic_load_n(&shared->started, __ATOMIC_ACQUIRE)) {
        job->lost_runs++;
        job->deaths += !worker->stood_still && !worker->distrusted;
        state->died_on = state->worker;
    }
    state->worker = WAITING;
    /* The worker may have finished the job and died before its completion was read. */
    const bool finished = __atomic_load_n(&shared->finished_ns, __ATOMIC_ACQUIRE) &&
                          !worker->distrusted && take_valid(dispatcher, worker, slot);
    if (finished && runs_go_on(&dispatcher->held, job, &state->earlier))
        begin_next(dispatcher, slot);
    else if (finished || runs_are_over(&dispatcher->held, job, &state->earlier))
        send_back(dispatcher, slot);
    else {
        if (job->run == RUN_ENGINE && job->deaths) leave_engine(dispatcher, slot);
        queue_push_front(dispatcher->queue, slot);
    }
}

void dispatcher_recover(struct dispatcher *dispatcher, const struct worker_handle *worker) {
    const int number = (int)(worker - dispatcher->options.workers->all);
    backlog_end_window(&dispatcher->forecast.backlogs[number]);
    for (int slot = 0; slot < dispatcher->slots; slot++)
        if (dispatcher->states[slot].worker == number) recover(dispatcher, worker, slot);
}

void dispatcher_send_back_all(struct dispatcher *dispatcher) {
    for (int slot = 0; slot < dispatcher->slots; slot++) {
        if (dispatcher->states[slot].worker < 0 && !queue_remove(dispatcher->queue, slot)) continue;
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

/* The slot of a queued job of that request, else of a running one; -1: there is none. */
static int find_request(const struct dispatcher *dispatcher, const char *request_id) {
    for (int queued = 1; queued >= 0; queued--)
        for (int slot = 0; slot < dispatcher->slots; slot++) {
            const bool here =
                queued ? queue_has(dispatcher->queue, slot) : dispatcher->states[slot].worker >= 0;
            if (here && !strncmp(job_of(dispatcher, slot)->request_id, request_id, REQUEST_ID_MAX))
                return slot;
        }
    return -1;
}

bool dispatcher_progress(const struct dispatcher *dispatcher, const char *request_id,
                         struct job_progress *progress) {
    const int slot = find_request(dispatcher, request_id);
    if (slot < 0) return false;
    const struct job *job = job_of(dispatcher, slot), *shared = shared_job_of(dispatcher, slot);
    const int worker = dispatcher->states[slot].worker;
    *progress = (struct job_progress){
        .waiting = worker < 0,
        .in_order = worker >= 0 && dispatcher->options.workers->all[worker].cpu,
        .step = __atomic_load_n(&shared->progress.step, __ATOMIC_RELAXED),
        .done = __atomic_load_n(&shared->progress.done, __ATOMIC_RELAXED),
        .total = __atomic_load_n(&shared->progress.total, __ATOMIC_RELAXED),
        .plan = job->plan,
        .generation = job->generation,
    };
    return true;
}

void dispatcher_statistics(const struct dispatcher *dispatcher, int worker,
                           struct worker_statistics *statistics) {
    forecast_statistics(&dispatcher->forecast, worker, statistics);
}

int dispatcher_retry_after_s(const struct dispatcher *dispatcher) {
    const int capacity = 1 + worker_list_abreast(dispatcher->options.workers);
    const double ms = dispatcher->service_ms * (queue_length(dispatcher->queue) + 1) / capacity;
    return ms > 30000 ? 30 : ms >= 1000 ? (int)(ms / 1000) + 1 : 1;
}
