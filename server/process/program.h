// SPDX-License-Identifier: Apache-2.0
/* program.h - starts this program again, by exec, with descriptors at fixed numbers.
 *
 * Used by:  process.c; launcher_process.c for a front in its sandbox.
 * Owns:     nothing; the caller reaps the process.
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
    char *const *arguments; /* NULL after the last */
    /* The descriptors 0, 1 and so on: one of this process, PROGRAM_NOTHING (/dev/null) or
     * PROGRAM_CLOSED. Higher ones are closed. */
    int files[PROGRAM_FILES_MAX];
    int file_count;
};

/* Starts PROGRAM in a process group of its own, so that a terminal's Ctrl-C reaches only the front.
 * Signals are as a new program expects them, except SIGHUP, which is blocked: only the front
 * handles it. Returns when the program runs. */
pid_t program_start(const struct program *program);

/* Replaces the calling process; exits with 127 if it cannot. */
noreturn void program_become(const struct program *program);

#endif
