// SPDX-License-Identifier: Apache-2.0
/* progress_line.h - a line on stderr, if that is a terminal, for a job that takes longer than half
 * a second: the stage or the operator, its progress if the operator reports any, and the seconds so
 * far.
 *
 * Used by:  one_run.c.
 * Owns:     a thread that redraws the line, until progress_line_release(). Without one there is no
 *           line.
 * Threads:  the command's.
 */
#ifndef BURIN_PROGRESS_LINE_H
#define BURIN_PROGRESS_LINE_H

#include "pipeline/plan.h"
#include "pipeline/progress.h"

#include <pthread.h>
#include <stdbool.h>

struct progress_line {
    const struct plan *plan;
    const struct progress *progress;
    int64_t start_ns;
    pthread_t thread;
    pthread_mutex_t lock; /* stage, ending, and drawing */
    pthread_cond_t end;
    const char *stage; /* static text; NULL: the plan's current step */
    bool ending;
    bool running;
};

/* PLAN and PROGRESS must last as long as the line. */
void progress_line_start(struct progress_line *line, const struct plan *plan,
                         const struct progress *progress);

/* STAGE: NULL for the plan's steps. Draws it at once, so that a short stage of a long job is shown.
 */
void progress_line_stage(struct progress_line *line, const char *stage);

/* Ends the thread and erases the line; any number of times. */
void progress_line_release(struct progress_line *line);

#endif
