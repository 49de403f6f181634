// SPDX-License-Identifier: Apache-2.0
/* How it works. The text is copied in stretches: an #include or a directive is blanked, a helper
 * gets its prefix, and an operator's function its own. T and E, the name of an R2S' second form,
 * and an R2V's atomicAdd are macros around its function. The CPU twin has a loop after the user's
 * text for each operator and depth; macros pass names, types and parameters to it. */
#include "pipeline/skeletons/user_text.h"

#include "pipeline/skeletons/embedded.h"

#include <stdlib.h>
#include <string.h>

bool user_text_has(const struct user_op *op, int depth) {
    return !op->op.depth || op->op.depth == (unsigned)depth;
}

enum scalar_type user_text_result(const struct user_op *op, int depth) {
    return op->result ? op->result : depth == 8 ? SCALAR_UCHAR : SCALAR_USHORT;
}

/* Whether the function is written twice, with different types. */
static bool is_twofold(const struct user_op *op) {
    return op->generic && !op->result;
}

const char *user_text_function(const struct user_op *op, int depth, char name[USER_TEXT_NAME_MAX]) {
    const bool second = is_twofold(op) && depth == 16;
    snprintf(name, USER_TEXT_NAME_MAX, "%s%s%s", second ? "burin_" : "", op->op.name,
             second ? "_for_16" : "");
    return name;
}

void user_text_line(FILE *out, int line, const char *name) {
    fprintf(out, "\n#line %d \"", line);
    for (; *name; name++)
        if (*name == '"' || *name == '\\')
            fprintf(out, "\\%c", *name);
        else
            fputc((unsigned char)*name < ' ' ? '?' : *name, out);
    fputs("\"\n", out);
}

/* Returns the name after TOKEN if that begins a line of KIND, "define" or "undef". */
static const struct token *macro_at(const struct token *token, const char *kind) {
    return token->preprocessor && token->first && token_is(token + 1, kind) ? token + 2 : NULL;
}

void user_text_undefine(FILE *out, const struct user_file *file) {
    fputc('\n', out);
    for (int i = 0; i + 2 < file->tokens.count; i++) {
        const struct token *name = macro_at(&file->tokens.list[i], "define");
        if (name) fprintf(out, "#undef %.*s\n", (int)name->length, name->text);
    }
}

/* Returns the line of TEXT that defines the macro NAME; NULL: none. */
static const char *definition_of(const struct token *name, const char *text) {
    static const char define[] = "#define ";
    for (; (text = strstr(text, define)); text++) {
        const char *defined = text + sizeof define - 1;
        if (strcspn(defined, " (\n") == name->length &&
            memcmp(defined, name->text, name->length) == 0)
            return text;
    }
    return NULL;
}

void user_text_redefine(FILE *out, const struct user_file *file, const char *text) {
    for (int i = 0; i + 2 < file->tokens.count; i++) {
        const struct token *token = &file->tokens.list[i], *name = macro_at(token, "define");
        if (!name) name = macro_at(token, "undef");
        const char *line = name ? definition_of(name, text) : NULL;
        if (line) fprintf(out, "%.*s\n", (int)strcspn(line, "\n"), line);
    }
}

/* ---- stretches of text */

/* Blanks TEXT, except line ends. */
static void blank(FILE *out, const char *text, const char *end) {
    for (; text < end; text++) fputc(*text == '\n' ? '\n' : ' ', out);
}

/* Returns the declaration that begins with TOKEN; NULL: none. */
static const struct declaration *declaration_at(const struct user_file *file,
                                                const struct token *token) {
    for (int i = 0; i < file->declarations.count; i++)
        if (file->declarations.list[i].first->text == token->text)
            return &file->declarations.list[i];
    return NULL;
}

static const char *token_end(const struct token *token) {
    return token->text + token->length;
}

/* Returns the end of the text to blank from TOKEN on: a directive with its result's type or its
 * struct, or a line of #include; NULL: nothing is blanked. */
static const char *blank_end(const struct user_file *file, const struct token *token,
                             const struct user_text_options *options) {
    const bool include = token->preprocessor && token->first && token_is(token, "#") &&
                         token_is(token + 1, "include");
    if (include) return token->text + strcspn(token->text, "\n");
    if (token->kind != TOKEN_DIRECTIVE) return NULL;
    const struct declaration *one = declaration_at(file, token);
    if (options->without_structs && token_is(token, "#STRUCT")) return token_end(&one[1].end[-1]);
    const struct token *behind = one->first + 1;
    if (one->result) scalar_type_read(&behind);
    return token_end(&behind[-1]);
}

/* Writes the text from START to END, which contains no operator's function. */
static void put_text(FILE *out, const struct user_file *file, const char *start, const char *end,
                     const struct user_text_options *options) {
    for (int i = 0; i < file->tokens.count; i++) {
        const struct token *token = &file->tokens.list[i];
        if (token->text < start || token->text >= end) continue;
        const char *behind = blank_end(file, token, options);
        const struct declaration *one = options->helper ? declaration_at(file, token) : NULL;
        const bool helper =
            one && (one->kind == DECLARATION_FUNCTION || one->kind == DECLARATION_PROTOTYPE ||
                    one->kind == DECLARATION_CONSTANT);
        if (!behind && !helper) continue;
        fwrite(start, 1, (size_t)(token->text - start), out);
        start = token->text;
        if (helper) fprintf(out, "%s ", options->helper);
        if (behind) blank(out, start, behind);
        if (behind) start = behind;
    }
    if (start < end) fwrite(start, 1, (size_t)(end - start), out);
}

/* ---- functions */

/* Writes the function with the prefix in place of `static` and `inline`. */
static void put_function(FILE *out, const struct user_op *op,
                         const struct user_text_options *options) {
    const struct declaration *function = op->function;
    const char *from = function->first->text, *end = token_end(function->end - 1);
    fprintf(out, "%s ", options->function);
    for (const struct token *at = function->first; at < function->name; at++) {
        if (!token_is(at, "static") && !token_is(at, "inline")) continue;
        fwrite(from, 1, (size_t)(at->text - from), out);
        from = token_end(at) + (*token_end(at) == ' ');
    }
    fwrite(from, 1, (size_t)(end - from), out);
}

/* Its atomicAdd gets the list and its length, so that counts beyond them are ignored. */
static void put_counting(FILE *out, const struct user_op *op,
                         const struct user_text_options *options) {
    fprintf(out, "\n#define atomicAdd(where, number) burin_count(where, number, %.*s, %.*s)\n",
            (int)op->counts->length, op->counts->text, (int)op->bins->length, op->bins->text);
    if (options->lines) user_text_line(out, op->function->first->line, op->file->name);
    put_function(out, op, options);
    fprintf(out, "\n#undef atomicAdd\n");
}

/* Defines T and E and, for the second depth, a different name around the function. */
static void put_generic(FILE *out, const struct user_op *op, int depth,
                        const struct user_text_options *options) {
    const char *type = scalar_type_name(user_text_result(op, depth));
    char name[USER_TEXT_NAME_MAX];
    user_text_function(op, depth, name);
    const bool renamed = strcmp(name, op->op.name) != 0;
    fprintf(out, "\n#define T %s\n#define E %s\n", type, type);
    if (renamed) fprintf(out, "#define %s %s\n", op->op.name, name);
    if (options->lines) user_text_line(out, op->function->first->line, op->file->name);
    put_function(out, op, options);
    fprintf(out, "\n#undef T\n#undef E\n");
    if (renamed) fprintf(out, "#undef %s\n", op->op.name);
}

const char *user_text_pixel(const struct user_op *op, int depth) {
    if (op->skeleton == SKELETON_PIXEL) return depth == 8 ? "pixel" : "pixel16";
    return depth == 8 ? "unsigned char" : "unsigned short";
}

/* Defines the types of whole pixels that FILE's operators have; other files may use the names. */
static void put_pixel_types(FILE *out, const struct user_file *file) {
    bool put[2] = { false, false };
    for (int i = 0; i < file->count; i++) {
        const struct user_op *op = &file->ops[i];
        const bool deep = op->op.depth == 16;
        if (op->skeleton != SKELETON_PIXEL || put[deep]) continue;
        fprintf(out, "typedef struct { unsigned %s r, g, b, a; } %s;\n", deep ? "short" : "char",
                user_text_pixel(op, (int)op->op.depth));
        put[deep] = true;
    }
}

void user_text_write(FILE *out, const struct user_file *file,
                     const struct user_text_options *options) {
    const char *at = file->text;
    put_pixel_types(out, file);
    if (options->lines) user_text_line(out, 1, file->name);
    for (int i = 0; i < file->count; i++) {
        const struct user_op *op = &file->ops[i];
        const struct token *last = op->function->end - 1;
        put_text(out, file, at, op->function->first->text, options);
        at = token_end(last);
        const bool plain = !op->generic && op->skeleton != SKELETON_R2V;
        if (plain) put_function(out, op, options);
        if (op->skeleton == SKELETON_R2V) put_counting(out, op, options);
        if (op->generic) put_generic(out, op, 8, options);
        if (is_twofold(op)) put_generic(out, op, 16, options);
        if (!plain && options->lines) user_text_line(out, last->line, file->name);
    }
    put_text(out, file, at, file->text + file->length, options);
}

/* ---- the CPU twin */

const char *user_text_pass(const struct user_op *op) {
    const bool takes = op->skeleton == SKELETON_R2S ? op->function_takes : op->parameters != NULL;
    return takes ? ", burin_p" : "";
}

void user_text_map(FILE *out, const struct user_op *op, int depth) {
    if (op->map)
        fprintf(out, "%.*s((%s)burin_s%s)", (int)op->map->name->length, op->map->name->text,
                scalar_type_name(op->map_sample), op->map_takes ? ", burin_p" : "");
    else
        fprintf(out, "(%s)burin_s", scalar_type_name(user_text_result(op, depth)));
}

void user_text_given(FILE *out, const struct user_op *op) {
    static const char *const values[GIVEN_COUNT] = {
        [GIVEN_INDEX] = "burin_at.y * burin_at.width + burin_at.x",
        [GIVEN_X] = "burin_at.x",
        [GIVEN_Y] = "burin_at.y",
        [GIVEN_CHANNEL] = "burin_at.channel",
        [GIVEN_WIDTH] = "burin_at.width",
        [GIVEN_HEIGHT] = "burin_at.height",
        [GIVEN_CHANNELS] = "burin_at.channels",
    };
    for (int i = 0; i < op->given_count; i++) fprintf(out, ", %s", values[op->given[i]]);
}

static const struct {
    const char *file, *text;
} templates[] = {
    [SKELETON_P2P] = { "p2p.h", embedded_p2p },       [SKELETON_N2P] = { "n2p.h", embedded_n2p },
    [SKELETON_R2S] = { "r2s.h", embedded_r2s },       [SKELETON_R2V] = { "r2v.h", embedded_r2v },
    [SKELETON_PIXEL] = { "pixel.h", embedded_pixel },
};

static void put_loop(FILE *out, const struct user_op *op, int depth, bool lines) {
    static const char *const names[] = { "NAME",   "SAMPLE",        "PIXEL",    "PARAMS",
                                         "PASS",   "USES_POSITION", "FUNCTION", "RESULT",
                                         "WINDOW", "GIVEN",         "MAP" };
    const char *name = op->op.name;
    char function[USER_TEXT_NAME_MAX];
    fprintf(out, "\ntypedef %s burin_%s_%d_params;\n",
            op->parameters ? op->parameters->name : "struct burin_nothing", name, depth);
    fprintf(out, "#define BURIN_NAME(part)    burin_%s_%d_##part\n", name, depth);
    fprintf(out, "#define BURIN_FUNCTION      %s\n", user_text_function(op, depth, function));
    fputs("#define BURIN_GIVEN         ", out);
    user_text_given(out, op);
    fprintf(out, "\n#define BURIN_PARAMS        burin_%s_%d_params\n", name, depth);
    fprintf(out, "#define BURIN_PASS          %s\n", user_text_pass(op));
    fputs("#define BURIN_MAP           ", out);
    user_text_map(out, op, depth);
    fputc('\n', out);
    fprintf(out, "#define BURIN_SAMPLE        burin_sample%d\n", depth);
    fprintf(out, "#define BURIN_PIXEL         %s\n", user_text_pixel(op, depth));
    fprintf(out, "#define BURIN_USES_POSITION %d\n", op->uses_position);
    fprintf(out, "#define BURIN_RESULT        %s\n", scalar_type_name(user_text_result(op, depth)));
    fprintf(out, "#define BURIN_WINDOW        %d\n", op->window);
    if (lines) user_text_line(out, 1, templates[op->skeleton].file);
    fputs(templates[op->skeleton].text, out);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        fprintf(out, "#undef BURIN_%s\n", names[i]);
}

void user_text_loops(FILE *out, const struct user_file *file, bool lines) {
    for (int i = 0; i < file->count; i++)
        for (int depth = 8; depth <= 16; depth += 8)
            if (user_text_has(&file->ops[i], depth)) put_loop(out, &file->ops[i], depth, lines);
}

static void put_part(FILE *out, const char *name, const char *text) {
    user_text_line(out, 1, name);
    fputs(text, out);
}

char *user_text_twin(const struct user_file *file) {
    const struct user_text_options options = { .function = "BURIN_INLINE", .lines = true };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    put_part(out, "rows.h", embedded_rows);
    put_part(out, "prelude.h", embedded_prelude);
    put_part(out, "exact_math.h", embedded_exact_math);
    user_text_write(out, file, &options);
    /* The user's macros, such as `in` or `rows`, must not change the loops. */
    user_text_undefine(out, file);
    user_text_loops(out, file, true);
    const bool bad = ferror(out);
    if (fclose(out) == 0 && !bad) return text;
    free(text);
    return NULL;
}
