// SPDX-License-Identifier: Apache-2.0
/* operators_dir.h - a folder of users' operators: every *.c in it is read, compiled and added to
 * the registry.
 *
 * Used by:  `burin run`, `burin ops`, `burin check`, the daemon.
 * Owns:     operators that were added stay as long as the process.
 * Fails:    a file with mistakes is left out, and each mistake reported.
 * Threads:  at start, before there are any.
 */
#ifndef BURIN_OPERATORS_DIR_H
#define BURIN_OPERATORS_DIR_H

#include "pipeline/skeletons/twin_library.h"

#include <stdbool.h>

struct operators_options {
    const char *cache; /* folder of compiled operators; NULL: nothing is kept */
    size_t bytes_max;  /* of a source; 0: READER_BYTES_MAX */
    void (*report)(void *context, const char *sentence); /* one mistake each; may be NULL */
    void *context;
};

/* Calls VISIT with every source of the folder in alphabetical order; its bytes end with NUL, and
 * are NULL, after a report, where it cannot be read or trusted. false: the folder itself is missing
 * or unsafe, see FAILURE. */
bool operators_dir_each(const char *path, const struct operators_options *options,
                        void (*visit)(void *context, const char *path, const char *bytes,
                                      size_t length),
                        void *context, struct failure *failure);

/* Reads BYTES, which came from PATH, and loads or compiles their CPU twin where there is a compiler
 * (STATE, may be NULL). NULL: all mistakes were reported. */
struct user_file *operators_dir_make(const char *path, const char *bytes, size_t length,
                                     const struct operators_options *options,
                                     enum twin_state *state);

/* Registers FILE's operators and returns their number; those beyond the registry's limit are left
 * out and reported. */
int operators_dir_add(struct user_file *file, const struct operators_options *options);

/* Reports all of DIAGNOSTICS to OPTIONS. */
void operators_dir_report(const struct operators_options *options,
                          const struct diagnostics *diagnostics);

/* Returns the number of operators added; -1: the folder is missing or unsafe, see FAILURE. */
int operators_dir_load(const char *path, const struct operators_options *options,
                       struct failure *failure);

/* Reads one file and compiles its CPU twin where there is a compiler (STATE, may be NULL). NULL:
 * all mistakes were reported. */
struct user_file *operators_dir_read(const char *path, const struct operators_options *options,
                                     enum twin_state *state);

#endif
