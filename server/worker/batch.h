// SPDX-License-Identifier: Apache-2.0
/* batch.h - jobs that run together on a lane, from their slots to their answers.
 *
 *     batch_begin(executor, again, ...)   answers what is cancelled or late
 *     batch_gather(batch, slots, count)   takes what may run together, and decides who decodes and
 *                                         encodes each
 *     ... run_reserve_tree(batch->tree) ...
 *     batch_decode(batch)                 what the cores decode
 *     ... run_batch_tree(batch->tree) ...
 *     batch_answer(batch)                 what the cores encode, and the answers
 *
 * Used by:  executor.c.
 * Owns:     the profiles of its items, until they are answered or batch_release().
 * Fails:    a job's own failure is written into the job and answered.
 * Threads:  the lane's, which shares the cores' part out over the executor's pool.
 * Limits:   RUN_BATCH_MAX jobs, each counted with the branches of its plan.
 */
#ifndef BURIN_BATCH_H
#define BURIN_BATCH_H

#include "server/jobs/codec_choice.h"
#include "server/worker/executor.h"

struct item {
    int slot;
    struct job *job;            /* begun */
    uint8_t *bytes;             /* the slot's */
    struct codec_choice choice; /* and what stands beside the pixels in the file */
    bool failed;                /* its answer is a failure; its pixels are blank */
};

/* Of several to run the same job. */
struct attempt {
    const struct device_codec *codec; /* NULL: the cores do what it would have done */
    enum codec_place cores;           /* then, why */
    bool again;                       /* in this worker: its time in the queue is known */
};

struct batch {
    const struct executor *executor;
    struct attempt attempt;
    struct plan_tree plans;
    int count;
    struct item items[RUN_BATCH_MAX];
    struct run_item run_items[RUN_BATCH_MAX];  /* the trunk's first: see batch_run_item */
    struct run_tree tree;                      /* of these */
    int chosen[RUN_BATCH_MAX];                 /* items that cores work on now */
    int refused[RUN_BATCH_MAX], refused_count; /* slots: by the device's codec */
};

/* How many jobs there is room for. */
static inline int batch_room(const struct batch *batch) {
    return RUN_BATCH_MAX / batch->plans.count;
}

/* Of job NUMBER, what goes through the steps of PART. */
static inline struct run_item *batch_run_item(struct batch *batch, int part, int number) {
    return &batch->run_items[part * batch_room(batch) + number];
}

/* Whose image is the result of PART: where its steps make none, it is the trunk's. */
static inline int batch_image_part(const struct batch *batch, int part) {
    const bool makes = part < batch->plans.count && run_last_maker(&batch->plans.parts[part]) >= 0;
    return makes ? part : 0;
}

/* Begins the jobs of SLOTS anew. Those that are cancelled or past their deadline are answered, so
 * that they take no part of a batch; the others close up. Returns how many they are. AGAIN: as
 * struct attempt has it. */
int batch_begin(const struct executor *executor, bool again, int *slots, int count);

/* The first of SLOTS and those like it, as many as the lane holds; the rest closes up. Returns how
 * many they are. The batch has executor, attempt and plans, and no items. */
int batch_gather(struct batch *batch, int *slots, int count);

/* Returns whether there is anything to run for. */
bool batch_decode(struct batch *batch);

/* Those that the device encoded first. What its codec refused is not answered but listed. */
void batch_answer(struct batch *batch);

/* Answers all with their own failure, or with FAILURE. */
void batch_refuse(struct batch *batch, const struct failure *failure);

/* Nothing is answered: the jobs are to run again. */
void batch_release(struct batch *batch);

/* ---- between the files of the batch */

/* STATUS_CANCELLED and STATUS_DEADLINE are the job's failure. */
enum status batch_check_progress(struct job *job);

/* Whether a codec that was refused memory may find some now: then the job has not failed. */
bool batch_reclaims(struct job *job);

/* The slot is the front's again. */
void batch_answer_item(const struct executor *executor, struct item *item);

#endif
