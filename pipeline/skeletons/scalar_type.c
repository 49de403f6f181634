// SPDX-License-Identifier: Apache-2.0
#include "pipeline/skeletons/scalar_type.h"

#include <limits.h>
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
    long min, max;
} types[SCALAR_COUNT] = {
    [SCALAR_NONE] = { "no type", 0, 0, 0 },
    [SCALAR_BOOL] = { "bool", 1, 0, 1 },
    [SCALAR_CHAR] = { "char", 1, SCHAR_MIN, SCHAR_MAX },
    [SCALAR_SCHAR] = { "signed char", 1, SCHAR_MIN, SCHAR_MAX },
    [SCALAR_UCHAR] = { "unsigned char", 1, 0, UCHAR_MAX },
    [SCALAR_SHORT] = { "short", 2, SHRT_MIN, SHRT_MAX },
    [SCALAR_USHORT] = { "unsigned short", 2, 0, USHRT_MAX },
    [SCALAR_INT] = { "int", 4, INT_MIN, INT_MAX },
    [SCALAR_UINT] = { "unsigned int", 4, 0, UINT_MAX },
    [SCALAR_LONG] = { "long", 8, LONG_MIN, LONG_MAX },
    [SCALAR_ULONG] = { "unsigned long", 8, 0, LONG_MAX },
    [SCALAR_LLONG] = { "long long", 8, LONG_MIN, LONG_MAX },
    [SCALAR_ULLONG] = { "unsigned long long", 8, 0, LONG_MAX },
    [SCALAR_FLOAT] = { "float", 4, 0, 0 },
    [SCALAR_DOUBLE] = { "double", 8, 0, 0 },
};

/* Names that are types by themselves. */
static const struct {
    const char *name;
    enum scalar_type type;
} names[] = {
    { "bool", SCALAR_BOOL },       { "float", SCALAR_FLOAT },    { "double", SCALAR_DOUBLE },
    { "int8_t", SCALAR_SCHAR },    { "uint8_t", SCALAR_UCHAR },  { "int16_t", SCALAR_SHORT },
    { "uint16_t", SCALAR_USHORT }, { "int32_t", SCALAR_INT },    { "uint32_t", SCALAR_UINT },
    { "int64_t", SCALAR_LONG },    { "uint64_t", SCALAR_ULONG },
};

/* The number of each of C's words. */
struct words {
    int chars, shorts, ints, longs, signeds, unsigneds, others;
    enum scalar_type other; /* one that stands alone */
};

static bool take_word(struct words *words, const struct token *token) {
    static const char *const plain[] = { "char", "short", "int", "long", "signed", "unsigned" };
    int *const counts[] = { &words->chars, &words->shorts,  &words->ints,
                            &words->longs, &words->signeds, &words->unsigneds };
    for (unsigned i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (!token_is(token, plain[i])) continue;
        ++*counts[i];
        return true;
    }
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (!token_is(token, names[i].name)) continue;
        words->others++;
        words->other = names[i].type;
        return true;
    }
    return token_is(token, "const");
}

static enum scalar_type type_of(const struct words *words) {
    const int integers = words->chars + words->shorts + words->ints + words->longs +
                         words->signeds + words->unsigneds;
    if (words->others) return words->others == 1 && !integers ? words->other : SCALAR_NONE;
    const int sizes = words->chars + words->shorts + (words->longs > 0);
    const bool wrong = !integers || sizes > 1 || words->longs > 2 || words->ints > 1 ||
                       words->signeds + words->unsigneds > 1 || (words->chars && words->ints);
    const bool is_unsigned = words->unsigneds;
    if (wrong) return SCALAR_NONE;
    if (words->chars)
        return is_unsigned ? SCALAR_UCHAR : words->signeds ? SCALAR_SCHAR : SCALAR_CHAR;
    if (words->shorts) return is_unsigned ? SCALAR_USHORT : SCALAR_SHORT;
    if (words->longs == 2) return is_unsigned ? SCALAR_ULLONG : SCALAR_LLONG;
    if (words->longs) return is_unsigned ? SCALAR_ULONG : SCALAR_LONG;
    return is_unsigned ? SCALAR_UINT : SCALAR_INT;
}

enum scalar_type scalar_type_read(const struct token **token) {
    struct words words = { 0 };
    const struct token *at = *token;
    while (at->kind == TOKEN_WORD && take_word(&words, at)) at++;
    const enum scalar_type type = type_of(&words);
    if (type) *token = at;
    return type;
}

const char *scalar_type_name(enum scalar_type type) {
    return types[type].name;
}

size_t scalar_type_bytes(enum scalar_type type) {
    return types[type].bytes;
}

bool scalar_type_is_float(enum scalar_type type) {
    return type == SCALAR_FLOAT || type == SCALAR_DOUBLE;
}

bool scalar_type_is_signed(enum scalar_type type) {
    return types[type].min < 0;
}

long scalar_type_min(enum scalar_type type) {
    return types[type].min;
}

long scalar_type_max(enum scalar_type type) {
    return types[type].max;
}

unsigned scalar_type_sample_depth(enum scalar_type type) {
    return type == SCALAR_UCHAR ? 8 : type == SCALAR_USHORT ? 16 : 0;
}
