// SPDX-License-Identifier: Apache-2.0
/* How it works. Cancelled and late jobs are answered at once. The others are gathered into a batch
 * (batch.h), which is laid out, decoded, run and answered; codec_choice.h decides whether the
 * device or the cores decode and encode an image. An image that the device's codec refused runs
 * again with the cores' codecs, after the answers of the others. A batch that fails for lack of
 * memory, or because the device refused a launch, runs again job by job, so that each job gets its
 * own answer; a batch of one runs again without the device's codec. A job that the device still
 * cannot run, or that has waited for memory once, runs on the CPU, in this process. */
#include "server/worker/executor.h"

#include "server/log/log.h"
#include "server/worker/batch.h"

#include <stdio.h>
#include <string.h>

/* A device that takes longer than this to report that it has no memory has waited for some. */
enum { WAITED_MS = 1000 };

/* arena_bytes where the configuration has none: a part of the device's memory. */
enum { ARENA_LEAST = 512 << 20, ARENA_PART = 64 };

struct codec_limits executor_limits(const struct config *config) {
    return (struct codec_limits){
        .probe = { .pixels_max = (uint64_t)config->pixels_max,
                   .side_max = (uint32_t)config->side_max },
        .scans_max = (uint32_t)config->scans_max,
        .scan_pixels_max = (uint64_t)config->scan_pixels_max,
        .memory_max = (size_t)config->codec_memory_bytes,
        .profile_max = (size_t)config->profile_bytes_max,
        .metadata_max = (size_t)config->metadata_bytes_max,
        .exposed = true,
    };
}

struct executor executor_make(struct slots *slots, const struct config *config,
                              const struct device_driver *driver, int index) {
    struct executor executor = { .slots = slots,
                                 .limits = executor_limits(config),
                                 .batch_bytes = (size_t)config->staging_bytes,
                                 .arena_bytes = (size_t)config->arena_bytes };
    struct device_info facts = { 0 };
    struct failure ignored;
    if (strcmp(driver->kind, "cpu") == 0)
        snprintf(executor.device_name, sizeof executor.device_name, "cpu");
    else if (driver->describe(index, &facts, &ignored) == STATUS_OK)
        snprintf(executor.device_name, sizeof executor.device_name, "%s:%d (%.40s)", driver->kind,
                 index, facts.name);
    else
        snprintf(executor.device_name, sizeof executor.device_name, "%s:%d", driver->kind, index);
    const size_t part = (size_t)(facts.memory_bytes / ARENA_PART);
    executor.memory_bytes = (size_t)facts.memory_bytes;
    executor.engines = facts.engines;
    if (!config->arena_bytes) executor.arena_bytes = part > ARENA_LEAST ? part : ARENA_LEAST;
    return executor;
}

static void run_together(struct batch *batch, struct lane *lane, struct failure *failure);

/* Fails all jobs with a plan that cannot be parsed, though the front has parsed it. */
static int refuse_plan(struct batch *batch, int *slots, int count, struct failure *failure) {
    batch->plans.count = 1;
    batch->plans.parts[0].count = 0;
    batch->attempt.codec = NULL;
    failure->status = STATUS_INTERNAL;
    const int left = batch_gather(batch, slots, count);
    batch_refuse(batch, failure);
    return left;
}

/* A job for a video engine is a batch, and has no other decoder here (job.h). */
static bool lacks_decoder(const struct batch *batch) {
    return batch->items[0].job->run == RUN_ENGINE && !batch->run_items[0].heic;
}

/* Takes a batch out of SLOTS and runs it; returns the number of slots that remain. */
static int run_some(const struct executor *executor, struct lane *lane, int *slots, int count,
                    const struct attempt *attempt, struct failure *failure) {
    struct batch batch; /* some 200 KB of the lane's stack */
    count = batch_begin(executor, attempt->again, slots, count);
    if (!count) return 0;
    batch.executor = executor;
    batch.attempt = *attempt;
    batch.count = batch.refused_count = 0;
    if (plan_tree_unpack(&batch.plans, NULL, &slot_job(executor->slots, slots[0])->plan, failure))
        return refuse_plan(&batch, slots, count, failure);
    int left = batch_gather(&batch, slots, count);
    if (left && executor->leave && !attempt->again) {
        executor->leave(executor->context, slots, left);
        left = 0;
    }
    if (lacks_decoder(&batch)) {
        fail(failure, STATUS_INTERNAL, "the video engines do not take this image");
        batch_refuse(&batch, failure);
    } else {
        run_together(&batch, lane, failure);
    }
    return left;
}

/* CODEC: the device's, or NULL: the cores decode and encode, for the reason CORES. */
static void run_again(const struct batch *batch, struct lane *lane, int *slots, int count,
                      const struct device_codec *codec, enum codec_place cores,
                      struct failure *failure) {
    const struct attempt attempt = { codec, cores, true };
    while (count > 0 && failure->status != STATUS_DEVICE) {
        failure->status = STATUS_OK;
        count = run_some(batch->executor, lane, slots, count, &attempt, failure);
    }
}

/* Whether a further attempt would wait for the same memory again. */
static bool has_waited(const struct batch *batch, enum status status, int64_t start_ns) {
    return batch->count == 1 && status == STATUS_NO_MEMORY &&
           clock_ns() - start_ns > WAITED_MS * INT64_C(1000000);
}

/* Whether BATCH may succeed job by job, or without the device's codec. */
static bool may_do_apart(const struct batch *batch, enum status status) {
    bool coded = false;
    for (int p = 0; p < batch->tree.part_count; p++)
        for (int i = 0; i < batch->count; i++)
            coded |= run_is_file(&batch->tree.parts[p].items[i]) ||
                     run_wants_file(&batch->tree.parts[p].items[i]);
    if (batch->count > 1) return true;
    return coded && status != STATUS_CANCELLED && status != STATUS_DEADLINE;
}

/* Logs a failure that is the device's or the memory's, though the jobs will be answered. The line
 * has the ids of the first. */
static void log_failure(const struct batch *batch, const struct failure *failure) {
    static struct log_limit limit;
    char more[48] = "", steps[61];
    int left_out;
    if (failure->status != STATUS_INTERNAL && failure->status != STATUS_NO_MEMORY) return;
    if (!log_limit_allows(&limit, clock_ns(), &left_out)) return;
    if (left_out) snprintf(more, sizeof more, " (and %d more since the last line)", left_out);
    plan_print(&batch->plans.parts[0], steps, sizeof steps, NULL); /* as far as they fit */
    const struct job *first = batch->items[0].job;
    log_event_of(LOG_ERROR, "batch_failed", first->request_id, first->trace_id,
                 "worker: %d job%s of \"%s\" did not run on the device at once: %s%s", batch->count,
                 batch->count > 1 ? "s" : "", steps, failure->message, more);
}

/* Runs the jobs of a failed batch one by one. */
static void run_apart(struct batch *batch, struct lane *lane, struct failure *failure) {
    const struct device_codec *codec = batch->count > 1 ? batch->attempt.codec : NULL;
    const enum codec_place cores = batch->attempt.codec ? CODEC_FAILED : batch->attempt.cores;
    log_failure(batch, failure);
    batch_release(batch);
    for (int i = 0; i < batch->count && failure->status != STATUS_DEVICE; i++)
        run_again(batch, lane, &batch->items[i].slot, 1, codec, cores, failure);
}

/* Whether BATCH, of one job, may run on the CPU instead: the client has not asked for a GPU, and
 * only the GPU failed. A user's operator is compiled for one device only. */
static bool may_run_on_cpu(const struct batch *batch, const struct lane *lane, enum status status) {
    const char *device = batch->items[0].job->device;
    return (status == STATUS_INTERNAL || status == STATUS_NO_MEMORY) &&
           strcmp(lane->driver->kind, "cpu") != 0 && !plan_tree_has_user_operators(&batch->plans) &&
           (!*device || strcmp(device, "auto") == 0);
}

/* Runs BATCH on the CPU with the codecs' threads and newly allocated memory: slow, but better than
 * an error. False: the CPU cannot be opened, and FAILURE is unchanged. */
static bool run_on_cpu(struct batch *batch, struct failure *failure) {
    const struct lane_options options = { .pool = batch->executor->codecs };
    struct executor executor = *batch->executor;
    struct lane *lane;
    if (device_cpu.open(0, &options, &lane, NULL)) return false;
    snprintf(executor.device_name, sizeof executor.device_name, "cpu");
    batch_release(batch);
    failure->status = STATUS_OK;
    const struct attempt attempt = { NULL, CODEC_FAILED, true };
    run_some(&executor, lane, &batch->items[0].slot, 1, &attempt, failure);
    device_cpu.close(lane);
    return true;
}

static void run_together(struct batch *batch, struct lane *lane, struct failure *failure) {
    const int64_t start_ns = clock_ns();
    const bool animated = batch->items[0].job->probe.frames > 0;
    enum status status = animated
                             ? batch_animate(batch, lane, failure)
                             : run_reserve_tree(lane, &batch->tree,
                                                batch->executor->limits.probe.pixels_max, failure);
    if (!animated && !status && batch_decode(batch))
        status = run_batch_tree(lane, &batch->tree, failure);
    if (status == STATUS_DEVICE || (animated && !status)) return;
    if (!status) {
        batch_answer(batch);
        run_again(batch, lane, batch->refused, batch->refused_count, NULL, CODEC_REFUSED, failure);
    } else if (may_do_apart(batch, status) && !has_waited(batch, status, start_ns)) {
        run_apart(batch, lane, failure);
    } else if (!may_run_on_cpu(batch, lane, status) || !run_on_cpu(batch, failure)) {
        batch_refuse(batch, failure);
    }
}

int executor_run(const struct executor *executor, struct lane *lane, int *slots, int count,
                 struct failure *failure) {
    const struct attempt first = { lane->driver->codec, CODEC_NOBODY, false };
    return run_some(executor, lane, slots, count, &first, failure);
}
