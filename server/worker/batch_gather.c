// SPDX-License-Identifier: Apache-2.0
/* How it works. Jobs with the first job's plan and kind of samples join it, while staging and
 * device memory last; jobs that the device decodes and jobs that cores decode do not mix. propose()
 * makes a job the next item and chooses its codecs, which decide its memory; take() keeps it if it
 * fits.
 */
#include "server/worker/batch.h"

#include "pipeline/codec.h"
#include "pipeline/srgb_table.h"
#include "server/api/values_json.h"

/* After this many jobs that did not fit, the batch counts as full: a different lane reads the
 * headers of the remaining ones. */
enum { MISFITS_MAX = 4 };

enum { ROOM_LEAST = 4096 };

uint64_t batch_results_offset(const struct job *job) {
    const uint64_t offset = slot_paged(job->body_length);
    return job->value_count ? slot_paged(offset + values_json_bound(job->value_count)) : offset;
}

/* The shape that PART makes of the proposed item. */
static const struct image *result_of(struct batch *batch, int part) {
    return &batch_run_item(batch, part, batch->count)->shapes[batch->plans.parts[part].count];
}

/* Finds the shapes after every step of the proposed item. False: the plan refuses the image, as
 * run_reserve_tree will report. */
static bool find_shapes(struct batch *batch, const struct image *in) {
    const uint64_t most = batch->executor->limits.probe.pixels_max;
    bool known = true;
    for (int p = 0; p < batch->plans.count && known; p++) {
        struct run_item *run = batch_run_item(batch, p, batch->count);
        known = !plan_shapes(&batch->plans.parts[p], p ? result_of(batch, 0) : in, most,
                             run->shapes, NULL);
        run->shaped = known;
    }
    return known;
}

/* Room for one of several files that the device encodes: most files are far smaller, and the codec
 * refuses a larger one. Bounded rooms keep all files near the slot's beginning, which is pinned; a
 * lone file gets all the room. */
static uint64_t file_room(const struct image *image, const struct encode_options *encode,
                          const struct codec_choice *choice) {
    const uint64_t pixels = image_pixels(image);
    const uint64_t samples = encode->quality < 90   ? pixels / 8 * 5
                             : encode->quality < 95 ? pixels / 4 * 5
                                                    : pixels / 4 * 5 * image->channels;
    uint32_t ignored;
    struct encode_options jpeg = *encode;
    jpeg.format = FORMAT_JPEG;
    const struct carried carried =
        codec_carried(&choice->metadata, &jpeg, image_colours(image), &ignored);
    return samples + ROOM_LEAST + carried_bytes(&carried);
}

/* Chooses OUTPUT's encoder; a file of the device takes its room from REQUEST's. */
static void choose_encoder(struct batch *batch, struct item *item, struct job_output *output,
                           bool known, struct codec_request *request) {
    struct job *job = item->job;
    const int part = batch_image_part(batch, output->part);
    const struct image *result = result_of(batch, part);
    const uint64_t left = request->room_bytes;
    const uint64_t wanted = known ? file_room(result, &output->encode, &item->choice) : 0;
    request->encode = job_encode_options(job, output);
    if (job->further && wanted < left) request->room_bytes = wanted;
    const enum codec_place place = codec_choose_encoder(
        known ? batch->attempt.codec : NULL, batch->attempt.cores, request, result, &item->choice,
        batch_run_item(batch, part, (int)(item - batch->items)), &output->notes);
    const uint64_t taken = place == CODEC_DEVICE ? slot_aligned(request->room_bytes) : 0;
    output->encoded_by = (uint8_t)place;
    request->room_bytes = left > taken ? left - taken : 0;
    request->room += taken;
}

static void choose_codecs(struct batch *batch, struct item *item, bool known) {
    struct job *job = item->job;
    const size_t span = slot_span(batch->executor->slots);
    const uint64_t offset = batch_results_offset(job);
    struct codec_request request = {
        .bytes = item->bytes + job->image_offset,
        .length = job->image_length,
        .probe = &job->probe,
        .room = item->bytes + offset,
        .room_bytes = offset < span ? span - offset : 0,
    };
    const bool decoded = job_takes_pixels(job);
    codec_choose_decoder(decoded ? NULL : batch->attempt.codec,
                         decoded ? CODEC_FORMAT : batch->attempt.cores, &batch->executor->limits,
                         &request, &item->choice, &batch->run_items[batch->count]);
    if (decoded) item->choice.described = batch_take_profile(item);
    for (int o = 0; o < job_output_count(job) && !job->json_only; o++)
        codec_keep_metadata(request.bytes, request.length, &job->probe, &batch->executor->limits,
                            job->outputs[o].encode.metadata, &item->choice.metadata,
                            &item->choice.notes);
    for (int o = 0; o < job_output_count(job) && !job->json_only; o++)
        choose_encoder(batch, item, &job->outputs[o], known, &request);
    job->notes = item->choice.notes;
    job->decoded_by = (uint8_t)item->choice.decoded_by;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Returns the most codec memory that one file of JOB needs: cores work on one of its files at a
 * time. */
static size_t codec_bytes(struct batch *batch, const struct job *job, bool known) {
    const size_t most = batch->executor->limits.memory_max;
    const bool pixels = run_is_file(&batch->run_items[batch->count]) || job_takes_pixels(job);
    size_t bytes = pixels ? 0 : codec_memory_decode(&job->probe, most);
    for (int p = 0; p < OP_AUX_MAX; p++)
        if (job->aux[p].length && !job->aux[p].apart)
            bytes = larger(bytes, job_aux_memory(&job->aux[p], most));
    for (int o = 0; o < job_output_count(job) && known && !job->json_only; o++) {
        const struct job_output *output = &job->outputs[o];
        const struct image *result = result_of(batch, batch_image_part(batch, output->part));
        const struct encode_options encode = job_encode_options(job, output);
        if (output->encoded_by != CODEC_DEVICE && !output->apart)
            bytes = larger(bytes, codec_memory_encode(result, &encode));
    }
    return bytes;
}

/* Fills in the job of SLOT as the next item, which is not counted yet. */
static void propose(struct batch *batch, int slot) {
    const struct slots *slots = batch->executor->slots;
    struct item *item = &batch->items[batch->count];
    struct job *job = slot_job(slots, slot);
    item->slot = slot;
    item->job = job;
    item->bytes = slot_bytes(slots, slot);
    item->failed = false;
    item->decoded_aux = 0;
    for (int p = 0; p < batch->plans.count; p++)
        *batch_run_item(batch, p, batch->count) = (struct run_item){
            .want = RUN_NOTHING, .own_pixels_max = job->pixels_max, .progress = &job->progress
        };
    struct run_item *run = &batch->run_items[batch->count];
    run->in = job->probe.shape;
    run->timing = &job->timing;
    for (int p = 0; p < OP_AUX_MAX; p++)
        if (job->aux[p].length) run->aux[p] = job_aux_shape(&job->aux[p]);
    for (int p = 0; p < batch->plans.count && job->probe.profile; p++)
        if (plan_converts(&batch->plans.parts[p])) run->table = srgb_table_shape(&run->in);
    const bool known = find_shapes(batch, &run->in);
    choose_codecs(batch, item, known);
    run->codec_bytes = codec_bytes(batch, job, known);
}

/* Bytes of staging, each way, and of device memory that a batch takes. */
struct load {
    size_t in, out, device;
    int misfits; /* jobs that did not fit */
};

/* The load of the proposed item. Device memory beside input and results serves either two images
 * between steps or the codec, which work at different times. */
static struct load load_of(struct batch *batch, const struct job *job) {
    const struct run_item *trunk = &batch->run_items[batch->count];
    const size_t image = image_bytes(&trunk->in);
    size_t results = 0, work = 0, encode = 0;
    bool files = run_is_file(trunk);
    struct load load = { .in = files ? 0 : image, .out = sizeof(int64_t) * job->value_count };
    for (int p = 0; p < batch->plans.count; p++) {
        const struct run_item *run = batch_run_item(batch, p, batch->count);
        const size_t in = p && run->shaped ? image_bytes(result_of(batch, 0)) : image;
        const size_t result = run->shaped ? image_bytes(result_of(batch, p)) : 0;
        if (batch->plans.parts[p].count > 1) work = larger(work, 2 * larger(in, result));
        if (run_wants_file(run)) encode += run->encode_bytes;
        if (run_wants_pixels(run)) load.out += result;
        files |= run_wants_file(run);
        results += result;
    }
    if (run_is_file(trunk)) work = larger(work, trunk->decode_bytes);
    if (files) load.device = image + results + larger(work, encode);
    for (int p = 0; p < OP_AUX_MAX; p++) load.in += image_bytes(&trunk->aux[p]);
    load.in += image_bytes(&trunk->table);
    return load;
}

/* An image that the device decodes must not wait for a core, which takes a hundred times as long. A
 * HEIC is a batch: while its lane waits for the engines, others run kernels. */
static bool decodes_alike(const struct batch *batch) {
    const struct run_item *first = &batch->run_items[0], *next = &batch->run_items[batch->count];
    return !first->jpeg == !next->jpeg && !first->heic && !next->heic;
}

static bool fits(const struct load *all, const struct executor *executor) {
    return all->in <= executor->batch_bytes && all->out <= executor->batch_bytes &&
           all->device <= executor->arena_bytes;
}

/* Adds the job of SLOT to the batch, whose load is ALL so far, if it fits. */
static bool take(struct batch *batch, int slot, struct load *all) {
    const struct executor *executor = batch->executor;
    const struct job *job = slot_job(executor->slots, slot);
    if (batch->count == batch_room(batch)) return false;
    if (batch->count && !job_is_alike(job, batch->items[0].job)) return false;
    if (batch->count && (job->run == RUN_ENGINE || batch->items[0].job->run == RUN_ENGINE))
        return false; /* as decodes_alike() would say, once it knows the header */
    if (all->misfits == MISFITS_MAX) return false;
    propose(batch, slot);
    const struct load one = load_of(batch, job);
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
    batch->tree.count = batch->count;
    batch->tree.part_count = batch->plans.count;
    for (int p = 0; p < batch->plans.count; p++)
        batch->tree.parts[p] = (struct run_part){ .plan = &batch->plans.parts[p],
                                                  .items = batch_run_item(batch, p, 0) };
    return left;
}
