// SPDX-License-Identifier: Apache-2.0
/* How it works. A job has one run at a time, and only this file decides which one comes next. What
 * it holds is counted when a run is sent, and forgotten when the last one ends. */
#include "server/dispatch/runs.h"

#include "config/memory.h"

int runs_list(const struct job *job, bool engine, int32_t runs[RUNS_MAX]) {
    int count = 0;
    if (job_encodes_apart(job)) runs[count++] = RUN_ENCODE;
    runs[count++] = engine ? RUN_ENGINE : RUN_PLAN;
    if (job->pixels_end && !engine) runs[count++] = RUN_DECODE;
    return count;
}

void runs_displace(struct job *job, int waiting) {
    fail(&job->failure, STATUS_BUSY,
         "%d jobs are waiting, most of them yours, and this one made room for another client's; "
         "try again later",
         waiting);
}

/* ---- what jobs hold */

/* Bytes that JOB's codec may take in a cell, for one file at a time. */
static uint64_t codec_bytes(const struct job *job, const struct config *config) {
    uint64_t most = 0;
    if (job->run == RUN_DECODE && job->decodes_apart)
        most = codec_memory_decode(&job->probe, (size_t)config->codec_memory_bytes);
    for (int p = 0; p < OP_AUX_MAX && job->run == RUN_DECODE; p++) {
        const uint64_t bytes = job_aux_memory(&job->aux[p], (size_t)config->codec_memory_bytes);
        if (job->aux[p].apart && bytes > most) most = bytes;
    }
    for (int o = 0; o < job_output_count(job) && job->run == RUN_ENCODE; o++) {
        const struct encode_options options = job_encode_options(job, &job->outputs[o]);
        const uint64_t bytes = codec_memory_encode(&job->outputs[o].image, &options);
        if (job->outputs[o].apart && bytes > most) most = bytes;
    }
    return most;
}

/* Bytes of all pixels that JOB's runs leave for one another. */
static uint64_t pixels_bytes(const struct job *job) {
    const bool decoded = job->pixels_end && job->run != RUN_ENGINE;
    uint64_t bytes = decoded ? job->pixels_end - job->pixels_offset : 0;
    for (int o = 0; o < job_output_count(job); o++)
        if (job->outputs[o].apart) bytes += job_pixels_bytes(&job->outputs[o].image);
    return bytes;
}

bool runs_have_room(struct runs_held *held, const struct config *config, const struct job *job,
                    const struct earlier_runs *earlier) {
    const uint64_t pixels = earlier->held.pixels ? 0 : pixels_bytes(job);
    const uint64_t memory = codec_bytes(job, config);
    if (!pixels && !memory) return true;
    held->crowded |=
        pixels && held->pixels && held->pixels + pixels > (uint64_t)config->queue_bytes;
    held->crowded |=
        memory && held->memory && held->memory + memory > (uint64_t)memory_cells(config);
    return !held->crowded;
}

void runs_hold(struct runs_held *held, const struct config *config, const struct job *job,
               struct earlier_runs *earlier) {
    if (!earlier->held.pixels) {
        earlier->held.pixels = pixels_bytes(job);
        held->pixels += earlier->held.pixels;
    }
    earlier->held.memory = codec_bytes(job, config);
    held->memory += earlier->held.memory;
}

static void release_memory(struct runs_held *held, struct earlier_runs *earlier) {
    held->memory -= earlier->held.memory;
    earlier->held.memory = 0;
}

void runs_release(struct runs_held *held, struct earlier_runs *earlier) {
    release_memory(held, earlier);
    held->pixels -= earlier->held.pixels;
    *earlier = (struct earlier_runs){ .held = { 0 } };
}

/* ---- a run ends */

bool runs_are_over(struct runs_held *held, struct job *job, struct earlier_runs *earlier) {
    const enum status late = progress_state(&job->progress);
    release_memory(held, earlier);
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

/* Adds the times of earlier runs to those of the last one; the wait goes on from run to run. */
static void add_times(struct job *job, const struct earlier_runs *earlier) {
    double *stages = job->timing.stage_ms;
    if (job->cpu_ms > 0) /* a cell's time was a core's, too */
        job->cpu_ms += job->run == RUN_ENCODE ? stages[STAGE_ENCODE] : earlier->ms[STAGE_DECODE];
    for (int s = 0; s < STAGE_COUNT; s++)
        if (s != STAGE_QUEUE) stages[s] += earlier->ms[s];
}

void runs_leave_engine(struct runs_held *held, struct job *job, struct earlier_runs *earlier) {
    runs_release(held, earlier);
    job->failure = (struct failure){ .status = STATUS_OK };
    job->run = RUN_DECODE;
    job->deaths = 0;
    job->finished_ns = 0;
    progress_step(&job->progress, 0);
}

/* A worker has no decoder but its engine, and fails so without it; or a GPU has no memory. */
static bool engine_refused(const struct job *job) {
    return job->run == RUN_ENGINE &&
           (job->failure.status == STATUS_INTERNAL || job->failure.status == STATUS_NO_MEMORY);
}

bool runs_go_on(struct runs_held *held, struct job *job, struct earlier_runs *earlier) {
    const double *stages = job->timing.stage_ms;
    const bool more = job->run == RUN_DECODE || (job->run != RUN_ENCODE && job_encodes_apart(job));
    if (engine_refused(job)) {
        job->engine_refused = true;
        return runs_leave_engine(held, job, earlier), true;
    }
    release_memory(held, earlier);
    add_times(job, earlier);
    if (!more || job->failure.status) return runs_release(held, earlier), false;
    memcpy(earlier->ms, stages, sizeof earlier->ms);
    if (job->run == RUN_DECODE) job->written_length = job->pixels_end;
    job->written_length = job_bytes_end(job);
    job->run = job->run == RUN_DECODE ? RUN_PLAN : RUN_ENCODE;
    job->deaths = 0;
    /* The time in queues counts from here, less what has passed there already. */
    job->submitted_ns = job->finished_ns - (int64_t)(stages[STAGE_QUEUE] * 1e6);
    job->finished_ns = 0;
    return true;
}

void runs_share(const struct job *job, struct job *shared) {
    *shared = *job;
    if (job->run == RUN_ENCODE || (job->run == RUN_PLAN && job->pixels_end))
        shared->body_length = job->written_length;
}
