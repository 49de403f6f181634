// SPDX-License-Identifier: Apache-2.0
#include "server/jobs/sweep.h"

#include "server/jobs/completion_pipe.h"
#include "server/log.h"

static const int64_t ms_ns = 1000000;

enum sweep_finding sweep_look(const struct job *job, int64_t sent_ns, int64_t now) {
    const int64_t old_ns = SWEEP_MS * ms_ns;
    if (now - sent_ns < old_ns) return SWEEP_NOTHING;
    const int64_t finished_ns = __atomic_load_n(&job->finished_ns, __ATOMIC_ACQUIRE);
    if (finished_ns) return now - finished_ns < old_ns ? SWEEP_NOTHING : SWEEP_NOT_TOLD;
    const bool received = __atomic_load_n(&job->received, __ATOMIC_RELAXED) == job->run_number;
    return received ? SWEEP_NOTHING : SWEEP_NOT_RECEIVED;
}

/* Who reads it drops the copy if the first one comes after all. */
static bool tell_again(const struct sweep_job *what) {
    const struct completion completion = { what->slot, what->job->run_number };
    return completion_pipe_unread(what->pipe) < COMPLETION_UNREAD_MAX &&
           completion_pipe_send(what->pipe, &completion);
}

static bool send_lost(const struct sweep_job *what, int64_t now) {
    if (!what->worker) return now - what->sent_ns >= SWEEP_MS * ms_ns && tell_again(what);
    switch (sweep_look(what->job, what->sent_ns, now)) {
    case SWEEP_NOT_RECEIVED: return worker_handle_send_again(what->worker, what->slot, what->job);
    case SWEEP_NOT_TOLD: return tell_again(what);
    default: return false;
    }
}

bool sweep_send_again(const struct sweep_job *what, int64_t now) {
    static struct log_limit limit;
    int more;
    if (!send_lost(what, now)) return false;
    if (log_limit_allows(&limit, now, &more))
        log_event(LOG_ERROR, "a message of job %.63s was lost and is sent again; of %d others too",
                  what->job->request_id, more);
    return true;
}
