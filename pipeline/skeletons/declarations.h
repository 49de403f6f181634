// SPDX-License-Identifier: Apache-2.0
/* declarations.h - a source's outermost level: its directives, functions and constants in order.
 *
 * Bodies are not parsed; their braces are counted.
 *
 * Used by:  the reader of users' operators, refusals.c, user_text.c, convert.c.
 * Owns:     the list, until declarations_release; tokens belong to the caller.
 * Fails:    mistakes go into the diagnostics; false without memory.
 * Threads:  any; no state.
 */
#ifndef BURIN_DECLARATIONS_H
#define BURIN_DECLARATIONS_H

#include "pipeline/skeletons/scalar_type.h"

enum declaration_kind {
    DECLARATION_DIRECTIVE,
    DECLARATION_FUNCTION,  /* with its body */
    DECLARATION_PROTOTYPE, /* a function without one */
    DECLARATION_TYPE,      /* typedef, struct, union, enum */
    DECLARATION_CONSTANT,
};

struct declaration {
    enum declaration_kind kind;
    const struct token *first, *end; /* tokens first..end-1 */
    const struct token *name;        /* of a function; else NULL */
    const struct token *open;        /* a function's '(' */
    const struct token *body;        /* its '{', else NULL */
    const struct token *comment;     /* first of the comments just before; or NULL */
    const char *directive;           /* "#P2P_FUNC" */
    enum scalar_type result;         /* the type behind the directive; SCALAR_NONE: none */
};

struct declarations {
    struct token *code; /* the source's tokens without comments and preprocessor lines; TOKEN_END */
    struct declaration *list;
    int count;
};

bool declarations_read(const struct tokens *tokens, struct declarations *declarations,
                       struct diagnostics *diagnostics);
void declarations_release(struct declarations *declarations);

/* Returns the function called NAME that has a body; NULL where there is none. */
const struct declaration *declarations_function(const struct declarations *declarations,
                                                const struct token *name);

#endif
