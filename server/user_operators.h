// SPDX-License-Identifier: Apache-2.0
/* user_operators.h - users' operators in the daemon: checked, then fixed by their content.
 *
 * user_operators_read reads the folder into a generation. Each file is checked in a process of its
 * own, which compiles and loads it as a worker will; the front only reads the text of what was
 * found right, so that it knows names and parameters, and never runs any of it. The accepted texts
 * travel to the workers of that generation: a file that changes later changes nothing until the
 * folder is read again.
 *
 * Used by:  command_serve.c and http/reload.c in the front; command_worker.c in the workers.
 * Owns:     nothing; a generation is the caller's.
 * Fails:    user_operators_read: STATUS_BAD_PARAM where the folder cannot be used; a file that is
 *           wrong is logged and left out, or stays as it was before.
 * Threads:  the main thread.
 * Limits:   a check may take user_operators_check_ms(); OP_SET_ADDED_MAX files.
 */
#ifndef BURIN_USER_OPERATORS_H
#define BURIN_USER_OPERATORS_H

#include "config/config.h"
#include "server/generation.h"

struct user_operators_watch {
    int (*interrupted)(void); /* is asked now and then: true ends it, and it fails */
    /* Is called with each file's path before it is checked, by one thread at a time: until the next
     * call, or the end of it all, it takes little more than user_operators_check_ms(). May be NULL.
     */
    void (*progress)(void *context, const char *path);
    void *context;
};

/* How long a file's check may take. */
int user_operators_check_ms(const struct config *config);

/* The generation after BEFORE (NULL: the first), held for the caller. With no operators_dir it has
 * the built-in operators alone. */
struct generation *user_operators_read(const struct config *config, const struct generation *before,
                                       const struct user_operators_watch *watch,
                                       struct failure *failure);

/* In a worker that runs them: compiles or finds each in the cache, loads and registers it. TEXTS
 * are a generation's. false: one of them is missing here, though it was found right before; why was
 * logged. */
bool user_operators_open(const char *texts, size_t length, const struct config *config);

/* Where what was compiled is kept; NULL: nowhere. */
const char *user_operators_cache(const struct config *config);

/* With `sandbox` on, a process that compiles may from now on write there and in its temporary
 * folder alone. Before there are other threads. */
void user_operators_limit(const struct config *config);

/* In a process that checks a file, whose text is its standard input: 0, or 1 with its mistakes on
 * standard output. ARGUMENTS: its name, and the keys that user_operators.c gives with it. */
int user_operators_check(char *const arguments[]);

#endif
