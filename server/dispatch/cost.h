// SPDX-License-Identifier: Apache-2.0
/* cost.h - predicts how many milliseconds a job takes on a worker, and learns from what jobs took.
 *
 * A job's work is a list of amounts: files, megabytes of files and of pixels, passes of operators
 * over them. A worker's cost has a coefficient for each kind of amount; the prediction is their sum
 * of products, for the job alone on one lane. Coefficients begin at measured defaults.
 *
 * Used by:  http/handle_process.c describes a job's work; dispatcher.c predicts and learns.
 * Owns:     nothing; plain data.
 * Fails:    never: what makes no sense, from a worker that went wild, is not learned.
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

/* What is measured on its own, and so learned on its own. */
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
    /* Terms of the same row are one: 32 outputs may have steps of every operator, and results of
     * every kind. */
    COST_TERMS_MAX = COST_ROWS
};

/* The first row of a decoder and of an encoder; KIND is an index into a record's costs. */
#define COST_DECODE_ROW(format, kind)                                                              \
    (COST_DECODE_WIDTH * (((format)-1) * FORMAT_DECODE_KINDS + (kind)))
#define COST_ENCODE_ROW(format, kind)                                                              \
    (COST_ENCODE_ROWS + COST_ENCODE_WIDTH * (((format)-1) * FORMAT_ENCODE_KINDS + (kind)))

/* How long a job takes on the worker that has it. Lanes of a CPU are apart by this: forecast.h. */
enum job_duration { JOB_SHORT, JOB_MEDIUM, JOB_LONG, JOB_DURATIONS };

/* Amounts of which a job's time is made. All zero: nothing is known of it. */
struct cost_work {
    uint32_t count;
    struct cost_term {
        uint16_t row;   /* of the coefficients */
        uint16_t stage; /* enum cost_stage */
        float amount;
    } terms[COST_TERMS_MAX];
};

/* One file to be decoded. */
void cost_work_add_file(struct cost_work *work, const struct probe *probe, uint64_t file_bytes);

/* The steps of PLAN; SHAPES is plan_shapes'. */
void cost_work_add_plan(struct cost_work *work, const struct plan *plan,
                        const struct image *shapes);

/* The same of steps that are a further part of the same plan. SERVED: the first has what branches
 * have in common, and goes through the pixels once. */
void cost_work_add_steps(struct cost_work *work, const struct plan *plan,
                         const struct image *shapes, bool served);

/* What branches that begin with IN have in common. */
void cost_work_add_common(struct cost_work *work, const struct plan_common *common,
                          const struct image *in);

/* The result's encoding; OPTIONS have its format. */
void cost_work_add_result(struct cost_work *work, const struct image *result,
                          const struct encode_options *options);

/* The coefficients of one worker, and how good they have been. */
struct cost {
    float rows[COST_ROWS], defaults[COST_ROWS]; /* ms for each unit of amount */
    uint8_t seen[COST_ROWS];                    /* observations, as far as they are counted */
    double mean_ms;                             /* of the jobs of late; 0 before the first */
    /* Over all jobs that came back whole. */
    double predicted_ms, actual_ms, error_ms; /* error: the differences' absolute values */
};

void cost_init(struct cost *cost, bool cpu);

/* Milliseconds of the job alone on a lane. */
double cost_predict(const struct cost *cost, const struct cost_work *work);

/* What of that are its operators'. */
double cost_predict_compute(const struct cost *cost, const struct cost_work *work);

/* What of that cores do even where a GPU runs the plan: of files that it neither decodes nor
 * encodes. COST is a CPU's. */
double cost_predict_cores(const struct cost *cost, const struct cost_work *work);

/* A job took TOTAL_MS, of which TIMING tells the stages, PREDICTED_MS had been told, and BATCH jobs
 * ran together: its times are theirs, but for those of OWN_STAGES, bit s for stage s. */
void cost_learn(struct cost *cost, const struct cost_work *work, const struct timing *timing,
                double total_ms, double predicted_ms, uint32_t batch, unsigned own_stages);

/* A job was not done after LEAST_MS, most of which STAGE had. If less was predicted, that stage is
 * taken to take longer: the next such job is predicted better, and may be refused at once. */
void cost_learn_least(struct cost *cost, const struct cost_work *work, enum cost_stage stage,
                      double least_ms);

/* Half of what was learned: of a worker that is chosen no more nothing would be learned that could
 * correct it. */
void cost_fade(struct cost *cost);

#endif
