// SPDX-License-Identifier: Apache-2.0
/* How it works. Under IMAGINARY_PATH values are read as imaginary's params.go reads them: numbers
 * lose their sign and are rounded, those of JSON are cut off; 0 and "" count as not given, and
 * unknown words have a default. Elsewhere a value must be right, and only forms that Burin does not
 * have are translated. */
#include "server/http/imaginary_rows.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status imaginary_ignore(const struct imaginary *imaginary, const char *name) {
    char shown[PARAM_SHOWN_MAX], *list = imaginary->ignored;
    const size_t used = strlen(list), length = strlen(param_shown(name, shown));
    if (!length) return STATUS_OK;
    for (const char *at = list; (at = strstr(at, shown)); at++) {
        const bool begins = at == list || at[-1] == ' ';
        if (begins && (at[length] == ',' || !at[length])) return STATUS_OK;
    }
    if (used + length + 3 < DIALECT_IGNORED_MAX)
        snprintf(list + used, DIALECT_IGNORED_MAX - used, "%s%s", used ? ", " : "", shown);
    return STATUS_OK;
}

/* ---- as imaginary reads them */

enum kind { KIND_NUMBER, KIND_TURN, KIND_DECIMAL, KIND_FLAG, KIND_WORD, KIND_SIDE, KIND_EXTEND };

static int kind_of(const char *name) {
    static const struct {
        const char *name;
        enum kind kind;
    } kinds[] = {
        { "width", KIND_NUMBER },    { "height", KIND_NUMBER },    { "top", KIND_NUMBER },
        { "left", KIND_NUMBER },     { "areawidth", KIND_NUMBER }, { "areaheight", KIND_NUMBER },
        { "factor", KIND_NUMBER },   { "quality", KIND_NUMBER },   { "compression", KIND_NUMBER },
        { "rotate", KIND_TURN },     { "sigma", KIND_DECIMAL },    { "minampl", KIND_DECIMAL },
        { "flip", KIND_FLAG },       { "flop", KIND_FLAG },        { "force", KIND_FLAG },
        { "nocrop", KIND_FLAG },     { "embed", KIND_FLAG },       { "interlace", KIND_FLAG },
        { "norotation", KIND_FLAG }, { "noprofile", KIND_FLAG },   { "stripmeta", KIND_FLAG },
        { "palette", KIND_FLAG },    { "type", KIND_WORD },        { "colorspace", KIND_WORD },
        { "gravity", KIND_SIDE },    { "extend", KIND_EXTEND },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0) return (int)kinds[i].kind;
    return -1;
}

/* Angles are cut off to quarters, at most three. */
static const char *read_number(enum kind kind, const char *value, bool in_json,
                               char text[IMAGINARY_VALUE_MAX]) {
    char *end;
    const double number = strtod(value, &end);
    if (*end || strspn(value, "+-.0123456789eE") != strlen(value) || fabs(number) > 1e6)
        return value; /* its reader refuses it */
    if (kind == KIND_DECIMAL) {
        snprintf(text, IMAGINARY_VALUE_MAX, "%.3f", fabs(number));
        return strtod(text, NULL) > 0 ? text : NULL;
    }
    long whole = in_json ? (long)number : (long)(fabs(number) + 0.5);
    if (!whole) return NULL;
    if (kind == KIND_TURN) whole = whole < 270 ? whole - whole % 90 : 270;
    snprintf(text, IMAGINARY_VALUE_MAX, "%ld", whole);
    return text;
}

/* Makes a word small, without blanks around it. */
static const char *read_word(const char *value, char text[IMAGINARY_VALUE_MAX]) {
    snprintf(text, IMAGINARY_VALUE_MAX, "%s", value + strspn(value, " "));
    for (size_t i = strlen(text); i-- > 0 && text[i] == ' ';) text[i] = '\0';
    for (char *c = text; *c; c++) *c = (char)tolower((unsigned char)*c);
    return text;
}

static const char *read_choice(const struct imaginary *imaginary, const struct param *param,
                               const char *value, const char *otherwise,
                               char text[IMAGINARY_VALUE_MAX]) {
    read_word(value, text);
    for (int i = 0; i < CHOICES_MAX && param->choices[i]; i++)
        if (strcmp(param->choices[i], text) == 0) return text;
    imaginary_ignore(imaginary, param->name);
    return otherwise;
}

/* NULL: as if it was not given. */
static const char *value_as_theirs(const struct imaginary *imaginary, const char *name,
                                   const char *value, bool in_json,
                                   char text[IMAGINARY_VALUE_MAX]) {
    const int kind = kind_of(name);
    if (kind == KIND_EXTEND)
        return read_choice(imaginary, &imaginary_frame[FRAME_EXTEND], value, "mirror", text);
    if (kind == KIND_FLAG && !*value && strcmp(name, "nocrop") == 0) return "false";
    if (!*value) return NULL;
    switch (kind) {
    case KIND_NUMBER:
    case KIND_TURN:
    case KIND_DECIMAL: return read_number((enum kind)kind, value, in_json, text);
    case KIND_FLAG:
        if (strchr("tTfF", *value) && !value[1]) return strchr("tT", *value) ? "true" : "false";
        return value;
    case KIND_WORD:
        if (strcmp(name, "type") == 0) return read_word(value, text);
        return read_choice(imaginary, &imaginary_rest[REST_COLORSPACE], value, "srgb", text);
    case KIND_SIDE:
        return read_choice(imaginary, &imaginary_frame[FRAME_GRAVITY], value, "centre", text);
    default: return value;
    }
}

/* ---- in Burin's form */

/* "250,20,10"; as imaginary reads it, a larger number is 255, and more than three are left out. */
static bool read_colour(const char *text, bool as_theirs, unsigned rgb[3]) {
    for (int i = 0; i < 3; i++) {
        const size_t digits = strspn(text += strspn(text, " "), "0123456789");
        if (digits < 1 || digits > 3) return false;
        rgb[i] = (unsigned)strtoul(text, NULL, 10);
        text += digits;
        text += strspn(text, " ");
        if (rgb[i] > 255 && !as_theirs) return false;
        if (rgb[i] > 255) rgb[i] = 255;
        if (*text != (i < 2 ? ',' : '\0') && (i < 2 || !as_theirs)) return false;
        text += i < 2;
    }
    return true;
}

const char *imaginary_value(const struct imaginary *imaginary, const char *name, const char *value,
                            bool in_json, char text[IMAGINARY_VALUE_MAX]) {
    unsigned rgb[3];
    bool on;
    if (imaginary->whole) value = value_as_theirs(imaginary, name, value, in_json, text);
    if (!value) return NULL;
    if (strcmp(name, "background") == 0 && read_colour(value, imaginary->whole, rgb)) {
        snprintf(text, IMAGINARY_VALUE_MAX, "%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
        return text;
    }
    /* zlib's levels: 6 is its middle, 9 the smallest. */
    if (strcmp(name, "compression") == 0 && strlen(value) == 1 && strchr("456789", *value))
        return *value < '7' ? "2" : "3";
    if ((strcmp(name, "interlace") == 0 || strcmp(name, "palette") == 0) && param_bool(value, &on))
        return on ? "true" : "false";
    if ((strcmp(name, "stripmeta") == 0 || strcmp(name, "noprofile") == 0) &&
        param_bool(value, &on))
        return on ? "none" : "keep";
    return value;
}
