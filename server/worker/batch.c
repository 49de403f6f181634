// SPDX-License-Identifier: Apache-2.0
/* How it works. Images that cores decode are spread over the pool, one per thread. A batch keeps
 * its layout: an image that fails to decode runs through it blank, and its job is answered with the
 * failure. batch_answer.c encodes. */
#include "server/worker/batch.h"

#include "pipeline/aux_image.h"
#include "pipeline/cpu_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- answering */

/* Appends to the failure of a late job how far it came. */
static void add_progress(struct job *job) {
    struct plan_tree plans;
    char *message = job->failure.message;
    const size_t length = strnlen(message, sizeof job->failure.message);
    if (job->failure.status == STATUS_DEADLINE && job->progress.total &&
        plan_tree_unpack(&plans, NULL, &job->plan, NULL) == STATUS_OK)
        snprintf(message + length, sizeof job->failure.message - length, "; %u of %u %s were done",
                 job->progress.done, job->progress.total, plan_tree_unit(&plans));
}

void batch_answer_item(const struct executor *executor, struct item *item) {
    struct job *job = item->job;
    add_progress(job);
    metadata_release(&item->choice.metadata);
    snprintf(job->device_name, sizeof job->device_name, "%s", executor->device_name);
    executor->answer(executor->context, item->slot);
}

enum status batch_check_progress(struct job *job) {
    switch (progress_check(&job->progress)) {
    case STATUS_OK: return STATUS_OK;
    case STATUS_CANCELLED:
        return fail(&job->failure, STATUS_CANCELLED, "the client has disconnected");
    default: return fail(&job->failure, STATUS_DEADLINE, "not done within the time allowed");
    }
}

/* ---- begin */

/* Clears the results of an earlier attempt, of a worker that died or in a batch that was split. */
static void begin(struct job *job, int64_t now, bool again) {
    const double queue_ms =
        again ? job->timing.stage_ms[STAGE_QUEUE] : ns_to_ms(now - job->submitted_ns);
    job->timing = (struct timing){ .span_count = 0 };
    job->failure = (struct failure){ .status = STATUS_OK };
    job->values_offset = job->values_length = 0;
    job->decoded_by = CODEC_NOBODY;
    for (int o = 0; o < job_output_count(job); o++) {
        struct job_output *output = &job->outputs[o];
        output->notes = 0;
        output->fitting = (struct fitting){ 0, 0 };
        output->offset = output->length = 0;
        output->compute_ms = output->encode_ms = -1;
        output->encoded_by = CODEC_NOBODY;
    }
    job->timing.stage_ms[STAGE_QUEUE] = queue_ms;
}

int batch_begin(const struct executor *executor, bool again, int *slots, int count) {
    const int64_t now = clock_ns();
    int left = 0;
    for (int i = 0; i < count; i++) {
        struct job *job = slot_job(executor->slots, slots[i]);
        begin(job, now, again);
        if (batch_check_progress(job))
            batch_answer_item(executor, &(struct item){ .slot = slots[i], .job = job });
        else
            slots[left++] = slots[i];
    }
    return left;
}

/* ---- decode */

/* Takes rows that a cell has left. */
static enum status take_rows(struct job *job, const uint8_t *from, const struct image *into) {
    const size_t row = image_row_bytes(into);
    for (uint32_t y = 0; y < into->height; y++, from += row) {
        if (batch_check_progress(job)) return job->failure.status;
        memcpy(image_row(into, y), from, row);
    }
    return STATUS_OK;
}

/* Copies the further image at place P from an earlier item that has decoded the same bytes, such as
 * a watermark; false: there is none yet. */
static bool copy_aux(const struct batch *batch, const struct item *item, int p,
                     const struct image *into) {
    const struct job_aux *aux = &item->job->aux[p];
    for (int i = 0; &batch->items[i] < item; i++) {
        const struct item *other = &batch->items[i];
        const struct job_aux *same = &other->job->aux[p];
        if (!(__atomic_load_n(&other->decoded_aux, __ATOMIC_ACQUIRE) >> p & 1) ||
            same->length != aux->length ||
            memcmp(other->bytes + same->offset, item->bytes + aux->offset, aux->length) != 0)
            continue;
        memcpy(into->pixels, batch->run_items[i].aux[p].pixels, image_bytes(into));
        return true;
    }
    return false;
}

static enum status decode_aux(const struct batch *batch, struct item *item,
                              const struct run_item *run) {
    struct job *job = item->job;
    const uint8_t *bytes = item->bytes;
    enum status status = STATUS_OK;
    for (int p = 0; p < OP_AUX_MAX && !status; p++) {
        const struct job_aux *aux = &job->aux[p];
        if (aux->apart)
            status = take_rows(job, bytes + aux->pixels_offset, &run->aux[p]);
        else if (aux->length && !copy_aux(batch, item, p, &run->aux[p]))
            status = fail_named(aux->name,
                                aux_image_decode(bytes + aux->offset, aux->length, &aux->probe,
                                                 &batch->executor->limits, &job->progress,
                                                 &run->aux[p], &job->failure),
                                &job->failure);
        if (!status && aux->length && !aux->apart)
            __atomic_fetch_or(&item->decoded_aux, UINT32_C(1) << p, __ATOMIC_RELEASE);
    }
    return status;
}

bool batch_take_profile(struct item *item) {
    const struct job *job = item->job;
    struct metadata *metadata = &item->choice.metadata;
    if (!job->profile_length || metadata->profile) return true;
    metadata->profile = malloc(job->profile_length);
    if (!metadata->profile) return false;
    memcpy(metadata->profile, item->bytes + job->profile_offset, job->profile_length);
    metadata->profile_length = job->profile_length;
    return true;
}

/* Takes the pixels and the profile that a cell has left. */
static enum status take_pixels(struct item *item, const struct image *into) {
    struct job *job = item->job;
    if (take_rows(job, item->bytes + job->pixels_offset, into)) return job->failure.status;
    if (batch_take_profile(item)) return STATUS_OK;
    return fail(&job->failure, STATUS_NO_MEMORY, "no memory for the image's profile");
}

static enum status decode_image(const struct batch *batch, struct item *item,
                                const struct run_item *run) {
    struct job *job = item->job;
    struct codec_limits limits = batch->executor->limits;
    if (job_takes_pixels(job)) return take_pixels(item, &run->in);
    limits.accept_damage = job->accept_damage;
    limits.cmyk_to_srgb = run->table.width > 0;
    return codec_decode(item->bytes + job->image_offset, job->image_length, &job->probe, &limits,
                        &job->progress, &run->in, &item->choice.metadata, &job->notes,
                        &job->failure);
}

/* Decodes the images beside the main one. Where the device decodes the main image, a failure here
 * sends the job to the cores, so that the answer names the first damaged image in their order. */
static bool fail_beside(const struct batch *batch, struct item *item, struct run_item *run) {
    struct job *job = item->job;
    if (!decode_aux(batch, item, run)) return false;
    if (!run_is_file(run) || batch_check_progress(job)) return true;
    job->failure.status = STATUS_OK;
    run->refused = true;
    return false;
}

static bool fails_to_decode(const struct batch *batch, struct item *item, struct run_item *run) {
    return batch_check_progress(item->job) ||
           (!run_is_file(run) && decode_image(batch, item, run)) || fail_beside(batch, item, run);
}

bool batch_reclaims(struct job *job) {
    if (job->failure.status != STATUS_NO_MEMORY) return false;
    cpu_memory_reclaim();
    job->failure.status = STATUS_OK;
    return true;
}

static void decode_one(void *argument, int index) {
    struct batch *batch = argument;
    const int number = batch->chosen[index];
    struct item *item = &batch->items[number];
    struct job *job = item->job;
    struct run_item *run = &batch->run_items[number];
    const int64_t start = clock_ns();
    item->failed = fails_to_decode(batch, item, run);
    if (item->failed && batch_reclaims(job)) item->failed = fails_to_decode(batch, item, run);
    codec_make_table(&item->choice.metadata, &job->probe, run, &job->notes);
    if (!job->decodes_apart)
        memcpy(job->warning, item->choice.metadata.warning, sizeof job->warning);
    job->timing.stage_ms[STAGE_DECODE] = ns_to_ms(clock_ns() - start);
}

/* Whether cores prepare something beside the image itself. */
static bool has_more(const struct job *job, const struct run_item *run) {
    bool any = run->table.width > 0;
    for (int p = 0; p < OP_AUX_MAX; p++) any |= job->aux[p].length != 0;
    return any;
}

/* Clears the pixels of images that failed to decode, which may hold a part of the image or of an
 * earlier batch. */
static void blank_failed(struct batch *batch) {
    for (int i = 0; i < batch->count; i++) {
        const struct image *in = &batch->run_items[i].in;
        if (batch->items[i].failed && !run_is_file(&batch->run_items[i]))
            memset(in->pixels, 0, image_bytes(in));
    }
}

bool batch_decode(struct batch *batch) {
    int count = 0;
    bool any = false;
    for (int i = 0; i < batch->count; i++) {
        struct item *item = &batch->items[i];
        if (!run_is_file(&batch->run_items[i]) || has_more(item->job, &batch->run_items[i]))
            batch->chosen[count++] = i;
        else
            item->failed = batch_check_progress(item->job) != STATUS_OK;
    }
    if (count) pool_run(batch->executor->codecs, decode_one, batch, count);
    for (int i = 0; i < batch->count; i++) any |= !batch->items[i].failed;
    if (any) blank_failed(batch);
    return any;
}

/* ---- without a result */

void batch_refuse(struct batch *batch, const struct failure *failure) {
    for (int i = 0; i < batch->count; i++) {
        struct item *item = &batch->items[i];
        struct job *job = item->job;
        if (!job->failure.status) job->failure = *failure;
        batch_answer_item(batch->executor, item);
    }
}

void batch_release(struct batch *batch) {
    for (int i = 0; i < batch->count; i++) metadata_release(&batch->items[i].choice.metadata);
}
