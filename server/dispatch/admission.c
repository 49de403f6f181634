// SPDX-License-Identifier: Apache-2.0
#include "server/dispatch/admission.h"

#include <math.h>

/* Users' operators may have a quarter of the queue. */
enum { OPERATORS_SHARE = 4 };

int dispatcher_choose(const struct dispatcher *dispatcher, const struct forecast_round *round,
                      int slot) {
    const struct job_state *state = &dispatcher->states[slot];
    return forecast_choose(&dispatcher->forecast, round, &state->forecast, state->died_on,
                           job_of(dispatcher, slot)->deaths > 0);
}

enum status admission_check_operators(const struct dispatcher *dispatcher,
                                      struct failure *failure) {
    const long share = dispatcher->options.config->queue_jobs / OPERATORS_SHARE;
    int waiting = 0;
    for (int slot = 0; slot < dispatcher->slots; slot++)
        waiting += queue_has(dispatcher->queue, slot) && job_of(dispatcher, slot)->generation != 0;
    if (waiting < (share > 1 ? share : 1)) return STATUS_OK;
    return fail(failure, STATUS_BUSY,
                "%d jobs for users' operators are waiting already; try again later", waiting);
}

/* ---- time */

/* The time after which a worker for users' operators is free at last: its process is stopped
 * OPERATORS_GRACE_MS after the deadline of a job. An operator's long run does not predict that it
 * goes on. */
static double operators_wait_ms(const struct dispatcher *dispatcher, int newcomer, int64_t now) {
    double wait_ms = 0;
    for (int slot = 0; slot < dispatcher->slots; slot++) {
        const struct job *job = job_of(dispatcher, slot);
        const int64_t deadline_ns = job->progress.deadline_ns;
        if (!job->generation || slot == newcomer) continue;
        if (queue_has(dispatcher->queue, slot)) wait_ms += job->least_ms;
        if (dispatcher->states[slot].worker < 0) continue;
        if (!deadline_ns) return INFINITY;
        wait_ms += OPERATORS_GRACE_MS + (deadline_ns > now ? ns_to_ms(deadline_ns - now) : 0);
    }
    return wait_ms;
}

/* Whether NEWCOMER's first run, a worker's, is done in LEFT_MS. The time of all queued jobs
 * together is an upper bound of the wait; only if that is too long are the jobs ahead added up. */
static enum status check_worker(struct dispatcher *dispatcher, int newcomer, double left_ms,
                                struct forecast_round *round, struct failure *failure) {
    const struct config *config = dispatcher->options.config;
    const struct forecast_job *forecast = &dispatcher->states[newcomer].forecast;
    double own_ms, unused_ms;
    const double most_ms = forecast_wait_ms(&dispatcher->forecast, round, forecast, &own_ms) +
                           queue_cost_ms(dispatcher->queue);
    if (!forecast_check_time(config, most_ms, own_ms, left_ms, NULL)) return STATUS_OK;
    for (int slot = queue_first(dispatcher->queue); slot >= 0 && slot != newcomer;
         slot = queue_next(dispatcher->queue)) {
        const int worker = dispatcher_choose(dispatcher, round, slot);
        if (worker != NO_WORKER)
            forecast_reserve(round, &dispatcher->states[slot].forecast, worker);
    }
    double wait_ms = forecast_wait_ms(&dispatcher->forecast, round, forecast, &unused_ms);
    if (job_of(dispatcher, newcomer)->generation)
        wait_ms = fmin(wait_ms, operators_wait_ms(dispatcher, newcomer, round->now));
    return forecast_check_time(config, wait_ms, own_ms, left_ms, failure);
}

/* Cells share the work of all jobs ahead, whatever runs these have now: as many cells as there may
 * be are started before jobs wait for long. */
static enum status check_cells(struct dispatcher *dispatcher, int newcomer, double left_ms,
                               struct failure *failure) {
    const int cells = worker_list_cells(dispatcher->options.workers);
    const double own_ms = dispatcher->states[newcomer].cells_ms;
    double ahead_ms = 0;
    if (own_ms <= 0) return STATUS_OK;
    for (int slot = 0; slot < dispatcher->slots; slot++)
        if (dispatcher->states[slot].worker >= 0) ahead_ms += dispatcher->states[slot].cells_ms;
    for (int slot = queue_first(dispatcher->queue); slot >= 0 && slot != newcomer;
         slot = queue_next(dispatcher->queue))
        ahead_ms += dispatcher->states[slot].cells_ms;
    return forecast_check_time(dispatcher->options.config, ahead_ms / cells, own_ms, left_ms,
                               failure);
}

enum status admission_check_time(struct dispatcher *dispatcher, int newcomer,
                                 struct failure *failure) {
    const struct job *job = job_of(dispatcher, newcomer);
    const int64_t deadline_ns = job->progress.deadline_ns;
    struct forecast_round round;
    enum status status = STATUS_OK;
    forecast_begin(&dispatcher->forecast, &round);
    const double left_ms = deadline_ns ? ns_to_ms(deadline_ns - round.now) : INFINITY;
    if (!job_is_in_cell(job)) status = check_worker(dispatcher, newcomer, left_ms, &round, failure);
    if (!status) status = check_cells(dispatcher, newcomer, left_ms, failure);
    if (status) queue_remove(dispatcher->queue, newcomer);
    return status;
}
