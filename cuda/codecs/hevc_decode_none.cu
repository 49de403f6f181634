// SPDX-License-Identifier: Apache-2.0
/* Replaces hevc_decode.cu in a build without HEIC. */
#include "cuda/codecs/hevc_decode.h"

size_t hevc_decode_bytes(const struct heic_still *still) {
    (void)still;
    return 0;
}

enum status hevc_decode(const struct cuda_context *context, const struct heic_still *still,
                        uint8_t *work, const struct image *into, bool *refused,
                        struct failure *failure) {
    (void)context, (void)still, (void)work, (void)into, (void)refused;
    return fail(failure, STATUS_INTERNAL, "this program was built without HEIC");
}
