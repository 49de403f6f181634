// SPDX-License-Identifier: Apache-2.0
/* codec_choice.h - whether the device or the cores decode an image, and encode a result.
 *
 * Used by:  batch_gather.c, job by job, before a batch is laid out; one_run.c; submit.c.
 * Owns:     nothing; the caller releases the metadata of a choice.
 * Fails:    never: the cores take what the device does not.
 * Threads:  any.
 */
#ifndef BURIN_CODEC_CHOICE_H
#define BURIN_CODEC_CHOICE_H

#include "pipeline/codecs/heic/still.h"
#include "pipeline/codecs/jpeg/baseline.h"
#include "pipeline/run.h"
#include "server/jobs/job.h"

/* An image and how to encode its result. */
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
    /* set if the device decodes the file */
    union {
        struct jpeg_baseline jpeg;
        struct heic_still heic;
    };
    struct metadata metadata; /* the caller releases it */
    bool described;           /* it has the profile, if there is one, before the pixels are there */
    uint32_t notes;
};

/* A GPU's video engine may decode JOB's image, in BYTES, the slot's, and no other image is
 * decoded apart. MEMORY_MAX: of codec_limits. */
bool codec_engine_takes(const struct job *job, const uint8_t *bytes, size_t memory_max);

/* Sets CHOICE, and `jpeg` or `heic` of RUN, whose `in` is the probe's shape; `want` becomes
 * RUN_NOTHING. With CODEC NULL the cores do everything, for the reason CORES. */
void codec_choose_decoder(const struct device_codec *codec, enum codec_place cores,
                          const struct codec_limits *limits, const struct codec_request *request,
                          struct codec_choice *choice, struct run_item *run);

/* Chooses the encoder of RUN's image, of RESULT's shape; REQUEST has a format. Sets `want` and
 * `file` of RUN, which an earlier result may have set: a device makes one file of an image, and the
 * cores make further ones. Or-s into NOTES. */
enum codec_place codec_choose_encoder(const struct device_codec *codec, enum codec_place cores,
                                      const struct codec_request *request,
                                      const struct image *result, const struct codec_choice *choice,
                                      struct run_item *run, uint32_t *notes);

/* Fills the table of RUN, if it has one, from the profile of METADATA; or-s into NOTES. */
void codec_make_table(const struct metadata *metadata, const struct probe *probe,
                      const struct run_item *run, uint32_t *notes);

/* Chooses both for one result. */
void codec_choose(const struct device_codec *codec, enum codec_place cores,
                  const struct codec_limits *limits, const struct plan *plan,
                  const struct codec_request *request, struct codec_choice *choice,
                  struct run_item *run);

#endif
