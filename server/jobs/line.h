// SPDX-License-Identifier: Apache-2.0
/* line.h - the way back of finished jobs: a pipe to each I/O thread, written by every worker and by
 * the supervisor.
 *
 * Messages of that size go through whole, and a pipe holds more of them than there are slots, so a
 * writer never waits.
 */
#ifndef BURIN_LINE_H
#define BURIN_LINE_H

#include <stdbool.h>
#include <stdint.h>

enum { LINES_MAX = 64 };

struct returned {
    int32_t slot;
    uint32_t number; /* job.number of the run that ended */
};

/* ends[0] is read and does not block; both close on exec. */
bool line_open(int ends[2]);
bool line_send(int end, const struct returned *returned);
/* Up to COUNT of those that are there; 0 when there is none. */
int line_take(int end, struct returned *returned, int count);

#endif
