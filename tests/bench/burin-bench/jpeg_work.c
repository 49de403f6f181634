// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/burin-bench/jpeg_work.h"

#include "pipeline/codec.h"

#include <stdlib.h>

enum status jpeg_work_decode(const struct jpeg_bytes *file, const struct image *into,
                             struct failure *failure) {
    struct probe probe;
    struct metadata metadata = { 0 };
    uint32_t notes = 0;
    enum status status =
        probe_image(file->data, file->length, &codec_limits_default.probe, &probe, failure);
    if (!status)
        status = codec_decode(file->data, file->length, &probe, &codec_limits_default, NULL, into,
                              &metadata, &notes, failure);
    metadata_release(&metadata);
    return status;
}

enum status jpeg_work_encode(const struct image *pixels, unsigned quality, struct jpeg_bytes *file,
                             struct failure *failure) {
    struct encode_options options = encode_options_default;
    uint32_t notes = 0;
    const size_t room = file->length;
    options.quality = (int)quality;
    return codec_encode(pixels, NULL, &options, NULL, file->data, room, &file->length, &notes,
                        failure);
}

enum status jpeg_work_operate(const struct op *op, const struct params *params,
                              const struct image *in, const struct image *out,
                              struct failure *failure) {
    struct op_call call = { .op = op, .params = params, .in = *in, .out = *out };
    call.failure = failure;
    call.scratch_bytes = op->scratch ? op->scratch(&call) : 0;
    call.scratch = aligned_alloc(256, (call.scratch_bytes + 511) / 256 * 256);
    if (!call.scratch) return fail(failure, STATUS_NO_MEMORY, "no memory for %s", op->name);
    const enum status status = op->run(&call);
    free(call.scratch);
    return status;
}
