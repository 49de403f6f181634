// SPDX-License-Identifier: Apache-2.0
/* How it works. The first job decides: whoever has the same plan for the same kind of samples, and
 * a like cost, joins it, while staging and device memory last. executor_group() guesses what each
 * takes, since all lanes wait for it; batch_gather() knows: each is proposed, begun anew, and
 * looked at for who decodes and encodes it. */
#include "server/jobs/batch.h"

#include "pipeline/aux_image.h"
#include "server/values_json.h"

#include <string.h>

/* Costs are alike if the larger is at most so many times the smaller, and a millisecond more. */
enum { LIKE_TIMES = 4, LIKE_MS = 1 };

/* Whoever shares a batch waits for all of it. */
static bool like_cost(const struct job *a, const struct job *b) {
    const bool more = a->predicted_ms > b->predicted_ms;
    const double most = more ? a->predicted_ms : b->predicted_ms;
    const double least = more ? b->predicted_ms : a->predicted_ms;
    return most <= LIKE_TIMES * least + LIKE_MS;
}

/* Whether one launch can do both: the same plan over the same kind of samples. */
static bool alike(const struct job *a, const struct job *b) {
    const struct image *one = &a->probe.shape, *other = &b->probe.shape;
    return one->channels == other->channels && one->depth == other->depth &&
           strcmp(a->plan, b->plan) == 0 && like_cost(a, b);
}

/* Bytes of staging, each way, and of device memory that a batch takes. */
struct load {
    size_t in, out, device;
};

static bool add_load(struct load *all, const struct load *one, const struct executor *executor) {
    const struct load sum = { all->in + one->in, all->out + one->out, all->device + one->device };
    const bool fits = sum.in <= executor->batch_bytes && sum.out <= executor->batch_bytes &&
                      sum.device <= executor->arena_bytes;
    if (fits) *all = sum;
    return fits;
}

/* ---- groups */

/* What a file takes to be decoded there and encoded: coefficients are at most 16 times as long as
 * the bytes that they come from, and planes and files take no more than pixels do. */
static struct load guess_load(const struct executor *executor, const struct job *job) {
    const size_t image = image_bytes(&job->probe.shape);
    struct load load = { .out = sizeof(int64_t) * job->value_count };
    if (executor->device_codec && job->probe.format == FORMAT_JPEG)
        load.device = 4 * image + 20 * (size_t)job->image_length;
    else
        load.in = image;
    for (int p = 0; p < OP_AUX_MAX; p++)
        if (job->aux[p].length) load.in += image_pixels(&job->aux[p].probe.shape);
    return load;
}

/* To the place TO, which is not behind it; those in between move on by one. */
static void move_to(int *slots, int to, int from) {
    const int slot = slots[from];
    memmove(slots + to + 1, slots + to, (size_t)(from - to) * sizeof *slots);
    slots[to] = slot;
}

int executor_group(const struct executor *executor, int *slots, int count, int most) {
    const struct job *first = slot_job(executor->slots, slots[0]);
    struct load all = guess_load(executor, first);
    int chosen = 1;
    for (int i = 1; i < count && chosen < most && !first->is_long; i++) {
        const struct job *job = slot_job(executor->slots, slots[i]);
        const struct load one = guess_load(executor, job);
        if (alike(job, first) && add_load(&all, &one, executor)) move_to(slots, chosen++, i);
    }
    return chosen;
}

/* ---- a batch */

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

/* Behind the values, whose length is known only when they are. */
static uint64_t room_offset(const struct job *job) {
    const uint64_t offset = slot_paged(job->body_length);
    return job->value_count ? slot_paged(offset + values_json_bound(job->value_count)) : offset;
}

static void choose_codecs(const struct batch *batch, struct item *item, struct run_item *run) {
    struct job *job = item->job;
    const size_t span = slot_span(batch->executor->slots);
    const uint64_t offset = room_offset(job);
    const struct codec_request request = {
        .bytes = item->bytes + job->image_offset,
        .length = job->image_length,
        .probe = &job->probe,
        .type = job->json_only ? FORMAT_NONE : job_result_format(job),
        .quality = job->quality,
        .room = item->bytes + offset,
        .room_bytes = offset < span ? span - offset : 0,
    };
    codec_choose(batch->codec, batch->cores, &batch->executor->limits, &batch->plan, &request,
                 &item->choice, run);
    job->notes = item->choice.notes;
    job->decoded_by = (uint8_t)item->choice.decoded_by;
    job->encoded_by = (uint8_t)item->choice.encoded_by;
}

/* The next item of the batch, if it fits; nothing of it is counted yet. */
static void propose(struct batch *batch, int slot, int64_t now) {
    const struct slots *slots = batch->executor->slots;
    struct item *item = &batch->items[batch->count];
    struct run_item *run = &batch->run_items[batch->count];
    struct job *job = slot_job(slots, slot);
    begin(job, now);
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

/* Of what a plan makes of it; 0 where it refuses the image, as run_reserve will say. */
static size_t result_bytes(const struct batch *batch, const struct run_item *run) {
    struct image shapes[PLAN_STEPS_MAX + 1];
    return plan_shapes(&batch->plan, &run->in, UINT64_MAX, shapes, NULL)
               ? 0
               : image_bytes(&shapes[batch->plan.count]);
}

static struct load load_of(const struct batch *batch, const struct run_item *run,
                           const struct job *job) {
    const struct device_codec *codec = batch->codec;
    const size_t image = image_bytes(&run->in), result = result_bytes(batch, run);
    const size_t decoder = run->jpeg ? codec->decode_bytes(run->jpeg) : 0;
    const size_t encoder = run->want == RUN_FILE ? codec->encode_bytes(&run->file) : 0;
    struct load load = { .in = run->jpeg ? 0 : image, .out = sizeof(int64_t) * job->value_count };
    if (run->want == RUN_PIXELS) load.out += result;
    for (int p = 0; p < OP_AUX_MAX; p++) load.in += image_bytes(&run->aux[p]);
    if (decoder || encoder) load.device = image + result + (decoder > encoder ? decoder : encoder);
    return load;
}

/* Whether the job, proposed, is the batch's from now on. */
static bool join(struct batch *batch, const struct job *job, struct load *all) {
    const struct load one = load_of(batch, &batch->run_items[batch->count], job);
    if (batch->count == 0)
        *all = one;
    else if (!add_load(all, &one, batch->executor))
        return metadata_release(&batch->items[batch->count].choice.metadata), false;
    batch->count++;
    return true;
}

/* The first job and those like it, as many as the lane holds, become the batch; the rest closes
 * up. */
int batch_gather(struct batch *batch, int *slots, int count) {
    const struct executor *executor = batch->executor;
    const struct job *first = slot_job(executor->slots, slots[0]);
    const int64_t now = clock_ns();
    struct load all = { 0, 0, 0 };
    int left = 0;
    for (int i = 0; i < count; i++) {
        const struct job *job = slot_job(executor->slots, slots[i]);
        const bool proposed = alike(job, first);
        if (proposed) propose(batch, slots[i], now);
        if (!proposed || !join(batch, job, &all)) slots[left++] = slots[i];
    }
    for (int i = 0; i < batch->count; i++) batch->items[i].job->batch = (uint32_t)batch->count;
    return left;
}
