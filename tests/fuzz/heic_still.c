// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/heic/codec.h"
#include "pipeline/codecs/heic/still.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* A file that an engine takes: each tile's slice lies within it, and fits the engine. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    struct probe probe = { .format = FORMAT_HEIC, .orientation = 1 };
    struct codec_limits limits = codec_limits_default;
    struct heic_still still;
    if (heic_probe(bytes, length, &probe, NULL) ||
        !heic_still_read(bytes, length, &probe, &limits, &still))
        return 0;
    for (int layer = 0; layer < 1 + still.header.picture.alpha; layer++) {
        const uint32_t count = heic_still_count(&still, layer);
        struct heic_still_tile *tiles = malloc(count * sizeof *tiles);
        if (!tiles || !heic_still_tiles(&still, layer, tiles)) abort();
        for (uint32_t i = 0; i < count; i++) {
            const struct hevc_parameters *p = &tiles[i].parameters;
            const struct hevc_unit *slice = &tiles[i].slice;
            if (slice->bytes < bytes || slice->length < 3 ||
                slice->length > (size_t)(bytes + length - slice->bytes) || p->width > 8192 ||
                p->height > 8192 || p->columns > 10 || p->rows > 10 ||
                p->left + still.header.tiling[layer].width > p->width ||
                p->top + still.header.tiling[layer].height > p->height)
                abort();
        }
        free(tiles);
    }
    return 0;
}
