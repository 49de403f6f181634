// SPDX-License-Identifier: Apache-2.0
/* user_text.h - the user's source as compilers may see it, for the CPU or for a GPU.
 *
 * Directives and #include lines are made blank, so that lines keep their numbers; operators and
 * helpers get what compilers should know of them, and an R2S of T and E stands there once for each
 * depth. An R2V's atomicAdd becomes burin_count(where, number, list, bins), which a prelude has.
 *
 * Used by:  twin.c, twin_library.c, twin_source.c and convert.c; kernel_source.c, function_object.c
 *           and convert_gpu.c.
 * Owns:     nothing.
 * Threads:  any; no state.
 */
#ifndef BURIN_USER_TEXT_H
#define BURIN_USER_TEXT_H

#include "pipeline/skeletons/user_op.h"

#include <stdio.h>

struct user_text_options {
    const char *function; /* in place of an operator's `static`: "static __device__" and the like */
    const char *helper;   /* before each other function and constant: "__device__"; NULL: nothing */
    bool lines;           /* with #line, so that compilers tell the user's own lines */
    bool without_structs; /* those under #STRUCT stand elsewhere */
};

void user_text_write(FILE *out, const struct user_file *file,
                     const struct user_text_options *options);

/* #undef of every macro that the user defined. */
void user_text_undefine(FILE *out, const struct user_file *file);

/* Those macros of TEXT once more, each one line, that the user defined or undefined: behind
 * user_text_undefine, where another user's text follows. */
void user_text_redefine(FILE *out, const struct user_file *file, const char *text);

/* #line LINE "NAME" on a line of its own. */
void user_text_line(FILE *out, int line, const char *name);

/* Whether OP has a loop for images of DEPTH bits. */
bool user_text_has(const struct user_op *op, int depth);

/* What an R2S of DEPTH reduces to, an R2V counts in. */
enum scalar_type user_text_result(const struct user_op *op, int depth);

/* The name of OP's function for DEPTH: its own, or for the second depth of an R2S of T and E
 * "burin_<name>_for_16". */
enum { USER_TEXT_NAME_MAX = 64 };
const char *user_text_function(const struct user_op *op, int depth, char name[USER_TEXT_NAME_MAX]);

/* Returns the C source of FILE's CPU twin: the prelude, the user's text, and for each operator and
 * depth `burin_<name>_<depth>_rows`, for an R2S also `burin_<name>_<depth>_merge`. The caller frees
 * it; NULL: no memory. */
char *user_text_twin(const struct user_file *file);

/* Writes only its loops; LINES: with #line before each skeleton. */
void user_text_loops(FILE *out, const struct user_file *file, bool lines);

#endif
