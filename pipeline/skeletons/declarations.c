// SPDX-License-Identifier: Apache-2.0
/* How it works. The tokens that are neither comments nor preprocessor lines are copied into an
 * array. A declaration ends with the ';' outside all brackets, or with the '}' of a function's
 * body, whose '{' follows a ')'. Its first words and its brackets show its kind. */
#include "pipeline/skeletons/declarations.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 128 };

/* The findings of one pass through a declaration. */
struct scan {
    int depth;
    char closers[DEPTH_MAX];    /* of the open brackets */
    const struct token *open;   /* the first '(' outside all brackets */
    const struct token *body;   /* '{' behind ')' */
    const struct token *equals; /* the first '=' outside all brackets */
    bool unfinished;            /* the file's end or a directive comes before its end */
};

static bool copy_code(const struct tokens *tokens, struct declarations *declarations) {
    struct token *to = malloc((size_t)(tokens->count + 1) * sizeof *to);
    declarations->code = to;
    if (!to) return false;
    for (int i = 0; i <= tokens->count; i++) {
        const struct token *token = &tokens->list[i];
        if (!token->preprocessor && token->kind != TOKEN_COMMENT) *to++ = *token;
    }
    return true;
}

/* Counts a bracket; false if it does not close the last open one. */
static bool count_bracket(const struct token *at, struct scan *scan,
                          struct diagnostics *diagnostics) {
    static const char open[] = "([{", close[] = ")]}";
    const char *opened = strchr(open, *at->text);
    if (opened && scan->depth == DEPTH_MAX) {
        diagnostics_add(diagnostics, at->line, NULL, "brackets are nested more than %d deep",
                        DEPTH_MAX);
        return false;
    }
    if (opened) scan->closers[scan->depth++] = close[opened - open];
    if (opened || !strchr(close, *at->text)) return true;
    if (scan->depth && scan->closers[scan->depth - 1] == *at->text) {
        scan->depth--;
        return true;
    }
    if (scan->depth)
        diagnostics_add(diagnostics, at->line, NULL, "expected %c, found %c",
                        scan->closers[scan->depth - 1], *at->text);
    else
        diagnostics_add(diagnostics, at->line, NULL, "this %c closes nothing", *at->text);
    return false;
}

/* Returns the token after the declaration that begins at FIRST, or the one at which it went wrong.
 */
static const struct token *walk(const struct token *first, struct scan *scan,
                                struct diagnostics *diagnostics) {
    *scan = (struct scan){ 0 };
    for (const struct token *at = first;; at++) {
        if (at->kind == TOKEN_END || at->kind == TOKEN_DIRECTIVE) {
            char shown[TOKEN_SHOWN_MAX], begin[TOKEN_SHOWN_MAX];
            diagnostics_add(diagnostics, first->line, NULL,
                            "what begins here with \"%s\" has no end: expected ; or } before %s",
                            token_shown(first, begin), token_shown(at, shown));
            scan->unfinished = true;
            return at;
        }
        if (at->kind != TOKEN_PUNCTUATOR) continue;
        const char c = *at->text;
        if (!scan->depth && c == '(' && !scan->open) scan->open = at;
        if (!scan->depth && c == '=' && !scan->equals) scan->equals = at;
        if (!scan->depth && c == '{' && at > first && token_is(at - 1, ")") && !scan->equals)
            scan->body = at;
        if (!count_bracket(at, scan, diagnostics)) {
            scan->unfinished = true;
            return at + 1;
        }
        if (!scan->depth && (c == ';' || (c == '}' && scan->body))) return at + 1;
    }
}

static bool starts_with(const struct token *first, const struct token *end, const char *word) {
    for (; first < end && first->kind == TOKEN_WORD; first++)
        if (token_is(first, word)) return true;
    return false;
}

static enum declaration_kind kind_of(const struct token *first, const struct token *end,
                                     const struct scan *scan) {
    const struct token *last = end - 1; /* the ';' or '}' */
    if (scan->body) return DECLARATION_FUNCTION;
    if (token_is(first, "typedef")) return DECLARATION_TYPE;
    const bool aggregate = starts_with(first, end, "struct") || starts_with(first, end, "union") ||
                           starts_with(first, end, "enum");
    if (aggregate && !scan->equals && last > first &&
        (token_is(last - 1, "}") || last - first == 2))
        return DECLARATION_TYPE;
    if (scan->open && !scan->equals && token_is(last - 1, ")")) return DECLARATION_PROTOTYPE;
    return DECLARATION_CONSTANT;
}

static bool add(struct declarations *declarations, int *capacity, struct declaration fresh) {
    if (declarations->count == *capacity) {
        *capacity = *capacity ? 2 * *capacity : 32;
        struct declaration *more =
            realloc(declarations->list, (size_t)*capacity * sizeof *declarations->list);
        if (!more) return false;
        declarations->list = more;
    }
    declarations->list[declarations->count++] = fresh;
    return true;
}

/* Returns the first of the comments on the lines just before TEXT; NULL where there is none. */
static const struct token *comment_before(const struct tokens *tokens, const char *text) {
    const struct token *found = NULL, *at = tokens->list;
    int end = 0;
    for (; at->text < text; at++) {
        const bool comment = at->kind == TOKEN_COMMENT && at->first;
        if (comment && (!found || at->line > end + 1)) found = at;
        if (!comment) found = NULL;
        end = at->line;
        for (size_t i = 0; i < at->length; i++) end += at->text[i] == '\n';
    }
    return found && at->line <= end + 1 ? found : NULL;
}

/* Reads a result's type after the directive at *AT, unless the words belong to the function itself.
 */
static enum scalar_type result_behind(const struct token **at) {
    const struct token *directive = (*at)++, *end = *at;
    const enum scalar_type type = scalar_type_read(&end);
    const bool own = end->line > directive->line || token_is(end, "static") ||
                     token_is(end, "inline") || end->kind == TOKEN_END;
    if (!type || (*at)->line > directive->line || !own) return SCALAR_NONE;
    *at = end;
    return type;
}

/* A function's name precedes its parenthesis. */
static void name_function(struct declaration *declaration, const struct scan *scan,
                          struct diagnostics *diagnostics) {
    const bool named =
        scan->open && scan->open > declaration->first && scan->open[-1].kind == TOKEN_WORD;
    declaration->body = scan->body;
    declaration->open = scan->open;
    if (named)
        declaration->name = scan->open - 1;
    else
        diagnostics_add(diagnostics, declaration->first->line, NULL,
                        "expected a function's name before its (");
}

bool declarations_read(const struct tokens *tokens, struct declarations *declarations,
                       struct diagnostics *diagnostics) {
    int capacity = 0;
    *declarations = (struct declarations){ 0 };
    if (!copy_code(tokens, declarations)) return false;
    for (const struct token *at = declarations->code; at->kind != TOKEN_END;) {
        struct declaration fresh = { .first = at, .end = at + 1 };
        if (token_is(at, ";") || token_is(at, "}")) {
            if (token_is(at, "}"))
                diagnostics_add(diagnostics, at->line, NULL, "this } closes nothing");
            at++;
            continue;
        }
        if (at->kind == TOKEN_DIRECTIVE) {
            fresh.kind = DECLARATION_DIRECTIVE;
            fresh.directive = token_directive(at);
            fresh.comment = comment_before(tokens, at->text);
            fresh.result = result_behind(&at);
            if (!add(declarations, &capacity, fresh)) return false;
            continue;
        }
        struct scan scan;
        at = walk(at, &scan, diagnostics);
        if (scan.unfinished) continue;
        fresh.end = at;
        fresh.kind = kind_of(fresh.first, fresh.end, &scan);
        if (fresh.kind == DECLARATION_FUNCTION || fresh.kind == DECLARATION_PROTOTYPE)
            name_function(&fresh, &scan, diagnostics);
        if (!add(declarations, &capacity, fresh)) return false;
    }
    return true;
}

void declarations_release(struct declarations *declarations) {
    free(declarations->code);
    free(declarations->list);
    *declarations = (struct declarations){ 0 };
}

const struct declaration *declarations_function(const struct declarations *declarations,
                                                const struct token *name) {
    for (int i = 0; i < declarations->count; i++) {
        const struct declaration *one = &declarations->list[i];
        if (one->kind == DECLARATION_FUNCTION && one->name && token_same(one->name, name))
            return one;
    }
    return NULL;
}
