// SPDX-License-Identifier: Apache-2.0
/* options.h - the command line of `burin run`.
 *
 * Used by:  command_run.c, one_run.c, and file_list.c and many_run.c for many files.
 * Owns:     nothing; texts are those of argv.
 * Fails:    STATUS_BAD_PARAM, with a sentence that names the option and its allowed values.
 * Threads:  any; no state.
 */
#ifndef BURIN_CLI_OPTIONS_H
#define BURIN_CLI_OPTIONS_H

#include "pipeline/codec.h"
#include "pipeline/plan.h"
#include "server/width_list.h"

#include <stdbool.h>

/* --NAME PATH, an additional image for a step. */
struct aux_option {
    const char *name, *path; /* name: from an operator's record; NULL: none */
};

struct options {
    struct plan plan;
    const char *input;        /* "-": standard input */
    const char *output;       /* "-": standard output; NULL: all steps only report values */
    struct width_list widths; /* of the last step, a result for each; then `output` contains %w */
    struct aux_option aux[OP_AUX_MAX];
    const char *device;           /* as device_choose reads it */
    struct encode_options encode; /* format FORMAT_NONE: as the input */
    long pixels_max;
    bool accept_damage;
    int threads;               /* 0: one per core */
    const char *operators_dir; /* NULL: none */
    bool timing;
    bool json, quiet;
    /* Many files, if `out_dir` is set: then `input` and `output` are NULL, and `widths` need %w in
     * `name`. */
    const char *out_dir;
    const char *name; /* of results, with %n, %e and %w in it */
    char **sources;   /* files, or folders if `recursive` */
    int source_count;
    int jobs; /* files at a time; 0: one per core */
    bool recursive, resume;
    bool help; /* then the other members are incomplete */
};

int options_usage(void); /* prints the help; returns the exit status 0 */

/* The values of "--flag" as a message names them, in TEXT or static; NULL: it takes none, or there
 * is no such flag. */
const char *options_range(const char *flag, char text[FORMAT_LIST_MAX]);

enum status options_read(struct options *options, int argc, char **argv, struct failure *failure);

/* Once the image's header is known: with a profile, profile=srgb begins the plan with a step, and
 * lets CMYK be converted. */
enum status options_settle(struct options *options, const struct probe *probe,
                           struct codec_limits *limits, struct failure *failure);

/* The text after the last dot of a path's name; "" if there is none, or the name begins with it. */
const char *options_extension(const char *path);

/* PATTERN with WIDTH in place of its %w, or as it is if WIDTH is 0; false: SIZE is too small. */
bool options_path(const char *pattern, uint32_t width, char *path, size_t size);

#endif
