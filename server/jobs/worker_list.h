// SPDX-License-Identifier: Apache-2.0
/* worker_list.h - which workers there are to be: the key `devices`, against what the machine has.
 *
 * The GPUs that are named, or all, and then the CPU, always and last: it stands by for jobs that
 * ask for it, and for all jobs while no GPU is healthy, whether `devices` names it or not.
 *
 * Where there are users' operators, each device has a second worker for them, behind all the first.
 *
 * Used by:  supervisor.c.
 * Fails:    STATUS_BAD_PARAM when a GPU is named that the machine does not have; STATUS_INTERNAL
 *           when the GPUs are not counted in time, as where a driver hangs.
 * Limits:   WORKER_DEVICES_MAX; further GPUs are left out.
 */
#ifndef BURIN_WORKER_LIST_H
#define BURIN_WORKER_LIST_H

#include "server/jobs/worker_handle.h"

enum {
    WORKER_DEVICES_MAX = 17,
    WORKERS_MAX = 2 * WORKER_DEVICES_MAX
}; /* 16 GPUs and the CPU, twice */

struct worker_list {
    struct worker_handle all[WORKERS_MAX];
    int count;
};

/* TEXT as config/devices.h reads it. Asks a process of its own how many GPUs there are, and gives
 * it COUNT_MS. */
enum status worker_list_make(struct worker_list *list, const char *text, long count_ms,
                             struct failure *failure);

/* For each device of LIST a worker for users' operators. */
void worker_list_add_operators(struct worker_list *list);

#endif
