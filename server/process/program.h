// SPDX-License-Identifier: Apache-2.0
/* program.h - this program again, by exec, with its descriptors at fixed numbers.
 *
 * Used by:  process.c; launcher.c, which does it for a front that may not.
 * Owns:     nothing; the process is the caller's.
 * Fails:    program_start returns -1.
 * Threads:  program_start: any. program_become: a process of one thread.
 * Limits:   PROGRAM_FILES_MAX descriptors.
 */
#ifndef BURIN_PROGRAM_H
#define BURIN_PROGRAM_H

#include "server/jobs/completion_pipe.h"

#include <stdnoreturn.h>
#include <sys/types.h>

enum { PROGRAM_NOTHING = -1, PROGRAM_CLOSED = -2, PROGRAM_FILES_MAX = 7 + COMPLETION_PIPES_MAX };

struct program {
    char *const *arguments; /* NULL behind the last */
    /* What stands at 0, 1 and so on: a descriptor of ours, PROGRAM_NOTHING (/dev/null) or
     * PROGRAM_CLOSED. All behind them are closed. */
    int files[PROGRAM_FILES_MAX];
    int file_count;
};

/* A process group of its own: a terminal's Ctrl-C is for the front alone. Signals as a fresh
 * program expects them, but for SIGHUP, which is blocked: it is for the front, whoever else gets it
 * too. Returns when that program runs. */
pid_t program_start(const struct program *program);

/* The same in the place of the calling process; ends with 127 where it cannot. */
noreturn void program_become(const struct program *program);

#endif
