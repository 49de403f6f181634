// SPDX-License-Identifier: Apache-2.0
/* How it works. The first job decides: whoever has the same plan for the same kind of samples joins
 * it, while staging and device memory last; those that the device decodes keep to themselves. Each
 * is first proposed: looked at for who decodes and encodes it, since that tells what it takes. */
#include "server/worker/batch.h"

#include "pipeline/aux_image.h"
#include "pipeline/codec.h"
#include "server/api/values_json.h"

/* A lane is taken to be full when so many jobs did not fit: the headers of the others are read by
 * the lane that takes them. */
enum { MISFITS_MAX = 4 };

enum { ROOM_LEAST = 4096 };

/* Behind the values, whose length is known only when they are. */
static uint64_t room_offset(const struct job *job) {
    const uint64_t offset = slot_paged(job->body_length);
    return job->value_count ? slot_paged(offset + values_json_bound(job->value_count)) : offset;
}

/* Shapes of the trunk's image and result, and of every part's result. */
struct part_shapes {
    bool known; /* else the plan refuses the image, as run_reserve will say */
    struct image results[PLAN_PARTS_MAX];
};

static void find_shapes(const struct batch *batch, const struct image *in,
                        struct part_shapes *out) {
    struct image shapes[PLAN_STEPS_MAX + 1];
    out->known = true;
    for (int p = 0; p < batch->plans.count && out->known; p++) {
        const struct plan *plan = &batch->plans.parts[p];
        out->known = !plan_shapes(plan, p ? &out->results[0] : in, UINT64_MAX, shapes, NULL);
        out->results[p] = shapes[plan->count];
    }
}

/* What a device's codec makes of an image is mostly far smaller, and what is not it refuses. Of
 * several files in one slot each gets so much, so that all lie near its beginning, which is pinned.
 * One alone has what there is. */
static uint64_t file_room(const struct image *image, const struct encode_options *encode,
                          const struct codec_choice *choice) {
    const uint64_t pixels = image_pixels(image);
    const uint64_t samples = encode->quality < 90   ? pixels / 8 * 5
                             : encode->quality < 95 ? pixels / 4 * 5
                                                    : pixels / 4 * 5 * image->channels;
    return samples + ROOM_LEAST + choice->metadata.profile_length;
}

/* Places what the device is to encode from REQUEST's room on, which shrinks. */
static void choose_encoder(struct batch *batch, struct item *item, struct job_output *output,
                           const struct part_shapes *shapes, struct codec_request *request) {
    struct job *job = item->job;
    const int part = batch_image_part(batch, output->part);
    const struct image *result = &shapes->results[part];
    const uint64_t left = request->room_bytes;
    const uint64_t wanted = shapes->known ? file_room(result, &output->encode, &item->choice) : 0;
    request->encode = output->encode;
    request->encode.format = job_output_type(job, output);
    if (job->further && wanted < left) request->room_bytes = wanted;
    const enum codec_place place = codec_choose_encoder(
        shapes->known ? batch->attempt.codec : NULL, batch->attempt.cores, request, result,
        &item->choice, batch_run_item(batch, part, (int)(item - batch->items)), &output->notes);
    const uint64_t taken = place == CODEC_DEVICE ? slot_aligned(request->room_bytes) : 0;
    output->encoded_by = (uint8_t)place;
    request->room_bytes = left > taken ? left - taken : 0;
    request->room += taken;
}

static void choose_codecs(struct batch *batch, struct item *item,
                          const struct part_shapes *shapes) {
    struct job *job = item->job;
    const size_t span = slot_span(batch->executor->slots);
    const uint64_t offset = room_offset(job);
    struct codec_request request = {
        .bytes = item->bytes + job->image_offset,
        .length = job->image_length,
        .probe = &job->probe,
        .room = item->bytes + offset,
        .room_bytes = offset < span ? span - offset : 0,
    };
    codec_choose_decoder(batch->attempt.codec, batch->attempt.cores, &batch->executor->limits,
                         &request, &item->choice, &batch->run_items[batch->count]);
    for (int o = 0; o < job_output_count(job) && !job->json_only; o++)
        choose_encoder(batch, item, &job->outputs[o], shapes, &request);
    job->notes = item->choice.notes;
    job->decoded_by = (uint8_t)item->choice.decoded_by;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Returns the most bytes of codec memory: the cores decode and encode one file at a time. */
static size_t codec_bytes(const struct batch *batch, const struct job *job,
                          const struct part_shapes *shapes) {
    const size_t most = batch->executor->limits.memory_max;
    size_t bytes = batch->run_items[batch->count].jpeg ? 0 : codec_memory_decode(&job->probe, most);
    for (int p = 0; p < OP_AUX_MAX; p++)
        if (job->aux[p].length)
            bytes = larger(bytes, image_bytes(&job->aux[p].probe.shape) +
                                      codec_memory_decode(&job->aux[p].probe, most));
    for (int o = 0; o < job_output_count(job) && shapes->known && !job->json_only; o++) {
        const struct job_output *output = &job->outputs[o];
        const struct image *result = &shapes->results[batch_image_part(batch, output->part)];
        struct encode_options encode = output->encode;
        encode.format = job_output_type(job, output);
        if (output->encoded_by != CODEC_DEVICE)
            bytes = larger(bytes, codec_memory_encode(result, &encode));
    }
    return bytes;
}

/* The next item of the batch, if it fits; nothing of it is counted yet. */
static void propose(struct batch *batch, int slot, struct part_shapes *shapes) {
    const struct slots *slots = batch->executor->slots;
    struct item *item = &batch->items[batch->count];
    struct job *job = slot_job(slots, slot);
    item->slot = slot;
    item->job = job;
    item->bytes = slot_bytes(slots, slot);
    item->failed = false;
    for (int p = 0; p < batch->plans.count; p++)
        *batch_run_item(batch, p, batch->count) =
            (struct run_item){ .want = RUN_NOTHING, .progress = &job->progress };
    struct run_item *run = &batch->run_items[batch->count];
    run->in = job->probe.shape;
    run->timing = &job->timing;
    for (int p = 0; p < OP_AUX_MAX; p++)
        if (job->aux[p].length) run->aux[p] = aux_image_shape(&job->aux[p].probe);
    find_shapes(batch, &run->in, shapes);
    choose_codecs(batch, item, shapes);
    run->codec_bytes = codec_bytes(batch, job, shapes);
}

/* Bytes of staging, each way, and of device memory that a batch takes. */
struct load {
    size_t in, out, device;
    int misfits; /* jobs that were more than the lane holds */
};

/* Between two steps there are two more images, where the codec works at other times. */
static struct load load_of(struct batch *batch, const struct job *job,
                           const struct part_shapes *shapes) {
    const struct run_item *trunk = &batch->run_items[batch->count];
    const size_t image = image_bytes(&trunk->in);
    size_t results = 0, work = 0, encode = 0;
    bool files = trunk->jpeg != NULL;
    struct load load = { .in = trunk->jpeg ? 0 : image, .out = sizeof(int64_t) * job->value_count };
    for (int p = 0; p < batch->plans.count; p++) {
        const struct run_item *run = batch_run_item(batch, p, batch->count);
        const size_t in = p && shapes->known ? image_bytes(&shapes->results[0]) : image;
        const size_t result = shapes->known ? image_bytes(&shapes->results[p]) : 0;
        if (batch->plans.parts[p].count > 1) work = larger(work, 2 * larger(in, result));
        if (run_wants_file(run)) encode += run->encode_bytes;
        if (run_wants_pixels(run)) load.out += result;
        files |= run_wants_file(run);
        results += result;
    }
    if (trunk->jpeg) work = larger(work, trunk->decode_bytes);
    if (files) load.device = image + results + larger(work, encode);
    for (int p = 0; p < OP_AUX_MAX; p++) load.in += image_bytes(&trunk->aux[p]);
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
    struct part_shapes shapes;
    if (batch->count == batch_room(batch)) return false;
    if (batch->count && !job_is_alike(job, batch->items[0].job)) return false;
    if (all->misfits == MISFITS_MAX) return false;
    propose(batch, slot, &shapes);
    const struct load one = load_of(batch, job, &shapes);
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

/* The tree of what was gathered. */
static void plant(struct batch *batch) {
    batch->tree.count = batch->count;
    batch->tree.part_count = batch->plans.count;
    for (int p = 0; p < batch->plans.count; p++)
        batch->tree.parts[p] = (struct run_part){ .plan = &batch->plans.parts[p],
                                                  .items = batch_run_item(batch, p, 0) };
}

int batch_gather(struct batch *batch, int *slots, int count) {
    struct load all = { .misfits = 0 };
    int left = 0;
    for (int i = 0; i < count; i++)
        if (!take(batch, slots[i], &all)) slots[left++] = slots[i];
    for (int i = 0; i < batch->count; i++) batch->items[i].job->batch = (uint32_t)batch->count;
    plant(batch);
    return left;
}
