// SPDX-License-Identifier: Apache-2.0
#include "server/api/info_json.h"

json_t *info_json(const struct probe *probe, uint64_t length) {
    return json_pack("{s:i, s:i, s:s, s:s, s:s, s:b, s:b, s:i, s:i, s:i, s:b, s:b, s:I, s:I, s:I, "
                     "s:I}",
                     "width", (int)probe->shape.width, "height", (int)probe->shape.height, "type",
                     format_name(probe->format), "mime_type", format_media_type(probe->format),
                     "space", probe->space, "hasAlpha", image_has_alpha(&probe->shape),
                     "hasProfile", probe->profile, "channels", probe->shape.channels, "depth",
                     probe->shape.depth, "orientation", probe->orientation, "progressive",
                     probe->progressive || probe->interlaced, "animated", probe->animated, "pixels",
                     (json_int_t)image_pixels(&probe->shape), "size", (json_int_t)length, "frames",
                     (json_int_t)(probe->frames ? probe->frames : 1), "loops",
                     (json_int_t)(probe->frames ? probe->plays : 1));
}

enum status info_count_frames(const uint8_t *bytes, size_t length, struct probe *probe,
                              struct failure *failure) {
    struct probe counted = *probe;
    if (!probe->animated || !format_record(probe->format)->probe_frames) return STATUS_OK;
    const enum status status = format_record(probe->format)
                                   ->probe_frames(bytes, length, UINT32_MAX - 1, &counted, failure);
    probe->frames = counted.frames;
    probe->plays = counted.plays;
    return status;
}
