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

/* Bytes that JOB's decoder may take. */
static uint64_t decoder_bytes(const struct job *job, const struct config *config) {
    return codec_memory_decode(&job->probe, (size_t)config->codec_memory_bytes);
}

static uint64_t pixels_end(const struct job *job) {
    return job->pixels_offset + job_pixels_bytes(job) + job->profile_length;
}

bool runs_have_room(const struct runs_held *held, const struct config *config,
                    const struct job *job) {
    const uint64_t pixels = held->pixels + job_pixels_bytes(job);
    const uint64_t memory = held->memory + decoder_bytes(job, config);
    if (job->decoding != DECODING_APART) return true;
    return (!held->pixels || pixels <= (uint64_t)config->queue_bytes) &&
           (!held->memory || memory <= (uint64_t)config->cpu_memory_bytes);
}

void runs_hold(struct runs_held *held, const struct config *config, const struct job *job,
               struct first_run *first) {
    if (job->decoding != DECODING_APART) return;
    first->held = (struct runs_held){ job_pixels_bytes(job), decoder_bytes(job, config) };
    held->pixels += first->held.pixels;
    held->memory += first->held.memory;
}

static void release_memory(struct runs_held *held, struct first_run *first) {
    held->memory -= first->held.memory;
    first->held.memory = 0;
}

void runs_release(struct runs_held *held, struct first_run *first) {
    release_memory(held, first);
    held->pixels -= first->held.pixels;
    *first = (struct first_run){ .notes = 0 };
}

bool runs_are_over(struct runs_held *held, struct job *job, struct first_run *first) {
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

bool runs_go_on(struct runs_held *held, struct job *job, struct first_run *first) {
    double *stages = job->timing.stage_ms;
    if (job->decoding != DECODING_APART || job->failure.status) {
        stages[STAGE_DECODE] += first->decode_ms;
        if (job->cpu_ms > 0) job->cpu_ms += first->decode_ms; /* it was a core's, too */
        job->notes |= first->notes;
        runs_release(held, first);
        return false;
    }
    release_memory(held, first);
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
