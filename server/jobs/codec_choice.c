// SPDX-License-Identifier: Apache-2.0
#include "server/jobs/codec_choice.h"

#include "pipeline/srgb_table.h"

bool codec_engine_takes(const struct job *job, const uint8_t *bytes, size_t memory_max) {
    const struct format_record *format = format_record(job->probe.format);
    const uint64_t end = job->pixels_offset + job_pixels_bytes(&job->probe.shape);
    struct codec_limits limits = codec_limits_default;
    struct heic_still still;
    limits.memory_max = memory_max;
    return job->decodes_apart && format->read_still && job->pixels_end == end &&
           format->read_still(bytes + job->image_offset, job->image_length, &job->probe, &limits,
                              &still);
}

/* Which file the device decodes: sets CHOICE, RUN and NOTES. */
static enum codec_place read_file(const struct device_codec *codec,
                                  const struct codec_limits *limits,
                                  const struct codec_request *request, struct codec_choice *choice,
                                  struct run_item *run, uint32_t *notes) {
    const struct format_record *format = format_record(request->probe->format);
    if (request->probe->format == FORMAT_JPEG) {
        if (!jpeg_baseline_read_header(request->bytes, request->length, request->probe, limits,
                                       &choice->jpeg))
            return CODEC_KIND;
        run->decode_bytes = codec->decode_bytes(&choice->jpeg);
        run->jpeg = &choice->jpeg;
        *notes = choice->jpeg.notes;
    } else if (format->read_still && codec->still_bytes) {
        if (!format->read_still(request->bytes, request->length, request->probe, limits,
                                &choice->heic))
            return CODEC_KIND;
        run->decode_bytes = codec->still_bytes(&choice->heic);
        run->heic = &choice->heic;
        *notes = choice->heic.notes;
    } else {
        return CODEC_FORMAT;
    }
    return run->decode_bytes ? CODEC_DEVICE : CODEC_KIND;
}

static enum codec_place choose_decoder(const struct device_codec *codec,
                                       const struct codec_limits *limits,
                                       const struct codec_request *request,
                                       struct codec_choice *choice, struct run_item *run) {
    uint32_t notes = 0;
    const enum codec_place place = read_file(codec, limits, request, choice, run, &notes);
    if (place != CODEC_DEVICE) return place;
    if (codec_read_metadata(request->bytes, request->length, request->probe, limits,
                            &choice->metadata, &choice->notes, NULL))
        return CODEC_PROFILE;
    choice->notes |= notes;
    choice->described = true;
    return CODEC_DEVICE;
}

void codec_choose_decoder(const struct device_codec *codec, enum codec_place cores,
                          const struct codec_limits *limits, const struct codec_request *request,
                          struct codec_choice *choice, struct run_item *run) {
    *choice = (struct codec_choice){ .decoded_by = cores };
    run->jpeg = NULL;
    run->heic = NULL;
    run->want = RUN_NOTHING;
    if (!codec) return;
    choice->decoded_by = choose_decoder(codec, limits, request, choice, run);
    if (choice->decoded_by == CODEC_DEVICE) return;
    run->jpeg = NULL;
    run->heic = NULL;
}

/* A core that decodes here finds a profile only then, too late to lay out memory for it. */
static enum codec_place choose_encoder(const struct device_codec *codec,
                                       const struct codec_request *request,
                                       const struct image *result,
                                       const struct codec_choice *choice, struct run_item *run,
                                       uint32_t *notes) {
    struct lane_encoding *file = &run->file;
    if (request->encode.format != FORMAT_JPEG) return CODEC_FORMAT;
    if (request->probe->profile && request->encode.profile == PROFILE_KEEP && !choice->described)
        return CODEC_PROFILE;
    if (request->encode.progressive || run_wants_file(run)) return CODEC_KIND;
    if (!request->room_bytes) return CODEC_ROOM;
    *file = (struct lane_encoding){ .image = *result,
                                    .quality = request->encode.quality,
                                    .bytes = request->room,
                                    .capacity = request->room_bytes };
    run->encode_bytes = codec->encode_bytes(file);
    if (!run->encode_bytes) return CODEC_KIND;
    file->carried =
        codec_carried(&choice->metadata, &request->encode, image_colours(result), notes);
    run->encode_bytes = codec->encode_bytes(file);
    return run->encode_bytes ? CODEC_DEVICE : CODEC_PROFILE;
}

enum codec_place codec_choose_encoder(const struct device_codec *codec, enum codec_place cores,
                                      const struct codec_request *request,
                                      const struct image *result, const struct codec_choice *choice,
                                      struct run_item *run, uint32_t *notes) {
    const enum codec_place place =
        codec ? choose_encoder(codec, request, result, choice, run, notes) : cores;
    const bool pixels = place != CODEC_DEVICE || run_wants_pixels(run);
    const bool file = place == CODEC_DEVICE || run_wants_file(run);
    run->want = pixels && file ? RUN_BOTH : file ? RUN_FILE : RUN_PIXELS;
    if (place == CODEC_DEVICE) run->encode = request->encode;
    return place;
}

void codec_choose(const struct device_codec *codec, enum codec_place cores,
                  const struct codec_limits *limits, const struct plan *plan,
                  const struct codec_request *request, struct codec_choice *choice,
                  struct run_item *run) {
    struct image shapes[PLAN_STEPS_MAX + 1];
    codec_choose_decoder(codec, cores, limits, request, choice, run);
    if (request->probe->profile && plan_converts(plan)) run->table = srgb_table_shape(&run->in);
    choice->encoded_by = CODEC_NOBODY;
    if (request->encode.format == FORMAT_NONE) return;
    codec_keep_metadata(request->bytes, request->length, request->probe, limits,
                        request->encode.metadata, &choice->metadata, &choice->notes);
    /* run_reserve reports a shape that the plan refuses. */
    const bool refused = plan_shapes(plan, &run->in, UINT64_MAX, shapes, NULL) != STATUS_OK;
    choice->encoded_by =
        codec_choose_encoder(refused ? NULL : codec, cores, request,
                             refused ? NULL : &shapes[plan->count], choice, run, &choice->notes);
}

/* A JPEG's decoder has converted CMYK, or noted why not. */
void codec_make_table(const struct metadata *metadata, const struct probe *probe,
                      const struct run_item *run, uint32_t *notes) {
    if (!run->table.width) return;
    const bool usable =
        srgb_table_make(metadata->profile, metadata->profile_length, &run->in, &run->table);
    const bool cmyk = !strcmp(probe->space, "cmyk") || !strcmp(probe->space, "ycck");
    if (!usable && !cmyk) *notes |= NOTE_PROFILE_UNUSABLE;
}
