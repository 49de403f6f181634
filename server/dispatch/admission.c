// SPDX-License-Identifier: Apache-2.0
#include "server/dispatch/admission.h"

#include "pipeline/timing.h"

enum { OPERATORS_SHARE = 4 };

static bool is_served(const struct worker_list *workers, const struct job *job) {
    for (int i = 0; i < workers->count; i++)
        if (worker_handle_serves(&workers->all[i], job)) return true;
    return false;
}

enum status admission_check_hope(const struct config *config, struct worker_list *workers,
                                 const struct job *job, struct failure *failure) {
    const int64_t now = clock_ns(), patience_ns = config->no_worker_ms * INT64_C(1000000);
    bool hope = false;
    for (int i = 0; i < workers->count; i++)
        if (worker_handle_serves(&workers->all[i], job))
            hope |= !worker_handle_hopeless(&workers->all[i], now, patience_ns);
    if (hope) return STATUS_OK;
    return fail(failure, STATUS_BUSY, "no worker for %sdevice %s is healthy; try again later",
                job->generation ? "users' operators on " : "", job->device);
}

/* A prediction may be wrong by refuse_times: then the job may still be in time, and is tried. */
static enum status check_length(const struct config *config, double least_ms,
                                struct failure *failure) {
    const double allowed_ms = (double)config->processing_ms;
    if (!config->refuse_times || least_ms <= (double)config->refuse_times * allowed_ms)
        return STATUS_OK;
    return fail(
        failure, STATUS_TOO_LARGE,
        "this is predicted to take %.0f s, and only %.3g s are allowed (processing_ms); send "
        "a smaller image, or ask for less",
        least_ms / 1000, allowed_ms / 1000);
}

enum status admission_check(const struct config *config, struct worker_list *workers,
                            const struct job *job, double least_ms, struct failure *failure) {
    if (!is_served(workers, job))
        return fail(failure, STATUS_BAD_PARAM,
                    "device \"%s\" is not served here; GET /readyz lists those that are",
                    job->device);
    const enum status status = admission_check_hope(config, workers, job, failure);
    return status ? status : check_length(config, least_ms, failure);
}

/* A worker for users' operators runs one job at a time, and one may run until its deadline: they
 * must not take all the queue, nor, with it, all slots. */
enum status admission_check_operators(const struct config *config, int wait,
                                      struct failure *failure) {
    const long most = config->queue_jobs / OPERATORS_SHARE;
    if (wait < (most > 1 ? most : 1)) return STATUS_OK;
    return fail(failure, STATUS_BUSY,
                "%d jobs for users' operators are waiting already; try again later", wait);
}

enum status admission_check_time(const struct config *config, double wait_ms, double own_ms,
                                 double left_ms, struct failure *failure) {
    if (!config->refuse_times || wait_ms + own_ms / (double)config->refuse_times <= left_ms)
        return STATUS_OK;
    return fail(
        failure, STATUS_BUSY,
        "this is predicted to be done in %.3g s, after %.3g s in the queue, and only %.3g s "
        "are left for it; try again later",
        (wait_ms + own_ms) / 1000, wait_ms / 1000, left_ms > 0 ? left_ms / 1000 : 0);
}
