// SPDX-License-Identifier: Apache-2.0
#include "server/cli/progress_line.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_NS = 100000000, PATIENCE_MS = 500 };

/* Draws nothing at first: most jobs are done by then. */
static void draw(const struct progress_line *line) {
    const int64_t since_ns = clock_ns() - line->start_ns;
    if (since_ns < PATIENCE_MS * INT64_C(1000000)) return;
    fputs("\r", stderr);
    if (line->stage) {
        fputs(line->stage, stderr);
    } else {
        const struct plan *plan = line->plan;
        const uint32_t step = __atomic_load_n(&line->progress->step, __ATOMIC_RELAXED);
        const uint32_t total = __atomic_load_n(&line->progress->total, __ATOMIC_RELAXED);
        const uint32_t done = __atomic_load_n(&line->progress->done, __ATOMIC_RELAXED);
        const struct op *op = plan->steps[step].op;
        if (plan->count > 1) fprintf(stderr, "step %u of %d, ", step + 1, plan->count);
        fputs(op->name, stderr);
        if (total)
            fprintf(stderr, ": %u of %u %s, %3.0f %%", done, total, op->unit ? op->unit : "steps",
                    100.0 * done / total);
    }
    fprintf(stderr, ", %.1f s\033[K", (double)since_ns / 1e9);
}

static void *draw_until_end(void *argument) {
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

void progress_line_start(struct progress_line *line, const struct plan *plan,
                         const struct progress *progress) {
    *line = (struct progress_line){
        .plan = plan, .progress = progress, .start_ns = clock_ns(), .stage = "starting"
    };
    if (!isatty(STDERR_FILENO)) return;
    pthread_mutex_init(&line->lock, NULL);
    pthread_cond_init(&line->end, NULL);
    line->running = pthread_create(&line->thread, NULL, draw_until_end, line) == 0;
}

void progress_line_stage(struct progress_line *line, const char *stage) {
    if (!line->running) return;
    pthread_mutex_lock(&line->lock);
    line->stage = stage;
    draw(line);
    pthread_mutex_unlock(&line->lock);
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
