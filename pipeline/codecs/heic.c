// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/heic/codec.h"
#include "pipeline/codecs/heic/library.h"
#include "pipeline/codecs/heic/still.h"

const struct format_record format_heic = {
    .name = "heic",
    .title = "HEIC",
    .media_types = { "image/heic", "image/heif" },
    .endings = { "heic", "heif" },
    .places = { [FORMATS_DESCRIBED] = 8 },
    .recognizes = is_heic,
    .unreadable = heic_reading_missing,
    .probe = heic_probe,
    .decode = heic_decode,
    .photographs = true,
    .turns = true,
    .contained = true,
    .read_metadata = heic_read_metadata,
    .read_still = heic_still_read,
    .decode_memory = heic_decode_memory,
    .decode_costs = { { .cpu = { 0.3f, 160, 10 }, .gpu = { 1, 0.5f, 0.05f } } },
};
