// SPDX-License-Identifier: Apache-2.0
/* generation.h - the operators that the daemon serves at one time, the built-in ones and users'; a
 * reload replaces them as a whole by the next generation.
 *
 * A request holds the generation that it began with until it is answered, and so do the workers
 * that run users' operators: a reload changes nothing for them.
 *
 * Used by:  user_operators.c makes them; http/ plans with them; dispatch/supervisor.c runs workers
 *           for each; http/reload.c puts the next one in force.
 * Owns:     the records and texts of its users' operators, until the last hold is released.
 * Fails:    generation_create, generation_add and generation_close without memory.
 * Threads:  one makes it; once it is closed it is read-only but for its list, which the main thread
 *           may replace, and any may hold and release it.
 * Limits:   OP_SET_ADDED_MAX operators of users.
 */
#ifndef BURIN_GENERATION_H
#define BURIN_GENERATION_H

#include "pipeline/op_set.h"
#include "server/current.h"

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct user_file; /* pipeline/skeletons/user_op.h */

/* The JSON of an answer. */
struct generation_document {
    char *text;
    size_t length;
    char etag[24]; /* with its quotes */
};

struct generation {
    int holders;     /* atomic, as in current.h */
    uint32_t number; /* 1, 2...; a job carries it to the workers that have it */
    struct op_set ops;
    struct user_file *files[OP_SET_ADDED_MAX]; /* each has at least one operator */
    int file_count;
    char *texts; /* concatenated texts of all files: see generation_next_text */
    size_t texts_length;
    int texts_fd; /* a sealed memfd with `texts` for the workers; -1: there are no texts */
    struct generation_document openapi; /* GET /openapi.json */
    struct generation_document list;    /* GET /ops; its lock is held to read it */
    pthread_mutex_t list_lock;

    bool in_force; /* atomic: new requests get this generation */
};

/* ---- making one */

/* Makes a generation of the built-in operators; the caller holds it. */
struct generation *generation_create(uint32_t number);

/* Adds FILE, which was read from LENGTH bytes of TEXT at PATH; both end with NUL and are copied. If
 * it succeeds, the generation owns FILE. Its names must be free, and there must be room. */
bool generation_add(struct generation *generation, struct user_file *file, const char *path,
                    const char *text, size_t length);

/* Makes the documents and the memfd, after which no operator may be added. PROBLEMS: as below. */
bool generation_close(struct generation *generation, const json_t *problems);

/* Makes the list anew, with the files of operators and the PROBLEMS of the last reading, a list of
 * sentences; NULL: there is no operators_dir, and neither of them. False: no memory, and the list
 * stays. */
bool generation_set_problems(struct generation *generation, const json_t *problems);

/* A source as it was read from the folder. Path and text end with NUL. */
struct generation_text {
    const char *path, *text;
    size_t length;
};

/* Reads the source at *AT, and moves *AT to the next one; false at END. */
bool generation_next_text(const char **at, const char *end, struct generation_text *text);

/* Finds the text of the file at PATH; false: GENERATION has none. */
bool generation_find_text(const struct generation *generation, const char *path,
                          struct generation_text *text);

/* ---- holding one */

struct generation *generation_hold(struct generation *generation); /* returns it */
void generation_release(struct generation *generation);            /* accepts NULL */

/* Whether only the caller holds it. If it is not in force, this then stays so. */
bool generation_is_left(const struct generation *generation);

bool generation_in_force(const struct generation *generation);

/* Puts NEXT in force in place of the one in CURRENT, and takes over the caller's hold of it. */
void generation_replace(struct current *current, struct generation *next);

#endif
