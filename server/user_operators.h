// SPDX-License-Identifier: Apache-2.0
/* user_operators.h - users' operators in the daemon: checked, then fixed by their content.
 *
 * user_operators_load reads the folder once. Each file is checked in a process of its own, which
 * compiles and loads it as a worker will; the front only reads the text of what was found right, so
 * that it knows names and parameters, and never runs any of it. The accepted texts travel to the
 * workers through the slots' preamble: a file that changes later changes nothing.
 *
 * Used by:  command_serve.c and http/front.c in the front; command_worker.c in the workers.
 * Owns:     the accepted texts and the operators' records, as long as the process.
 * Fails:    user_operators_load: STATUS_BAD_PARAM where the folder cannot be used; a file that is
 *           wrong is logged and left out.
 * Threads:  at start, before there are any; user_operators_texts any.
 * Limits:   a check may take USER_OPERATORS_CHECK_MS.
 */
#ifndef BURIN_USER_OPERATORS_H
#define BURIN_USER_OPERATORS_H

#include "config/config.h"

#include <stddef.h>

enum { USER_OPERATORS_CHECK_MS = 150000 };

/* What was accepted, one file behind the other; LENGTH 0: nothing. */
struct user_operators_texts {
    const char *bytes;
    size_t length;
};

/* Is called with each file's path before it is checked: until the next call, or the end of loading,
 * it takes little more than USER_OPERATORS_CHECK_MS. */
typedef void user_operators_progress(void *context, const char *path);

/* In the front. With no operators_dir it does nothing. PROGRESS may be NULL. */
enum status user_operators_load(const struct config *config, user_operators_progress *progress,
                                void *context, struct failure *failure);
struct user_operators_texts user_operators_texts(void);

/* In a worker that runs them: compiles or finds each in the cache, loads and registers it. */
void user_operators_open(const struct user_operators_texts *texts, const struct config *config);

/* In a process that checks the file NAME, whose text is its standard input: 0, or 1 with its
 * mistakes on standard output. CACHE "": the default. */
int user_operators_check(const char *name, const char *cache, size_t bytes_max);

#endif
