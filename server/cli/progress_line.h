// SPDX-License-Identifier: Apache-2.0
/* progress_line.h - a line on the terminal that tells how far a job is: the stage or the operator,
 * its share done where an operator tells that, and the seconds so far.
 *
 * Only where stderr is a terminal, and only for a job that takes more than half a second; elsewhere
 * nothing is started.
 *
 * Used by:  command_run.c.
 * Owns:     its thread, from progress_line_init to progress_line_release.
 * Fails:    where no thread can be started there is no line.
 * Threads:  the caller's, and one of its own that looks at the progress ten times a second.
 */
#ifndef BURIN_PROGRESS_LINE_H
#define BURIN_PROGRESS_LINE_H

#include "pipeline/plan.h"
#include "pipeline/progress.h"

#include <pthread.h>
#include <stdbool.h>

struct progress_line {
    const struct progress *progress; /* borrowed until progress_line_release */
    const struct plan *plan;         /* likewise */
    int64_t start_ns;
    pthread_t thread;
    pthread_mutex_t lock; /* stage, ending, and drawing */
    pthread_cond_t end;
    const char *stage; /* static text; NULL: the plan's step that is under way */
    bool ending;
    bool running;
};

/* The first stage is STAGE. */
void progress_line_init(struct progress_line *line, const struct progress *progress,
                        const struct plan *plan, const char *stage);
/* The stage from now on; NULL: the plan's steps, one after the other as progress tells. */
void progress_line_stage(struct progress_line *line, const char *stage);
void progress_line_release(struct progress_line *line); /* erases the line */

#endif
