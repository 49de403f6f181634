// SPDX-License-Identifier: Apache-2.0
/* progress_line.h - a line on the terminal that tells how far a job is.
 *
 * Only where stderr is a terminal; elsewhere nothing is started.
 * Threads:  one of its own, that looks at the progress ten times a second.
 */
#ifndef BURIN_PROGRESS_LINE_H
#define BURIN_PROGRESS_LINE_H

#include "pipeline/progress.h"

#include <pthread.h>
#include <stdbool.h>

struct progress_line {
    const struct progress *progress; /* borrowed until progress_line_release, as is the unit */
    const char *unit;                /* what it counts */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t end;
    bool ending; /* under the lock */
    bool running;
};

void progress_line_init(struct progress_line *line, const struct progress *progress,
                        const char *unit);
void progress_line_release(struct progress_line *line); /* the line is wiped away */

#endif
