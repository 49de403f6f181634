// SPDX-License-Identifier: Apache-2.0
/* user_text.h - the user's source as compilers may see it, for the CPU or for a GPU.
 *
 * Directives and #include lines are blanked, so that lines keep their numbers; operators and
 * helpers get the prefixes that the compiler needs, and an R2S of T and E occurs once for each
 * depth. An R2V's atomicAdd becomes burin_count(where, number, list, bins), which a prelude
 * defines.
 *
 * Used by:  twin.c, twin_library.c and convert.c; kernel_source.c, function_object.c and
 *           convert_gpu.c.
 * Owns:     nothing; the caller frees the text of user_text_twin.
 * Threads:  any; no state.
 */
#ifndef BURIN_USER_TEXT_H
#define BURIN_USER_TEXT_H

#include "pipeline/skeletons/user_op.h"

#include <stdio.h>

struct user_text_options {
    const char *function; /* replaces an operator's `static`: "static __device__" and the like */
    const char *helper;   /* prefix of each other function and constant: "__device__"; NULL: none */
    bool lines;           /* with #line, so that compilers report the user's own lines */
    bool without_structs; /* the structs are defined elsewhere */
};

void user_text_write(FILE *out, const struct user_file *file,
                     const struct user_text_options *options);

/* Writes an #undef for every macro that the user defined. */
void user_text_undefine(FILE *out, const struct user_file *file);

/* Writes again those macros of TEXT, one line each, that the user defined or undefined: after
 * user_text_undefine, where another user's text follows. */
void user_text_redefine(FILE *out, const struct user_file *file, const char *text);

/* Writes #line LINE "NAME" on a line of its own. */
void user_text_line(FILE *out, int line, const char *name);

/* Whether OP has a loop for images of DEPTH bits. */
bool user_text_has(const struct user_op *op, int depth);

/* Returns the type to which an R2S of DEPTH reduces, or in which an R2V counts. */
enum scalar_type user_text_result(const struct user_op *op, int depth);

/* Returns the type in which OP's function gets a pixel: a sample's, or "pixel". */
const char *user_text_pixel(const struct user_op *op, int depth);

/* Returns NAME, the name of OP's function for DEPTH: its own or, for the second depth of an R2S of
 * T and E, "burin_<name>_for_16". */
enum { USER_TEXT_NAME_MAX = 64 };
const char *user_text_function(const struct user_op *op, int depth, char name[USER_TEXT_NAME_MAX]);

/* Writes ", value" for each int that OP's function asks for: members of burin_at, which every
 * skeleton has. */
void user_text_given(FILE *out, const struct user_op *op);

/* Returns ", burin_p" if OP's function takes parameters, else "". */
const char *user_text_pass(const struct user_op *op);

/* Writes the number that an R2S makes of the sample burin_s. */
void user_text_map(FILE *out, const struct user_op *op, int depth);

/* Returns the C source of FILE's CPU twin: the prelude, the user's text, and for each operator and
 * depth `burin_<name>_<depth>_rows`, for an R2S also `burin_<name>_<depth>_merge`. The caller frees
 * it; NULL: no memory. */
char *user_text_twin(const struct user_file *file);

/* Writes only its loops; LINES: with #line before each skeleton. */
void user_text_loops(FILE *out, const struct user_file *file, bool lines);

#endif
