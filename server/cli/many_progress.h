// SPDX-License-Identifier: Apache-2.0
/* many_progress.h - how far `burin run --out-dir` is: a line on a terminal, and the sum at the end.
 *
 * Used by:  many_run.c.
 * Owns:     nothing.
 * Threads:  one.
 */
#ifndef BURIN_MANY_PROGRESS_H
#define BURIN_MANY_PROGRESS_H

#include "pipeline/codec.h"

#include <stdio.h>

struct many_progress {
    size_t count, skipped, done, failed; /* files; those that failed are done, too */
    uint64_t read_bytes, written_bytes;
    size_t noted[NOTE_COUNT]; /* files with each note */
    int64_t start_ns, drawn_ns;
    bool quiet, drawn;
    bool terminal; /* standard error is one */
};

void many_progress_start(struct many_progress *progress, size_t count, size_t skipped, bool quiet);

/* A file is done, also if many_progress_failed follows. */
void many_progress_done(struct many_progress *progress, uint64_t read_bytes, uint64_t written_bytes,
                        uint32_t notes);
void many_progress_failed(struct many_progress *progress);

/* Draws the line if there is a terminal, at most ten times a second; false: there is none. */
bool many_progress_draw(struct many_progress *progress);
void many_progress_erase(struct many_progress *progress);

/* Prints the sum: as JSON to LINES, or as text to standard output if that is NULL. */
void many_progress_sum(const struct many_progress *progress, FILE *lines, bool interrupted);

#endif
