// SPDX-License-Identifier: Apache-2.0
/* What an image is, from its header, without decoding it. */
#include "server/http/reply.h"
#include "server/http/route.h"

/* A device may be asked for on any request; this one needs none. */
enum status info_begin(struct exchange *exchange, struct failure *failure) {
    (void)failure;
    settings_init_info(&exchange->request.settings);
    return STATUS_OK;
}

static json_t *describe(const struct probe *probe, uint64_t bytes) {
    return json_pack("{s:i, s:i, s:s, s:s, s:s, s:b, s:b, s:i, s:i, s:i, s:b, s:b, s:I, s:I}",
                     "width", (int)probe->shape.width, "height", (int)probe->shape.height, "type",
                     format_name(probe->format), "mime_type", format_media_type(probe->format),
                     "space", probe->space, "hasAlpha", image_has_alpha(&probe->shape),
                     "hasProfile", probe->profile, "channels", probe->shape.channels, "depth",
                     probe->shape.depth, "orientation", probe->orientation, "progressive",
                     probe->progressive || probe->interlaced, "animated", probe->animated, "pixels",
                     (json_int_t)image_pixels(&probe->shape), "size", (json_int_t)bytes);
}

enum status info_answer(struct exchange *exchange, struct reply *reply, struct failure *failure) {
    struct request *request = &exchange->request;
    const struct probe_limits limits = request_limits(request);
    const struct job *job = request_job(request);
    struct probe probe;
    enum status status = request_check_aux(request, NULL, failure);
    if (!status)
        status = probe_image(slot_bytes(request->service->slots, request->slot) + job->image_offset,
                             job->image_length, &limits, &probe, failure);
    if (!status) *reply = reply_json(MHD_HTTP_OK, describe(&probe, job->image_length));
    return status;
}
