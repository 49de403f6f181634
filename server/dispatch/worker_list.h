// SPDX-License-Identifier: Apache-2.0
/* worker_list.h - which workers there are to be: the key `devices`, against what the machine has.
 *
 * The GPUs that are named, or all, and then the CPU, always and last: it takes jobs that ask for
 * it, and those that it is predicted to answer before the GPUs, whether `devices` names it or not.
 *
 * Where there may be users' operators, each device has two further workers for them, behind all the
 * first: the bank of one generation and that of the next, of which one at least is mostly idle.
 *
 * Used by:  supervisor.c.
 * Fails:    STATUS_BAD_PARAM when a GPU is named that the machine does not have; STATUS_INTERNAL
 *           when the GPUs are not counted in time, as where a driver hangs.
 * Limits:   WORKER_DEVICES_MAX; further GPUs are left out.
 */
#ifndef BURIN_WORKER_LIST_H
#define BURIN_WORKER_LIST_H

#include "server/dispatch/worker_handle.h"
#include "server/process/process.h"

enum {
    WORKER_DEVICES_MAX = 17, /* 16 GPUs and the CPU */
    WORKER_BANKS = 2,        /* for users' operators */
    WORKERS_MAX = (1 + WORKER_BANKS) * WORKER_DEVICES_MAX
};

struct worker_list {
    struct worker_handle all[WORKERS_MAX];
    int count;
    int devices; /* in each bank; 0: there are none */
};

/* TEXT as config/devices.h reads it. Asks a process of its own how many GPUs there are, and gives
 * it COUNT_MS. */
enum status worker_list_make(struct worker_list *list, const char *text,
                             const struct process_limits *limits, struct failure *failure);

/* The banks for users' operators. None of their workers is wanted yet. */
void worker_list_add_operators(struct worker_list *list);

/* Its workers, `devices` of them, in the devices' order. */
struct worker_handle *worker_list_bank(struct worker_list *list, int bank);

/* Each device that has a healthy worker NOW has one in NEXT, a bank, and one has at least. */
bool worker_list_can_follow(const struct worker_list *list, const struct worker_handle *next,
                            const struct worker_handle *now);

/* The first whose process is to be killed; NULL: none is. */
struct worker_handle *worker_list_lost(struct worker_list *list);

/* The worker that has been due to start for longest; NULL: none is due. */
struct worker_handle *worker_list_due(struct worker_list *list, int64_t now);

#endif
