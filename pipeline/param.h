// SPDX-License-Identifier: Apache-2.0
/* param.h - typed parameters of an operator: name, range, default, unit.
 *
 * From struct param come parsing, range errors, GET /ops, `burin ops` and the table of the README.
 * A parsed set is plain data: numbers by the parameter's place in the operator's list.
 *
 * Used by:  operators' records, plan.c; the configuration reads its own values with it.
 * Fails:    STATUS_BAD_PARAM, with a sentence that names the parameter and its range.
 * Threads:  any.
 * Limits:   PARAMS_MAX, CHOICES_MAX, TAPS_MAX.
 */
#ifndef BURIN_PARAM_H
#define BURIN_PARAM_H

#include "pipeline/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PARAMS_MAX = 12, CHOICES_MAX = 10, TAPS_MAX = 25 };

enum param_type {
    PARAM_NONE, /* ends the list */
    PARAM_INT,
    PARAM_BOOL,    /* true, false, 1, 0, yes, no, on, off; default 0 or 1 */
    PARAM_CHOICE,  /* one of `choices`; its number is its place there */
    PARAM_TAPS,    /* 9 or 25 integers, row by row, separated by blanks or commas */
    PARAM_DECIMAL, /* at most three places after the point; numbers are its thousandths */
    PARAM_COLOUR,  /* RRGGBB or RRGGBBAA in hexadecimal digits; its number is 0xRRGGBBAA */
    PARAM_PAIR,    /* two integers as in 4x3, both in the range; its number is PAIR(4, 3) */
};

/* The number of a pair, of integers 0..65535, and what it is made of. */
#define PAIR(first, second) ((long)(first) << 16 | (second))
#define PAIR_FIRST(pair)    ((pair) >> 16)
#define PAIR_SECOND(pair)   ((pair)&0xffff)

/* Thousandths: the range of a decimal for which nothing else is said. */
#define PARAM_DECIMAL_DEFAULT_MAX (1000000L * 1000)

struct param {
    const char *name;
    const char *summary; /* one line, no full stop */
    const char *unit;    /* "bins", "levels"...; NULL: none */
    enum param_type type;
    long min, max; /* PARAM_INT, PARAM_DECIMAL: inclusive; PARAM_TAPS, PARAM_PAIR: of each */
    long def;
    long example;  /* to try the operator with, which is told too little without; 0: none */
    bool required; /* no default: must be given */
    const char *choices[CHOICES_MAX];
};

struct params {
    long number[PARAMS_MAX];
    uint32_t given; /* bit i: parameter i was given by the caller */
    int32_t tap_count;
    int32_t taps[TAPS_MAX];
};

/* Every parameter of LIST at its default. */
void params_init(struct params *params, const struct param *list);

/* Sets one parameter from text. STATUS_BAD_PARAM for an unknown name (the nearest known one is
 * named), a value that does not parse or is out of range (the range is named), or a name given
 * twice. OWNER is the operator's name, for the message. */
enum status params_set(struct params *params, const struct param *list, const char *owner,
                       const char *name, const char *value, struct failure *failure);

/* Every required parameter was given, else STATUS_BAD_PARAM. */
enum status params_complete(const struct params *params, const struct param *list,
                            const char *owner, struct failure *failure);

/* "integer 2..65536", "minmax | maxabs", "true | false"... into TEXT. */
void param_range(const struct param *param, char *text, size_t size);

/* Parameter's value as text that params_set reads back. */
void param_print(const struct param *param, const struct params *params, int index, char *text,
                 size_t size);

enum { PARAM_SHOWN_MAX = 48 };

/* TEXT of a stranger as messages may show it: printable ASCII, cut short; returns SHOWN. */
const char *param_shown(const char *text, char shown[PARAM_SHOWN_MAX]);

/* The whole of TEXT as a decimal integer; false where it is none or does not fit. */
bool param_integer(const char *text, long *number);

/* The whole of TEXT as a decimal with at most three places after its point, in thousandths; false
 * where it is none or does not fit. No rounding, and no locale. */
bool param_decimal(const char *text, long *thousandths);

/* RRGGBB or RRGGBBAA, with or without '#' before it, as 0xRRGGBBAA; opaque where no alpha is said.
 */
bool param_colour(const char *text, uint32_t *rgba);

enum { PAIR_TEXT_MAX = 32 };

/* A pair as text, "4x3"; returns TEXT. */
const char *param_pair_print(long pair, char text[PAIR_TEXT_MAX]);

enum { COLOUR_TEXT_MAX = 16 };

/* 0xRRGGBBAA as text, without alpha where it is opaque; returns TEXT. */
const char *param_colour_print(uint32_t rgba, char text[COLOUR_TEXT_MAX]);

enum { DECIMAL_TEXT_MAX = 32 };

/* Thousandths as the shortest text that param_decimal reads back: "0.5", "-3"; returns TEXT. */
const char *param_decimal_print(long thousandths, char text[DECIMAL_TEXT_MAX]);

/* true, false, 1, 0, yes, no, on, off in any case; false where TEXT is none of them. */
bool param_bool(const char *text, bool *value);

/* The candidate nearest to NAME by edit distance, or NULL where none is near enough to be meant.
 * Case, and '-' for '_', make no difference. */
const char *nearest_name(const char *name, const char *const *candidates, size_t count);

#ifdef __cplusplus
}
#endif
#endif
