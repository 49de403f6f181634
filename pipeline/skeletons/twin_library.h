// SPDX-License-Identifier: Apache-2.0
/* twin_library.h - a user file's CPU twin: compiled or found in the cache, and loaded.
 *
 * Used by:  operators_dir.c, server/user_operators.c, tests/bench/burin-bench/skeletons.c.
 * Owns:     a loaded library stays loaded as long as the process.
 * Fails:    mistakes go into the diagnostics, at the user's own lines.
 * Threads:  before the process has many, because it starts a compiler.
 */
#ifndef BURIN_TWIN_LIBRARY_H
#define BURIN_TWIN_LIBRARY_H

#include "pipeline/skeletons/user_op.h"

enum twin_state {
    TWIN_LOADED,
    TWIN_WRONG,       /* the diagnostics have the compiler's errors */
    TWIN_NO_COMPILER, /* no compiler on this machine, and no cache entry */
};

/* Sets every operator's loops. CACHE is a folder of our own, made if missing; NULL: nothing is
 * kept. */
enum twin_state twin_library_load(struct user_file *file, const char *cache,
                                  struct diagnostics *diagnostics);

#endif
