// SPDX-License-Identifier: Apache-2.0
/* What an image is, from its header, without decoding it. */
#include "server/http/reply.h"
#include "server/http/route.h"
#include "server/http/upload.h"

/* A device may be asked for on any request; this one needs none. */
enum status info_begin(struct exchange *exchange, struct failure *failure) {
    settings_init_info(&exchange->settings);
    const enum status status = exchange_query(exchange, failure);
    return status ? status : upload_begin(exchange, failure);
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

static enum status judge(struct exchange *exchange, struct probe *probe, struct failure *failure) {
    const struct config *config = exchange->front->config;
    const struct probe_limits limits = { .pixels_max = (uint64_t)config->pixels_max,
                                         .side_max = (uint32_t)config->side_max };
    const struct job *job = exchange_job(exchange);
    const enum status status = upload_parts(exchange, &limits, NULL, failure);
    return status
               ? status
               : probe_image(slot_bytes(exchange->front->slots, exchange->slot) + job->image_offset,
                             job->image_length, &limits, probe, failure);
}

enum MHD_Result info_finish(struct exchange *exchange) {
    struct failure failure = { 0 };
    struct probe probe;
    if (upload_finish(exchange, &failure) || judge(exchange, &probe, &failure)) {
        exchange_fail(exchange, &failure);
        return reply_problem(exchange, 0);
    }
    return reply_json(exchange, MHD_HTTP_OK,
                      describe(&probe, exchange_job(exchange)->image_length));
}
