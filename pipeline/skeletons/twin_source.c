// SPDX-License-Identifier: Apache-2.0
/* How it works. The user's text is copied up to each of its functions in turn, with #include lines
 * and our directives blanked, so that lines keep their numbers. Before a function stands its
 * declaration as `static inline`; an R2S of T and E stands there once for each depth, its types and
 * its second name given by macros. Behind the text every operator has its skeleton's loop, which
 * reads what it needs from macros too. */
#include "pipeline/skeletons/twin_source.h"

#include "pipeline/skeletons/embedded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool twin_source_has(const struct user_op *op, int depth) {
    return !op->depth || op->depth == depth;
}

enum scalar_type twin_source_result(const struct user_op *op, int depth) {
    return op->result ? op->result : depth == 8 ? SCALAR_UCHAR : SCALAR_USHORT;
}

/* Such an operator's function is written twice, with other types. */
static bool is_twofold(const struct user_op *op) {
    return op->generic && !op->result;
}

/* ---- the user's text */

/* TEXT with everything but ends of lines made blank. */
static void blank(FILE *out, const char *text, const char *end) {
    for (; text < end; text++) fputc(*text == '\n' ? '\n' : ' ', out);
}

/* Behind the directive, its result's type, or the line of #include that begins at TOKEN. */
static const char *blank_end(const struct token *token, const struct user_file *file) {
    const char *end = token->text + token->length;
    if (token->kind != TOKEN_DIRECTIVE) return end + strcspn(end, "\n");
    for (int i = 0; i < file->declarations.count; i++) {
        const struct declaration *one = &file->declarations.list[i];
        if (one->kind == DECLARATION_DIRECTIVE && one->first->text == token->text && one->result) {
            const struct token *behind = one->first + 1;
            scalar_type_read(&behind);
            return behind[-1].text + behind[-1].length;
        }
    }
    return end;
}

/* The text from START to END as compilers may see it. */
static void put_text(FILE *out, const struct user_file *file, const char *start, const char *end) {
    for (int i = 0; i < file->tokens.count; i++) {
        const struct token *token = &file->tokens.list[i];
        const bool include = token->preprocessor && token->first && token_is(token, "#") &&
                             token_is(token + 1, "include");
        if (token->text < start || token->text >= end) continue;
        if (!include && token->kind != TOKEN_DIRECTIVE) continue;
        fwrite(start, 1, (size_t)(token->text - start), out);
        start = blank_end(token, file);
        blank(out, token->text, start);
    }
    if (start < end) fwrite(start, 1, (size_t)(end - start), out);
}

static void put_line(FILE *out, int line, const char *name) {
    fprintf(out, "\n#line %d \"", line);
    for (; *name; name++)
        if (*name == '"' || *name == '\\')
            fprintf(out, "\\%c", *name);
        else
            fputc((unsigned char)*name < ' ' ? '?' : *name, out);
    fputs("\"\n", out);
}

/* The function's head as a declaration of a function that is put into the loop. */
static void put_declaration(FILE *out, const struct user_op *op) {
    fputs("BURIN_INLINE ", out);
    for (const struct token *at = op->function->first; at < op->function->body; at++)
        if (!token_is(at, "static") && !token_is(at, "inline"))
            fprintf(out, "%.*s ", (int)at->length, at->text);
    fputs("; ", out);
}

static void put_function(FILE *out, const struct user_op *op) {
    const struct token *last = op->function->end - 1;
    put_declaration(out, op);
    put_text(out, op->file, op->function->first->text, last->text + 1);
}

/* T and E, and for the second depth another name, around the function. */
static void put_generic(FILE *out, const struct user_op *op, int depth) {
    const char *type = scalar_type_name(twin_source_result(op, depth));
    fprintf(out, "\n#define T %s\n#define E %s\n", type, type);
    if (depth == 16) fprintf(out, "#define %s burin_%s_for_16\n", op->op.name, op->op.name);
    put_line(out, op->function->first->line, op->file->name);
    put_function(out, op);
    fprintf(out, "\n#undef T\n#undef E\n");
    if (depth == 16) fprintf(out, "#undef %s\n", op->op.name);
}

void twin_source_put_user_text(FILE *out, const struct user_file *file) {
    const char *at = file->text;
    put_line(out, 1, file->name);
    for (int i = 0; i < file->count; i++) {
        const struct user_op *op = &file->ops[i];
        const struct token *last = op->function->end - 1;
        put_text(out, file, at, op->function->first->text);
        at = last->text + 1;
        if (!op->generic) {
            put_function(out, op);
            continue;
        }
        put_generic(out, op, 8);
        if (is_twofold(op)) put_generic(out, op, 16);
        put_line(out, last->line, file->name);
    }
    put_text(out, file, at, file->text + file->length);
}

void twin_source_function(const struct user_op *op, int depth, char *name, size_t size) {
    const bool second = is_twofold(op) && depth == 16;
    snprintf(name, size, second ? "burin_%s_for_16" : "%s", op->op.name);
}

/* ---- the loops */

static const struct {
    const char *file, *text;
} templates[] = {
    [SKELETON_P2P] = { "p2p.h", embedded_p2p },
    [SKELETON_N2P] = { "n2p.h", embedded_n2p },
    [SKELETON_R2S] = { "r2s.h", embedded_r2s },
    [SKELETON_R2V] = { "r2v.h", embedded_r2v },
};

/* What the user has called `in` or `rows` is no business of the loops. */
static void put_undefinitions(FILE *out, const struct user_file *file) {
    fputc('\n', out);
    for (int i = 0; i + 2 < file->tokens.count; i++) {
        const struct token *at = &file->tokens.list[i];
        if (at->preprocessor && at->first && token_is(at + 1, "define"))
            fprintf(out, "#undef %.*s\n", (int)at[2].length, at[2].text);
    }
}

static void put_loop(FILE *out, const struct user_op *op, int depth) {
    static const char *const names[] = { "NAME",          "SAMPLE",   "PIXEL",  "PARAMS", "PASS",
                                         "USES_POSITION", "FUNCTION", "RESULT", "WINDOW" };
    const char *name = op->op.name;
    const bool second = is_twofold(op) && depth == 16;
    fprintf(out, "\ntypedef %s burin_%s_%d_params;\n",
            op->parameters ? op->parameters->name : "struct burin_nothing", name, depth);
    fprintf(out, "#define BURIN_NAME(part)    burin_%s_%d_##part\n", name, depth);
    fprintf(out, "#define BURIN_FUNCTION      %s%s%s\n", second ? "burin_" : "", name,
            second ? "_for_16" : "");
    fprintf(out, "#define BURIN_PARAMS        burin_%s_%d_params\n", name, depth);
    fprintf(out, "#define BURIN_PASS          %s\n", op->parameters ? ", burin_p" : "");
    fprintf(out, "#define BURIN_SAMPLE        burin_sample%d\n", depth);
    fprintf(out, "#define BURIN_PIXEL         unsigned %s\n", depth == 8 ? "char" : "short");
    fprintf(out, "#define BURIN_USES_POSITION %d\n", op->uses_position);
    fprintf(out, "#define BURIN_RESULT        %s\n",
            scalar_type_name(twin_source_result(op, depth)));
    fprintf(out, "#define BURIN_WINDOW        %d\n", op->window);
    put_line(out, 1, templates[op->skeleton].file);
    fputs(templates[op->skeleton].text, out);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        fprintf(out, "#undef BURIN_%s\n", names[i]);
}

static void put_part(FILE *out, const char *name, const char *text) {
    put_line(out, 1, name);
    fputs(text, out);
}

char *twin_source(const struct user_file *file) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    put_part(out, "rows.h", embedded_rows);
    put_part(out, "prelude.h", embedded_prelude);
    put_part(out, "exact_math.h", embedded_exact_math);
    twin_source_put_user_text(out, file);
    put_undefinitions(out, file);
    for (int i = 0; i < file->count; i++)
        for (int depth = 8; depth <= 16; depth += 8)
            if (twin_source_has(&file->ops[i], depth)) put_loop(out, &file->ops[i], depth);
    const bool bad = ferror(out);
    if (fclose(out) == 0 && !bad) return text;
    free(text);
    return NULL;
}
