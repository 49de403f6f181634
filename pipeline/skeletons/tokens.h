// SPDX-License-Identifier: Apache-2.0
/* tokens.h - cuts an operator's source into tokens, as every C and C++ compiler does.
 *
 * Text that two compilers might cut differently is refused: digraphs, trigraphs, continued words,
 * raw strings. So nothing can hide from the reader.
 *
 * Used by:  the reader of users' operators.
 * Owns:     the list, until tokens_release; the text belongs to the caller.
 * Fails:    mistakes go into the diagnostics; false without memory.
 * Threads:  any; no state.
 */
#ifndef BURIN_TOKENS_H
#define BURIN_TOKENS_H

#include "pipeline/skeletons/diagnostics.h"

#include <stdbool.h>
#include <stddef.h>

enum token_kind {
    TOKEN_END, /* after the last token; always present */
    TOKEN_WORD,
    TOKEN_NUMBER,
    TOKEN_STRING,
    TOKEN_CHARACTER,
    TOKEN_PUNCTUATOR, /* one character; "##" is two tokens */
    TOKEN_COMMENT,
    TOKEN_DIRECTIVE, /* one of ours: "#STRUCT", "#P2P_FUNC"... */
};

struct token {
    enum token_kind kind;
    bool preprocessor; /* part of a line that begins with '#' and is not our directive */
    bool first;        /* only blanks and comments precede it on its line */
    int line;          /* its first line, from 1 */
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

/* Whether TOKEN's text is WORD, which may be a punctuator. */
bool token_is(const struct token *token, const char *word);

/* Whether both have the same text. */
bool token_same(const struct token *a, const struct token *b);

/* "#STRUCT", then the skeletons' directives in the order of `enum skeleton`, then "#MAP". */
enum { TOKEN_DIRECTIVE_COUNT = 6, TOKEN_DIRECTIVE_MAP = 5 };
extern const char *const token_directives[TOKEN_DIRECTIVE_COUNT];

/* Returns TOKEN's entry in that list; NULL where it is no directive. */
const char *token_directive(const struct token *token);

/* Returns SHOWN, the token for a message, at most 40 characters. */
enum { TOKEN_SHOWN_MAX = 48 };
const char *token_shown(const struct token *token, char shown[TOKEN_SHOWN_MAX]);

#endif
