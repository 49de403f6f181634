// SPDX-License-Identifier: Apache-2.0
/* user_operators.h - users' operators: loaded by commands, or checked and read into a generation by
 * the daemon.
 *
 * user_operators_read reads the folder into a generation. A separate process checks each file: it
 * compiles and loads the file as a worker will. The front parses the text of accepted files for
 * names and parameters, and never runs them. The workers of that generation get the accepted texts:
 * a later change of a file has no effect until the folder is read again.
 *
 * Used by:  command_serve.c and http/reload.c in the front; command_worker.c in the workers;
 *           command_check.c, command_convert.c, command_ops.c and options.c load a folder.
 * Owns:     nothing; a generation is the caller's.
 * Fails:    user_operators_read, user_operators_load: STATUS_BAD_PARAM if the folder cannot be
 *           used. user_operators_read logs a file that is wrong and leaves it out, or keeps its
 *           text of the generation before.
 * Threads:  the main thread.
 * Limits:   a check takes at most user_operators_check_ms(); OP_SET_ADDED_MAX files.
 */
#ifndef BURIN_USER_OPERATORS_H
#define BURIN_USER_OPERATORS_H

#include "config/config.h"
#include "pipeline/skeletons/operators_dir.h"
#include "server/generation.h"

#include <jansson.h>

/* ---- in a command */

/* Options that print mistakes on standard error. */
struct operators_options user_operators_options(void);

/* Registers the operators of every file of PATH; NULL: of none. At start, before there are threads.
 */
enum status user_operators_load(const char *path, struct failure *failure);

/* ---- in the front */

struct user_operators_watch {
    int (*interrupted)(void); /* polled; true cancels with a failure */
    /* Called with each file's path before its check, by one thread at a time. The next call, or the
     * end, follows within little more than user_operators_check_ms(). May be NULL. */
    void (*progress)(void *context, const char *path);
    void *context;
    json_t *problems; /* a list: gets a sentence for each mistake in a file */
};

/* The longest time for the check of one file. */
int user_operators_check_ms(const struct config *config);

/* Makes the generation after BEFORE (NULL: the first), held for the caller. Without operators_dir
 * it has only the built-in operators. */
struct generation *user_operators_read(const struct config *config, const struct generation *before,
                                       const struct user_operators_watch *watch,
                                       struct failure *failure);

/* ---- in a worker that runs them */

/* Compiles each file of TEXTS, a generation's, or finds it in the cache; loads and registers its
 * operators. False: one could not be loaded here, though its check was good; the reason is logged.
 */
bool user_operators_open(const char *texts, size_t length, const struct config *config);

/* The folder of compiled operators; NULL: none is used. */
const char *user_operators_cache(const struct config *config);

/* Limits a process that compiles, with `sandbox` on: it may write only in the cache and its
 * temporary folder. Before there are other threads. */
void user_operators_limit(const struct config *config);

/* ---- in a process that checks one file */

/* Checks the text on standard input. Returns 0, or 1 after printing the mistakes on standard
 * output. ARGUMENTS: the file's name, and the keys that user_operators.c appends. */
int user_operators_check(char *const arguments[]);

#endif
