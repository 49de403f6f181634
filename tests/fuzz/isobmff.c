// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/common/isobmff.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void look_at_tiles(const uint8_t *bytes, size_t length,
                          const struct isobmff_picture *picture, bool alpha) {
    static struct isobmff_tile tiles[ISOBMFF_ITEMS_MAX];
    struct isobmff_tiling tiling;
    if (isobmff_tiles(bytes, length, picture, alpha, &tiling, tiles)) return;
    const uint64_t count = (uint64_t)tiling.columns * tiling.rows;
    if (!count || count > ISOBMFF_ITEMS_MAX) abort();
    if ((uint64_t)tiling.columns * tiling.width < picture->width) abort();
    if ((uint64_t)tiling.rows * tiling.height < picture->height) abort();
    for (uint64_t i = 0; i < count; i++) {
        const struct isobmff_place places[] = { tiles[i].coded, tiles[i].configuration };
        for (int p = 0; p < 2; p++)
            if (places[p].at > length || places[p].length > length - places[p].at) abort();
    }
}

/* All places lie in the file, and what is shown lies in what is coded. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    struct isobmff_picture picture;
    isobmff_is(bytes, length, "heic", "hvc1");
    if (isobmff_read(bytes, length, &picture)) return 0;
    const struct isobmff_place places[] = { picture.profile, picture.configuration };
    for (int i = 0; i < 2; i++)
        if (places[i].at > length || places[i].length > length - places[i].at) abort();
    if (!picture.width || !picture.height || !picture.across || !picture.down) abort();
    if ((uint64_t)picture.left + picture.across > picture.width) abort();
    if ((uint64_t)picture.top + picture.down > picture.height) abort();
    if (picture.orientation < 1 || picture.orientation > 8) abort();
    if (picture.there_bytes > picture.stated_bytes) abort();
    for (int alpha = 0; alpha < 2; alpha++) look_at_tiles(bytes, length, &picture, alpha);
    return 0;
}
