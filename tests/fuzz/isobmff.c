// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/common/isobmff.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

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
    return 0;
}
