// SPDX-License-Identifier: Apache-2.0
/* job.h - what travels between front and worker: the request on the way in, the answer on the way
 * out.
 *
 * Lies at the head of a slot, in memory that both processes see, so it holds no pointer. The front
 * has one of its own for each slot and believes that alone: it writes a copy for the worker, and
 * takes the answer once it is checked (answer.h).
 *
 * Used by:  server/http fills and answers it; supervisor.c queues it; executor.c runs it.
 * Owns:     nothing; the slot that it lies in belongs to the request until slot_give.
 * Threads:  one at a time. The front writes the first part before the worker is sent it, the worker
 *           the second before it sends the completion. Only `progress`, `received`, `started`,
 *           `lane` and `finished_ns` are touched while the other side may look: they are atomic.
 */
#ifndef BURIN_JOB_H
#define BURIN_JOB_H

#include "pipeline/codec.h"
#include "pipeline/image.h"
#include "pipeline/plan_tree.h"
#include "pipeline/probe.h"
#include "pipeline/progress.h"
#include "pipeline/status.h"
#include "pipeline/timing.h"
#include "server/client.h"
#include "server/dispatch/cost.h"

#include <stdint.h>
#include <string.h>

enum { REQUEST_ID_MAX = 64, DEVICE_NAME_MAX = 64, DEVICE_WANT_MAX = 24, OUTPUTS_MAX = 32 };

/* Who decoded or encoded a job's image: the GPU, or the cores, and why they. */
enum codec_place {
    CODEC_NOBODY,  /* nothing was encoded, or the device has no codec */
    CODEC_DEVICE,  /* the GPU */
    CODEC_FORMAT,  /* not a JPEG */
    CODEC_KIND,    /* a JPEG of another kind than its codec takes, or another image */
    CODEC_PROFILE, /* known only when decoded, or too long */
    CODEC_ROOM,    /* the slot has no room for what may come */
    CODEC_REFUSED, /* the GPU's codec gave it back: damage, or a file too large for its room */
    CODEC_FAILED,  /* the GPU could not run the batch */
    CODEC_PLACES
};

/* A further image of the upload, in the slot's bytes. */
struct job_aux {
    uint64_t offset, length; /* length 0: not given */
    struct probe probe;
};

/* One result of a job. */
struct job_output {
    /* ---- asked for by the front */
    struct encode_options encode; /* format FORMAT_NONE: codec_result_format() */
    int32_t part;                 /* of the plan, whose image it is: 0, the trunk */

    /* ---- answered by the worker */
    struct image image; /* shape alone */
    enum format type;
    uint8_t encoded_by;      /* enum codec_place */
    uint32_t notes;          /* of its encoding */
    struct fitting fitting;  /* where max_bytes is given */
    uint64_t offset, length; /* in the slot's bytes */
    uint32_t checksum;       /* CRC-32 of these, if checksums are wanted */
    double compute_ms;       /* of its part's steps; below 0: not known */
    double encode_ms;        /* likewise; of what a GPU encoded it is not */
};

struct job {
    /* ---- the request: written by the front */
    char request_id[REQUEST_ID_MAX];
    struct plan_data plan;
    char device[DEVICE_WANT_MAX];        /* auto, cpu, cuda, cuda:N */
    struct client client;                /* to whom the queue is fair: client_unit */
    struct probe probe;                  /* of the image's header, within the limits */
    uint64_t image_offset, image_length; /* in the slot's bytes */
    uint64_t body_length;                /* bytes of the slot in use by the upload's images */
    uint64_t written_length;             /* bytes of the slot that the front wrote, if more */
    struct job_aux aux[OP_AUX_MAX];      /* of plan_aux_step's operator */
    bool accept_damage;                  /* of a damaged image, what can be had (codec.h) */
    int32_t json_only;     /* the client wants the account alone: nothing is encoded */
    bool checksums;        /* of its results */
    uint32_t further;      /* outputs beside the first */
    uint32_t value_count;  /* numbers that the plan's steps tell of this image */
    uint32_t generation;   /* some step is a user's, of that generation: for the workers of those,
                               and no other; 0: none is */
    struct cost_work work; /* for the prediction of its time */
    int64_t submitted_ns;
    int32_t io_thread;   /* whose completion pipe it comes back through */
    uint32_t run_number; /* of this run of this slot, sent back with it: tells late news apart */
    double predicted_ms; /* on the worker that has it; by the dispatcher, as duration */
    int32_t duration;    /* there: enum job_duration (forecast.h) */
    int32_t own_batch;   /* its operators take long: nobody waits for them in the same batch */
    struct progress progress; /* deadline and cancel by the front, done and total by the worker */

    /* ---- the answer: written by the worker */
    uint32_t received; /* its run_number, once the worker has the message of that run */
    int32_t started;   /* a lane has taken it: if the worker dies now, this job may be why */
    int32_t lane;      /* the thread that does all of it; 0: it waits for a GPU or other threads */
    int32_t deaths;    /* workers that died with it, and maybe of it; kept by the front */
    int32_t lost_runs; /* likewise, of whatever: their writes may be anywhere in the slot */
    struct failure failure;
    uint64_t values_offset, values_length; /* likewise: values_json_write()'s; length 0: none */
    uint32_t batch; /* jobs that ran together, itself among them: its times are theirs */
    uint32_t notes;
    char warning[WARNING_MAX]; /* with NOTE_DAMAGED */
    int64_t finished_ns;
    double cpu_ms; /* of the lane's thread, where it does all the work: on a CPU; else 0 */
    char device_name[DEVICE_NAME_MAX];
    uint8_t decoded_by;   /* enum codec_place */
    struct timing timing; /* queue, decode... encode; receive and total by the front */

    struct job_output outputs[OUTPUTS_MAX];
};

/* Whether one launch can do both: the same plan over the same kind of samples. */
static inline bool job_is_alike(const struct job *a, const struct job *b) {
    const struct image *one = &a->probe.shape, *other = &b->probe.shape;
    return one->channels == other->channels && one->depth == other->depth &&
           plan_data_is_same(&a->plan, &b->plan);
}

static inline enum format job_output_type(const struct job *job, const struct job_output *output) {
    return output->encode.format ? output->encode.format
                                 : codec_result_format(&job->probe, &output->image);
}

static inline int job_output_count(const struct job *job) {
    return job->further < OUTPUTS_MAX ? 1 + (int)job->further : OUTPUTS_MAX;
}

/* Who encoded its results: bit P for place P. */
static inline unsigned job_encoders(const struct job *job) {
    unsigned places = 0;
    for (int o = 0; o < job_output_count(job); o++)
        if (job->outputs[o].encoded_by < CODEC_PLACES) places |= 1U << job->outputs[o].encoded_by;
    return places;
}

/* Where the last of the upload, the values and the result ends in the slot's bytes: what lies
 * behind was never written. */
static inline uint64_t job_bytes_end(const struct job *job) {
    uint64_t answer = job->values_offset + job->values_length;
    for (int o = 0; o < job_output_count(job); o++) {
        const uint64_t end = job->outputs[o].offset + job->outputs[o].length;
        if (end > answer) answer = end;
    }
    const uint64_t upload =
        job->written_length > job->body_length ? job->written_length : job->body_length;
    return answer > upload ? answer : upload;
}

#endif
