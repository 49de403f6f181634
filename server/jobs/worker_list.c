// SPDX-License-Identifier: Apache-2.0
/* Which workers there are to be: `devices` of the configuration, against what the machine has. */
#include "config/devices.h"
#include "server/jobs/process.h"
#include "server/jobs/worker_handle.h"

#include <stdio.h>

/* The CPU's worker is the last: one is kept for it. */
static void add_gpu(struct worker_handle *workers, int *count, int number) {
    char device[DEVICE_WANT_MAX];
    if (*count == WORKERS_MAX - 1) return;
    snprintf(device, sizeof device, "cuda:%d", number);
    worker_handle_init(&workers[(*count)++], device);
}

static enum status add_named(struct worker_handle *workers, int *count,
                             const struct devices *devices, int gpus, struct failure *failure) {
    for (int i = 0; i < devices->count; i++) {
        if (devices->gpus[i] >= gpus)
            return fail(failure, STATUS_BAD_PARAM,
                        "devices names \"cuda:%ld\", but there are %d GPUs here; name them cuda:0 "
                        "and so on, or say all or cpu",
                        devices->gpus[i], gpus);
        add_gpu(workers, count, (int)devices->gpus[i]);
    }
    return STATUS_OK;
}

enum status worker_list_make(struct worker_handle *workers, int *count, const char *text,
                             struct failure *failure) {
    struct devices devices;
    *count = 0;
    if (!devices_read(text, &devices))
        return fail(failure, STATUS_BAD_PARAM, "devices is \"%.80s\", no list of cpu and cuda:N",
                    text);
    const int gpus = devices.all || devices.count ? process_count_gpus() : 0;
    for (int i = 0; devices.all && i < gpus; i++) add_gpu(workers, count, i);
    const enum status status = add_named(workers, count, &devices, gpus, failure);
    worker_handle_init(&workers[(*count)++], "cpu");
    return status;
}
