// SPDX-License-Identifier: Apache-2.0
/* How it works. gather() moves the first job, and all that may share a batch with it, out of the
 * list, and decides for each who decodes and encodes it (codec_choice.h): the device's codec, or
 * the pool `codecs`, an image a thread. The plan runs once over all images in between. A batch
 * keeps its layout: an image that fails to decode goes through it blank, and its job is answered
 * with the failure. A job is answered as soon as its own result is there, those that the device
 * encoded first. What the device's codec refused runs again after that, with the codecs of the
 * cores; so does all that a batch of one could not get done for want of memory, or because the
 * device refused a launch. A larger batch that fails so runs one by one, so that each gets its own
 * answer. What steps tell is written as JSON by the same thread as the result: a long histogram
 * would keep an I/O thread of the front busy. */
#include "server/jobs/executor.h"

#include "pipeline/aux_image.h"
#include "server/jobs/codec_choice.h"
#include "server/values_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One job of the batch. */
struct item {
    int slot;
    struct codec_candidate candidate;
    bool failed; /* its answer is a failure; its pixels are blank */
};

struct batch {
    const struct executor *executor;
    struct codec_choice choice;
    struct plan plan;
    int count;
    struct item items[RUN_BATCH_MAX];
    struct run_item run_items[RUN_BATCH_MAX];
    int chosen[RUN_BATCH_MAX];                 /* items that cores work on now */
    int refused[RUN_BATCH_MAX], refused_count; /* slots: by the device's codec */
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
                                 .batch_bytes = (size_t)config->staging_bytes,
                                 .arena_bytes = (size_t)config->arena_bytes };
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
    struct job *job = item->candidate.job;
    add_progress(job);
    metadata_release(&item->candidate.metadata);
    snprintf(job->device_name, sizeof job->device_name, "%s", executor->device_name);
    __atomic_store_n(&job->finished_ns, clock_ns(), __ATOMIC_RELEASE);
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
    struct job *job = item->candidate.job;
    const uint8_t *bytes = item->candidate.bytes;
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

static enum status decode_image(const struct batch *batch, struct item *item,
                                const struct image *into) {
    struct job *job = item->candidate.job;
    struct codec_limits limits = batch->executor->limits;
    limits.accept_damage = job->accept_damage;
    return codec_decode(item->candidate.bytes + job->image_offset, job->image_length, &job->probe,
                        &limits, &job->progress, into, &item->candidate.metadata, &job->notes,
                        &job->failure);
}

/* Which of the two is damaged is told by the order in which the cores decode them. */
static bool fail_beside(const struct batch *batch, struct item *item, struct run_item *run) {
    struct job *job = item->candidate.job;
    if (!decode_aux(batch, item, run)) return false;
    if (!run->jpeg || check_progress(job)) return true;
    job->failure.status = STATUS_OK;
    run->refused = true;
    return false;
}

/* Where the device decodes the image, the images beside it alone. */
static void decode_one(void *argument, int index) {
    struct batch *batch = argument;
    const int number = batch->chosen[index];
    struct item *item = &batch->items[number];
    struct job *job = item->candidate.job;
    struct run_item *run = &batch->run_items[number];
    const int64_t start = clock_ns();
    item->failed = check_progress(job) || (!run->jpeg && decode_image(batch, item, &run->in)) ||
                   fail_beside(batch, item, run);
    if (item->failed && !run->jpeg) memset(run->in.pixels, 0, image_bytes(&run->in));
    memcpy(job->warning, item->candidate.metadata.warning, sizeof job->warning);
    job->timing.stage_ms[STAGE_DECODE] = ns_to_ms(clock_ns() - start);
}

static bool has_aux(const struct job *job) {
    bool any = false;
    for (int p = 0; p < OP_AUX_MAX; p++) any |= job->aux[p].length != 0;
    return any;
}

/* Returns whether there is anything to run for. */
static bool decode_all(struct batch *batch) {
    int count = 0;
    bool any = false;
    for (int i = 0; i < batch->count; i++) {
        struct item *item = &batch->items[i];
        if (!batch->run_items[i].jpeg || has_aux(item->candidate.job))
            batch->chosen[count++] = i;
        else
            item->failed = check_progress(item->candidate.job) != STATUS_OK;
    }
    if (count) pool_run(batch->executor->codecs, decode_one, batch, count);
    for (int i = 0; i < batch->count; i++) any |= !batch->items[i].failed;
    return any;
}

/* ---- encode */

/* Behind the upload, before the result: how long they become is known beforehand. */
static enum status write_values(const struct batch *batch, struct item *item,
                                const struct run_item *run) {
    struct job *job = item->candidate.job;
    const struct executor *executor = batch->executor;
    if (!job->value_count) return STATUS_OK;
    const uint64_t offset = slot_paged(job->body_length), span = slot_span(executor->slots);
    const size_t room = offset < span ? span - offset : 0;
    char *text = (char *)item->candidate.bytes + offset;
    job->values_offset = offset;
    job->values_length = room ? values_json_write(&batch->plan, run->values, text, room) : 0;
    if (job->values_length) return STATUS_OK;
    return fail(&job->failure, STATUS_INTERNAL, "the slot has no room for %u values",
                job->value_count);
}

static enum format result_format(const struct job *job) {
    return job->type ? job->type : job->probe.format;
}

static enum status encode(const struct executor *executor, struct item *item,
                          const struct image *result) {
    struct job *job = item->candidate.job;
    struct encode_options options = {
        .format = result_format(job),
        .quality = job->quality,
        .compression = job->compression,
    };
    memcpy(options.background, job->background, sizeof options.background);
    job->result_offset = slot_paged(job_bytes_end(job));
    size_t length = 0;
    const enum status status = codec_encode(
        result, &item->candidate.metadata, &options, &job->progress,
        item->candidate.bytes + job->result_offset, slot_span(executor->slots) - job->result_offset,
        &length, &job->notes, &job->failure);
    job->result_length = length;
    return status;
}

static void tell_result(struct item *item, const struct run_item *run) {
    struct job *job = item->candidate.job;
    job->result = run->out;
    job->result.pixels = NULL;
    job->result_type = result_format(job);
    if (run->want != RUN_FILE) return;
    job->result_offset = (uint64_t)(run->file.bytes - item->candidate.bytes);
    job->result_length = run->file.length;
}

/* What it tells, its result where the cores encode that, and the answer. */
static void finish(struct batch *batch, int number) {
    struct item *item = &batch->items[number];
    const struct run_item *run = &batch->run_items[number];
    struct job *job = item->candidate.job;
    const int64_t start = clock_ns();
    if (!job->failure.status) job->failure = run->failure;
    if (!job->failure.status) {
        if (!check_progress(job) && !write_values(batch, item, run)) {
            tell_result(item, run);
            if (run->want == RUN_PIXELS) encode(batch->executor, item, &run->out);
        }
        if (run->want == RUN_PIXELS || job->value_count)
            job->timing.stage_ms[STAGE_ENCODE] += ns_to_ms(clock_ns() - start);
    }
    answer(batch->executor, item);
}

static void finish_one(void *argument, int index) {
    struct batch *batch = argument;
    finish(batch, batch->chosen[index]);
}

/* Whether it runs again: whatever else failed is an answer. */
static bool is_refused(const struct batch *batch, int i) {
    const struct job *job = batch->items[i].candidate.job;
    return batch->run_items[i].refused && !job->failure.status &&
           !batch->run_items[i].failure.status;
}

static void finish_all(struct batch *batch) {
    int count = 0;
    for (int i = 0; i < batch->count; i++) {
        const struct run_item *run = &batch->run_items[i];
        const struct job *job = batch->items[i].candidate.job;
        if (is_refused(batch, i)) {
            metadata_release(&batch->items[i].candidate.metadata);
            batch->refused[batch->refused_count++] = batch->items[i].slot;
        } else if (run->want != RUN_PIXELS && !job->value_count) {
            finish(batch, i);
        } else {
            batch->chosen[count++] = i;
        }
    }
    if (count) pool_run(batch->executor->codecs, finish_one, batch, count);
}

/* ---- batch */

/* Whether one launch can do both: the same plan over the same kind of samples. */
static bool alike(const struct job *a, const struct job *b) {
    const struct image *one = &a->probe.shape, *other = &b->probe.shape;
    return one->channels == other->channels && one->depth == other->depth &&
           strcmp(a->plan, b->plan) == 0;
}

/* It may have been begun before: by a worker that died, or in a batch that was split. */
static void begin(struct job *job, int64_t now) {
    job->timing = (struct timing){ .span_count = 0 };
    job->failure = (struct failure){ .status = STATUS_OK };
    job->notes = 0;
    job->result_offset = job->result_length = 0;
    job->values_offset = job->values_length = 0;
    job->decoded_by = job->encoded_by = CODEC_NOBODY;
    job->timing.stage_ms[STAGE_QUEUE] = ns_to_ms(now - job->submitted_ns);
}

/* The next item of the batch, if it fits; nothing of it is counted yet. */
static void propose(struct batch *batch, int slot, int64_t now) {
    const struct slots *slots = batch->executor->slots;
    struct item *item = &batch->items[batch->count];
    struct run_item *run = &batch->run_items[batch->count];
    struct job *job = slot_job(slots, slot);
    *item = (struct item){ .slot = slot };
    item->candidate.job = job;
    item->candidate.bytes = slot_bytes(slots, slot);
    item->candidate.span = slot_span(slots);
    begin(job, now);
    *run = (struct run_item){ .in = job->probe.shape,
                              .progress = &job->progress,
                              .timing = &job->timing };
    for (int p = 0; p < OP_AUX_MAX; p++)
        if (job->aux[p].length) run->aux[p] = aux_image_shape(&job->aux[p].probe);
    codec_choose(&batch->choice, &item->candidate, run);
}

/* Bytes of staging, and of device memory, that a batch takes. */
struct load {
    size_t host, device;
};

static struct load load_of(const struct batch *batch, const struct run_item *run,
                           const struct job *job) {
    const struct device_codec *codec = batch->choice.codec;
    const size_t image = image_bytes(&run->in);
    const size_t decoder = run->jpeg ? codec->decode_bytes(run->jpeg) : 0;
    const size_t encoder = run->want == RUN_FILE ? codec->encode_bytes(&run->file) : 0;
    struct load load = { .host = sizeof(int64_t) * job->value_count };
    if (!run->jpeg || run->want == RUN_PIXELS) load.host += image;
    for (int p = 0; p < OP_AUX_MAX; p++) load.host += image_bytes(&run->aux[p]);
    if (decoder || encoder) load.device = 2 * image + (decoder > encoder ? decoder : encoder);
    return load;
}

/* The first job and those like it, as many as the lane holds, become the batch; the rest closes
 * up. */
static int gather(struct batch *batch, int *slots, int count) {
    const struct executor *executor = batch->executor;
    const struct job *first = slot_job(executor->slots, slots[0]);
    const int64_t now = clock_ns();
    struct load all = { 0, 0 };
    int left = 0;
    for (int i = 0; i < count; i++) {
        struct job *job = slot_job(executor->slots, slots[i]);
        bool taken = alike(job, first);
        if (taken) {
            propose(batch, slots[i], now);
            const struct load one = load_of(batch, &batch->run_items[batch->count], job);
            taken = batch->count == 0 || (all.host + one.host <= executor->batch_bytes &&
                                          all.device + one.device <= executor->arena_bytes);
            if (taken) {
                all.host += one.host;
                all.device += one.device;
                batch->count++;
            } else {
                metadata_release(&batch->items[batch->count].candidate.metadata);
            }
        }
        if (!taken) slots[left++] = slots[i];
    }
    return left;
}

static void refuse_all(struct batch *batch, const struct failure *failure) {
    for (int i = 0; i < batch->count; i++) {
        struct item *item = &batch->items[i];
        struct job *job = item->candidate.job;
        if (!job->failure.status) job->failure = *failure;
        answer(batch->executor, item);
    }
}

static void run_together(struct batch *batch, struct lane *lane, enum status status,
                         struct failure *failure);

/* Takes a batch out of SLOTS. CODEC: NULL: the cores do what it would have done, for that reason.
 */
static int run_some(const struct executor *executor, struct lane *lane, int *slots, int count,
                    const struct device_codec *codec, enum codec_place reason,
                    struct failure *failure) {
    struct batch batch; /* some 200 KB: on the lane's own stack */
    batch.executor = executor;
    batch.choice = (struct codec_choice){ codec, reason, &executor->limits, &batch.plan };
    batch.count = batch.refused_count = 0;
    const enum status status =
        plan_parse(&batch.plan, slot_job(executor->slots, slots[0])->plan, failure);
    if (status) batch.plan.count = 0;
    const int left = gather(&batch, slots, count);
    run_together(&batch, lane, status, failure);
    return left;
}

static void run_again(const struct batch *batch, struct lane *lane, int *slots, int count,
                      const struct device_codec *codec, enum codec_place reason,
                      struct failure *failure) {
    while (count > 0 && failure->status != STATUS_DEVICE) {
        failure->status = STATUS_OK;
        count = run_some(batch->executor, lane, slots, count, codec, reason, failure);
    }
}

/* Whether less of it at once, or without the device's codec, may do better. */
static bool may_do_apart(const struct batch *batch, enum status status) {
    bool coded = false;
    for (int i = 0; i < batch->count; i++)
        coded |= batch->run_items[i].jpeg || batch->run_items[i].want == RUN_FILE;
    if (batch->count > 1) return true;
    return coded && status != STATUS_CANCELLED && status != STATUS_DEADLINE;
}

/* Where memory does not suffice for all at once, or one of them fails on the device. */
static void run_apart(struct batch *batch, struct lane *lane, struct failure *failure) {
    const struct device_codec *codec = batch->count > 1 ? batch->choice.codec : NULL;
    const enum codec_place reason = batch->choice.codec ? CODEC_FAILED : batch->choice.cores;
    for (int i = 0; i < batch->count; i++) metadata_release(&batch->items[i].candidate.metadata);
    for (int i = 0; i < batch->count && failure->status != STATUS_DEVICE; i++)
        run_again(batch, lane, &batch->items[i].slot, 1, codec, reason, failure);
}

/* STATUS: of its plan, so far. */
static void run_together(struct batch *batch, struct lane *lane, enum status status,
                         struct failure *failure) {
    if (!status)
        status = run_reserve(lane, &batch->plan, batch->run_items, batch->count,
                             batch->executor->limits.probe.pixels_max, failure);
    if (!status && decode_all(batch))
        status = run_batch(lane, &batch->plan, batch->run_items, batch->count, failure);
    if (status == STATUS_DEVICE) return;
    if (!status) {
        finish_all(batch);
        run_again(batch, lane, batch->refused, batch->refused_count, NULL, CODEC_REFUSED, failure);
    } else if (may_do_apart(batch, status)) {
        run_apart(batch, lane, failure);
    } else {
        refuse_all(batch, failure);
    }
}

int executor_run(const struct executor *executor, struct lane *lane, int *slots, int count,
                 struct failure *failure) {
    return run_some(executor, lane, slots, count, lane->driver->codec, CODEC_NOBODY, failure);
}
