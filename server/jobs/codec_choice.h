// SPDX-License-Identifier: Apache-2.0
/* codec_choice.h - who decodes and who encodes a job's image: the GPU, or the cores.
 *
 * Used by:  executor.c, job by job, before a batch is laid out.
 * Owns:     nothing; a profile that it reads is the caller's metadata.
 * Fails:    never: what the GPU does not take is the cores'.
 * Threads:  any.
 */
#ifndef BURIN_CODEC_CHOICE_H
#define BURIN_CODEC_CHOICE_H

#include "pipeline/codecs/jpeg_baseline.h"
#include "pipeline/run.h"
#include "server/jobs/job.h"

struct codec_choice {
    const struct device_codec *codec; /* NULL: the cores do everything */
    enum codec_place cores;           /* then, why */
    const struct codec_limits *limits;
    const struct plan *plan;
};

/* A job, with what the choice writes about it. */
struct codec_candidate {
    struct job *job;
    uint8_t *bytes; /* its slot's */
    size_t span;
    struct jpeg_baseline jpeg; /* where the GPU decodes it */
    struct metadata metadata;  /* likewise, what stands in the file */
};

/* Sets RUN's `jpeg`, `want` and `file`, and the job's decoded_by, encoded_by, result_offset. */
void codec_choose(const struct codec_choice *choice, struct codec_candidate *candidate,
                  struct run_item *run);

#endif
