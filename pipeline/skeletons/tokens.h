// SPDX-License-Identifier: Apache-2.0
/* tokens.h - an operator's source cut into tokens, as every C and C++ compiler cuts it.
 *
 * What two compilers might cut differently is refused: digraphs, trigraphs, continued words, raw
 * strings. So nothing can hide from the reader.
 *
 * Used by:  the reader of users' operators.
 * Owns:     the list, until tokens_release; the text stays the caller's.
 * Fails:    mistakes go into the diagnostics; false without memory.
 * Threads:  any; no state.
 */
#ifndef BURIN_TOKENS_H
#define BURIN_TOKENS_H

#include "pipeline/skeletons/diagnostics.h"

#include <stdbool.h>
#include <stddef.h>

enum token_kind {
    TOKEN_END, /* behind the last; there is always one */
    TOKEN_WORD,
    TOKEN_NUMBER,
    TOKEN_STRING,
    TOKEN_CHARACTER,
    TOKEN_PUNCTUATOR, /* one character; "##" too is two of them */
    TOKEN_COMMENT,
    TOKEN_DIRECTIVE, /* one of ours: "#STRUCT", "#P2P_FUNC"... */
};

struct token {
    enum token_kind kind;
    bool preprocessor; /* belongs to a line that begins with '#' and is none of our directives */
    bool first;        /* nothing but blanks and comments stand before it on its line */
    int line;          /* where it begins, from 1 */
    const char *text;  /* into the source */
    size_t length;
};

struct tokens {
    struct token *list;
    int count; /* without the TOKEN_END */
};

/* TEXT ends at its first NUL. */
bool tokens_read(const char *text, struct tokens *tokens, struct diagnostics *diagnostics);
void tokens_release(struct tokens *tokens);

/* Whether TOKEN reads WORD, which may be a punctuator. */
bool token_is(const struct token *token, const char *word);

/* Whether both read the same. */
bool token_same(const struct token *a, const struct token *b);

/* "#STRUCT", and behind it those of the skeletons, in the order of `enum skeleton`. */
enum { TOKEN_DIRECTIVE_COUNT = 5 };
extern const char *const token_directives[TOKEN_DIRECTIVE_COUNT];

/* Its name in that list; NULL where TOKEN is no directive. */
const char *token_directive(const struct token *token);

/* The token as a message may show it: at most 40 characters; returns SHOWN. */
enum { TOKEN_SHOWN_MAX = 48 };
const char *token_shown(const struct token *token, char shown[TOKEN_SHOWN_MAX]);

#endif
