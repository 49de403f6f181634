// SPDX-License-Identifier: Apache-2.0
/* How it works. The declaration is `typedef struct [tag] { fields } name;`; a field is a basic type
 * and one or more names. A comment on the line on which the field ends is read as "default
 * [min,max] meaning", with integers, or with thousandths for float and double. */
#include "pipeline/skeletons/parameter_struct.h"

#include "pipeline/encode_options.h"
#include "pipeline/utf8.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char directive[] = "#STRUCT";

/* The parameters of signed addresses, then parameters and parts that every request has, besides
 * those for the result's encoding. */
static const char *const taken[] = { "key",      "expires", "not_before", "body_max", "pixels_max",
                                     "in_types", "free",    "parts",      "origin",   "client",
                                     "digest",   "once",    "signature",  "device",   "image",
                                     "file",     "media",   "damaged",    "widths",   "operations",
                                     "types",    "outputs", "overlay" };
enum { TAKEN = sizeof taken / sizeof *taken, TAKEN_OF_ADDRESSES = 13 };

static const char *taken_name(int index) {
    return index < TAKEN ? taken[index] : encode_option_name(index - TAKEN);
}

/* The parts of a comment; pointers into its text. */
struct note {
    const char *value, *range, *words; /* NULL: missing */
    size_t value_length, range_length, words_length;
};

/* ---- texts */

struct arena_text {
    struct arena_text *before;
    char bytes[];
};

const char *text_arena_copy(struct text_arena *arena, const char *text, size_t length) {
    struct arena_text *fresh = malloc(sizeof *fresh + length + 1);
    if (!fresh) {
        arena->failed = true;
        return "";
    }
    fresh->before = arena->last;
    arena->last = fresh;
    memcpy(fresh->bytes, text, length);
    fresh->bytes[length] = '\0';
    return fresh->bytes;
}

void text_arena_release(struct text_arena *arena) {
    for (struct arena_text *one = arena->last; one;) {
        struct arena_text *before = one->before;
        free(one);
        one = before;
    }
    *arena = (struct text_arena){ 0 };
}

/* ---- the comment */

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '*';
}

/* Returns the length of the number, true or false at AT. */
static size_t value_length(const char *at, const char *end) {
    size_t length = 0;
    const size_t room = (size_t)(end - at);
    if (room >= 4 && strncmp(at, "true", 4) == 0) length = 4;
    if (room >= 5 && strncmp(at, "false", 5) == 0) length = 5;
    if (!length && room && strchr("+-.0123456789", *at)) {
        while (length < room && strchr("+-.0123456789", at[length])) length++;
        if (length == 1 && !strchr("0123456789", *at)) length = 0;
    }
    const char *behind = at + length;
    const bool ends = behind == end || is_blank(*behind) || (*behind && strchr("[,;:", *behind));
    return ends ? length : 0;
}

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && is_blank(*at)) at++;
    return at;
}

static struct note note_of(const struct token *comment) {
    struct note note = { 0 };
    const bool block = comment->text[1] == '*';
    const char *at = comment->text + 2, *end = comment->text + comment->length;
    if (block && comment->length >= 4) end -= 2;
    at = skip_blanks(at, end);
    note.value_length = value_length(at, end);
    if (note.value_length) note.value = at;
    at = skip_blanks(at + note.value_length, end);
    if (at < end && *at == '[') {
        const char *close = memchr(at, ']', (size_t)(end - at));
        note.range = at + 1;
        note.range_length = close ? (size_t)(close - at - 1) : (size_t)(end - at - 1);
        if (!close) note.range_length = 0;
        at = close ? close + 1 : end;
    }
    while (at < end && (is_blank(*at) || strchr(",;:.", *at))) at++;
    while (end > at && (is_blank(end[-1]) || end[-1] == '.')) end--;
    note.words = at;
    note.words_length = (size_t)(end - at);
    return note;
}

/* ---- numbers */

static bool number_of(const char *text, size_t length, enum scalar_type type, long *number) {
    char copy[40];
    bool yes = false;
    while (length && is_blank(*text)) text++, length--;
    while (length && is_blank(text[length - 1])) length--;
    if (!length || length >= sizeof copy) return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (scalar_type_is_float(type)) return param_decimal(copy, number);
    if (type != SCALAR_BOOL) return param_integer(copy, number);
    const bool good = param_bool(copy, &yes);
    *number = yes;
    return good;
}

static void expected_note(const struct field *field, const struct param *param, int line,
                          struct diagnostics *diagnostics) {
    diagnostics_add(diagnostics, line, directive,
                    "the comment behind %s should read \"default [min,max] meaning\", such as "
                    "\"%s\"",
                    param->name,
                    field->type == SCALAR_BOOL          ? "true whether to invert"
                    : scalar_type_is_float(field->type) ? "1.5 [0,10] strength"
                                                        : "127 [0,255] level");
}

static bool read_range(const struct note *note, const struct field *field, struct param *param) {
    const char *comma = memchr(note->range, ',', note->range_length);
    if (!comma) return false;
    const size_t first = (size_t)(comma - note->range);
    long min, max;
    if (!number_of(note->range, first, field->type, &min) ||
        !number_of(comma + 1, note->range_length - first - 1, field->type, &max) || min > max)
        return false;
    param->min = min;
    param->max = max;
    return true;
}

static void default_outside(const struct param *param, int line, struct diagnostics *diagnostics) {
    char range[128], value[64];
    struct params defaults = { .number = { param->def } };
    param_range(param, range, sizeof range);
    param_print(param, &defaults, 0, value, sizeof value);
    diagnostics_add(diagnostics, line, directive,
                    "the default of %s, %s, is outside its range (%s); the comment reads \"default "
                    "[min,max] meaning\"",
                    param->name, value, range);
}

static void apply_note(const struct note *note, const struct field *field, struct param *param,
                       int line, struct text_arena *arena, struct diagnostics *diagnostics) {
    const long least = param->min, most = param->max;
    if ((note->value && !number_of(note->value, note->value_length, field->type, &param->def)) ||
        (note->range && !read_range(note, field, param))) {
        expected_note(field, param, line, diagnostics);
        return;
    }
    if (param->min < least || param->max > most)
        diagnostics_add(diagnostics, line, directive, "the range of %s does not fit into %s",
                        param->name, scalar_type_name(field->type));
    if (param->def < param->min || param->def > param->max)
        default_outside(param, line, diagnostics);
    if (note->words_length)
        param->summary = text_arena_copy(
            arena, note->words,
            utf8_cut(note->words, note->words_length < 160 ? note->words_length : 160));
}

/* ---- fields */

static struct param param_of(enum scalar_type type, const char *name) {
    struct param param = { .name = name, .type = PARAM_INT };
    if (type == SCALAR_BOOL) param.type = PARAM_BOOL;
    if (scalar_type_is_float(type)) {
        param.type = PARAM_DECIMAL;
        param.min = -PARAM_DECIMAL_DEFAULT_MAX;
        param.max = PARAM_DECIMAL_DEFAULT_MAX;
    } else {
        param.min = scalar_type_min(type);
        param.max = scalar_type_max(type);
    }
    return param;
}

/* Returns the comment after AT on its line; NULL: none. */
static const struct token *comment_behind(const struct tokens *tokens, const struct token *at) {
    for (int i = 0; i < tokens->count; i++) {
        const struct token *one = &tokens->list[i];
        if (one->kind == TOKEN_COMMENT && one->line == at->line && one->text > at->text &&
            !one->preprocessor)
            return one;
    }
    return NULL;
}

static bool name_is_short(const struct token *name, struct diagnostics *diagnostics) {
    char shown[TOKEN_SHOWN_MAX];
    if (name->length <= USER_NAME_MAX) return true;
    diagnostics_add(diagnostics, name->line, directive,
                    "%s... is too long: a name has at most %d characters", token_shown(name, shown),
                    USER_NAME_MAX);
    return false;
}

static bool name_is_free(const struct parameter_struct *out, const struct token *name,
                         struct diagnostics *diagnostics) {
    char shown[TOKEN_SHOWN_MAX];
    const char *other;
    for (int i = 0; (other = taken_name(i)); i++) {
        if (!token_is(name, other)) continue;
        diagnostics_add(diagnostics, name->line, directive,
                        "%s a parameter \"%s\" already: choose another name",
                        i < TAKEN_OF_ADDRESSES ? "signed addresses have" : "every request has",
                        other);
        return false;
    }
    for (int i = 0; i < out->count; i++) {
        if (!token_is(name, out->params[i].name)) continue;
        diagnostics_add(diagnostics, name->line, directive, "there are two fields \"%s\"",
                        token_shown(name, shown));
        return false;
    }
    return true;
}

static bool add_field(struct parameter_struct *out, enum scalar_type type, const struct token *name,
                      struct text_arena *arena, struct diagnostics *diagnostics) {
    char shown[TOKEN_SHOWN_MAX];
    if (name->kind != TOKEN_WORD) {
        diagnostics_add(diagnostics, name->line, directive,
                        "expected a field's name behind its type %s, found \"%s\"",
                        scalar_type_name(type), token_shown(name, shown));
        return false;
    }
    if (out->count == PARAMETER_FIELDS_MAX) {
        diagnostics_add(diagnostics, name->line, directive, "a struct takes at most %d fields",
                        PARAMETER_FIELDS_MAX);
        return false;
    }
    if (!name_is_short(name, diagnostics) || !name_is_free(out, name, diagnostics)) return false;
    const size_t align = scalar_type_bytes(type);
    const size_t offset = (out->bytes + align - 1) / align * align;
    out->fields[out->count] = (struct field){ .type = type, .offset = offset };
    out->params[out->count++] = param_of(type, text_arena_copy(arena, name->text, name->length));
    out->bytes = offset + align;
    return true;
}

/* Reads one line of the struct: a type, names, ';'. Moves *AT past it. */
static bool read_fields(const struct tokens *tokens, const struct token **at,
                        struct text_arena *arena, struct parameter_struct *out,
                        struct diagnostics *diagnostics) {
    char shown[TOKEN_SHOWN_MAX];
    const int first = out->count;
    const struct token *begin = *at;
    const enum scalar_type type = scalar_type_read(at);
    if (!type) {
        diagnostics_add(diagnostics, begin->line, directive,
                        "a field must be of a basic type (bool, char, short, int, long, their "
                        "unsigned kinds, float, double), found \"%s\"",
                        token_shown(begin, shown));
        return false;
    }
    do {
        if (!add_field(out, type, *at, arena, diagnostics)) return false;
        ++*at;
    } while (token_is(*at, ",") && ++*at);
    if (!token_is(*at, ";")) {
        diagnostics_add(diagnostics, (*at)->line, directive,
                        "expected ; behind the field, found \"%s\": fields are basic types, "
                        "without pointers, arrays and bit-fields",
                        token_shown(*at, shown));
        return false;
    }
    const struct token *comment = comment_behind(tokens, *at);
    for (int i = first; comment && i < out->count; i++) {
        const struct note note = note_of(comment);
        apply_note(&note, &out->fields[i], &out->params[i], comment->line, arena, diagnostics);
    }
    ++*at;
    return true;
}

static bool expect(const struct token **at, const char *word, struct diagnostics *diagnostics) {
    char shown[TOKEN_SHOWN_MAX];
    if (token_is(*at, word)) {
        ++*at;
        return true;
    }
    diagnostics_add(diagnostics, (*at)->line, directive,
                    "expected \"typedef struct { ... } name;\", found \"%s\" where \"%s\" should "
                    "stand",
                    token_shown(*at, shown), word);
    return false;
}

bool parameter_struct_read(const struct tokens *tokens, const struct declaration *declaration,
                           struct text_arena *arena, struct parameter_struct *out,
                           struct diagnostics *diagnostics) {
    const struct token *at = declaration->first;
    *out = (struct parameter_struct){ 0 };
    if (!expect(&at, "typedef", diagnostics) || !expect(&at, "struct", diagnostics)) return false;
    if (at->kind == TOKEN_WORD) at++; /* its tag */
    if (!expect(&at, "{", diagnostics)) return false;
    while (!token_is(at, "}"))
        if (!read_fields(tokens, &at, arena, out, diagnostics)) return false;
    at++;
    if (!out->count) {
        diagnostics_add(diagnostics, declaration->first->line, directive,
                        "the struct has no fields");
        return false;
    }
    if (at->kind != TOKEN_WORD) return expect(&at, "name", diagnostics);
    if (!name_is_short(at, diagnostics)) return false;
    out->name = text_arena_copy(arena, at->text, at->length);
    at++;
    size_t align = 1;
    for (int i = 0; i < out->count; i++)
        if (scalar_type_bytes(out->fields[i].type) > align)
            align = scalar_type_bytes(out->fields[i].type);
    out->bytes = (out->bytes + align - 1) / align * align;
    return expect(&at, ";", diagnostics);
}

/* ---- the struct's bytes */

static void put_float(enum scalar_type type, long thousandths, unsigned char *at) {
    const double value = (double)thousandths / 1000.0;
    const float narrow = (float)value;
    if (type == SCALAR_FLOAT)
        memcpy(at, &narrow, sizeof narrow);
    else
        memcpy(at, &value, sizeof value);
}

void parameter_struct_fill(const struct parameter_struct *parameters, const struct params *params,
                           unsigned char bytes[PARAMETER_STRUCT_BYTES_MAX]) {
    memset(bytes, 0, PARAMETER_STRUCT_BYTES_MAX);
    for (int i = 0; i < parameters->count; i++) {
        const struct field *field = &parameters->fields[i];
        const long number = params->number[i];
        if (scalar_type_is_float(field->type))
            put_float(field->type, number, bytes + field->offset);
        else /* little-endian: the low bytes come first */
            memcpy(bytes + field->offset, &number, scalar_type_bytes(field->type));
    }
}
