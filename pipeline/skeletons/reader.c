// SPDX-License-Identifier: Apache-2.0
/* How it works. The text is copied with "\n" as line ends and cut into tokens, and refused words
 * and lines are reported. Then the outermost declarations are walked, and each directive is joined
 * with the struct or function after it. A file with any mistake is rejected. */
#include "pipeline/skeletons/reader.h"

#include "pipeline/registry.h"
#include "pipeline/skeletons/refusals.h"
#include "pipeline/skeletons/signature.h"
#include "pipeline/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the text */

static bool check_characters(const char *text, size_t length, struct diagnostics *diagnostics) {
    int line = 1;
    const unsigned char *at = (const unsigned char *)text, *end = at + length;
    for (size_t bytes; at < end; at += bytes) {
        bytes = utf8_character((const char *)at, (size_t)(end - at));
        if (!bytes) {
            diagnostics_add(diagnostics, line, NULL, "expected UTF-8 text, found the byte 0x%02x",
                            *at);
            return false;
        }
        const bool line_end = *at == '\r' && at + 1 < end && at[1] == '\n';
        if (*at < ' ' && *at != '\t' && *at != '\n' && !line_end) {
            diagnostics_add(diagnostics, line, NULL,
                            "the control character 0x%02x may not stand in a source", *at);
            return false;
        }
        line += *at == '\n';
    }
    return true;
}

/* Makes the arena's copy, with every "\r\n" replaced by "\n". */
static bool copy_text(struct user_file *file, const char *text, size_t length) {
    char *copy = malloc(length + 1);
    size_t used = 0;
    if (!copy) return false;
    for (size_t i = 0; i < length; i++)
        if (text[i] != '\r') copy[used++] = text[i];
    file->text = text_arena_copy(&file->arena, copy, used);
    file->length = used;
    free(copy);
    return true;
}

/* ---- the record's description of itself */

/* Returns the words of the comments before the directive, up to the end of the first sentence. */
static const char *summary_of(struct user_file *file, const struct declaration *directive) {
    static const char *const made[] = {
        [SKELETON_P2P] = "Each sample on its own",
        [SKELETON_N2P] = "Each sample from the samples around it",
        [SKELETON_R2S] = "One number of each channel",
        [SKELETON_R2V] = "A list of numbers of each channel",
        [SKELETON_PIXEL] = "Each pixel on its own",
    };
    char text[161];
    size_t used = 0;
    const struct user_op *op = &file->ops[file->count];
    const struct token *one =
        directive->comment || !op->map ? directive->comment : op->map[-1].comment;
    for (; one && one->kind == TOKEN_COMMENT; one++) {
        const bool block = one->text[1] == '*';
        const char *at = one->text + 2, *end = one->text + one->length - (block ? 2 : 0);
        if (used && used < sizeof text - 1) text[used++] = ' ';
        for (; at < end && used < sizeof text - 1; at++) {
            const bool blank = *at == ' ' || *at == '\t' || *at == '\n' || *at == '*' || *at == '/';
            const bool again = !used || text[used - 1] == ' ';
            if (!blank || !again) text[used++] = blank ? ' ' : *at;
        }
    }
    used = utf8_cut(text, used);
    text[used] = '\0';
    char *stop = strstr(text, ". ");
    if (stop) used = (size_t)(stop - text);
    while (used && strchr(" .", text[used - 1])) used--;
    if (used) return text_arena_copy(&file->arena, text, used);
    char from[320]; /* a file's name may be any bytes */
    snprintf(from, sizeof from, "%s, from %s", made[op->skeleton], file->name);
    utf8_clean(from);
    return text_arena_copy(&file->arena, from, strlen(from));
}

static bool list_params(struct user_op *op, const char *directive,
                        struct diagnostics *diagnostics) {
    int count = 0;
    if (op->parameters) {
        count = op->parameters->count;
        memcpy(op->params, op->parameters->params, (size_t)count * sizeof *op->params);
    }
    op->op.params = op->params;
    if (op->skeleton != SKELETON_R2V) return true;
    for (int i = 0; i < count; i++)
        if (strcmp(op->params[i].name, "bins") == 0) {
            diagnostics_add(diagnostics, op->function->first->line, directive,
                            "the struct may have no field \"bins\": every R2V has that parameter");
            return false;
        }
    if (count == PARAMETER_FIELDS_MAX) {
        diagnostics_add(diagnostics, op->function->first->line, directive,
                        "the struct of an R2V may have at most %d fields: bins is a parameter too",
                        PARAMETER_FIELDS_MAX - 1);
        return false;
    }
    op->params[count] = (struct param){ .name = "bins",
                                        .summary = "Length of the list",
                                        .unit = "numbers",
                                        .type = PARAM_INT,
                                        .min = 1,
                                        .max = USER_BINS_MAX,
                                        .def = USER_BINS_DEFAULT };
    return true;
}

/* ---- directives */

static bool name_is_free(const struct user_file *file, const struct token *name,
                         const char *directive, struct diagnostics *diagnostics) {
    static const char *const paths[] = { "pipeline", "info",    "ops",    "livez",
                                         "readyz",   "metrics", "health", "quota" };
    char shown[TOKEN_SHOWN_MAX];
    token_shown(name, shown);
    const char *reason = registry_find(shown) ? "there is an operator of that name already" : NULL;
    for (int i = 0; i < file->count; i++)
        if (token_is(name, file->ops[i].op.name)) reason = "this file has such an operator already";
    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++)
        if (token_is(name, paths[i])) reason = "the daemon answers at that path itself";
    if (token_is(name, "other")) reason = "in /metrics that is what has no name";
    if (name->length > USER_NAME_MAX) reason = "a name has at most 40 characters";
    if (reason)
        diagnostics_add(diagnostics, name->line, directive,
                        "an operator cannot be called %s: %s; choose another name", shown, reason);
    return !reason;
}

static void add_struct(struct user_file *file, const struct declaration *directive,
                       const struct declaration *next, struct diagnostics *diagnostics) {
    struct parameter_struct *fresh = &file->structs[file->struct_count];
    if (!next || next->kind != DECLARATION_TYPE)
        diagnostics_add(diagnostics, directive->first->line, "#STRUCT",
                        "expected \"typedef struct { ... } name;\" behind the directive");
    else if (file->struct_count == USER_STRUCTS_MAX)
        diagnostics_add(diagnostics, directive->first->line, "#STRUCT",
                        "a file takes at most %d structs", USER_STRUCTS_MAX);
    else if (parameter_struct_read(&file->tokens, next, &file->arena, fresh, diagnostics))
        file->struct_count++;
}

static const enum op_group groups[] = {
    [SKELETON_P2P] = OP_TONE,   [SKELETON_N2P] = OP_DETAIL, [SKELETON_R2S] = OP_VALUES,
    [SKELETON_R2V] = OP_VALUES, [SKELETON_PIXEL] = OP_COLOUR,
};

static bool is_map(const struct declaration *one) {
    return one->kind == DECLARATION_DIRECTIVE &&
           one->directive == token_directives[TOKEN_DIRECTIVE_MAP];
}

/* Reports a map with a type, without a function, or without a reduction behind it, which reads the
 * rest. */
static void check_map(const struct declarations *all, int i, struct diagnostics *diagnostics) {
    const struct declaration *one = &all->list[i];
    const bool good = i + 2 < all->count && one[1].kind == DECLARATION_FUNCTION && one[1].name &&
                      one[2].kind == DECLARATION_DIRECTIVE &&
                      strcmp(one[2].directive, "#R2S_FUNC") == 0;
    if (!good)
        diagnostics_add(diagnostics, one->first->line, one->directive,
                        "expected a function with its body and then #R2S_FUNC behind the "
                        "directive: static int name(S pixel[, params]) { ... }");
    else if (one->result)
        diagnostics_add(diagnostics, one->first->line, one->directive,
                        "expected nothing behind the directive, found %s",
                        scalar_type_name(one->result));
}

static void add_op(struct user_file *file, enum skeleton skeleton,
                   const struct declaration *directive, const struct declaration *next,
                   struct diagnostics *diagnostics) {
    const char *word = directive->directive;
    if (!next || next->kind != DECLARATION_FUNCTION || !next->name) {
        diagnostics_add(diagnostics, directive->first->line, word,
                        "expected a function with its body behind the directive: %s { ... }",
                        signature_form(skeleton));
        return;
    }
    if (file->count == USER_OPS_MAX) {
        diagnostics_add(diagnostics, directive->first->line, word,
                        "a file takes at most %d operators", USER_OPS_MAX);
        return;
    }
    struct user_op *op = &file->ops[file->count];
    *op = (struct user_op){
        .file = file,
        .skeleton = skeleton,
        .function = next,
    };
    if (directive > file->declarations.list + 1 && is_map(directive - 2)) op->map = directive - 1;
    if (!signature_read(file, directive, next, op, diagnostics) ||
        !name_is_free(file, next->name, word, diagnostics) || !list_params(op, word, diagnostics))
        return;
    op->op.name = text_arena_copy(&file->arena, next->name->text, next->name->length);
    op->op.summary = summary_of(file, directive);
    op->op.group = groups[op->skeleton];
    file->count++;
}

static void read_directives(struct user_file *file, struct diagnostics *diagnostics) {
    const struct declarations *all = &file->declarations;
    for (int i = 0; i < all->count; i++) {
        const struct declaration *one = &all->list[i];
        const struct declaration *next = i + 1 < all->count ? &all->list[i + 1] : NULL;
        if (one->kind != DECLARATION_DIRECTIVE) continue;
        int place = 0; /* the struct's, then the skeletons' */
        while (token_directives[place] != one->directive) place++;
        if (place == 0)
            add_struct(file, one, next, diagnostics);
        else if (place == TOKEN_DIRECTIVE_MAP)
            check_map(all, i, diagnostics);
        else
            add_op(file, (enum skeleton)(place - 1), one, next, diagnostics);
    }
    if (!file->count && !diagnostics->count)
        diagnostics_add(diagnostics, 1, NULL,
                        "there is no operator in this file: expected #P2P_FUNC, #N2P_FUNC, "
                        "#R2S_FUNC or #R2V_FUNC before a function");
}

/* ---- the file */

static bool read_file(struct user_file *file, struct diagnostics *diagnostics) {
    if (!tokens_read(file->text, &file->tokens, diagnostics)) return false;
    if (diagnostics->count) return true; /* later messages would only confuse */
    refusals_in_tokens(&file->tokens, diagnostics);
    const int before = diagnostics->count;
    if (!declarations_read(&file->tokens, &file->declarations, diagnostics)) return false;
    if (diagnostics->count > before) return true;
    refusals_in_declarations(&file->tokens, &file->declarations, diagnostics);
    read_directives(file, diagnostics);
    return !file->arena.failed;
}

struct user_file *reader_read(const char *path, const char *text, size_t length, size_t bytes_max,
                              struct diagnostics *diagnostics) {
    *diagnostics = (struct diagnostics){ .path = path };
    if (!bytes_max) bytes_max = READER_BYTES_MAX;
    const size_t mark = utf8_mark(text, length);
    text += mark;
    length -= mark;
    if (length > bytes_max) {
        diagnostics_add(diagnostics, 1, NULL, "the file has %zu bytes; at most %zu are read",
                        length, bytes_max);
        return NULL;
    }
    if (!check_characters(text, length, diagnostics)) return NULL;
    struct user_file *file = calloc(1, sizeof *file);
    bool good = file && copy_text(file, text, length);
    if (good) {
        const char *slash = strrchr(path, '/');
        file->path = text_arena_copy(&file->arena, path, strlen(path));
        file->name = slash ? file->path + (slash + 1 - path) : file->path;
        good = read_file(file, diagnostics);
    }
    if (!good) diagnostics_add(diagnostics, 1, NULL, "out of memory");
    if (!diagnostics->count) return file;
    reader_destroy(file);
    return NULL;
}

void reader_destroy(struct user_file *file) {
    if (!file) return;
    tokens_release(&file->tokens);
    declarations_release(&file->declarations);
    text_arena_release(&file->arena);
    free(file);
}
