// SPDX-License-Identifier: Apache-2.0
/* twin_library.h - a user file's CPU twin: compiled or found in the cache, and loaded.
 *
 * Used by:  operators_dir.c, tests/bench/burin-bench/skeletons.c.
 * Owns:     a loaded library stays loaded as long as the process.
 * Fails:    mistakes go into the diagnostics, at the user's own lines.
 * Threads:  before the process has many: a compiler is started.
 */
#ifndef BURIN_TWIN_LIBRARY_H
#define BURIN_TWIN_LIBRARY_H

#include "pipeline/skeletons/user_op.h"

enum twin_state {
    TWIN_LOADED,
    TWIN_WRONG,       /* the diagnostics tell what the compiler did not accept */
    TWIN_NO_COMPILER, /* there is none on this machine, and nothing in the cache */
};

/* Sets every operator's loops. CACHE: a folder of our own, made if it is not there; NULL: nothing
 * is kept. */
enum twin_state twin_library_load(struct user_file *file, const char *cache,
                                  struct diagnostics *diagnostics);

#endif
