// SPDX-License-Identifier: Apache-2.0
/* parameter_struct.h - the struct under #STRUCT: its fields are the operator's parameters.
 *
 * A comment behind a field, "default [min,max] meaning", gives what C has no words for; each of the
 * three may be left out.
 *
 * Used by:  the reader of users' operators; twins, which are given the struct's bytes.
 * Owns:     texts lie in the user file's arena.
 * Fails:    mistakes go into the diagnostics.
 * Threads:  any; no state.
 * Limits:   PARAMETER_FIELDS_MAX: all arguments of a kernel take 4096 bytes.
 */
#ifndef BURIN_PARAMETER_STRUCT_H
#define BURIN_PARAMETER_STRUCT_H

#include "pipeline/param.h"
#include "pipeline/skeletons/declarations.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PARAMETER_FIELDS_MAX = 10, PARAMETER_STRUCT_BYTES_MAX = PARAMETER_FIELDS_MAX * 8 };
enum { USER_NAME_MAX = 40 }; /* characters of the name of an operator, a struct or a field */

/* Small texts that live as long as a user file. */
struct text_arena {
    struct arena_text *last;
    bool failed; /* memory ran out */
};

/* Returns LENGTH bytes of TEXT and a NUL; "" without memory. */
const char *text_arena_copy(struct text_arena *arena, const char *text, size_t length);
void text_arena_release(struct text_arena *arena);

struct field {
    enum scalar_type type;
    size_t offset; /* bytes, as C lays the struct out */
};

struct parameter_struct {
    const char *name; /* of the typedef */
    int count;
    struct field fields[PARAMETER_FIELDS_MAX];
    struct param params[PARAMETER_FIELDS_MAX + 1];
    size_t bytes; /* sizeof */
};

/* Reads DECLARATION, which follows #STRUCT; TOKENS are the whole source's, for the comments. false:
 * it is not such a struct. */
bool parameter_struct_read(const struct tokens *tokens, const struct declaration *declaration,
                           struct text_arena *arena, struct parameter_struct *out,
                           struct diagnostics *diagnostics);

/* Fills BYTES, the struct, from parsed parameters; they are the same on the CPU and a GPU, with
 * padding 0. */
void parameter_struct_fill(const struct parameter_struct *parameters, const struct params *params,
                           unsigned char bytes[PARAMETER_STRUCT_BYTES_MAX]);

#ifdef __cplusplus
}
#endif
#endif
