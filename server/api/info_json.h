// SPDX-License-Identifier: Apache-2.0
/* info_json.h - an image's header as POST /info and `burin info` describe it.
 *
 * Used by:  handle_image.c, command_info.c.
 * Owns:     the caller frees the JSON.
 * Fails:    info_count_frames: STATUS_CORRUPT.
 * Threads:  any; no state.
 */
#ifndef BURIN_INFO_JSON_H
#define BURIN_INFO_JSON_H

#include "pipeline/probe.h"

#include <jansson.h>

/* Counts the frames of an animation; the rest of PROBE stays that of the first frame. */
enum status info_count_frames(const uint8_t *bytes, size_t length, struct probe *probe,
                              struct failure *failure);

/* LENGTH: of the file. */
json_t *info_json(const struct probe *probe, uint64_t length);

#endif
