// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/codec_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    fuzz_codec(bytes, length, FORMAT_TIFF);
    return 0;
}
