// SPDX-License-Identifier: Apache-2.0
#include "server/jobs/codec_choice.h"

static enum codec_place choose_decoder(const struct device_codec *codec,
                                       const struct codec_limits *limits,
                                       const struct codec_request *request,
                                       struct codec_choice *choice, size_t *bytes) {
    if (request->probe->format != FORMAT_JPEG) return CODEC_FORMAT;
    if (!jpeg_baseline_read_header(request->bytes, request->length, request->probe, limits,
                                   &choice->jpeg))
        return CODEC_KIND;
    *bytes = codec->decode_bytes(&choice->jpeg);
    if (!*bytes) return CODEC_KIND;
    if (codec_read_metadata(request->bytes, request->length, request->probe, limits,
                            &choice->metadata, &choice->notes, NULL))
        return CODEC_PROFILE;
    return CODEC_DEVICE;
}

/* RESULT: its shape. A profile that only the cores can find is known too late to be laid out. */
static enum codec_place choose_encoder(const struct device_codec *codec,
                                       const struct codec_request *request,
                                       const struct image *result, struct codec_choice *choice,
                                       struct run_item *run) {
    struct lane_encoding *file = &run->file;
    const struct metadata *metadata = &choice->metadata;
    if (request->encode.format != FORMAT_JPEG) return CODEC_FORMAT;
    if (request->probe->profile && choice->decoded_by != CODEC_DEVICE) return CODEC_PROFILE;
    if (request->encode.progressive) return CODEC_KIND;
    if (!request->room_bytes) return CODEC_ROOM;
    *file = (struct lane_encoding){ .image = *result,
                                    .quality = request->encode.quality,
                                    .bytes = request->room,
                                    .capacity = request->room_bytes };
    run->encode_bytes = codec->encode_bytes(file);
    if (!run->encode_bytes) return CODEC_KIND;
    if (!codec_profile_fits(metadata, image_colours(result), &choice->notes)) return CODEC_DEVICE;
    file->profile = metadata->profile;
    file->profile_length = metadata->profile_length;
    run->encode_bytes = codec->encode_bytes(file);
    return run->encode_bytes ? CODEC_DEVICE : CODEC_PROFILE;
}

void codec_choose(const struct device_codec *codec, enum codec_place cores,
                  const struct codec_limits *limits, const struct plan *plan,
                  const struct codec_request *request, struct codec_choice *choice,
                  struct run_item *run) {
    struct image shapes[PLAN_STEPS_MAX + 1];
    const bool wanted = request->encode.format != FORMAT_NONE;
    *choice = (struct codec_choice){ .decoded_by = cores };
    choice->encoded_by = wanted ? cores : CODEC_NOBODY;
    run->jpeg = NULL;
    run->want = wanted ? RUN_PIXELS : RUN_NOTHING;
    run->encode = request->encode;
    if (!codec) return;
    choice->decoded_by = choose_decoder(codec, limits, request, choice, &run->decode_bytes);
    if (choice->decoded_by == CODEC_DEVICE) run->jpeg = &choice->jpeg;
    /* A shape that the plan refuses is told by run_reserve. */
    if (!wanted || plan_shapes(plan, &run->in, UINT64_MAX, shapes, NULL)) return;
    choice->encoded_by = choose_encoder(codec, request, &shapes[plan->count], choice, run);
    if (choice->encoded_by == CODEC_DEVICE) run->want = RUN_FILE;
}
