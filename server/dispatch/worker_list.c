// SPDX-License-Identifier: Apache-2.0
/* How it works. Workers are found by their places: devices first, then the banks of users'
 * operators, then the cells. A cell that runs no job counts as one that will take the next, so
 * those that are idle or being started are wanted before a further one. */
#include "server/dispatch/worker_list.h"

#include "config/devices.h"

#include <stdio.h>

/* The last entry is kept for the CPU. */
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

static enum status count_gpus(const struct process_limits *limits, int *gpus,
                              struct failure *failure) {
    struct failure why = { 0 };
    switch (process_count_gpus(limits, gpus, &why)) {
    case STATUS_OK: return STATUS_OK;
    case STATUS_CANCELLED: return fail(failure, STATUS_CANCELLED, "%s", why.message);
    case STATUS_DEADLINE:
        return fail(failure, STATUS_INTERNAL,
                    "the GPUs were not counted within worker_start_ms, %d ms: their driver hangs; "
                    "devices=cpu does without them",
                    limits->timeout_ms);
    default:
        return fail(failure, STATUS_INTERNAL,
                    "the GPUs were not counted: %.100s; devices=cpu does without them",
                    why.message);
    }
}

enum status worker_list_make(struct worker_list *list, const char *text,
                             const struct process_limits *limits, struct failure *failure) {
    struct devices devices;
    int gpus = 0;
    list->count = list->devices = 0;
    if (!devices_read(text, &devices))
        return fail(failure, STATUS_BAD_PARAM,
                    "devices is \"%.80s\", which is not a list of cpu and cuda:N", text);
    if ((devices.all || devices.count) && count_gpus(limits, &gpus, failure))
        return failure->status;
    for (int i = 0; devices.all && i < gpus; i++) add_gpu(list, i);
    const enum status status = add_named(list, &devices, gpus, failure);
    worker_handle_init(&list->all[list->count++], "cpu", false);
    return status;
}

enum status worker_list_check(struct worker_list *list, const struct job *job, int64_t patience_ns,
                              struct failure *failure) {
    const int64_t now = clock_ns();
    bool served = false, hope = false;
    if (job_is_in_cell(job)) worker_list_want_cells(list, 1);
    for (int i = 0; i < list->count; i++) {
        if (!worker_handle_serves(&list->all[i], job)) continue;
        served = true;
        hope |= !worker_handle_hopeless(&list->all[i], now, patience_ns);
    }
    if (!served)
        return fail(failure, STATUS_BAD_PARAM,
                    "device \"%s\" is not served here; GET /readyz lists those that are",
                    job->device);
    if (hope) return STATUS_OK;
    if (job_is_in_cell(job))
        return fail(failure, STATUS_BUSY,
                    "the processes that read and write some formats are not healthy; try again "
                    "later");
    return fail(failure, STATUS_BUSY, "no worker for %sdevice %s is healthy; try again later",
                job->generation ? "users' operators on " : "", job->device);
}

bool worker_list_has_engine(const struct worker_list *list, const struct job *job) {
    bool any = false;
    for (int i = 0; i < list->count && job->by_engine; i++)
        any |= worker_handle_healthy(&list->all[i]) && worker_handle_has_engine(&list->all[i], job);
    return any;
}

void worker_list_add_operators(struct worker_list *list) {
    list->devices = list->count;
    for (int i = 0; i < WORKER_BANKS * list->devices; i++) {
        struct worker_handle *worker = &list->all[list->count++];
        worker_handle_init(worker, list->all[i % list->devices].device, true);
        worker->wanted = false;
    }
}

void worker_list_add_cells(struct worker_list *list, int count) {
    for (int i = 0; i < count && i < WORKER_CELLS_MAX; i++)
        worker_handle_init_cell(&list->all[list->count++]);
}

int worker_list_cells(const struct worker_list *list) {
    int cells = 0;
    for (int i = 0; i < list->count; i++) cells += list->all[i].decodes;
    return cells;
}

void worker_list_want_cells(struct worker_list *list, int jobs) {
    for (int i = 0; i < list->count && jobs > 0; i++) {
        const struct worker_handle *worker = &list->all[i];
        if (!worker->decodes || (worker->pid && worker->running)) continue;
        worker_handle_want(&list->all[i]);
        jobs--;
    }
}

struct worker_handle *worker_list_bank(struct worker_list *list, int bank) {
    return &list->all[(1 + bank) * list->devices];
}

bool worker_list_can_follow(const struct worker_list *list, const struct worker_handle *next,
                            const struct worker_handle *now) {
    bool all = true, any = false;
    for (int i = 0; i < list->devices; i++) {
        const bool healthy = worker_handle_healthy(&next[i]);
        all = all && (healthy || !worker_handle_healthy(&now[i]));
        any = any || healthy;
    }
    return all && any;
}

int worker_list_abreast(const struct worker_list *list) {
    int abreast = 0;
    for (int i = 0; i < list->count; i++)
        if (worker_handle_healthy(&list->all[i])) abreast += list->all[i].capacity / 2;
    return abreast;
}

bool worker_list_gpu_works(const struct worker_list *list) {
    for (int i = 0; i < list->count; i++)
        if (!list->all[i].cpu && !list->all[i].operators && list->all[i].running) return true;
    return false;
}

struct worker_handle *worker_list_next_kill(struct worker_list *list) {
    for (int i = 0; i < list->count; i++)
        if (list->all[i].pid && list->all[i].kill_due) return &list->all[i];
    return NULL;
}

struct worker_handle *worker_list_next_start(struct worker_list *list, int64_t now) {
    struct worker_handle *due = NULL;
    for (int i = 0; i < list->count; i++) {
        struct worker_handle *worker = &list->all[i];
        if (worker->wanted && !worker->pid && worker->restart_ns <= now &&
            (!due || worker->restart_ns < due->restart_ns))
            due = worker;
    }
    return due;
}
