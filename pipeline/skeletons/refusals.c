// SPDX-License-Identifier: Apache-2.0
/* How it works. Two lists of words and a few rules. Nothing here needs to be clever: a name that
 * two compilers read differently, that reaches out of the function, or that keeps a state is
 * refused wherever it stands. Anything that passes meets the compiler, which links nothing, and
 * then the sandbox of the users' operators. */
#include "pipeline/skeletons/refusals.h"

#include "pipeline/param.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *word, *reason;
} refused[] = {
    { "extern", "every function that is used must stand in this file" },
    { "volatile", "an operator shares no memory" },
    { "asm", "only C is accepted" },
    { "typeof", "write the type itself" },
    { "restrict", "leave it out" },
    { "register", "leave it out" },
    { "signal", "an operator may not call the system" },
    { "setjmp", "an operator may not call the system" },
    { "longjmp", "an operator may not call the system" },
};

/* Words of C++ that are names in C: the GPU's compiler is a C++ compiler. */
static const char *const cpp_words[] = {
    "alignas",     "alignof",   "and",      "and_eq",           "bitand",       "bitor",
    "catch",       "char16_t",  "char32_t", "char8_t",          "class",        "co_await",
    "co_return",   "co_yield",  "compl",    "concept",          "const_cast",   "consteval",
    "constexpr",   "constinit", "decltype", "delete",           "dynamic_cast", "explicit",
    "export",      "friend",    "mutable",  "namespace",        "new",          "noexcept",
    "not",         "not_eq",    "nullptr",  "operator",         "or",           "or_eq",
    "private",     "protected", "public",   "reinterpret_cast", "requires",     "static_assert",
    "static_cast", "template",  "this",     "thread_local",     "throw",        "try",
    "typeid",      "typename",  "using",    "virtual",          "wchar_t",      "xor",
    "xor_eq",
};

static const char *const c_words[] = {
    "auto",   "bool",     "break", "case",   "char",   "const",  "continue", "default", "do",
    "double", "else",     "enum",  "float",  "for",    "goto",   "if",       "inline",  "int",
    "long",   "return",   "short", "signed", "sizeof", "static", "struct",   "switch",  "typedef",
    "union",  "unsigned", "void",  "while",  "true",   "false",
};

/* Functions that an operator may call: those of exact_math/names.h and those of the skeletons. */
static const char *const builtin_names[] = {
    "exp",       "expf",       "exp2",   "exp2f",  "expm1",   "expm1f", "log",     "logf",
    "log2",      "log2f",      "log10",  "log10f", "log1p",   "log1pf", "sin",     "sinf",
    "cos",       "cosf",       "tan",    "tanf",   "asin",    "asinf",  "acos",    "acosf",
    "atan",      "atanf",      "sinh",   "sinhf",  "cosh",    "coshf",  "tanh",    "tanhf",
    "sqrt",      "sqrtf",      "cbrt",   "cbrtf",  "floor",   "floorf", "ceil",    "ceilf",
    "trunc",     "truncf",     "round",  "roundf", "rint",    "rintf",  "fabs",    "fabsf",
    "nearbyint", "nearbyintf", "pow",    "powf",   "atan2",   "atan2f", "hypot",   "hypotf",
    "fmod",      "fmodf",      "fmin",   "fminf",  "fmax",    "fmaxf",  "fdim",    "fdimf",
    "copysign",  "copysignf",  "abs",    "labs",   "llabs",   "lround", "lroundf", "llround",
    "llroundf",  "lrint",      "lrintf", "llrint", "llrintf", "isnan",  "isinf",   "isfinite",
    "signbit",   "atomicAdd",
};

static const char *const headers[] = { "math.h",   "stdint.h",  "stdlib.h",
                                       "limits.h", "stdbool.h", "stddef.h" };

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool is_one_of(const struct token *token, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (token_is(token, words[i])) return true;
    return false;
}

static bool is_builtin(const struct token *name) {
    return is_one_of(name, builtin_names, COUNT(builtin_names));
}

/* ---- words */

/* Returns why TOKEN is refused; NULL: it is accepted. */
static const char *refusal_of(const struct token *token) {
    for (size_t i = 0; i < COUNT(refused); i++)
        if (token_is(token, refused[i].word)) return refused[i].reason;
    if (is_one_of(token, cpp_words, COUNT(cpp_words)))
        return "it is a word of C++, which the GPU's compiler reads; choose another name";
    const char *text = token->text;
    if (token->length >= 6 && strncasecmp(text, "burin_", 6) == 0)
        return "names that begin with burin_ are reserved";
    if (text[0] == '_' && token->length > 1 && (text[1] == '_' || isupper((unsigned char)text[1])))
        return "names that begin with __ or with _ and a capital are reserved";
    return NULL;
}

static void check_word(const struct token *token, struct diagnostics *diagnostics) {
    char shown[TOKEN_SHOWN_MAX];
    const char *reason = refusal_of(token);
    if (reason)
        diagnostics_add(diagnostics, token->line, NULL, "\"%s\" is not accepted: %s",
                        token_shown(token, shown), reason);
    if ((token_is(token, "long") && token_is(token + 1, "double")) ||
        (token_is(token, "double") && token_is(token + 1, "long")))
        diagnostics_add(diagnostics, token->line, NULL,
                        "\"long double\" is not accepted: a GPU has float and double");
}

/* ---- preprocessor lines */

static void check_include(const struct token *hash, struct diagnostics *diagnostics) {
    const struct token *name = hash + 2;
    for (size_t i = 0; i < COUNT(headers); i++) {
        const char *header = headers[i];
        if (token_is(name, "<") && strncmp(name->text + 1, header, strlen(header)) == 0 &&
            name->text[1 + strlen(header)] == '>')
            return;
    }
    diagnostics_add(diagnostics, hash->line, NULL,
                    "this #include is not accepted; expected one of <math.h>, <stdint.h>, "
                    "<stdlib.h>, <limits.h>, <stdbool.h>, <stddef.h>");
}

static void check_define(const struct token *hash, struct diagnostics *diagnostics) {
    const struct token *name = hash + 2;
    char shown[TOKEN_SHOWN_MAX];
    token_shown(name, shown);
    if (!name->preprocessor || name->kind != TOKEN_WORD)
        diagnostics_add(diagnostics, hash->line, NULL, "expected a name behind #define");
    else if (is_one_of(name, c_words, COUNT(c_words)) || is_builtin(name))
        diagnostics_add(diagnostics, hash->line, NULL,
                        "\"%s\" may not be a macro's name: it has a meaning in C already", shown);
}

static void unknown_line(const struct token *hash, struct diagnostics *diagnostics) {
    const char *names[TOKEN_DIRECTIVE_COUNT];
    char shown[TOKEN_SHOWN_MAX];
    token_shown(hash + 1, shown);
    for (int i = 0; i < TOKEN_DIRECTIVE_COUNT; i++) names[i] = token_directives[i] + 1;
    const char *near = nearest_name(shown, names, TOKEN_DIRECTIVE_COUNT);
    if (near)
        diagnostics_add(diagnostics, hash->line, NULL,
                        "there is no directive #%s; did you mean #%s?", shown, near);
    else
        diagnostics_add(
            diagnostics, hash->line, NULL,
            "#%s is not accepted; expected #STRUCT, #P2P_FUNC, #N2P_FUNC, #R2S_FUNC, "
            "#R2V_FUNC, #MAP, #define, #undef, #if, #ifdef, #ifndef, #elif, #else, #endif or "
            "#include",
            shown);
}

/* Checks the line that HASH begins; returns the change of depth in #if. */
static int check_line(const struct token *hash, struct diagnostics *diagnostics) {
    const struct token *word = hash + 1;
    if (!word->preprocessor) return 0; /* a '#' alone */
    if (token_is(word, "include")) check_include(hash, diagnostics);
    if (token_is(word, "define") || token_is(word, "undef")) check_define(hash, diagnostics);
    if (token_is(word, "if") || token_is(word, "ifdef") || token_is(word, "ifndef")) return 1;
    if (token_is(word, "endif")) return -1;
    if (!token_is(word, "include") && !token_is(word, "define") && !token_is(word, "undef") &&
        !token_is(word, "elif") && !token_is(word, "else"))
        unknown_line(hash, diagnostics);
    return 0;
}

static void check_macro(const struct token *token, struct diagnostics *diagnostics) {
    if (token_is(token, "#") && token_is(token + 1, "#") && token[1].text == token->text + 1)
        diagnostics_add(diagnostics, token->line, NULL,
                        "## is not accepted: a name must be readable where it stands");
    if (token_is(token, "static"))
        diagnostics_add(diagnostics, token->line, NULL,
                        "static may not stand in a macro: what it makes must be readable where it "
                        "stands");
}

/* Refuses C23's [[gnu::constructor]] (neither sign has a meaning in C17, nor in a macro that makes
 * one of them), and "...", a range of values: C++ has no ranges, and a compiler may never finish
 * writing out the table. */
static void check_punctuator(const struct token *token, struct diagnostics *diagnostics) {
    const struct token *next = token + 1;
    const bool brackets = token_is(token, "[") && token_is(next, "[");
    const bool colons =
        token_is(token, ":") && token_is(next, ":") && next->text == token->text + 1;
    if (brackets || colons)
        diagnostics_add(diagnostics, token->line, NULL,
                        "%s is not accepted: an operator has no attributes",
                        brackets ? "[[" : "::");
    if (token_is(token, ".") && token_is(next, ".") && next->text == token->text + 1)
        diagnostics_add(diagnostics, token->line, NULL,
                        "... is not accepted: write out each value, and each parameter");
}

void refusals_in_tokens(const struct tokens *tokens, struct diagnostics *diagnostics) {
    int depth = 0;
    for (int i = 0; i < tokens->count; i++) {
        const struct token *token = &tokens->list[i];
        const bool begins = token->preprocessor && token->first && token_is(token, "#");
        if (token->kind == TOKEN_WORD) check_word(token, diagnostics);
        if (token->kind == TOKEN_PUNCTUATOR) check_punctuator(token, diagnostics);
        if (token->preprocessor) check_macro(token, diagnostics);
        if (begins) depth += check_line(token, diagnostics);
        if (token->kind == TOKEN_DIRECTIVE && depth > 0)
            diagnostics_add(diagnostics, token->line, token_directive(token),
                            "a directive may not stand between #if and #endif");
    }
}

/* ---- declarations */

/* Returns the token after the bracket that AT opens; END where it is not closed. */
static const struct token *behind_bracket(const struct token *at, const struct token *end) {
    for (int depth = 0; at < end; at++) {
        if (token_is(at, "(") || token_is(at, "[") || token_is(at, "{")) depth++;
        if (token_is(at, ")") || token_is(at, "]") || token_is(at, "}")) depth--;
        if (depth <= 0) return at + 1;
    }
    return end;
}

/* Returns the ',' after the initializer that begins at AT, or END. */
static const struct token *behind_initializer(const struct token *at, const struct token *end) {
    while (at < end && !token_is(at, ",")) at = behind_bracket(at, end);
    return at;
}

/* Whether no variable that FIRST..END-1 declares can be changed: its type is const, and so is each
 * pointer. A pointer to a function or array, (*name), is examined inside. */
static bool is_constant(const struct token *first, const struct token *end) {
    bool type = false, pointer = false, pointers = false;
    for (const struct token *at = first; at < end;) {
        const bool inner = token_is(at, "(") && token_is(at + 1, "*");
        if (token_is(at, ",") && (pointer || (!pointers && !type))) return false;
        if (token_is(at, ",")) pointer = pointers = false;
        if (token_is(at, "const") && !pointers) type = true;
        if (token_is(at, "const")) pointer = false;
        if (token_is(at, "*")) pointer = pointers = true;
        if (token_is(at, "="))
            at = behind_initializer(at, end);
        else
            at = inner ? at + 1 : behind_bracket(at, end);
    }
    return !pointer && (pointers || type);
}

static void check_body(const struct declaration *function, struct diagnostics *diagnostics) {
    char shown[TOKEN_SHOWN_MAX];
    for (const struct token *at = function->body; at < function->end; at++) {
        if (token_same(at, function->name) && token_is(at + 1, "("))
            diagnostics_add(diagnostics, at->line, NULL,
                            "%s calls itself: recursion is not accepted, write a loop",
                            token_shown(at, shown));
        const struct token *end = at;
        if (token_is(at, "static"))
            while (end < function->end && !token_is(end, ";"))
                end = behind_bracket(end, function->end);
        if (end > at && !is_constant(at, end))
            diagnostics_add(diagnostics, at->line, NULL,
                            "a static variable in a function must be const: an operator keeps "
                            "nothing from pixel to pixel");
    }
}

static bool is_macro(const struct tokens *tokens, const struct token *name) {
    for (int i = 0; i + 2 < tokens->count; i++) {
        const struct token *at = &tokens->list[i];
        if (at->preprocessor && at->first && token_is(at + 1, "define") && token_same(name, at + 2))
            return true;
    }
    return false;
}

/* Checks calls in bodies and in macros, where a macro's parameters may be called too. */
static void check_calls(const struct tokens *tokens, const struct declarations *declarations,
                        struct diagnostics *diagnostics) {
    char shown[TOKEN_SHOWN_MAX];
    for (int i = 0; i < tokens->count; i++) {
        const struct token *at = &tokens->list[i];
        if (at->kind != TOKEN_WORD || at->preprocessor || !token_is(at + 1, "(")) continue;
        if (is_one_of(at, c_words, COUNT(c_words)) || is_builtin(at) || token_is(at, "T") ||
            token_is(at, "E") || declarations_function(declarations, at) || is_macro(tokens, at) ||
            refusal_of(at))
            continue;
        const struct token *type = at;
        if (scalar_type_read(&type) || token_is(at, "defined")) continue;
        const char *near =
            nearest_name(token_shown(at, shown), builtin_names, COUNT(builtin_names));
        diagnostics_add(diagnostics, at->line, NULL,
                        "there is no function \"%s\" in this file, and it is none that every "
                        "operator may call%s%s%s",
                        shown, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
}

void refusals_in_declarations(const struct tokens *tokens, const struct declarations *declarations,
                              struct diagnostics *diagnostics) {
    char shown[TOKEN_SHOWN_MAX];
    for (int i = 0; i < declarations->count; i++) {
        const struct declaration *one = &declarations->list[i];
        if (one->kind == DECLARATION_CONSTANT && !is_constant(one->first, one->end - 1))
            diagnostics_add(diagnostics, one->first->line, NULL,
                            "a variable outside a function must be const; this begins with \"%s\"",
                            token_shown(one->first, shown));
        if (one->kind == DECLARATION_FUNCTION && one->name) check_body(one, diagnostics);
        if (one->kind == DECLARATION_FUNCTION && one->name && is_builtin(one->name))
            diagnostics_add(diagnostics, one->name->line, NULL,
                            "there is a function %s for every operator already: choose another "
                            "name",
                            token_shown(one->name, shown));
        if (one->kind == DECLARATION_PROTOTYPE && one->name &&
            !declarations_function(declarations, one->name))
            diagnostics_add(diagnostics, one->first->line, NULL,
                            "%s is declared but has no body in this file: expected { behind its )",
                            token_shown(one->name, shown));
    }
    check_calls(tokens, declarations, diagnostics);
}
