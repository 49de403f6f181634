// SPDX-License-Identifier: Apache-2.0
/* How it works. gather() moves the first job, and all that may share a batch with it, out of the
 * list; decoding and encoding are spread over the pool `codecs`, an image a thread; the plan runs
 * once over all images in between. A batch keeps its layout: an image that fails to decode goes
 * through it blank, and its job is answered with the failure. Where the whole batch fails for want
 * of memory, or because of one image, its jobs run one by one, so that each gets its own answer. A
 * job is answered as soon as its own result is encoded. What steps tell is written as JSON by the
 * same thread as the result: a long histogram would keep an I/O thread of the front busy. */
#include "server/jobs/executor.h"

#include "pipeline/aux_image.h"
#include "server/values_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One job of the batch. */
struct item {
    int slot;
    struct job *job;
    struct metadata metadata;
    bool failed; /* its answer is a failure; its pixels are blank */
};

struct batch {
    const struct executor *executor;
    struct plan plan;
    int count;
    struct item items[RUN_BATCH_MAX];
    struct run_item run_items[RUN_BATCH_MAX];
};

static struct codec_limits limits_of(const struct config *config) {
    return (struct codec_limits){
        .probe = { .pixels_max = (uint64_t)config->pixels_max,
                   .side_max = (uint32_t)config->side_max },
        .scans_max = (uint32_t)config->scans_max,
        .scan_pixels_max = (uint64_t)config->scan_pixels_max,
        .memory_max = (size_t)config->codec_memory_bytes,
        .profile_max = (size_t)config->profile_bytes_max,
    };
}

struct executor executor_make(struct slots *slots, const struct config *config,
                              const struct device_driver *driver, int index) {
    struct executor executor = { .slots = slots,
                                 .limits = limits_of(config),
                                 .batch_bytes = (size_t)config->staging_bytes };
    struct device_info facts;
    struct failure ignored;
    if (strcmp(driver->kind, "cpu") == 0)
        snprintf(executor.device_name, sizeof executor.device_name, "cpu");
    else if (driver->describe(index, &facts, &ignored) == STATUS_OK)
        snprintf(executor.device_name, sizeof executor.device_name, "%s:%d (%.40s)", driver->kind,
                 index, facts.name);
    else
        snprintf(executor.device_name, sizeof executor.device_name, "%s:%d", driver->kind, index);
    return executor;
}

/* ---- answering */

/* How far a job came that was too slow. */
static void add_progress(struct job *job) {
    struct plan plan;
    char *message = job->failure.message;
    const size_t length = strnlen(message, sizeof job->failure.message);
    if (job->failure.status == STATUS_DEADLINE && job->progress.total &&
        plan_parse(&plan, job->plan, NULL) == STATUS_OK)
        snprintf(message + length, sizeof job->failure.message - length, "; %u of %u %s were done",
                 job->progress.done, job->progress.total, plan_unit(&plan));
}

static void answer(const struct executor *executor, struct item *item) {
    add_progress(item->job);
    metadata_release(&item->metadata);
    snprintf(item->job->device_name, sizeof item->job->device_name, "%s", executor->device_name);
    __atomic_store_n(&item->job->finished_ns, clock_ns(), __ATOMIC_RELEASE);
    executor->answer(executor->context, item->slot);
}

static enum status check_progress(struct job *job) {
    switch (progress_check(&job->progress)) {
    case STATUS_OK: return STATUS_OK;
    case STATUS_CANCELLED:
        return fail(&job->failure, STATUS_CANCELLED, "the client has disconnected");
    default: return fail(&job->failure, STATUS_DEADLINE, "not done within the time allowed");
    }
}

/* ---- decode */

static enum status decode_aux(const struct batch *batch, const struct item *item,
                              const struct run_item *run) {
    struct job *job = item->job;
    const uint8_t *bytes = slot_bytes(batch->executor->slots, item->slot);
    enum status status = STATUS_OK;
    for (int p = 0; p < OP_AUX_MAX && !status; p++) {
        const struct job_aux *aux = &job->aux[p];
        if (aux->length)
            status = fail_named(plan_aux_name(&batch->plan, p),
                                aux_image_decode(bytes + aux->offset, aux->length, &aux->probe,
                                                 &batch->executor->limits, &job->progress,
                                                 &run->aux[p], &job->failure),
                                &job->failure);
    }
    return status;
}

static const uint8_t *image_bytes_of(const struct batch *batch, const struct item *item) {
    return slot_bytes(batch->executor->slots, item->slot) + item->job->image_offset;
}

static void decode_one(void *argument, int index) {
    struct batch *batch = argument;
    struct item *item = &batch->items[index];
    struct job *job = item->job;
    struct codec_limits limits = batch->executor->limits;
    limits.accept_damage = job->accept_damage;
    const int64_t start = clock_ns();
    item->failed = check_progress(job) ||
                   codec_decode(image_bytes_of(batch, item), job->image_length, &job->probe,
                                &limits, &job->progress, &batch->run_items[index].in,
                                &item->metadata, &job->notes, &job->failure) ||
                   decode_aux(batch, item, &batch->run_items[index]);
    if (item->failed)
        memset(batch->run_items[index].in.pixels, 0, image_bytes(&batch->run_items[index].in));
    memcpy(job->warning, item->metadata.warning, sizeof job->warning);
    job->timing.stage_ms[STAGE_DECODE] = ns_to_ms(clock_ns() - start);
}

/* ---- encode */

/* Behind the upload, before the result: how long they become is known beforehand. */
static enum status write_values(const struct batch *batch, struct item *item,
                                const struct run_item *run) {
    struct job *job = item->job;
    const struct executor *executor = batch->executor;
    if (!job->value_count) return STATUS_OK;
    const uint64_t offset = slot_paged(job->body_length), span = slot_span(executor->slots);
    const size_t room = offset < span ? span - offset : 0;
    char *text = (char *)slot_bytes(executor->slots, item->slot) + offset;
    job->values_offset = offset;
    job->values_length = room ? values_json_write(&batch->plan, run->values, text, room) : 0;
    if (job->values_length) return STATUS_OK;
    return fail(&job->failure, STATUS_INTERNAL, "the slot has no room for %u values",
                job->value_count);
}

static enum status encode(const struct executor *executor, struct item *item,
                          const struct image *result) {
    struct job *job = item->job;
    struct encode_options options = {
        .format = job->type ? job->type : job->probe.format,
        .quality = job->quality,
        .compression = job->compression,
    };
    memcpy(options.background, job->background, sizeof options.background);
    job->result = *result;
    job->result.pixels = NULL;
    job->result_type = options.format;
    if (job->json_only) return STATUS_OK;
    job->result_offset = slot_paged(job_bytes_end(job));
    size_t length = 0;
    const enum status status = codec_encode(
        result, &item->metadata, &options, &job->progress,
        slot_bytes(executor->slots, item->slot) + job->result_offset,
        slot_span(executor->slots) - job->result_offset, &length, &job->notes, &job->failure);
    job->result_length = length;
    return status;
}

static void encode_one(void *argument, int index) {
    struct batch *batch = argument;
    struct item *item = &batch->items[index];
    const int64_t start = clock_ns();
    if (!item->job->failure.status) item->job->failure = batch->run_items[index].failure;
    if (!item->job->failure.status) {
        const struct run_item *run = &batch->run_items[index];
        if (!check_progress(item->job) && !write_values(batch, item, run))
            encode(batch->executor, item, &run->out);
        if (!item->job->json_only || item->job->value_count)
            item->job->timing.stage_ms[STAGE_ENCODE] = ns_to_ms(clock_ns() - start);
    }
    answer(batch->executor, item);
}

/* ---- batch */

/* Whether one launch can do both: the same plan over the same kind of samples. */
static bool alike(const struct job *a, const struct job *b) {
    const struct image *one = &a->probe.shape, *other = &b->probe.shape;
    return one->channels == other->channels && one->depth == other->depth &&
           strcmp(a->plan, b->plan) == 0;
}

/* The first job and those like it, as many as the staging holds, become the batch; the rest closes
 * up. */
static int gather(struct batch *batch, int *slots, int count) {
    int left = 0;
    size_t bytes = 0;
    const struct job *first = slot_job(batch->executor->slots, slots[0]);
    const int64_t now = clock_ns();
    for (int i = 0; i < count; i++) {
        struct job *job = slot_job(batch->executor->slots, slots[i]);
        size_t more = image_bytes(&job->probe.shape) + sizeof(int64_t) * job->value_count;
        for (int p = 0; p < OP_AUX_MAX; p++)
            if (job->aux[p].length) more += image_pixels(&job->aux[p].probe.shape);
        const bool fits = batch->count == 0 || bytes + more <= batch->executor->batch_bytes;
        if (!fits || !alike(job, first)) {
            slots[left++] = slots[i];
            continue;
        }
        bytes += more;
        /* It may have been begun before: by a worker that died, or in a batch that was split. */
        job->timing = (struct timing){ .span_count = 0 };
        job->failure = (struct failure){ .status = STATUS_OK };
        job->notes = 0;
        job->result_offset = job->result_length = 0;
        job->values_offset = job->values_length = 0;
        job->timing.stage_ms[STAGE_QUEUE] = ns_to_ms(now - job->submitted_ns);
        batch->items[batch->count] = (struct item){ .slot = slots[i], .job = job };
        struct run_item *run = &batch->run_items[batch->count++];
        *run = (struct run_item){ .in = job->probe.shape,
                                  .progress = &job->progress,
                                  .timing = &job->timing };
        for (int p = 0; p < OP_AUX_MAX; p++)
            if (job->aux[p].length) run->aux[p] = aux_image_shape(&job->aux[p].probe);
    }
    return left;
}

static void refuse_all(struct batch *batch, const struct failure *failure) {
    for (int i = 0; i < batch->count; i++) {
        struct item *item = &batch->items[i];
        if (!item->job->failure.status) item->job->failure = *failure;
        answer(batch->executor, item);
    }
}

/* Where memory does not suffice for all at once, or one of them fails on the device. */
static void run_singly(const struct batch *batch, struct lane *lane, struct failure *failure) {
    for (int i = 0; i < batch->count && failure->status != STATUS_DEVICE; i++) {
        failure->status = STATUS_OK;
        executor_run(batch->executor, lane, (int[]){ batch->items[i].slot }, 1, failure);
    }
}

static void run_together(struct batch *batch, struct lane *lane, struct failure *failure) {
    enum status status = plan_parse(&batch->plan, batch->items[0].job->plan, failure);
    if (status) failure->status = status = STATUS_INTERNAL; /* the front has parsed it */
    if (!status)
        status = run_reserve(lane, &batch->plan, batch->run_items, batch->count,
                             batch->executor->limits.probe.pixels_max, failure);
    if (!status) {
        pool_run(batch->executor->codecs, decode_one, batch, batch->count);
        bool any = false;
        for (int i = 0; i < batch->count; i++) any |= !batch->items[i].failed;
        if (any) status = run_batch(lane, &batch->plan, batch->run_items, batch->count, failure);
    }
    if (status == STATUS_DEVICE) return;
    if (!status) {
        pool_run(batch->executor->codecs, encode_one, batch, batch->count);
    } else if (batch->count > 1) {
        for (int i = 0; i < batch->count; i++) metadata_release(&batch->items[i].metadata);
        run_singly(batch, lane, failure);
    } else {
        refuse_all(batch, failure);
    }
}

int executor_run(const struct executor *executor, struct lane *lane, int *slots, int count,
                 struct failure *failure) {
    struct batch batch; /* some 50 KB: on the lane's own stack */
    batch.executor = executor;
    batch.count = 0;
    const int left = gather(&batch, slots, count);
    run_together(&batch, lane, failure);
    return left;
}
