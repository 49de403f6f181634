// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/common/exif.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { ROOM = 4096 };

/* A block that was built anew is sound and upright: building once more changes nothing. The room
 * is exact, so that sanitizers see one byte too many. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    uint8_t *room = malloc(ROOM), *again = malloc(ROOM);
    for (int kept = EXIF_COPYRIGHT; kept <= EXIF_ALL; kept++) {
        bool broken = false;
        const size_t size = exif_rebuild(bytes, length, (enum exif_kept)kept, room, ROOM, &broken);
        if (!size) continue;
        broken = false;
        uint8_t *exact = malloc(size);
        memcpy(exact, room, size);
        if (exif_rebuild(exact, size, (enum exif_kept)kept, again, ROOM, &broken) != size) abort();
        if (broken || memcmp(again, exact, size) != 0) abort();
        if (exif_orientation(exact, size) != 1) abort();
        free(exact);
    }
    exif_orientation(bytes, length);
    free(room);
    free(again);
    return 0;
}
