// SPDX-License-Identifier: Apache-2.0
#include "server/watchdog.h"

#include "pipeline/timing.h"
#include "server/log/log.h"

#include <pthread.h>
#include <stdlib.h>

struct watchdog {
    struct watchdog_options options;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop; /* under the lock */
};

/* True when it shall end. */
static bool sleep_until(struct watchdog *watchdog, int64_t end_ns) {
    const struct timespec end = { .tv_sec = end_ns / 1000000000, .tv_nsec = end_ns % 1000000000 };
    pthread_mutex_lock(&watchdog->lock);
    while (!watchdog->stop && pthread_cond_timedwait(&watchdog->wake, &watchdog->lock, &end) == 0)
        continue;
    const bool stop = watchdog->stop;
    pthread_mutex_unlock(&watchdog->lock);
    return stop;
}

static void *run(void *argument) {
    struct watchdog *watchdog = argument;
    const struct watchdog_options *options = &watchdog->options;
    const int timeout_ms = (int)(options->every_ns / 2 / 1000000);
    bool was_alive = true;
    int64_t next;
    pthread_setname_np(pthread_self(), "watchdog");
    do {
        next = clock_ns() + options->every_ns;
        const bool alive = options->is_alive(options->context, timeout_ms);
        if (alive)
            options->beat(options->context);
        else if (was_alive)
            log_event(LOG_ERROR, "a thread that serves requests does not go on: the service "
                                 "manager hears no more of us until it does");
        was_alive = alive;
    } while (!sleep_until(watchdog, next));
    return NULL;
}

static bool start(struct watchdog *watchdog) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&watchdog->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&watchdog->lock, NULL);
    const bool started = pthread_create(&watchdog->thread, NULL, run, watchdog) == 0;
    return started;
}

static void release(struct watchdog *watchdog) {
    pthread_mutex_destroy(&watchdog->lock);
    pthread_cond_destroy(&watchdog->wake);
    free(watchdog);
}

struct watchdog *watchdog_start(const struct watchdog_options *options) {
    struct watchdog *watchdog = calloc(1, sizeof *watchdog);
    if (!watchdog) return NULL;
    watchdog->options = *options;
    if (start(watchdog)) return watchdog;
    release(watchdog);
    return NULL;
}

void watchdog_stop(struct watchdog *watchdog) {
    if (!watchdog) return;
    pthread_mutex_lock(&watchdog->lock);
    watchdog->stop = true;
    pthread_cond_signal(&watchdog->wake);
    pthread_mutex_unlock(&watchdog->lock);
    pthread_join(watchdog->thread, NULL);
    release(watchdog);
}
