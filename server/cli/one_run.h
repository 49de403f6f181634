// SPDX-License-Identifier: Apache-2.0
/* one_run.h - the pipeline of the daemon on one file: the only one of a command, or one of many.
 *
 * Used by:  command_run.c, and many_run.c in its workers.
 * Owns:     nothing after the only file. A run of many keeps device, threads and memory from file
 *           to file, until its process ends.
 * Fails:    as `burin run`; no file of OUTPUT's name is left half written.
 * Threads:  one.
 */
#ifndef BURIN_ONE_RUN_H
#define BURIN_ONE_RUN_H

#include "server/cli/file_list.h"

#include <stdio.h>

/* A worker's place among others. */
struct one_run_place {
    const char *temporary; /* the name under which it writes, in the folder of each result */
    size_t memory_bytes;   /* for a file; one that takes more waits */
    void (*wait_for_memory)(const struct one_run_place *place, size_t bytes);
};

struct one_result {
    FILE *lines; /* set by the caller: for a line of JSON for each result; NULL: none */
    size_t read_bytes, written_bytes;
    uint32_t notes; /* enum note bits */
};

/* Runs and reports OPTIONS' file. LINES: for a line of JSON for each result; NULL: as text. */
enum status one_run_alone(const struct options *options, FILE *lines, struct failure *failure);

/* ---- one of many */

struct one_run;

/* OPTIONS and PLACE must last as long. NULL: there is no such device. */
struct one_run *one_run_open(const struct options *options, const struct one_run_place *place,
                             bool *on_gpu, struct failure *failure);

enum status one_run(struct one_run *run, const struct file_pair *pair, struct one_result *result,
                    struct failure *failure);

#endif
