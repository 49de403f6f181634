// SPDX-License-Identifier: Apache-2.0
/* How it works. The job's frames are the images of the batch (pipeline/animation.h), and its one
 * result is written where batch_answer.c writes that of a still image. */
#include "pipeline/animation.h"

#include "server/worker/batch.h"

#include <string.h>

enum status batch_animate(struct batch *batch, struct lane *lane, struct failure *failure) {
    const struct executor *executor = batch->executor;
    struct item *item = &batch->items[0];
    struct job *job = item->job;
    struct job_output *output = &job->outputs[0];
    const uint64_t upload = slot_paged(job_bytes_end(job)), behind = batch_results_offset(job);
    const uint64_t end = upload > behind ? upload : behind, span = slot_span(executor->slots);
    const uint64_t offset = end < span ? end : span;
    struct run_item *run = batch_run_item(batch, 0, 0);
    struct encode_options encode = output->encode;
    struct codec_limits limits = executor->limits;
    limits.accept_damage = job->accept_damage;
    if (job->pixels_max && job->pixels_max < limits.probe.pixels_max)
        limits.probe.pixels_max = job->pixels_max;
    encode.format = job_output_type(job, output);
    struct animation animation = {
        .file = item->bytes + job->image_offset,
        .length = job->image_length,
        .probe = &job->probe,
        .limits = &limits,
        .plan = &batch->plans.parts[0],
        .encode = &encode,
        .pool = executor->codecs,
        .group_bytes = executor->batch_bytes,
        .bytes = item->bytes + offset,
        .capacity = span - offset,
        .progress = &job->progress,
        .timing = &job->timing,
    };
    if (batch_check_progress(job)) return *failure = job->failure, failure->status;
    const enum status status = animation_run(lane, &animation, failure);
    if (status) return status;
    job->notes |= animation.notes;
    memcpy(job->warning, animation.warning, sizeof job->warning);
    output->image = animation.result;
    output->image.pixels = NULL;
    output->type = encode.format;
    output->offset = offset;
    output->length = animation.result_length;
    output->compute_ms = job->timing.stage_ms[STAGE_COMPUTE];
    output->encode_ms = job->timing.stage_ms[STAGE_ENCODE];
    for (int s = 0; s < batch->plans.parts[0].count; s++)
        run->values[s] = (struct values){ plan_step_values(&batch->plans.parts[0], s, run->shapes),
                                          &animation.cuts[s] };
    batch_write_values(batch, 0);
    batch_answer_item(executor, item);
    return STATUS_OK;
}
