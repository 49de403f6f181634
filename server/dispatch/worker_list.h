// SPDX-License-Identifier: Apache-2.0
/* worker_list.h - the list of workers: made from the key `devices` and the GPUs of the machine.
 *
 * First the GPUs, those named or all; last the CPU, whether `devices` names it or not. The CPU's
 * worker takes jobs that ask for it and jobs that it is predicted to answer before the GPUs.
 *
 * With users' operators, each device has two further workers for them, behind all the others: the
 * bank of one generation and the bank of the next. One bank at least is idle most of the time.
 *
 * The last workers of all have a decoding cell each. They have processes only while jobs need them.
 *
 * Used by:  http/front.c makes the list; supervisor.c, dispatcher.c and forecast.c.
 * Owns:     nothing: plain data; the processes are the supervisor's.
 * Fails:    worker_list_make: STATUS_BAD_PARAM if `devices` names a GPU that the machine does not
 *           have, STATUS_INTERNAL if the GPUs are not counted in time, because a driver hangs.
 * Threads:  one at a time; once the supervisor has the list, under the supervisor's lock.
 * Limits:   WORKER_DEVICES_MAX; further GPUs are left out.
 */
#ifndef BURIN_WORKER_LIST_H
#define BURIN_WORKER_LIST_H

#include "server/dispatch/worker_handle.h"
#include "server/process/process.h"

enum {
    WORKER_DEVICES_MAX = 17, /* 16 GPUs and the CPU */
    WORKER_BANKS = 2,        /* for users' operators */
    WORKER_CELLS_MAX = 64,
    WORKERS_MAX = (1 + WORKER_BANKS) * WORKER_DEVICES_MAX + WORKER_CELLS_MAX
};

struct worker_list {
    struct worker_handle all[WORKERS_MAX];
    int count;
    int devices; /* in each bank; 0: there are none */
};

/* TEXT: as config/devices.h reads it. A process of its own counts the GPUs, within LIMITS. */
enum status worker_list_make(struct worker_list *list, const char *text,
                             const struct process_limits *limits, struct failure *failure);

/* Adds the banks for users' operators. None of their workers is wanted yet. */
void worker_list_add_operators(struct worker_list *list);

/* Adds the workers of COUNT decoding cells, behind all others. */
void worker_list_add_cells(struct worker_list *list, int count);

int worker_list_cells(const struct worker_list *list);

/* Wants as many cells without a job as JOBS wait for one. */
void worker_list_want_cells(struct worker_list *list, int jobs);

/* Returns the first of a bank's `devices` workers, which are in the devices' order. */
struct worker_handle *worker_list_bank(struct worker_list *list, int bank);

/* True if a healthy worker may decode JOB's image by a video engine. */
bool worker_list_has_engine(const struct worker_list *list, const struct job *job);

/* STATUS_BAD_PARAM: no worker serves the device that JOB asks for. STATUS_BUSY: no worker that JOB
 * may wait for is healthy or has been within PATIENCE_NS. Updates the workers' ill_since_ns, and
 * wants a cell without a job if JOB needs one. */
enum status worker_list_check(struct worker_list *list, const struct job *job, int64_t patience_ns,
                              struct failure *failure);

/* True if NEXT, a bank, has a healthy worker, and has one on every device on which NOW has one. */
bool worker_list_can_follow(const struct worker_list *list, const struct worker_handle *next,
                            const struct worker_handle *now);

/* Jobs with plans that healthy workers work on at once: half of what they take. */
int worker_list_abreast(const struct worker_list *list);

/* True if some worker of a GPU has a job; workers for users' operators register no slots. */
bool worker_list_gpu_works(const struct worker_list *list);

/* The first worker whose process must be killed; NULL: none. */
struct worker_handle *worker_list_next_kill(struct worker_list *list);

/* The worker whose start has been due for longest; NULL: none is due. */
struct worker_handle *worker_list_next_start(struct worker_list *list, int64_t now);

#endif
