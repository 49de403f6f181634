// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/codec_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Without libavif the probe refuses each input. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    fuzz_codec(bytes, length, FORMAT_AVIF);
    return 0;
}
