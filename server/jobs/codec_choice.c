// SPDX-License-Identifier: Apache-2.0
#include "server/jobs/codec_choice.h"

#include "server/jobs/slot.h"
#include "server/values_json.h"

static enum codec_place choose_decoder(const struct codec_choice *choice,
                                       struct codec_candidate *candidate) {
    struct job *job = candidate->job;
    const uint8_t *bytes = candidate->bytes + job->image_offset;
    if (!choice->codec) return choice->cores;
    if (job->probe.format != FORMAT_JPEG) return CODEC_FORMAT;
    if (!jpeg_baseline_read_header(bytes, job->image_length, &job->probe, choice->limits,
                                   &candidate->jpeg) ||
        !choice->codec->decode_bytes(&candidate->jpeg))
        return CODEC_KIND;
    if (codec_read_metadata(bytes, job->image_length, &job->probe, choice->limits,
                            &candidate->metadata, &job->notes, NULL))
        return CODEC_PROFILE;
    return CODEC_DEVICE;
}

/* Behind the values, whose length is known only when they are. */
static uint64_t result_offset(const struct job *job) {
    const uint64_t offset = slot_paged(job->body_length);
    return job->value_count ? slot_paged(offset + values_json_bound(job->value_count)) : offset;
}

static enum codec_place choose_encoder(const struct codec_choice *choice,
                                       struct codec_candidate *candidate,
                                       const struct image *result, struct lane_encoding *file) {
    struct job *job = candidate->job;
    const struct metadata *metadata = &candidate->metadata;
    const uint64_t offset = result_offset(job);
    if (job->json_only) return CODEC_NOBODY;
    if (!choice->codec) return choice->cores;
    if ((job->type ? job->type : job->probe.format) != FORMAT_JPEG) return CODEC_FORMAT;
    if (job->probe.profile && job->decoded_by != CODEC_DEVICE) return CODEC_PROFILE;
    if (offset >= candidate->span) return CODEC_ROOM;
    *file = (struct lane_encoding){ .image = *result, .quality = job->quality };
    file->bytes = candidate->bytes + offset;
    file->capacity = candidate->span - offset;
    if (!choice->codec->encode_bytes(file)) return CODEC_KIND;
    if (!codec_profile_fits(metadata, image_colours(result), &job->notes)) return CODEC_DEVICE;
    file->profile = metadata->profile;
    file->profile_length = metadata->profile_length;
    return choice->codec->encode_bytes(file) ? CODEC_DEVICE : CODEC_PROFILE;
}

void codec_choose(const struct codec_choice *choice, struct codec_candidate *candidate,
                  struct run_item *run) {
    struct job *job = candidate->job;
    struct image shapes[PLAN_STEPS_MAX + 1];
    candidate->metadata = (struct metadata){ 0 };
    job->decoded_by = (uint8_t)choose_decoder(choice, candidate);
    run->jpeg = job->decoded_by == CODEC_DEVICE ? &candidate->jpeg : NULL;
    run->want = job->json_only ? RUN_NOTHING : RUN_PIXELS;
    /* A shape that the plan refuses is told by run_reserve. */
    if (plan_shapes(choice->plan, &job->probe.shape, UINT64_MAX, shapes, NULL)) return;
    job->encoded_by =
        (uint8_t)choose_encoder(choice, candidate, &shapes[choice->plan->count], &run->file);
    if (job->encoded_by == CODEC_DEVICE) run->want = RUN_FILE;
}
