// SPDX-License-Identifier: Apache-2.0
/* job.h - a job as front and worker share it: the request on the way in, the answer on the way out.
 *
 * The shared copy is at the head of a slot, in memory that both processes map, so it holds no
 * pointer. The front has a private copy for each slot and believes that one alone: it writes the
 * shared copy before the worker runs, and checks the answer before taking it over (answer.h).
 *
 * Used by:  server/request fills it; dispatcher.c queues it; executor.c runs it.
 * Owns:     nothing; its slot belongs to the request until slot_give.
 * Threads:  one at a time. The front writes the request before the worker is sent the job, the
 *           worker the answer before it sends the completion. Only `progress`, `received`,
 *           `started`, `lane` and `finished_ns` are touched while the other side may read: atomic.
 * Units:    offsets and lengths in bytes of slot_bytes(); `_ns` are times of clock_ns.
 */
#ifndef BURIN_JOB_H
#define BURIN_JOB_H

#include "pipeline/aux_image.h"
#include "pipeline/codec.h"
#include "pipeline/image.h"
#include "pipeline/plan_tree.h"
#include "pipeline/probe.h"
#include "pipeline/progress.h"
#include "pipeline/status.h"
#include "pipeline/timing.h"
#include "server/client.h"
#include "server/dispatch/cost.h"
#include "server/trace.h"

#include <stdint.h>
#include <string.h>

enum {
    REQUEST_ID_MAX = 64,
    DEVICE_NAME_MAX = 64,
    DEVICE_WANT_MAX = 24,
    AUX_NAME_MAX = 16,
    OUTPUTS_MAX = 32
};

/* The place that decoded or encoded a job's image: the GPU, or the cores with the reason. */
enum codec_place {
    CODEC_NOBODY,  /* nothing was encoded, or the device has no codec */
    CODEC_DEVICE,  /* the GPU */
    CODEC_FORMAT,  /* neither a JPEG nor a HEIC for the GPU's engines */
    CODEC_KIND,    /* a JPEG that the GPU's codec does not take, or a second file of one image */
    CODEC_PROFILE, /* known only when decoded, or too long */
    CODEC_ROOM,    /* the slot has no room for what may come */
    CODEC_REFUSED, /* the GPU's codec or engine gave it back: damage, or a file too large for its
                      room */
    CODEC_FAILED,  /* the GPU could not run the batch */
    CODEC_PLACES
};

/* The runs of a job. Codecs of a bad record (format.h: `contained`) work in a cell, a process that
 * does nothing else, before and after the plan. */
enum job_run {
    RUN_PLAN,   /* a worker: takes pixels that a cell has left, and leaves some for a cell */
    RUN_DECODE, /* a cell: leaves pixels and profile of the image in the slot */
    RUN_ENCODE, /* a cell: makes files of the pixels that the plan's run has left */
    RUN_ENGINE, /* a GPU's worker: its video engine decodes the image, and it runs the plan; in
                   place of RUN_DECODE and RUN_PLAN, which follow if the engine refuses */
};

/* A further image of the upload, in the slot's bytes. */
struct job_aux {
    uint64_t offset, length; /* length 0: none was sent */
    char name[AUX_NAME_MAX]; /* of the part */
    enum aux_kind kind;
    struct probe probe;
    bool apart;             /* decoded in a cell */
    uint64_t pixels_offset; /* of the rows that this leaves, if it is */
};

/* One result of a job. */
struct job_output {
    /* ---- asked for by the front */
    struct encode_options encode; /* format FORMAT_NONE: codec_result_format() */
    int16_t part;                 /* of the plan, whose image this is; 0: the trunk */
    bool apart; /* encoded in a cell: the plan's run leaves rows without padding */
    bool cut;   /* the pixels decide its size; that of `image` is the one if nothing is cut off */

    /* ---- answered by the worker */
    uint32_t checksum;      /* CRC-32 of the result's bytes, if checksums are wanted */
    struct image image;     /* shape alone */
    uint8_t type;           /* enum format */
    uint8_t encoded_by;     /* enum codec_place */
    uint32_t notes;         /* of its encoding */
    struct fitting fitting; /* where max_bytes is given */
    uint64_t offset, length;
    float compute_ms; /* of its part's steps; below 0: not known */
    float encode_ms;  /* below 0: not known, as for results that a GPU encoded */
};

/* From a job's deadline until its worker kills the process of users' operators. */
enum { OPERATORS_GRACE_MS = 500 };

/* A slot has it in three pages: config/README.md's memory of slots counts on that. */
struct job {
    /* ---- the request: written by the front */
    char request_id[REQUEST_ID_MAX], trace_id[TRACE_ID_MAX];
    struct plan_data plan;
    char device[DEVICE_WANT_MAX]; /* auto, cpu, cuda, cuda:N */
    struct client client;         /* that the queue counts the job for: client_unit, quota_client */
    int32_t share;                /* of that client, beside others; 0: 1 */
    struct probe probe;           /* of the image's header, within the limits */
    uint64_t image_offset, image_length;
    uint64_t hot_bytes;             /* of the slot: these stay allocated (slot.h) */
    uint64_t body_length;           /* bytes of the slot in use by the upload's images */
    uint64_t written_length;        /* bytes of the slot that the front wrote, if more */
    struct job_aux aux[OP_AUX_MAX]; /* for plan_aux_step's operator */
    int32_t run;                    /* enum job_run; set by the dispatcher */
    bool decodes_apart;             /* the first run decodes the main image in a cell */
    bool by_engine;                 /* or a GPU's video engine may decode it, and nothing else is
                                       decoded in a cell */
    bool engine_refused;            /* and has not; set by the dispatcher */
    uint64_t pixels_offset;         /* behind the upload, for an image that is decoded apart */
    uint64_t pixels_end;            /* of all images that are; 0: none is */
    bool accept_damage;             /* decode what is left of a damaged image (codec.h) */
    int32_t json_only;              /* the client wants the report alone: nothing is encoded */
    bool checksums;                 /* results get a CRC-32 */
    uint32_t further;               /* outputs beside the first */
    uint32_t value_count;           /* numbers that the plan's steps report for this image */
    uint32_t generation;            /* of the plan's users' operators, whose workers alone may
                                       run the job; 0: it has none */
    uint64_t pixels_max;            /* of each step's image, if it is less than the worker's */
    double still_ms, processing_ms; /* an encoder that cannot be stopped may take the less */
    uint64_t cells_bytes;           /* all that the codecs of cells may take */
    struct cost_work work;          /* predicts the time of the plan's run */
    int64_t submitted_ns;
    int32_t io_thread;        /* the job returns through the completion pipe of this I/O thread */
    uint32_t run_number;      /* of this run of this slot; the completion has it too */
    double least_ms;          /* own time on the worker that is fastest; set by the dispatcher */
    double predicted_ms;      /* own time on the worker that has the job; set by the dispatcher */
    int32_t duration;         /* enum job_duration on that worker; set by the dispatcher */
    int32_t own_batch;        /* its operators take too long to share a batch with other jobs */
    bool abreast;             /* a GPU works on many such jobs at once (op.h) */
    struct progress progress; /* deadline and cancel by the front, done and total by the worker */

    /* ---- the answer: written by the worker */
    uint32_t received; /* run_number of the last message that the worker has read */
    int32_t started;   /* a lane has begun the job: if the worker dies now, this may be why */
    int32_t lane;      /* thread that does all the work; 0: a GPU or other threads do some */
    int32_t deaths;    /* workers that died with the job, perhaps because of it; by the front */
    int32_t lost_runs; /* runs that ended with their worker, which may have written anywhere in the
                          slot; by the front */
    struct failure failure;
    int32_t culprit; /* the step, from 1, that crashed or did not stop; 0: none is known */
    uint64_t profile_offset, profile_length; /* left with pixels for a later run */
    uint64_t values_offset, values_length;   /* written by values_json_write(); length 0: none */
    uint32_t batch; /* jobs that ran together, this one included; they share their times */
    uint32_t notes;
    char warning[WARNING_MAX]; /* with NOTE_DAMAGED */
    int64_t finished_ns;
    double cpu_ms; /* time of a core, if the lane's thread did all the work: on a CPU; else 0 */
    char device_name[DEVICE_NAME_MAX];
    uint8_t decoded_by;   /* enum codec_place */
    struct timing timing; /* receive and total are the front's */

    struct job_output outputs[OUTPUTS_MAX];
};

/* True if one launch can run both: the same plan over the same kind of samples. An animation is a
 * batch of its own. */
static inline bool job_is_alike(const struct job *a, const struct job *b) {
    const struct image *one = &a->probe.shape, *other = &b->probe.shape;
    return one->channels == other->channels && one->depth == other->depth && !a->probe.frames &&
           !b->probe.frames && plan_data_is_same(&a->plan, &b->plan);
}

/* Bytes of pixels that one run leaves for another: rows without padding, in the machine's order. */
static inline uint64_t job_pixels_bytes(const struct image *image) {
    return image_row_bytes(image) * (uint64_t)image->height;
}

static inline struct image job_aux_shape(const struct job_aux *aux) {
    return aux_image_shape(aux->kind, &aux->probe);
}

static inline uint64_t job_aux_pixels(const struct job_aux *aux) {
    const struct image shape = job_aux_shape(aux);
    return job_pixels_bytes(&shape);
}

/* Heap bytes that decoding AUX takes beside its pixels, at most. MOST: as of
 * codec_memory_decode. */
static inline uint64_t job_aux_memory(const struct job_aux *aux, size_t most) {
    return image_bytes(&aux->probe.shape) + codec_memory_decode(&aux->probe, most);
}

static inline enum format job_output_type(const struct job *job, const struct job_output *output) {
    return output->encode.format ? output->encode.format
                                 : codec_result_format(&job->probe, &output->image);
}

static inline int job_output_count(const struct job *job) {
    return job->further < OUTPUTS_MAX ? 1 + (int)job->further : OUTPUTS_MAX;
}

/* The options of OUTPUT's encoder, with its type. */
static inline struct encode_options job_encode_options(const struct job *job,
                                                       const struct job_output *output) {
    struct encode_options options = output->encode;
    options.format = job_output_type(job, output);
    return options;
}

static inline bool job_encodes_apart(const struct job *job) {
    bool apart = false;
    for (int o = 0; o < job_output_count(job); o++) apart |= job->outputs[o].apart;
    return apart;
}

/* The run that JOB has now is a cell's. */
static inline bool job_is_in_cell(const struct job *job) {
    return job->run == RUN_DECODE || job->run == RUN_ENCODE;
}

/* The run that JOB has now takes pixels that a cell has left. */
static inline bool job_takes_pixels(const struct job *job) {
    return job->decodes_apart && job->run != RUN_ENGINE;
}

/* Bit P is set if place P, an enum codec_place, encoded one of the results. */
static inline unsigned job_encoders(const struct job *job) {
    unsigned places = 0;
    for (int o = 0; o < job_output_count(job); o++)
        if (job->outputs[o].encoded_by < CODEC_PLACES) places |= 1U << job->outputs[o].encoded_by;
    return places;
}

/* Milliseconds of a core or of a GPU that the job took: its part of what a batch took together.
 * Cores decode and encode each image of a batch alone. */
static inline double job_device_ms(const struct job *job) {
    const bool decodes = job->decoded_by == CODEC_DEVICE;
    const bool encodes = job_encoders(job) >> CODEC_DEVICE & 1;
    const uint32_t batch = job->batch > 1 ? job->batch : 1;
    double ms = 0;
    for (int s = STAGE_DECODE; s <= STAGE_ENCODE; s++) {
        const bool alone = (s == STAGE_DECODE && !decodes) || (s == STAGE_ENCODE && !encodes);
        ms += job->timing.stage_ms[s] / (alone ? 1 : batch);
    }
    return job->cpu_ms > 0 ? job->cpu_ms : ms;
}

/* The pixels that come and go: of the upload's images and of the results. */
static inline uint64_t job_pixels(const struct job *job) {
    uint64_t pixels = image_pixels(&job->probe.shape);
    for (int i = 0; i < OP_AUX_MAX; i++)
        if (job->aux[i].length) pixels += image_pixels(&job->aux[i].probe.shape);
    for (int o = 0; o < job_output_count(job) && !job->json_only; o++)
        pixels += image_pixels(&job->outputs[o].image);
    return job->probe.frames ? pixels * job->probe.frames : pixels;
}

/* The end of upload, values, results and what runs leave for others in the slot's bytes: what lies
 * behind was never written. */
static inline uint64_t job_bytes_end(const struct job *job) {
    uint64_t answer = job->values_offset + job->values_length;
    const uint64_t profile_end = job->profile_offset + job->profile_length;
    if (profile_end > answer) answer = profile_end;
    for (int o = 0; o < job_output_count(job); o++) {
        const uint64_t end = job->outputs[o].offset + job->outputs[o].length;
        if (end > answer) answer = end;
    }
    const uint64_t upload =
        job->written_length > job->body_length ? job->written_length : job->body_length;
    return answer > upload ? answer : upload;
}

#endif
