// SPDX-License-Identifier: Apache-2.0
#include "server/worker/preparation.h"

#include "pipeline/builtin_ops.h"
#include "pipeline/registry.h"
#include "server/log/log.h"

#include <errno.h>
#include <time.h>

/* Kinds of images, in the order in which operators are compiled for them; the first COMMON are the
 * common ones. */
static const struct shape {
    int depth, channels;
} shapes[] = {
    { 8, 3 }, { 8, 1 }, { 16, 3 }, { 16, 1 }, { 8, 4 }, { 16, 4 }, { 8, 2 }, { 16, 2 },
};
enum { SHAPES = sizeof shapes / sizeof *shapes, COMMON = 4 };

/* False: stopped, or this device prepares no operator. */
static bool prepare_all(struct preparation *preparation, struct shape shape,
                        bool failed[REGISTRY_ADDED_MAX]) {
    struct lane *lane = preparation->lane;
    const int first = builtin_op_count(), count = registry_count();
    for (int i = first; i < count; i++) {
        struct failure failure = { 0 };
        if (__atomic_load_n(&preparation->stop, __ATOMIC_RELAXED)) return false;
        if (failed[i - first]) continue;
        const enum status status =
            lane->driver->prepare(lane, registry_at(i), shape.depth, shape.channels, &failure);
        if (status) log_event(LOG_ERROR, "preparation_failed", "worker: %s", failure.message);
        if (status && status != STATUS_INTERNAL) return false;
        failed[i - first] = status != STATUS_OK;
    }
    return true;
}

static void *preparation_main(void *argument) {
    struct preparation *preparation = argument;
    bool failed[REGISTRY_ADDED_MAX] = { false }, going = true;
    for (int i = 0; i < SHAPES && going; i++) {
        if (i == COMMON) sem_post(&preparation->common);
        going = prepare_all(preparation, shapes[i], failed);
    }
    if (!going) sem_post(&preparation->common);
    return NULL;
}

void preparation_start(struct preparation *preparation, struct lane *lane, int wait_ms) {
    struct timespec until;
    preparation->lane = lane;
    sem_init(&preparation->common, 0, 0);
    preparation->started =
        pthread_create(&preparation->thread, NULL, preparation_main, preparation) == 0;
    if (!preparation->started) return;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait_ms / 1000;
    until.tv_nsec += wait_ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    while (sem_clockwait(&preparation->common, CLOCK_MONOTONIC, &until) != 0 && errno == EINTR)
        continue;
}

void preparation_join(struct preparation *preparation) {
    if (!preparation->started) return;
    __atomic_store_n(&preparation->stop, 1, __ATOMIC_RELAXED);
    pthread_join(preparation->thread, NULL);
    sem_destroy(&preparation->common);
    preparation->started = false;
}
