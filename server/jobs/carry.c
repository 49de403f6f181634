// SPDX-License-Identifier: Apache-2.0
#include "server/jobs/carry.h"

#include "pipeline/part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One job of a batch under way. */
struct load {
    int slot;
    struct job *job;
    struct metadata metadata;
    bool failed; /* its answer is a failure; its pixels are blank */
};

struct batch {
    const struct carrier *carrier;
    struct plan plan;
    int count;
    struct load loads[RUN_BATCH_MAX];
    struct run_item items[RUN_BATCH_MAX];
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

struct carrier carrier_make(struct slots *slots, const struct config *config,
                            const struct device_driver *driver, int index) {
    struct carrier carrier = { .slots = slots,
                               .limits = limits_of(config),
                               .batch_bytes = (size_t)config->staging_bytes };
    struct device_info facts;
    struct failure ignored;
    if (strcmp(driver->kind, "cpu") == 0)
        snprintf(carrier.device_name, sizeof carrier.device_name, "cpu");
    else if (driver->describe(index, &facts, &ignored) == STATUS_OK)
        snprintf(carrier.device_name, sizeof carrier.device_name, "%s:%d (%.40s)", driver->kind,
                 index, facts.name);
    else
        snprintf(carrier.device_name, sizeof carrier.device_name, "%s:%d", driver->kind, index);
    return carrier;
}

/* ---- answering */

/* How far a job came that was too slow. */
static void tell_progress(struct job *job) {
    struct plan plan;
    char *message = job->failure.message;
    const size_t length = strnlen(message, sizeof job->failure.message);
    if (job->failure.status == STATUS_DEADLINE && job->progress.total &&
        plan_parse(&plan, job->plan, NULL) == STATUS_OK)
        snprintf(message + length, sizeof job->failure.message - length, "; %u of %u %s were done",
                 job->progress.done, job->progress.total, plan_unit(&plan));
}

static void answer(const struct carrier *carrier, struct load *load) {
    tell_progress(load->job);
    metadata_release(&load->metadata);
    snprintf(load->job->device_name, sizeof load->job->device_name, "%s", carrier->device_name);
    __atomic_store_n(&load->job->finished_ns, clock_ns(), __ATOMIC_RELEASE);
    carrier->answer(carrier->context, load->slot);
}

static enum status refuse_if_late(struct job *job) {
    switch (progress_check(&job->progress)) {
    case STATUS_OK: return STATUS_OK;
    case STATUS_CANCELLED: return fail(&job->failure, STATUS_CANCELLED, "the client has left");
    default: return fail(&job->failure, STATUS_DEADLINE, "not done within the time allowed");
    }
}

/* ---- decode */

static enum status decode_parts(const struct batch *batch, const struct load *load,
                                const struct run_item *item) {
    struct job *job = load->job;
    const uint8_t *bytes = slot_bytes(batch->carrier->slots, load->slot);
    enum status status = STATUS_OK;
    for (int p = 0; p < OP_PARTS_MAX && !status; p++) {
        const struct job_part *part = &job->parts[p];
        if (part->length)
            status = fail_of(plan_part_name(&batch->plan, p),
                             part_decode(bytes + part->offset, part->length, &part->probe,
                                         &batch->carrier->limits, &job->progress, &item->parts[p],
                                         &job->failure),
                             &job->failure);
    }
    return status;
}

static const uint8_t *image_of(const struct batch *batch, const struct load *load) {
    return slot_bytes(batch->carrier->slots, load->slot) + load->job->image_offset;
}

static void decode_one(void *argument, int part) {
    struct batch *batch = argument;
    struct load *load = &batch->loads[part];
    struct job *job = load->job;
    const int64_t start = clock_ns();
    load->failed = refuse_if_late(job) ||
                   codec_decode(image_of(batch, load), job->image_length, &job->probe,
                                &batch->carrier->limits, &job->progress, &batch->items[part].in,
                                &load->metadata, &job->notes, &job->failure) ||
                   decode_parts(batch, load, &batch->items[part]);
    /* A batch keeps its layout: a failed image goes through it blank. */
    if (load->failed) memset(batch->items[part].in.pixels, 0, image_bytes(&batch->items[part].in));
    job->timing.stage_ms[STAGE_DECODE] = ns_to_ms(clock_ns() - start);
}

/* ---- encode */

static enum status encode(const struct carrier *carrier, struct load *load,
                          const struct image *result) {
    struct job *job = load->job;
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
    job->result_offset = (job->body_length + 4095) & ~(uint64_t)4095;
    size_t length = 0;
    const enum status status = codec_encode(
        result, &load->metadata, &options, &job->progress,
        slot_bytes(carrier->slots, load->slot) + job->result_offset,
        slot_span(carrier->slots) - job->result_offset, &length, &job->notes, &job->failure);
    job->result_length = length;
    return status;
}

static void encode_one(void *argument, int part) {
    struct batch *batch = argument;
    struct load *load = &batch->loads[part];
    const int64_t start = clock_ns();
    if (!load->job->failure.status) load->job->failure = batch->items[part].failure;
    if (!load->job->failure.status) {
        if (!refuse_if_late(load->job)) encode(batch->carrier, load, &batch->items[part].out);
        if (!load->job->json_only)
            load->job->timing.stage_ms[STAGE_ENCODE] = ns_to_ms(clock_ns() - start);
    }
    answer(batch->carrier, load);
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
    const struct job *first = slot_job(batch->carrier->slots, slots[0]);
    const int64_t now = clock_ns();
    for (int i = 0; i < count; i++) {
        struct job *job = slot_job(batch->carrier->slots, slots[i]);
        size_t more = image_bytes(&job->probe.shape);
        for (int p = 0; p < OP_PARTS_MAX; p++)
            if (job->parts[p].length) more += image_pixels(&job->parts[p].probe.shape);
        const bool fits = batch->count == 0 || bytes + more <= batch->carrier->batch_bytes;
        if (!fits || !alike(job, first)) {
            slots[left++] = slots[i];
            continue;
        }
        bytes += more;
        /* It may have been begun before: by a worker that died, or in a batch that was split. */
        job->timing = (struct timing){ .span_count = 0 };
        job->failure = (struct failure){ .status = STATUS_OK };
        job->notes = 0;
        job->timing.stage_ms[STAGE_QUEUE] = ns_to_ms(now - job->published_ns);
        batch->loads[batch->count] = (struct load){ .slot = slots[i], .job = job };
        struct run_item *item = &batch->items[batch->count++];
        *item = (struct run_item){ .in = job->probe.shape,
                                   .progress = &job->progress,
                                   .timing = &job->timing };
        for (int p = 0; p < OP_PARTS_MAX; p++)
            if (job->parts[p].length) item->parts[p] = part_shape(&job->parts[p].probe);
    }
    return left;
}

static void refuse_all(struct batch *batch, const struct failure *failure) {
    for (int i = 0; i < batch->count; i++) {
        struct load *load = &batch->loads[i];
        if (!load->job->failure.status) load->job->failure = *failure;
        answer(batch->carrier, load);
    }
}

/* Where memory does not suffice for all at once, or one of them fails on the device, they go one by
 * one, so that each gets its own answer. */
static void carry_singly(const struct batch *batch, struct lane *lane, struct failure *failure) {
    for (int i = 0; i < batch->count && failure->status != STATUS_DEVICE; i++) {
        failure->status = STATUS_OK;
        carry_batch(batch->carrier, lane, (int[]){ batch->loads[i].slot }, 1, failure);
    }
}

static void carry(struct batch *batch, struct lane *lane, struct failure *failure) {
    enum status status = plan_parse(&batch->plan, batch->loads[0].job->plan, failure);
    if (!status)
        status = run_reserve(lane, &batch->plan, batch->items, batch->count,
                             batch->carrier->limits.probe.pixels_max, failure);
    if (!status) {
        pool_run(batch->carrier->codecs, decode_one, batch, batch->count);
        bool any = false;
        for (int i = 0; i < batch->count; i++) any |= !batch->loads[i].failed;
        if (any) status = run_batch(lane, &batch->plan, batch->items, batch->count, failure);
    }
    if (status == STATUS_DEVICE) return;
    if (!status) {
        pool_run(batch->carrier->codecs, encode_one, batch, batch->count);
    } else if (batch->count > 1) {
        for (int i = 0; i < batch->count; i++) metadata_release(&batch->loads[i].metadata);
        carry_singly(batch, lane, failure);
    } else {
        refuse_all(batch, failure);
    }
}

int carry_batch(const struct carrier *carrier, struct lane *lane, int *slots, int count,
                struct failure *failure) {
    struct batch batch; /* some 50 KB: on the lane's own stack */
    batch.carrier = carrier;
    batch.count = 0;
    const int left = gather(&batch, slots, count);
    carry(&batch, lane, failure);
    return left;
}
