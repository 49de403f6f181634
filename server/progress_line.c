// SPDX-License-Identifier: Apache-2.0
#include "server/progress_line.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_NS = 100000000 };

/* Nothing is drawn in the first period: most jobs are done by then. */
static void draw(const struct progress_line *line) {
    const uint32_t total = __atomic_load_n(&line->progress->total, __ATOMIC_RELAXED);
    const uint32_t done = __atomic_load_n(&line->progress->done, __ATOMIC_RELAXED);
    if (total)
        fprintf(stderr, "\r%u of %u %s, %3.0f %%\033[K", done, total, line->unit,
                100.0 * done / total);
}

static void *watch(void *argument) {
    struct progress_line *line = argument;
    pthread_mutex_lock(&line->lock);
    while (!line->ending) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += PERIOD_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&line->end, &line->lock, &until);
        if (!line->ending) draw(line);
    }
    pthread_mutex_unlock(&line->lock);
    return NULL;
}

void progress_line_init(struct progress_line *line, const struct progress *progress,
                        const char *unit) {
    *line = (struct progress_line){ .progress = progress, .unit = unit };
    if (!isatty(STDERR_FILENO)) return;
    pthread_mutex_init(&line->lock, NULL);
    pthread_cond_init(&line->end, NULL);
    line->running = pthread_create(&line->thread, NULL, watch, line) == 0;
}

void progress_line_release(struct progress_line *line) {
    if (!line->running) return;
    pthread_mutex_lock(&line->lock);
    line->ending = true;
    pthread_cond_signal(&line->end);
    pthread_mutex_unlock(&line->lock);
    pthread_join(line->thread, NULL);
    pthread_cond_destroy(&line->end);
    pthread_mutex_destroy(&line->lock);
    line->running = false;
    fputs("\r\033[K", stderr);
}
