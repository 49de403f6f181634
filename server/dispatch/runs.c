// SPDX-License-Identifier: Apache-2.0
#include "server/dispatch/runs.h"

int runs_list(const struct job *job, int32_t decodings[RUNS_MAX]) {
    decodings[0] = job->decoding == DECODING_APART ? DECODING_DONE : DECODING_HERE;
    decodings[1] = DECODING_APART;
    return job->decoding == DECODING_APART ? 2 : 1;
}

void runs_displace(struct job *job, int waiting) {
    fail(&job->failure, STATUS_BUSY,
         "%d jobs are waiting, most of them yours, and this one made room for another client's; "
         "try again later",
         waiting);
}

static uint64_t pixels_end(const struct job *job) {
    return job->pixels_offset + job_pixels_bytes(job) + job->profile_length;
}

bool runs_have_room(uint64_t held, uint64_t most, const struct job *job) {
    return job->decoding != DECODING_APART || !held || held + job_pixels_bytes(job) <= most;
}

void runs_hold(uint64_t *held, const struct job *job, struct first_run *first) {
    if (job->decoding != DECODING_APART || first->bytes) return;
    first->bytes = job_pixels_bytes(job);
    *held += first->bytes;
}

void runs_release(uint64_t *held, struct first_run *first) {
    *held -= first->bytes;
    *first = (struct first_run){ .bytes = 0 };
}

bool runs_are_over(uint64_t *held, struct job *job, struct first_run *first) {
    const enum status late = progress_state(&job->progress);
    if (job->decoding == DECODING_APART) runs_release(held, first);
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

bool runs_go_on(uint64_t *held, struct job *job, struct first_run *first) {
    double *stages = job->timing.stage_ms;
    if (job->decoding != DECODING_APART || job->failure.status) {
        stages[STAGE_DECODE] += first->decode_ms;
        if (job->cpu_ms > 0) job->cpu_ms += first->decode_ms; /* it was a core's, too */
        job->notes |= first->notes;
        runs_release(held, first);
        return false;
    }
    first->decode_ms = stages[STAGE_DECODE];
    first->notes = job->notes;
    job->decoding = DECODING_DONE;
    job->deaths = 0;
    job->written_length = pixels_end(job);
    /* The time in queues counts from here, less what has passed there already. */
    job->submitted_ns = job->finished_ns - (int64_t)(stages[STAGE_QUEUE] * 1e6);
    job->finished_ns = 0;
    return true;
}

void runs_share(const struct job *job, struct job *shared) {
    *shared = *job;
    if (job->decoding == DECODING_DONE) shared->body_length = pixels_end(job);
}
