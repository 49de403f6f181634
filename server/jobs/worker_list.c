// SPDX-License-Identifier: Apache-2.0
#include "server/jobs/worker_list.h"

#include "config/devices.h"
#include "server/jobs/process.h"

#include <stdio.h>

/* The last place is kept for the CPU. */
static void add_gpu(struct worker_list *list, int number) {
    char device[DEVICE_WANT_MAX];
    if (list->count == WORKER_DEVICES_MAX - 1) return;
    snprintf(device, sizeof device, "cuda:%d", number);
    worker_handle_init(&list->all[list->count++], device, false);
}

static enum status add_named(struct worker_list *list, const struct devices *devices, int gpus,
                             struct failure *failure) {
    for (int i = 0; i < devices->count; i++) {
        if (devices->gpus[i] >= gpus)
            return fail(failure, STATUS_BAD_PARAM,
                        "devices names \"cuda:%ld\", but there are %d GPUs here; name them cuda:0 "
                        "and so on, or say all or cpu",
                        devices->gpus[i], gpus);
        add_gpu(list, (int)devices->gpus[i]);
    }
    return STATUS_OK;
}

enum status worker_list_make(struct worker_list *list, const char *text, long count_ms,
                             struct failure *failure) {
    struct devices devices;
    list->count = 0;
    if (!devices_read(text, &devices))
        return fail(failure, STATUS_BAD_PARAM,
                    "devices is \"%.80s\", which is not a list of cpu and cuda:N", text);
    const int gpus = devices.all || devices.count ? process_count_gpus((int)count_ms) : 0;
    if (gpus < 0)
        return fail(failure, STATUS_INTERNAL,
                    "the GPUs were not counted within worker_start_ms, %ld ms: their driver hangs; "
                    "devices=cpu does without them",
                    count_ms);
    for (int i = 0; devices.all && i < gpus; i++) add_gpu(list, i);
    const enum status status = add_named(list, &devices, gpus, failure);
    worker_handle_init(&list->all[list->count++], "cpu", false);
    return status;
}

void worker_list_add_operators(struct worker_list *list) {
    const int devices = list->count;
    for (int i = 0; i < devices; i++)
        worker_handle_init(&list->all[list->count++], list->all[i].device, true);
}
