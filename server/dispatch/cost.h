// SPDX-License-Identifier: Apache-2.0
/* cost.h - predicts how many milliseconds a job takes on a worker, and learns from what jobs took.
 *
 * A job's work is a list of amounts: files, megabytes of files and of pixels, passes of operators
 * over them. A worker's cost has a coefficient for each kind of amount; the prediction, for the job
 * alone on one lane, is the sum of the products. Coefficients begin at measured defaults.
 *
 * Used by:  request/submit.c describes a job's work; dispatcher.c predicts and learns.
 * Owns:     nothing; plain data.
 * Fails:    never: impossible values, from a broken worker, are not learned.
 * Threads:  one at a time; a dispatcher's are under the supervisor's lock.
 * Limits:   a coefficient stays within COST_RANGE times its default, either way. Users' operators
 *           share COST_USER_OPS coefficients by a hash of their names.
 */
#ifndef BURIN_COST_H
#define BURIN_COST_H

#include "pipeline/encode_options.h"
#include "pipeline/plan_tree.h"
#include "pipeline/probe.h"
#include "pipeline/timing.h"

#include <stdbool.h>
#include <stdint.h>

/* Parts of a job that are measured, and so learned, separately. */
enum cost_stage {
    COST_DECODE,
    COST_COMPUTE,
    COST_ENCODE,
    COST_REST, /* copies to and from a GPU, messages */
    COST_STAGES
};

enum {
    COST_BUILTIN_OPS = 48,
    COST_USER_OPS = 16,
    /* Rows, with coefficients: of each kind of file that a format's record distinguishes, for its
     * decoder a file, a megabyte of the file, a megabyte of pixels; for its encoder a file and a
     * megabyte of pixels. Then two for the rest, and two for each operator: a pass, a megabyte. */
    COST_DECODE_WIDTH = 3,
    COST_ENCODE_WIDTH = 2,
    COST_ENCODE_ROWS = (FORMAT_COUNT - 1) * FORMAT_DECODE_KINDS * COST_DECODE_WIDTH,
    COST_REST_ROWS =
        COST_ENCODE_ROWS + (FORMAT_COUNT - 1) * FORMAT_ENCODE_KINDS * COST_ENCODE_WIDTH,
    COST_OP_ROWS = COST_REST_ROWS + 2,
    COST_ROWS = COST_OP_ROWS + 2 * (COST_BUILTIN_OPS + COST_USER_OPS),
    COST_RANGE = 10000,
    /* A row has one term: 32 outputs may have steps of all operators and results of all kinds. */
    COST_TERMS_MAX = COST_ROWS
};

/* The first row of a decoder and of an encoder; KIND is an index into a record's costs. */
#define COST_DECODE_ROW(format, kind)                                                              \
    (COST_DECODE_WIDTH * (((format)-1) * FORMAT_DECODE_KINDS + (kind)))
#define COST_ENCODE_ROW(format, kind)                                                              \
    (COST_ENCODE_ROWS + COST_ENCODE_WIDTH * (((format)-1) * FORMAT_ENCODE_KINDS + (kind)))

/* How long a job takes on its worker; forecast.h keeps lanes of a CPU for each. JOB_ENGINE: however
 * long, the job waits for a GPU's video engines. */
enum job_duration { JOB_SHORT, JOB_MEDIUM, JOB_LONG, JOB_DURATIONS, JOB_ENGINE = JOB_DURATIONS };

/* Amounts that make up a job's time. All zero: unknown. */
struct cost_work {
    uint32_t count;
    struct cost_term {
        uint16_t row;   /* of the coefficients */
        uint16_t stage; /* enum cost_stage */
        float amount;
    } terms[COST_TERMS_MAX];
};

/* Adds the decoding of one file. */
void cost_work_add_file(struct cost_work *work, const struct probe *probe, uint64_t file_bytes);

/* Adds the steps of PLAN and what each job takes besides; SHAPES is from plan_shapes. */
void cost_work_add_plan(struct cost_work *work, const struct plan *plan,
                        const struct image *shapes);

/* Adds the steps alone, for a further part of the same plan. SERVED: the first step uses the common
 * call of its branches, and goes through the pixels once. */
void cost_work_add_steps(struct cost_work *work, const struct plan *plan,
                         const struct image *shapes, bool served);

/* Adds the work that PLAN has with the further image at PLACE. */
void cost_work_add_aux(struct cost_work *work, const struct plan *plan, const struct image *shapes,
                       int place);

/* Adds the common call of branches that begin with IN. */
void cost_work_add_common(struct cost_work *work, const struct plan_common *common,
                          const struct image *in);

/* Adds the encoding of a result; OPTIONS have its format. */
void cost_work_add_result(struct cost_work *work, const struct image *result,
                          const struct encode_options *options);

/* The coefficients of one worker, and their error so far. */
struct cost {
    float rows[COST_ROWS], defaults[COST_ROWS]; /* ms for each unit of amount */
    uint8_t seen[COST_ROWS];                    /* observations; counted up to 6 */
    double mean_ms;                             /* of recent jobs; 0 before the first */
    /* Sums over all finished jobs; the error is the absolute difference. */
    double predicted_ms, actual_ms, error_ms;
};

void cost_init(struct cost *cost, bool cpu);

/* Milliseconds of the job alone on a lane. */
double cost_predict(const struct cost *cost, const struct cost_work *work);

/* The part of STAGE of it. */
double cost_predict_stage(const struct cost *cost, const struct cost_work *work,
                          enum cost_stage stage);

/* The part of it that cores do even if a GPU runs the plan: files that the GPU neither decodes nor
 * encodes. COST is a CPU's. */
double cost_predict_cores(const struct cost *cost, const struct cost_work *work);

/* Learns from a job that took TOTAL_MS, with the stages of TIMING, and was predicted to take
 * PREDICTED_MS. BATCH jobs ran together and share its times, but OWN_STAGES (bit s: stage s). */
void cost_learn(struct cost *cost, const struct cost_work *work, const struct timing *timing,
                double total_ms, double predicted_ms, uint32_t batch, unsigned own_stages);

/* Learns from a job that was not done after LEAST_MS, most of it in STAGE. If less was predicted,
 * the stage is predicted to take longer, so that the next such job may be refused at once. */
void cost_learn_least(struct cost *cost, const struct cost_work *work, enum cost_stage stage,
                      double least_ms);

/* Forgets half of what was learned: a worker that is no longer chosen could not correct it. */
void cost_fade(struct cost *cost);

#endif
