// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/codec_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* The right length of the file and of its last chunk, or nearly all inputs would be cut ones. */
static void mend_lengths(uint8_t *bytes, size_t length) {
    for (int i = 0; i < 4; i++) bytes[4 + i] = (uint8_t)((length - 8) >> (8 * i));
    for (size_t at = 12; at + 8 <= length;) {
        const uint8_t *field = bytes + at + 4;
        const size_t size =
            field[0] | (size_t)field[1] << 8 | (size_t)field[2] << 16 | (size_t)field[3] << 24;
        const size_t left = length - at - 8;
        for (int i = 0; size > left && i < 4; i++) bytes[at + 4 + i] = (uint8_t)(left >> (8 * i));
        at += 8 + (size < left ? size + (size & 1) : left);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    fuzz_codec(bytes, length, FORMAT_WEBP);
    if (length < 20) return 0;
    uint8_t *mended = malloc(length);
    memcpy(mended, bytes, length);
    mend_lengths(mended, length);
    fuzz_codec(mended, length, FORMAT_WEBP);
    free(mended);
    return 0;
}
