// SPDX-License-Identifier: Apache-2.0
/* run_options.h - what the command line of `burin run` asks for.
 *
 * Used by:  command_run.c.
 * Owns:     nothing; texts are those of argv.
 * Fails:    STATUS_BAD_PARAM, with a sentence that names the option and what it may be.
 * Threads:  any; no state.
 */
#ifndef BURIN_RUN_OPTIONS_H
#define BURIN_RUN_OPTIONS_H

#include "pipeline/codec.h"
#include "pipeline/plan.h"
#include "server/width_list.h"

#include <stdbool.h>

/* --NAME PATH, a further image for a step. */
struct run_aux {
    const char *name, *path; /* name: an operator's record's; NULL: none */
};

struct run_options {
    struct plan plan;
    const char *input;  /* "-": standard input */
    const char *output; /* "-": standard output; NULL: none is wanted, values alone are told */
    struct width_list widths; /* of the last step, a result each; then %w stands in `output` */
    struct run_aux aux[OP_AUX_MAX];
    const char *device;           /* as device_choose reads it */
    struct encode_options encode; /* format FORMAT_NONE: as the input */
    long pixels_max;
    bool accept_damage;
    int threads;               /* 0: one a core */
    const char *operators_dir; /* NULL: none */
    bool timing;
    bool help; /* then nothing else was read */
};

int run_options_usage(void); /* prints the help; returns 0, for the process to end with */

enum status run_options_read(struct run_options *options, int argc, char **argv,
                             struct failure *failure);

/* PATTERN with WIDTH in place of its %w; false: SIZE is too small. */
bool run_options_path(const char *pattern, uint32_t width, char *path, size_t size);

#endif
