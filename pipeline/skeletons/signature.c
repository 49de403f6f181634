// SPDX-License-Identifier: Apache-2.0
/* How it works. One cursor moves over the signature's tokens, part by part. The first part that
 * differs from the skeleton's form is reported with what was found instead, and ends the reading.
 */
#include "pipeline/skeletons/signature.h"

#include <stdio.h>
#include <string.h>

struct cursor {
    const struct token *at;
    const struct declaration *function;
    const char *directive;
    const char *form; /* NULL: that of the skeleton */
    struct user_op *op;
    struct diagnostics *diagnostics;
};

const char *signature_form(enum skeleton skeleton) {
    static const char *const forms[] = {
        [SKELETON_P2P] = "static S name(S pixel, int index[, int width...][, params])",
        [SKELETON_N2P] = "static S name(S pixel[3][3], int x, int y[, int width...][, params])",
        [SKELETON_R2S] = "static T name(E a, E b[, params])",
        [SKELETON_R2V] = "static void name(S pixel, int *out, int bins[, params])",
        [SKELETON_PIXEL] = "static pixel name(pixel p[, int x...][, params])",
    };
    return forms[skeleton];
}

static bool expected(struct cursor *cursor, const char *what) {
    char shown[TOKEN_SHOWN_MAX];
    diagnostics_add(cursor->diagnostics, cursor->at->line, cursor->directive,
                    "expected %s, found \"%s\"; the form is %s", what,
                    token_shown(cursor->at, shown),
                    cursor->form ? cursor->form : signature_form(cursor->op->skeleton));
    return false;
}

static bool take(struct cursor *cursor, const char *word) {
    char what[32];
    if (token_is(cursor->at, word)) {
        cursor->at++;
        return true;
    }
    snprintf(what, sizeof what, "\"%s\"", word);
    return expected(cursor, what);
}

static bool take_name(struct cursor *cursor, const struct token **name, const char *what) {
    *name = cursor->at;
    if (cursor->at->kind != TOKEN_WORD) return expected(cursor, what);
    cursor->at++;
    return true;
}

/* The depth of images whose whole pixels have the type AT; 0: it is no such type. */
static unsigned pixel_depth(const struct token *at) {
    return token_is(at, "pixel") ? 8 : token_is(at, "pixel16") ? 16 : 0;
}

/* Takes `unsigned char` or `unsigned short`, matching OP's depth if that is known. */
static bool take_sample(struct cursor *cursor, const char *what) {
    const struct token *begin = cursor->at;
    const enum scalar_type type = scalar_type_read(&cursor->at);
    const unsigned depth = scalar_type_sample_depth(type), before = cursor->op->op.depth;
    if (depth && (!before || before == depth)) {
        cursor->op->op.depth = depth;
        return true;
    }
    cursor->at = begin;
    if (pixel_depth(begin))
        return expected(cursor, "a sample's type: only #P2P_FUNC takes whole pixels, as its first "
                                "parameter and as its result");
    return expected(cursor, what);
}

static bool is_int(const struct token *at) {
    return scalar_type_read(&at) == SCALAR_INT;
}

static bool take_int(struct cursor *cursor, const char *what) {
    return is_int(cursor->at) ? scalar_type_read(&cursor->at) : expected(cursor, what);
}

static void take_static(struct cursor *cursor) {
    while (token_is(cursor->at, "static") || token_is(cursor->at, "inline")) cursor->at++;
}

/* Takes the function's name and '('. */
static bool take_head(struct cursor *cursor) {
    if (cursor->at != cursor->function->name)
        return expected(cursor, "the function's name behind its result's type");
    cursor->at++;
    return take(cursor, "(");
}

/* Whether the body uses NAME; a macro that contains it counts. */
static bool is_used(const struct user_file *file, const struct declaration *function,
                    const struct token *name) {
    for (const struct token *at = function->body; at < function->end; at++)
        if (token_same(at, name)) return true;
    for (int i = 0; i < file->tokens.count; i++) {
        const struct token *at = &file->tokens.list[i];
        if (at->preprocessor && token_same(at, name)) return true;
    }
    return false;
}

/* Takes an optional struct from under #STRUCT, up to `)`. */
static bool take_parameters(struct cursor *cursor, const struct user_file *file) {
    const struct token *name;
    if (token_is(cursor->at, ")")) return true;
    if (!take(cursor, ",")) return false;
    while (token_is(cursor->at, "const")) cursor->at++;
    const struct parameter_struct *found = NULL;
    for (int i = 0; i < file->struct_count; i++)
        if (token_is(cursor->at, file->structs[i].name)) found = &file->structs[i];
    if (!found) return expected(cursor, "the name of a struct that stands under #STRUCT before");
    if (cursor->op->parameters && cursor->op->parameters != found)
        return expected(cursor, "the struct that the map takes");
    cursor->op->parameters = found;
    cursor->at++;
    while (token_is(cursor->at, "const")) cursor->at++;
    return take_name(cursor, &name, "the parameters' name (they are passed by value)") &&
           (token_is(cursor->at, ")") || expected(cursor, ") behind the parameters"));
}

/* The first ints behind the pixel: their meaning if their names have none. */
struct required {
    const char *what[2]; /* for messages */
    enum given place[2];
    int count, places; /* ints that must be there; entries of `place` */
};

/* Takes the ints behind the pixel. */
static bool take_given(struct cursor *cursor, const struct user_file *file,
                       const struct required *required) {
    static const char *const names[GIVEN_COUNT] = { "index", "x",      "y",       "channel",
                                                    "width", "height", "channels" };
    struct user_op *op = cursor->op;
    int unnamed = 0;
    for (int i = 0; i < required->count || (token_is(cursor->at, ",") && is_int(cursor->at + 1));
         i++) {
        const struct token *name;
        int given = 0;
        if (!take(cursor, ",") ||
            !take_int(cursor, i < required->count ? required->what[i] : "int") ||
            !take_name(cursor, &name, "the name of an int"))
            return false;
        while (given < GIVEN_COUNT && !token_is(name, names[given])) given++;
        if (given == GIVEN_COUNT && unnamed < required->places) given = required->place[unnamed++];
        const bool whole = op->skeleton == SKELETON_PIXEL;
        if (given == GIVEN_COUNT || i == GIVEN_COUNT || (whole && given == GIVEN_CHANNEL)) {
            cursor->at = name;
            return expected(cursor, whole ? "index, x, y, width, height or channels, once each"
                                          : "index, x, y, width, height, channel or channels, once "
                                            "each");
        }
        op->given[op->given_count++] = (enum given)given;
        op->uses_position |= given <= GIVEN_CHANNEL && is_used(file, cursor->function, name);
    }
    return take_parameters(cursor, file);
}

/* ---- the forms */

static const char sample_text[] = "unsigned char (8-bit images) or unsigned short (16-bit images)";

static bool read_p2p(struct cursor *cursor, const struct user_file *file) {
    static const struct required index = { { "int, the pixel's index" }, { GIVEN_INDEX }, 1, 1 };
    const struct token *name;
    return take_sample(cursor, sample_text) && take_head(cursor) &&
           take_sample(cursor, "the pixel's type, the same as the result's") &&
           take_name(cursor, &name, "the pixel's name") && take_given(cursor, file, &index);
}

/* Reports a second meaning of a pixel's TYPE, and braces, in which C++ narrows no number. */
static bool check_pixel_type(struct cursor *cursor, const struct user_file *file,
                             const struct token *type) {
    const int before = cursor->diagnostics->count;
    char shown[TOKEN_SHOWN_MAX];
    for (int i = 1; i + 3 < file->tokens.count; i++) {
        const struct token *at = &file->tokens.list[i];
        if (!token_same(at, type)) continue;
        if (token_is(at - 1, "}") || token_is(at - 1, "define"))
            diagnostics_add(cursor->diagnostics, at->line, cursor->directive,
                            "\"%s\" is the type of whole pixels in this file: choose another name",
                            token_shown(at, shown));
        const bool literal = token_is(at + 1, ")") && token_is(at + 2, "{");
        const bool list = token_is(at + 2, "=") && token_is(at + 3, "{");
        if (literal || list)
            diagnostics_add(cursor->diagnostics, at->line, cursor->directive,
                            "a %s in braces is not accepted: copy one and assign its fields, as in "
                            "\"%s q = p; q.r = 255;\"",
                            token_shown(at, shown), shown);
    }
    return cursor->diagnostics->count == before;
}

/* The first parameter has the result's type, which says the depth. */
static bool read_pixel(struct cursor *cursor, const struct user_file *file) {
    static const struct required none = { .place = { GIVEN_INDEX }, .places = 1 };
    const struct token *type = cursor->at, *name;
    cursor->op->skeleton = SKELETON_PIXEL;
    cursor->op->op.depth = pixel_depth(cursor->at++);
    if (!take_head(cursor)) return false;
    while (token_is(cursor->at, "const")) cursor->at++;
    if (!token_same(cursor->at, type))
        return expected(cursor, "the pixel's type, the same as the result's");
    cursor->at++;
    return take_name(cursor, &name, "the pixel's name") && take_given(cursor, file, &none) &&
           check_pixel_type(cursor, file, type);
}

/* Takes [3], [5] and so on up to [15], the second time the same as the first. */
static bool take_side(struct cursor *cursor) {
    if (!take(cursor, "[")) return false;
    static const char *const sides[] = { "3", "5", "7", "9", "11", "13", "15" };
    enum { SIDES = sizeof sides / sizeof *sides };
    int i = 0;
    while (i < SIDES && !token_is(cursor->at, sides[i])) i++;
    const int side = 2 * i + 3;
    if (i == SIDES || (cursor->op->window && cursor->op->window != side))
        return expected(cursor, "[3][3], [5][5] or another odd side up to [15][15] behind the "
                                "window's name");
    cursor->op->window = side;
    cursor->at++;
    return take(cursor, "]");
}

static bool read_n2p(struct cursor *cursor, const struct user_file *file) {
    static const struct required xy = { { "int x", "int y" }, { GIVEN_X, GIVEN_Y }, 2, 2 };
    const struct token *name;
    return take_sample(cursor, sample_text) && take_head(cursor) &&
           take_sample(cursor, "the window's type, the same as the result's") &&
           take_name(cursor, &name, "the window's name") && take_side(cursor) &&
           take_side(cursor) && take_given(cursor, file, &xy);
}

/* Takes an integer type, or LETTER; an earlier explicit type must be repeated. */
static bool take_value(struct cursor *cursor, const char *letter, enum scalar_type *result) {
    const struct token *begin = cursor->at;
    if (token_is(cursor->at, letter) && (cursor->op->generic || !*result)) {
        cursor->op->generic = true;
        cursor->at++;
        return true;
    }
    const enum scalar_type type = cursor->op->generic ? SCALAR_NONE : scalar_type_read(&cursor->at);
    if (type && !scalar_type_is_float(type) && type != SCALAR_BOOL &&
        (!*result || *result == type)) {
        *result = type;
        return true;
    }
    cursor->at = begin;
    if (scalar_type_is_float(type))
        return expected(cursor, "an integer type: sums of float and double would depend on the "
                                "order in which they are made");
    return expected(cursor, cursor->op->generic ? "T for the result and E for both parameters"
                            : *result           ? "the same integer type three times"
                                                : "T, or an integer type");
}

/* Reads the function under #MAP, with a cursor of its own: messages name its directive and line.
 * One that takes an int takes samples of both depths. */
static bool read_map(const struct cursor *reduction, const struct user_file *file) {
    struct cursor own = *reduction, *cursor = &own;
    const struct token *name;
    struct user_op *op = cursor->op;
    cursor->at = op->map->first;
    cursor->function = op->map;
    cursor->directive = token_directives[TOKEN_DIRECTIVE_MAP];
    cursor->form = "static int name(S pixel[, params])";
    take_static(cursor);
    const struct token *begin = cursor->at;
    const enum scalar_type type = scalar_type_read(&cursor->at);
    if (!type || scalar_type_is_float(type) || type == SCALAR_BOOL) {
        cursor->at = begin;
        return expected(cursor, "an integer type, that of the reduction");
    }
    op->map_result = type;
    if (!take_head(cursor)) return false;
    begin = cursor->at;
    op->map_sample = scalar_type_read(&cursor->at);
    op->op.depth = scalar_type_sample_depth(op->map_sample);
    if (!op->op.depth && op->map_sample != SCALAR_INT) {
        cursor->at = begin;
        return expected(cursor, "unsigned char (8-bit images), unsigned short (16-bit images) or "
                                "int (both)");
    }
    if (!take_name(cursor, &name, "the pixel's name")) return false;
    op->map_takes = token_is(cursor->at, ",");
    return take_parameters(cursor, file);
}

/* The numbers of a map and of its reduction must have one type. */
static bool check_map_result(const struct cursor *cursor) {
    const struct user_op *op = cursor->op;
    if (op->map_result == op->result) return true;
    diagnostics_add(cursor->diagnostics, cursor->function->first->line, cursor->directive,
                    "the map gives %s and the reduction takes %s: expected the same type",
                    scalar_type_name(op->map_result),
                    op->result ? scalar_type_name(op->result) : "the sample's own type");
    return false;
}

static bool read_r2s(struct cursor *cursor, const struct user_file *file) {
    const struct token *a, *b;
    struct user_op *op = cursor->op;
    enum scalar_type explicit_type = SCALAR_NONE;
    if (!take_value(cursor, "T", &explicit_type) || !take_head(cursor) ||
        !take_value(cursor, "E", &explicit_type) ||
        !take_name(cursor, &a, "the first parameter's name") || !take(cursor, ",") ||
        !take_value(cursor, "E", &explicit_type) ||
        !take_name(cursor, &b, "the second parameter's name"))
        return false;
    op->function_takes = token_is(cursor->at, ",");
    if (!take_parameters(cursor, file)) return false;
    if (explicit_type && op->result && op->result != explicit_type) {
        diagnostics_add(cursor->diagnostics, cursor->function->first->line, cursor->directive,
                        "the directive says %s and the function %s: expected the same type",
                        scalar_type_name(op->result), scalar_type_name(explicit_type));
        return false;
    }
    if (explicit_type) op->result = explicit_type;
    if (op->map) return check_map_result(cursor);
    /* A sample must fit the type to which it is converted. */
    op->op.depth = op->result && scalar_type_max(op->result) < 65535 ? 8 : 0;
    return true;
}

static bool read_r2v(struct cursor *cursor, const struct user_file *file) {
    const struct token *name;
    struct user_op *op = cursor->op;
    if (!take(cursor, "void") || !take_head(cursor) || !take_sample(cursor, sample_text) ||
        !take_name(cursor, &name, "the pixel's name") || !take(cursor, ","))
        return false;
    const struct token *begin = cursor->at;
    const enum scalar_type type = scalar_type_read(&cursor->at);
    if ((type != SCALAR_INT && type != SCALAR_UINT) || (op->result && op->result != type)) {
        cursor->at = begin;
        return expected(cursor, op->result ? "a pointer to the directive's type"
                                           : "int * or unsigned int *, the counts");
    }
    op->result = type;
    return take(cursor, "*") && take_name(cursor, &op->counts, "the counts' name") &&
           take(cursor, ",") && take_int(cursor, "int, the number of bins") &&
           take_name(cursor, &op->bins, "the name of the number of bins") &&
           take_parameters(cursor, file);
}

/* Checks the type after the directive, if the skeleton takes one. */
static bool read_result(const struct declaration *directive, struct user_op *op,
                        struct diagnostics *diagnostics) {
    const enum scalar_type type = directive->result;
    op->result = type;
    if (!type) return true;
    const bool good =
        op->skeleton == SKELETON_R2S
            ? !scalar_type_is_float(type) && type != SCALAR_BOOL
            : op->skeleton == SKELETON_R2V && (type == SCALAR_INT || type == SCALAR_UINT);
    if (!good)
        diagnostics_add(diagnostics, directive->first->line, directive->directive,
                        "expected %s behind the directive, found %s%s",
                        op->skeleton == SKELETON_R2S   ? "an integer type"
                        : op->skeleton == SKELETON_R2V ? "int or unsigned int"
                                                       : "nothing",
                        scalar_type_name(type),
                        op->skeleton == SKELETON_R2S && scalar_type_is_float(type)
                            ? ": sums of float and double would depend on the order in which they "
                              "are made"
                            : "");
    return good;
}

bool signature_read(const struct user_file *file, const struct declaration *directive,
                    const struct declaration *function, struct user_op *op,
                    struct diagnostics *diagnostics) {
    struct cursor cursor = { .at = function->first,
                             .function = function,
                             .directive = directive->directive,
                             .op = op,
                             .diagnostics = diagnostics };
    if (!read_result(directive, op, diagnostics)) return false;
    take_static(&cursor);
    switch (op->skeleton) {
    case SKELETON_P2P:
        return pixel_depth(cursor.at) ? read_pixel(&cursor, file) : read_p2p(&cursor, file);
    case SKELETON_N2P: return read_n2p(&cursor, file);
    case SKELETON_R2S: return (!op->map || read_map(&cursor, file)) && read_r2s(&cursor, file);
    case SKELETON_R2V: return read_r2v(&cursor, file);
    case SKELETON_PIXEL: break;
    }
    return false;
}
