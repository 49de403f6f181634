// SPDX-License-Identifier: Apache-2.0
/* batch.h - jobs that run together on a lane, from their slots to their answers.
 *
 *     batch_begin(executor, again, ...)   answers cancelled and late jobs
 *     batch_gather(batch, slots, count)   takes jobs that may run together, and decides whether
 *                                         device or cores decode and encode each file
 *     ... run_reserve_tree(batch->tree) ...
 *     batch_decode(batch)                 decodes the cores' files
 *     ... run_batch_tree(batch->tree) ...
 *     batch_answer(batch)                 encodes the cores' files, and answers
 *
 * Used by:  executor.c.
 * Owns:     the profiles of its items, until they are answered or batch_release().
 * Fails:    a job's own failure is written into the job and answered.
 * Threads:  the lane's, which spreads the cores' work over the executor's pool.
 * Limits:   RUN_BATCH_MAX jobs, each multiplied by the parts of its plan.
 */
#ifndef BURIN_BATCH_H
#define BURIN_BATCH_H

#include "server/jobs/codec_choice.h"
#include "server/worker/executor.h"

struct item {
    int slot;
    struct job *job;            /* begun */
    uint8_t *bytes;             /* the slot's */
    struct codec_choice choice; /* with the file's metadata */
    bool failed;                /* its answer is a failure; its pixels are blank */
    uint32_t decoded_aux;       /* bit p: its further image at place p is decoded; atomic */
};

/* One of several attempts to run the same job. */
struct attempt {
    const struct device_codec *codec; /* NULL: the cores decode and encode everything */
    enum codec_place cores;           /* the reason, if codec is NULL */
    bool again;                       /* not the first here: its time in the queue is known */
};

struct batch {
    const struct executor *executor;
    struct attempt attempt;
    struct plan_tree plans;
    int count;
    struct item items[RUN_BATCH_MAX];
    struct run_item run_items[RUN_BATCH_MAX];  /* the trunk's first: see batch_run_item */
    struct run_tree tree;                      /* points into plans and run_items */
    int chosen[RUN_BATCH_MAX];                 /* items that cores work on now */
    int refused[RUN_BATCH_MAX], refused_count; /* slots that the device's codec refused */
};

/* The most jobs of one batch. */
static inline int batch_room(const struct batch *batch) {
    return RUN_BATCH_MAX / batch->plans.count;
}

/* The run item of job NUMBER in PART of the plan. */
static inline struct run_item *batch_run_item(struct batch *batch, int part, int number) {
    return &batch->run_items[part * batch_room(batch) + number];
}

/* The part whose image is the result of PART: the trunk, where PART's steps make no image. */
static inline int batch_image_part(const struct batch *batch, int part) {
    const bool makes = part < batch->plans.count && run_last_maker(&batch->plans.parts[part]) >= 0;
    return makes ? part : 0;
}

/* Resets the jobs of SLOTS. Answers those that are cancelled or past their deadline, so that they
 * take no room in a batch; moves the others to the beginning and returns their number. AGAIN: see
 * struct attempt. */
int batch_begin(const struct executor *executor, bool again, int *slots, int count);

/* Takes the first of SLOTS and those like it, as many as the lane holds; moves the others to the
 * beginning and returns their number. The batch has executor, attempt and plans, and no items. */
int batch_gather(struct batch *batch, int *slots, int count);

/* Returns whether there is anything to run for. */
bool batch_decode(struct batch *batch);

/* Answers the jobs, first those whose files the device encoded. Jobs that its codec refused are not
 * answered but listed in `refused`. */
void batch_answer(struct batch *batch);

/* Runs the batch's one job, an animation, from decoding to its answer. On failure the job is not
 * answered, and may run again. */
enum status batch_animate(struct batch *batch, struct lane *lane, struct failure *failure);

/* Writes the values that the steps of job NUMBER report. STATUS_INTERNAL: there is no room. */
enum status batch_write_values(struct batch *batch, int number);

/* The offset of results in the slot: after the values, whose length is only bounded yet. */
uint64_t batch_results_offset(const struct job *job);

/* Answers each job with its own failure, or with FAILURE. */
void batch_refuse(struct batch *batch, const struct failure *failure);

/* Frees the items' profiles without an answer: the jobs will run again. */
void batch_release(struct batch *batch);

/* ---- shared by the files of the batch */

/* STATUS_CANCELLED and STATUS_DEADLINE are written into the job as its failure. */
enum status batch_check_progress(struct job *job);

/* Copies the profile that a cell has left, if it has, for the item's metadata. False: no memory. */
bool batch_take_profile(struct item *item);

/* Whether JOB failed for lack of memory and may find some now: then its failure is cleared. */
bool batch_reclaims(struct job *job);

/* Returns the slot to the front. */
void batch_answer_item(const struct executor *executor, struct item *item);

#endif
