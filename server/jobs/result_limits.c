// SPDX-License-Identifier: Apache-2.0
#include "server/jobs/result_limits.h"

#include <string.h>

/* An encoder that cannot be stopped is bounded by the picture that takes it longest. */
static enum status check_still(const struct job *job, const struct job_output *output,
                               struct failure *failure) {
    const bool deadline = job->processing_ms < job->still_ms;
    const double most = deadline ? job->processing_ms : job->still_ms;
    const struct encode_options options = job_encode_options(job, output);
    const double ms = codec_still_ms(&output->image, &options);
    if (ms <= most) return STATUS_OK;
    return fail(failure, STATUS_TOO_LARGE,
                "the %s of %llu pixels with effort %d may take %.1f s, in which it cannot be "
                "stopped, and %.1f s are allowed (%s); ask for less effort or quality, another "
                "type, or %.0f pixels at most",
                format_name(output->type), (unsigned long long)image_pixels(&output->image),
                options.effort, ms / 1e3, most / 1e3,
                deadline ? "processing_ms" : "encode_still_ms",
                (double)image_pixels(&output->image) * most / ms);
}

/* A cell's encoder gets no more than all of them together. */
static enum status check_memory(const struct job *job, const struct job_output *output,
                                struct failure *failure) {
    const struct encode_options options = job_encode_options(job, output);
    const double pixels = (double)image_pixels(&output->image);
    const double bytes = (double)codec_memory_encode(&output->image, &options);
    const double most = (double)job->cells_bytes;
    const char *title = format_record(output->type)->title;
    if (bytes <= most) return STATUS_OK;
    return fail(failure, STATUS_TOO_LARGE,
                "the result has %.0f pixels and %s %s may have at most %.0f, which take a quarter "
                "of cpu_memory_bytes to encode; ask for another type or a smaller one",
                pixels, strchr("AEIOU", *title) ? "an" : "a", title, pixels * most / bytes);
}

enum status result_limits_check(const struct job *job, const struct job_output *output,
                                struct failure *failure) {
    const enum status status = check_still(job, output, failure);
    return !status && output->apart ? check_memory(job, output, failure) : status;
}
