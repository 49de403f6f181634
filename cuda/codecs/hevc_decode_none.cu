// SPDX-License-Identifier: Apache-2.0
/* Replaces hevc_decode.cu in a build without HEIC. */
#include "cuda/codecs/hevc_decode.h"

size_t hevc_decode_bytes(const struct heic_still *still) {
    (void)still;
    return 0;
}

enum status hevc_decode(const struct cuda_context *context, struct lane_decoding *decoding,
                        uint8_t *work, struct failure *failure) {
    (void)context, (void)decoding, (void)work;
    return fail(failure, STATUS_INTERNAL, "this program was built without HEIC");
}
