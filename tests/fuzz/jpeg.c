// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/jpeg/baseline.h"
#include "tests/fuzz/codec_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* A file that a device may decode has the probed facts, and the CPU decoder finds no fault in it:
 * the device misses no damage that the CPU would report. */
static void fuzz_device(const uint8_t *bytes, size_t length) {
    struct probe probe;
    struct failure failure;
    struct jpeg_baseline jpeg;
    struct image image;
    struct metadata metadata = { 0 };
    if (probe_image(bytes, length, &fuzz_limits.probe, &probe, &failure) != STATUS_OK ||
        !jpeg_baseline_read(bytes, length, &probe, &fuzz_limits, &jpeg))
        return;
    if (jpeg.across < 1 || jpeg.across > 2 || jpeg.down < 1 || jpeg.down > jpeg.across) abort();
    if (jpeg.into.channels != 1 && jpeg.into.channels != 3) abort();
    if (jpeg.into.channels == 1 && jpeg.across != 1) abort();
    if (!fuzz_decode(bytes, length, &probe, &image, &metadata)) abort();
    metadata_release(&metadata);
    free(image.pixels);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    fuzz_codec(bytes, length, FORMAT_JPEG);
    fuzz_device(bytes, length);
    return 0;
}
