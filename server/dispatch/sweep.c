// SPDX-License-Identifier: Apache-2.0
#include "server/dispatch/sweep.h"

#include "server/log/log.h"

static const int64_t ms_ns = 1000000;

bool sweep_is_received(const struct job *job) {
    return __atomic_load_n(&job->received, __ATOMIC_RELAXED) == job->run_number;
}

enum sweep_finding sweep_look(const struct job *job, int64_t sent_ns, int64_t now) {
    const int64_t old_ns = SWEEP_OLD_MS * ms_ns;
    if (now - sent_ns < old_ns) return SWEEP_NOTHING;
    const int64_t finished_ns = __atomic_load_n(&job->finished_ns, __ATOMIC_ACQUIRE);
    if (finished_ns) return now - finished_ns < old_ns ? SWEEP_NOTHING : SWEEP_NOT_REPORTED;
    return sweep_is_received(job) ? SWEEP_NOTHING : SWEEP_NOT_RECEIVED;
}

void sweep_note_sent(struct sweep_channel *channel, struct sweep_mark *mark, int64_t now) {
    *mark = (struct sweep_mark){ ++channel->sent, now };
}

void sweep_note_received(struct sweep_channel *channel, const struct sweep_mark *mark) {
    if (mark->number > channel->received) channel->received = mark->number;
}

bool sweep_send_again(const struct sweep_job *what, int64_t now) {
    if (sweep_look(what->shared, what->sent->ns, now) != SWEEP_NOT_RECEIVED) return false;
    /* If two lanes read two messages, the second may be acknowledged first: this sends a copy. */
    const bool passed = what->sent->number < what->channel->received;
    if (!passed && !channel_is_read(what->worker->channel)) return false;
    if (!worker_handle_send_again(what->worker, what->slot, what->job)) return false;
    sweep_log_loss(what->job, now);
    return true;
}

void sweep_log_loss(const struct job *job, int64_t now) {
    static struct log_limit limit;
    int more;
    if (log_limit_allows(&limit, now, &more))
        log_event_of(LOG_ERROR, "message_recovered", job->request_id, job->trace_id,
                     "a message of job %.63s was lost and recovered, as were %d others",
                     job->request_id, more);
}
