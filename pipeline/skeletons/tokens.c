// SPDX-License-Identifier: Apache-2.0
/* How it works. One pass over the text. A line that begins with '#' is a preprocessor line up to
 * its end, where a backslash after a blank continues it; its tokens are kept and marked. Our own
 * directives may stand anywhere outside such a line and are one token each. */
#include "pipeline/skeletons/tokens.h"

#include "pipeline/param.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const token_directives[TOKEN_DIRECTIVE_COUNT] = { "#STRUCT",   "#P2P_FUNC", "#N2P_FUNC",
                                                              "#R2S_FUNC", "#R2V_FUNC", "#MAP" };

struct lexer {
    const char *at;
    int line;
    bool preprocessor; /* within such a line */
    bool fresh;        /* nothing but blanks and comments so far on this line */
    int capacity;
    struct tokens *tokens;
    struct diagnostics *diagnostics;
};

bool token_is(const struct token *token, const char *word) {
    return strlen(word) == token->length && memcmp(token->text, word, token->length) == 0;
}

bool token_same(const struct token *a, const struct token *b) {
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

const char *token_shown(const struct token *token, char shown[TOKEN_SHOWN_MAX]) {
    char text[TOKEN_SHOWN_MAX];
    if (token->kind == TOKEN_END) return "the end of the file";
    snprintf(text, sizeof text, "%.*s", (int)(token->length < 40 ? token->length : 40),
             token->text);
    return param_shown(text, shown);
}

static bool is_word_start(char c) {
    return isalpha((unsigned char)c) || c == '_';
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* Returns the length of the name after '#' and blanks at HASH. */
static size_t hash_word(const char *hash, const char **word) {
    *word = hash + 1 + strspn(hash + 1, " \t");
    size_t length = 0;
    while (is_word((*word)[length])) length++;
    return length;
}

static const char *directive_at(const char *hash) {
    const char *word;
    const size_t length = hash_word(hash, &word);
    for (int i = 0; i < TOKEN_DIRECTIVE_COUNT; i++) {
        const char *name = token_directives[i] + 1;
        if (strlen(name) == length && memcmp(name, word, length) == 0) return token_directives[i];
    }
    return NULL;
}

const char *token_directive(const struct token *token) {
    return token->kind == TOKEN_DIRECTIVE ? directive_at(token->text) : NULL;
}

static bool put(struct lexer *lexer, enum token_kind kind, size_t length, int line) {
    struct tokens *tokens = lexer->tokens;
    if (tokens->count + 1 >= lexer->capacity) {
        const int capacity = lexer->capacity ? 2 * lexer->capacity : 1024;
        struct token *more = realloc(tokens->list, (size_t)capacity * sizeof *more);
        if (!more) return false;
        tokens->list = more;
        lexer->capacity = capacity;
    }
    tokens->list[tokens->count] = (struct token){
        .kind = kind,
        .preprocessor = lexer->preprocessor,
        .first = lexer->fresh,
        .line = line,
        .text = lexer->at,
        .length = length,
    };
    tokens->count += kind != TOKEN_END;
    if (kind != TOKEN_COMMENT) lexer->fresh = false;
    lexer->at += length;
    return true;
}

/* ---- one token each; functions return its length */

static size_t line_comment(const struct lexer *lexer) {
    const size_t length = strcspn(lexer->at, "\n");
    size_t end = length;
    while (end && strchr(" \t", lexer->at[end - 1])) end--;
    if (end && lexer->at[end - 1] == '\\')
        diagnostics_add(lexer->diagnostics, lexer->line, NULL,
                        "a backslash ends this comment; compilers would read the next line as a "
                        "comment too: remove it");
    return length;
}

/* Counts the lines it passes. */
static size_t block_comment(struct lexer *lexer) {
    size_t length = 2;
    const int line = lexer->line;
    for (; lexer->at[length]; length++) {
        if (lexer->at[length] == '*' && lexer->at[length + 1] == '/') return length + 2;
        if (lexer->at[length] != '\n') continue;
        if (lexer->at[length - 1] == '\\')
            diagnostics_add(lexer->diagnostics, lexer->line, NULL,
                            "a backslash at the end of a line may stand only in a #define");
        lexer->line++;
    }
    diagnostics_add(lexer->diagnostics, line, NULL, "this comment has no end: expected */");
    return length;
}

/* A string or a character constant. */
static size_t quoted(const struct lexer *lexer) {
    const char quote = *lexer->at;
    size_t length = 1;
    while (lexer->at[length] && lexer->at[length] != '\n') {
        if (lexer->at[length] == quote) return length + 1;
        const bool escaped =
            lexer->at[length] == '\\' && lexer->at[length + 1] && lexer->at[length + 1] != '\n';
        length += escaped ? 2 : 1;
    }
    diagnostics_add(lexer->diagnostics, lexer->line, NULL,
                    "this %s has no end on its line: expected %c",
                    quote == '"' ? "string" : "character constant", quote);
    return length;
}

static size_t word(const struct lexer *lexer) {
    size_t length = 0;
    while (is_word(lexer->at[length])) length++;
    if (lexer->at[length] == '"' || lexer->at[length] == '\'')
        diagnostics_add(lexer->diagnostics, lexer->line, NULL,
                        "\"%.*s\" stands directly before a quote: write plain strings and "
                        "characters",
                        (int)(length < 20 ? length : 20), lexer->at);
    return length;
}

static size_t number(const struct lexer *lexer) {
    size_t length = 1;
    for (; is_word(lexer->at[length]) || strchr(".+-", lexer->at[length]); length++) {
        if (!lexer->at[length]) break;
        const bool sign = lexer->at[length] == '+' || lexer->at[length] == '-';
        if (sign && !strchr("eEpP", lexer->at[length - 1])) break;
    }
    if (lexer->at[length] == '\'' || lexer->at[length] == '"')
        diagnostics_add(lexer->diagnostics, lexer->line, NULL,
                        "a quote stands directly behind the number %.*s",
                        (int)(length < 20 ? length : 20), lexer->at);
    return length;
}

static size_t punctuator(const struct lexer *lexer) {
    static const char *const digraphs[] = { "<:", ":>", "<%", "%>", "%:" };
    const unsigned char c = (unsigned char)*lexer->at;
    for (unsigned i = 0; i < sizeof digraphs / sizeof *digraphs; i++)
        if (strncmp(lexer->at, digraphs[i], 2) == 0)
            diagnostics_add(lexer->diagnostics, lexer->line, NULL,
                            "the digraph %s is not accepted: write [ ] { } # themselves, or put a "
                            "blank between the two characters",
                            digraphs[i]);
    if (c == '\\')
        diagnostics_add(lexer->diagnostics, lexer->line, NULL,
                        "a backslash may stand only in a string, in a character constant, or "
                        "behind a blank at the end of a line of a #define");
    else if (c >= 0x80 || c == '$' || c == '@' || c == '`')
        diagnostics_add(lexer->diagnostics, lexer->line, NULL,
                        "the character %s%.*s is not C: outside comments and strings only the "
                        "letters a-z, digits and C's own signs may stand",
                        c >= 0x80 ? "(not ASCII)" : "", c >= 0x80 ? 0 : 1, lexer->at);
    return 1;
}

/* Takes a '#' outside a preprocessor line. */
static bool hash(struct lexer *lexer) {
    const char *found = directive_at(lexer->at), *name;
    const size_t length = hash_word(lexer->at, &name);
    if (found) return put(lexer, TOKEN_DIRECTIVE, (size_t)(name - lexer->at) + length, lexer->line);
    if (!lexer->fresh)
        diagnostics_add(lexer->diagnostics, lexer->line, NULL,
                        "a # may stand only at the beginning of a line; our directives are "
                        "#STRUCT, #P2P_FUNC, #N2P_FUNC, #R2S_FUNC, #R2V_FUNC and #MAP");
    lexer->preprocessor = true;
    return put(lexer, TOKEN_PUNCTUATOR, 1, lexer->line);
}

static bool take(struct lexer *lexer) {
    const char *at = lexer->at;
    const int line = lexer->line;
    if (at[0] == '/' && at[1] == '/') return put(lexer, TOKEN_COMMENT, line_comment(lexer), line);
    if (at[0] == '/' && at[1] == '*') return put(lexer, TOKEN_COMMENT, block_comment(lexer), line);
    if (*at == '"') return put(lexer, TOKEN_STRING, quoted(lexer), line);
    if (*at == '\'') return put(lexer, TOKEN_CHARACTER, quoted(lexer), line);
    if (is_word_start(*at)) return put(lexer, TOKEN_WORD, word(lexer), line);
    if (isdigit((unsigned char)*at) || (*at == '.' && isdigit((unsigned char)at[1])))
        return put(lexer, TOKEN_NUMBER, number(lexer), line);
    if (*at == '#' && !lexer->preprocessor) return hash(lexer);
    return put(lexer, TOKEN_PUNCTUATOR, punctuator(lexer), line);
}

/* Skips blanks and line ends. */
static void skip(struct lexer *lexer) {
    for (;; lexer->at++) {
        const char *at = lexer->at;
        const bool continued = at[0] == '\\' && at[1] == '\n' && lexer->preprocessor &&
                               (at[-1] == ' ' || at[-1] == '\t');
        if (continued) {
            lexer->at++;
            lexer->line++;
        } else if (*at == '\n') {
            lexer->line++;
            lexer->preprocessor = false;
            lexer->fresh = true;
        } else if (*at != ' ' && *at != '\t') {
            return;
        }
    }
}

static void find_trigraphs(const char *text, struct diagnostics *diagnostics) {
    int line = 1;
    for (; *text; text++) {
        line += *text == '\n';
        if (text[0] == '?' && text[1] == '?' && text[2] && strchr("=/'()!<>-", text[2]))
            diagnostics_add(diagnostics, line, NULL,
                            "the trigraph ?\?%c is not accepted: some compilers replace it",
                            text[2]);
    }
}

bool tokens_read(const char *text, struct tokens *tokens, struct diagnostics *diagnostics) {
    *tokens = (struct tokens){ 0 };
    struct lexer lexer = {
        .at = text, .line = 1, .fresh = true, .tokens = tokens, .diagnostics = diagnostics
    };
    find_trigraphs(text, diagnostics);
    for (skip(&lexer); *lexer.at; skip(&lexer))
        if (!take(&lexer)) return false;
    lexer.preprocessor = false;
    return put(&lexer, TOKEN_END, 0, lexer.line);
}

void tokens_release(struct tokens *tokens) {
    free(tokens->list);
    *tokens = (struct tokens){ 0 };
}
