// SPDX-License-Identifier: Apache-2.0
#include "pipeline/probe.h"
#include "pipeline/codecs/jpeg/baseline.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* A successful probe has sane values within its limits, and every refusal has a message. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    const struct probe_limits limits = { .pixels_max = 1 << 20, .side_max = 20000 };
    struct probe probe;
    struct failure failure = { .message = "" };
    const enum status status = probe_image(bytes, length, &limits, &probe, &failure);
    if (status != STATUS_OK) {
        if (failure.status != status || strlen(failure.message) < 10) abort();
        return 0;
    }
    const struct image *shape = &probe.shape;
    if (probe.format != probe_format(bytes, length) || shape->pixels) abort();
    if (!shape->width || !shape->height || image_pixels(shape) > limits.pixels_max) abort();
    if (shape->width > limits.side_max || shape->height > limits.side_max) abort();
    if (shape->channels < 1 || shape->channels > 4) abort();
    if (shape->depth != 8 && shape->depth != 16) abort();
    if (probe.orientation < 1 || probe.orientation > 8) abort();
    if (shape->stride < image_row_bytes(shape) || !probe.space[0]) abort();
    struct jpeg_baseline jpeg;
    if (jpeg_baseline_read(bytes, length, &probe, &codec_limits_default, &jpeg) &&
        (jpeg.width != probe.width || jpeg.height != probe.height || bytes[length - 1] != 0xd9))
        abort();
    return 0;
}
