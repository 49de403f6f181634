// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/codecs.h"

#include <stdio.h>
#include <string.h>

enum status codec_stopped(enum status status, struct failure *failure) {
    return fail(failure, status,
                status == STATUS_DEADLINE
                    ? "the time allowed ran out in the codec; send a smaller image"
                    : "the request was cancelled in the codec");
}

void codec_damage(const struct decoding *decoding, const char *text) {
    char *warning = decoding->metadata->warning;
    *decoding->notes |= NOTE_DAMAGED;
    if (!*warning) snprintf(warning, WARNING_MAX, "%s", text);
}

enum status codec_overflow(const struct encoding *encoding) {
    return fail(encoding->failure, STATUS_TOO_LARGE,
                "the encoded %u x %u image does not fit into %zu bytes; ask for a smaller one",
                encoding->image->width, encoding->image->height, encoding->capacity);
}

bool codec_profile_fits(const struct metadata *metadata, unsigned colours, uint32_t *notes) {
    if (!metadata || !metadata->profile_length) return false;
    /* An ICC header names the colour space of its samples in bytes 16 to 19. */
    const bool fits = metadata->profile_length >= 20 &&
                      memcmp(metadata->profile + 16, colours == 1 ? "GRAY" : "RGB ", 4) == 0;
    if (!fits) *notes |= NOTE_PROFILE_DROPPED;
    return fits;
}
