// SPDX-License-Identifier: Apache-2.0
/* How it works. Jobs whose results cores encode are spread over the pool, one per thread. The
 * thread that made a job's results answers the job, as soon as they are complete. It also writes
 * the values that steps report as JSON, since a long histogram would keep an I/O thread of the
 * front busy. In the slot follow the upload: the values, the device's files, the cores' files. */
#include "server/worker/batch.h"

#include "server/api/values_json.h"
#include "server/jobs/result_limits.h"

#include <isa-l/crc.h>

/* ---- values */

/* The index of the first result of PART; -1 for the trunk, whose steps lead to all results. */
static int first_output(const struct job *job, int part) {
    for (int o = 0; part && o < job_output_count(job); o++)
        if (job->outputs[o].part == part) return o;
    return -1;
}

/* The offset is fixed; the length is known only after printing. */
enum status batch_write_values(struct batch *batch, int number) {
    struct item *item = &batch->items[number];
    struct job *job = item->job;
    const struct executor *executor = batch->executor;
    struct values_part parts[PLAN_PARTS_MAX];
    if (!job->value_count) return STATUS_OK;
    const uint64_t offset = slot_paged(job->body_length), span = slot_span(executor->slots);
    const size_t room = offset < span ? span - offset : 0;
    for (int p = 0; p < batch->plans.count; p++)
        parts[p] =
            (struct values_part){ &batch->plans.parts[p], batch_run_item(batch, p, number)->values,
                                  first_output(job, p) };
    char *text = (char *)item->bytes + offset;
    job->values_offset = offset;
    job->values_length = room ? values_json_write_parts(parts, batch->plans.count, text, room) : 0;
    if (job->values_length) return STATUS_OK;
    return fail(&job->failure, STATUS_INTERNAL, "the slot has no room for %u values",
                job->value_count);
}

/* ---- results */

/* Whether a step of the trunk or of PART assumes sRGB. */
static bool assumes_srgb(const struct batch *batch, int part) {
    const struct plan *parts = batch->plans.parts;
    return plan_assumes_srgb(&parts[0]) || plan_assumes_srgb(&parts[part]);
}

/* Fills OUTPUT's report from RUN, whose image it is. */
static void fill_output(const struct batch *batch, struct item *item, struct job_output *output,
                        const struct run_item *run) {
    output->image = run->out;
    output->image.pixels = NULL;
    output->type = job_output_type(item->job, output);
    output->compute_ms = (float)batch->tree.parts[output->part].compute_ms;
    if (item->choice.metadata.profile_length && output->encode.profile != PROFILE_SRGB &&
        assumes_srgb(batch, output->part))
        output->notes |= NOTE_SRGB_ASSUMED;
    if (output->encoded_by != CODEC_DEVICE) return;
    codec_note_colour(&item->choice.metadata, &output->encode, &output->notes);
    output->offset = (uint64_t)(run->file.bytes - item->bytes);
    output->length = run->file.length;
    output->fitting = run->fitting;
}

/* Chooses the place of OUTPUT, behind all others; returns the bytes that are left for it. */
static size_t place(const struct executor *executor, const struct job *job,
                    struct job_output *output) {
    const uint64_t end = job_bytes_end(job), span = slot_span(executor->slots);
    output->offset = output == job->outputs ? slot_paged(end) : slot_aligned(end);
    if (output->offset > span) output->offset = span;
    return span - output->offset;
}

/* Leaves IMAGE for a cell. */
static enum status leave_pixels(const struct executor *executor, struct item *item,
                                struct job_output *output, const struct image *image) {
    struct job *job = item->job;
    const size_t row = image_row_bytes(image);
    if (place(executor, job, output) < job_pixels_bytes(image))
        return fail(
            &job->failure, STATUS_TOO_LARGE,
            "the slot has no room for the %u x %u pixels of a result; ask for a smaller one",
            image->width, image->height);
    output->length = job_pixels_bytes(image);
    uint8_t *to = item->bytes + output->offset;
    for (uint32_t y = 0; y < image->height; y++, to += row) {
        if (batch_check_progress(job)) return job->failure.status;
        memcpy(to, image_row(image, y), row);
    }
    const struct encode_options options = job_encode_options(job, output);
    codec_carried(&item->choice.metadata, &options, image_colours(image), &output->notes);
    codec_note_colour(&item->choice.metadata, &options, &output->notes);
    return STATUS_OK;
}

/* Leaves the profile for the cell that encodes. */
static enum status leave_profile(const struct executor *executor, struct item *item) {
    struct job *job = item->job;
    const struct metadata *metadata = &item->choice.metadata;
    const uint64_t at = slot_aligned(job_bytes_end(job)), span = slot_span(executor->slots);
    job->profile_offset = job->profile_length = 0;
    if (!metadata->profile_length || !job_encodes_apart(job)) return STATUS_OK;
    if (at > span || span - at < metadata->profile_length)
        return fail(&job->failure, STATUS_TOO_LARGE, "the slot has no room for the profile");
    memcpy(item->bytes + at, metadata->profile, metadata->profile_length);
    job->profile_offset = at;
    job->profile_length = metadata->profile_length;
    return STATUS_OK;
}

static enum status encode(const struct executor *executor, struct item *item,
                          struct job_output *output, const struct image *image) {
    struct job *job = item->job;
    const struct encode_options options = job_encode_options(job, output);
    const int64_t start = clock_ns();
    const size_t room = place(executor, job, output);
    size_t length = 0;
    enum status status;
    bool again = false;
    do {
        status = codec_encode_fitting(image, &item->choice.metadata, &options, &job->progress,
                                      item->bytes + output->offset, room, &length, &output->fitting,
                                      &output->notes, &job->failure);
        again = !again && batch_reclaims(job);
    } while (again);
    output->length = length;
    output->encode_ms = (float)ns_to_ms(clock_ns() - start);
    return status;
}

/* Reports the device's results first: their places are fixed, and the others follow them. */
static enum status make_outputs(struct batch *batch, struct item *item, int number) {
    struct job *job = item->job;
    for (int o = 0; o < job_output_count(job); o++) {
        struct job_output *output = &job->outputs[o];
        fill_output(batch, item, output,
                    batch_run_item(batch, batch_image_part(batch, output->part), number));
    }
    enum status status = leave_profile(batch->executor, item);
    for (int o = 0; o < job_output_count(job) && !status && !job->json_only; o++) {
        struct job_output *output = &job->outputs[o];
        const int part = batch_image_part(batch, output->part);
        if (output->cut) status = result_limits_check(job, output, &job->failure);
        if (!status && output->encoded_by != CODEC_DEVICE)
            status = (output->apart ? leave_pixels : encode)(
                batch->executor, item, output, &batch_run_item(batch, part, number)->out);
    }
    return status;
}

static void sum_up(const struct item *item) {
    struct job *job = item->job;
    for (int o = 0; o < job_output_count(job) && job->checksums; o++) {
        struct job_output *output = &job->outputs[o];
        if (output->apart) continue;
        output->checksum = crc32_gzip_refl(0, item->bytes + output->offset, output->length);
    }
}

/* Whether the job still needs a core's work: values, checksums, or a file to encode. */
static bool needs_cores(const struct job *job) {
    bool any = job->value_count > 0 || job->checksums;
    for (int o = 0; o < job_output_count(job); o++)
        any |= !job->json_only && job->outputs[o].encoded_by != CODEC_DEVICE;
    return any;
}

/* Writes the job's values, encodes its results where the device has not, and answers. */
static void finish(struct batch *batch, int number) {
    struct item *item = &batch->items[number];
    struct job *job = item->job;
    const int64_t start = clock_ns();
    if (!job->failure.status) job->failure = batch->run_items[number].failure;
    if (!job->failure.status) {
        if (!batch_check_progress(job) && !batch_write_values(batch, number) &&
            !make_outputs(batch, item, number))
            sum_up(item);
        if (needs_cores(job)) job->timing.stage_ms[STAGE_ENCODE] += ns_to_ms(clock_ns() - start);
    }
    batch_answer_item(batch->executor, item);
}

static void finish_one(void *argument, int index) {
    struct batch *batch = argument;
    finish(batch, batch->chosen[index]);
}

/* Whether the job runs again with the cores' codecs; every other failure is its answer. */
static bool is_refused(const struct batch *batch, int i) {
    const struct job *job = batch->items[i].job;
    return batch->run_items[i].refused && !job->failure.status &&
           !batch->run_items[i].failure.status;
}

void batch_answer(struct batch *batch) {
    int count = 0;
    for (int i = 0; i < batch->count; i++) {
        if (is_refused(batch, i)) {
            metadata_release(&batch->items[i].choice.metadata);
            batch->refused[batch->refused_count++] = batch->items[i].slot;
        } else if (needs_cores(batch->items[i].job)) {
            batch->chosen[count++] = i;
        } else {
            finish(batch, i);
        }
    }
    if (count) pool_run(batch->executor->codecs, finish_one, batch, count);
}
