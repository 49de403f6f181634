// SPDX-License-Identifier: Apache-2.0
/* codec_choice.h - who decodes and who encodes an image: the device, or the cores.
 *
 * Used by:  batch_gather.c, job by job, before a batch is laid out; command_run.c.
 * Owns:     nothing; a profile that it reads is the caller's metadata.
 * Fails:    never: what the device does not take is the cores'.
 * Threads:  any.
 */
#ifndef BURIN_CODEC_CHOICE_H
#define BURIN_CODEC_CHOICE_H

#include "pipeline/codecs/jpeg/baseline.h"
#include "pipeline/run.h"
#include "server/jobs/job.h"

/* What is asked of one image. */
struct codec_request {
    const uint8_t *bytes; /* the file */
    size_t length;
    const struct probe *probe;
    struct encode_options encode; /* format FORMAT_NONE: only values are wanted */
    uint8_t *room;                /* for the result */
    size_t room_bytes;
};

/* Lives as long as the run item that points into it. */
struct codec_choice {
    enum codec_place decoded_by, encoded_by;
    struct jpeg_baseline jpeg; /* where the device decodes it */
    struct metadata metadata;  /* likewise, what stands in the file; the caller's to release */
    uint32_t notes;            /* likewise */
};

/* Sets `jpeg` of RUN, whose `in` is the probe's shape, and all of CHOICE; nothing of RUN is wanted
 * yet. CODEC: NULL: the cores do everything, because of CORES. */
void codec_choose_decoder(const struct device_codec *codec, enum codec_place cores,
                          const struct codec_limits *limits, const struct codec_request *request,
                          struct codec_choice *choice, struct run_item *run);

/* Who encodes what RUN makes, an image of RESULT's shape; REQUEST has a format. Sets `want` and
 * `file` of RUN, which may have been set for a result before: a device makes one file of an image,
 * and the cores any further ones. NOTES are or-ed in. */
enum codec_place codec_choose_encoder(const struct device_codec *codec, enum codec_place cores,
                                      const struct codec_request *request,
                                      const struct image *result, const struct codec_choice *choice,
                                      struct run_item *run, uint32_t *notes);

/* Both, of one result. */
void codec_choose(const struct device_codec *codec, enum codec_place cores,
                  const struct codec_limits *limits, const struct plan *plan,
                  const struct codec_request *request, struct codec_choice *choice,
                  struct run_item *run);

#endif
