// SPDX-License-Identifier: Apache-2.0
/* How it works. The first job decides: whoever has the same plan for the same kind of samples joins
 * it, while staging and device memory last; those that the device decodes keep to themselves. Each
 * is first proposed: looked at for who decodes and encodes it, since that tells what it takes. */
#include "server/jobs/batch.h"

#include "pipeline/aux_image.h"
#include "server/values_json.h"

/* A lane is taken to be full when so many jobs did not fit: the headers of the others are read by
 * the lane that takes them. */
enum { MISFITS_MAX = 4 };

/* Behind the values, whose length is known only when they are. */
static uint64_t room_offset(const struct job *job) {
    const uint64_t offset = slot_paged(job->body_length);
    return job->value_count ? slot_paged(offset + values_json_bound(job->value_count)) : offset;
}

static void choose_codecs(const struct batch *batch, struct item *item, struct run_item *run) {
    struct job *job = item->job;
    const size_t span = slot_span(batch->executor->slots);
    const uint64_t offset = room_offset(job);
    struct codec_request request = {
        .bytes = item->bytes + job->image_offset,
        .length = job->image_length,
        .probe = &job->probe,
        .encode = job->outputs[0].encode,
        .room = item->bytes + offset,
        .room_bytes = offset < span ? span - offset : 0,
    };
    request.encode.format = job->json_only ? FORMAT_NONE : job_output_type(job, &job->outputs[0]);
    codec_choose(batch->attempt.codec, batch->attempt.cores, &batch->executor->limits, &batch->plan,
                 &request, &item->choice, run);
    job->notes = item->choice.notes;
    job->decoded_by = (uint8_t)item->choice.decoded_by;
    job->outputs[0].encoded_by = (uint8_t)item->choice.encoded_by;
}

/* The next item of the batch, if it fits; nothing of it is counted yet. */
static void propose(struct batch *batch, int slot) {
    const struct slots *slots = batch->executor->slots;
    struct item *item = &batch->items[batch->count];
    struct run_item *run = &batch->run_items[batch->count];
    struct job *job = slot_job(slots, slot);
    item->slot = slot;
    item->job = job;
    item->bytes = slot_bytes(slots, slot);
    item->failed = false;
    *run = (struct run_item){ .in = job->probe.shape,
                              .progress = &job->progress,
                              .timing = &job->timing };
    for (int p = 0; p < OP_AUX_MAX; p++)
        if (job->aux[p].length) run->aux[p] = aux_image_shape(&job->aux[p].probe);
    choose_codecs(batch, item, run);
}

/* Bytes of staging, each way, and of device memory that a batch takes. */
struct load {
    size_t in, out, device;
    int misfits; /* jobs that were more than the lane holds */
};

/* What the plan makes of it; 0 where it refuses the image, as run_reserve will say. */
static size_t result_bytes(const struct batch *batch, const struct run_item *run) {
    struct image shapes[PLAN_STEPS_MAX + 1];
    return plan_shapes(&batch->plan, &run->in, UINT64_MAX, shapes, NULL)
               ? 0
               : image_bytes(&shapes[batch->plan.count]);
}

/* Between two steps there are two more images, where the codec works at other times. */
static struct load load_of(const struct batch *batch, const struct run_item *run,
                           const struct job *job) {
    const size_t image = image_bytes(&run->in), result = result_bytes(batch, run);
    struct load load = { .out = sizeof(int64_t) * job->value_count };
    size_t work = batch->plan.count > 1 ? 2 * (image > result ? image : result) : 0;
    if (run->jpeg && run->decode_bytes > work) work = run->decode_bytes;
    if (run->want == RUN_FILE && run->encode_bytes > work) work = run->encode_bytes;
    if (run->jpeg || run->want == RUN_FILE) load.device = image + result + work;
    if (!run->jpeg) load.in = image;
    if (run->want == RUN_PIXELS) load.out += result;
    for (int p = 0; p < OP_AUX_MAX; p++) load.in += image_bytes(&run->aux[p]);
    return load;
}

/* What the device decodes waits for no core: that takes a hundred times as long. */
static bool decodes_alike(const struct batch *batch) {
    return !batch->run_items[0].jpeg == !batch->run_items[batch->count].jpeg;
}

static bool fits(const struct load *all, const struct executor *executor) {
    return all->in <= executor->batch_bytes && all->out <= executor->batch_bytes &&
           all->device <= executor->arena_bytes;
}

/* Whether the job joins the batch, which takes ALL so far. */
static bool take(struct batch *batch, int slot, struct load *all) {
    const struct executor *executor = batch->executor;
    const struct job *job = slot_job(executor->slots, slot);
    if (batch->count && !job_is_alike(job, batch->items[0].job)) return false;
    if (all->misfits == MISFITS_MAX) return false;
    propose(batch, slot);
    const struct load one = load_of(batch, &batch->run_items[batch->count], job);
    const struct load sum = { all->in + one.in, all->out + one.out, all->device + one.device,
                              all->misfits };
    const bool misfit = !fits(&sum, executor);
    if (batch->count && (misfit || !decodes_alike(batch))) {
        metadata_release(&batch->items[batch->count].choice.metadata);
        all->misfits += misfit;
        return false;
    }
    *all = sum;
    batch->count++;
    return true;
}

int batch_gather(struct batch *batch, int *slots, int count) {
    struct load all = { .misfits = 0 };
    int left = 0;
    for (int i = 0; i < count; i++)
        if (!take(batch, slots[i], &all)) slots[left++] = slots[i];
    for (int i = 0; i < batch->count; i++) batch->items[i].job->batch = (uint32_t)batch->count;
    return left;
}
