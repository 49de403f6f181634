// SPDX-License-Identifier: Apache-2.0
/* param.h - typed parameters of an operator: name, range, default, unit.
 *
 * From struct param come parsing, range errors, GET /ops, `burin ops` and the table of the README.
 * A parsed set is plain data: numbers in the order of the operator's list.
 *
 * Used by:  operators' records, plan.c; config/ for its own values.
 * Owns:     nothing; strings belong to the operators' records or to the caller.
 * Fails:    STATUS_BAD_PARAM; the message names the parameter and its range.
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

enum { PARAMS_MAX = 12, CHOICES_MAX = 10, TAPS_MAX = 25, MATRIX_MAX = 12 };

/* The side of an operator's input that a percentage is of; PARAM_INT alone. */
enum param_share { SHARE_NONE, SHARE_OF_WIDTH, SHARE_OF_HEIGHT };

enum param_type {
    PARAM_NONE, /* ends the list */
    PARAM_INT,
    PARAM_BOOL,    /* true, false, 1, 0, yes, no, on, off; default 0 or 1 */
    PARAM_CHOICE,  /* one of `choices`; its number is its index there */
    PARAM_TAPS,    /* 9 or 25 integers, row by row, separated by blanks or commas */
    PARAM_DECIMAL, /* at most three places after the point; its number is in thousandths */
    PARAM_COLOUR,  /* RRGGBB, RRGGBBAA in hexadecimal, or a CSS name; its number is 0xRRGGBBAA */
    PARAM_PAIR,    /* two integers as in 4x3, both in the range; its number is PAIR(4, 3) */
    PARAM_MATRIX,  /* 9 or 12 decimals like PARAM_TAPS: 3 rows; its taps are in thousandths */
};

/* Whether a parameter has `taps` in place of a number; an operator has one such at most. */
static inline bool param_is_list(enum param_type type) {
    return type == PARAM_TAPS || type == PARAM_MATRIX;
}

/* Returns the longer of the two lengths that a list may have; the shorter is 9. */
static inline int param_list_max(enum param_type type) {
    return type == PARAM_MATRIX ? MATRIX_MAX : TAPS_MAX;
}

/* A pair of integers 0..65535 as one number. */
#define PAIR(first, second) ((long)(first) << 16 | (second))
#define PAIR_FIRST(pair)    ((pair) >> 16)
#define PAIR_SECOND(pair)   ((pair)&0xffff)

/* The largest value of a decimal without a bound of its own, in thousandths. */
#define PARAM_DECIMAL_DEFAULT_MAX (1000000L * 1000)

struct param {
    const char *name;
    const char *summary; /* one line, no full stop */
    const char *unit;    /* "bins", "levels"...; NULL: none */
    enum param_type type;
    long min, max; /* inclusive; of a list or a pair: of each number */
    long def;
    long example;  /* for a trial run of an operator whose defaults do not suffice; 0: none */
    bool required; /* no default: must be given */
    enum param_share share;
    const char *choices[CHOICES_MAX];
};

struct params {
    long number[PARAMS_MAX];
    uint32_t given;   /* bit i: parameter i was given by the caller */
    uint32_t percent; /* bit i: number[i] is in thousandths of a percent, until params_settle */
    int32_t tap_count;
    int32_t taps[TAPS_MAX];
};

/* Sets every parameter of LIST to its default. */
void params_init(struct params *params, const struct param *list);

/* Sets one parameter from text. STATUS_BAD_PARAM for an unknown name (the message suggests the
 * nearest), a value that does not parse or is out of range (the message names the range), or a name
 * given twice. OWNER is the operator's name, for the message. */
enum status params_set(struct params *params, const struct param *list, const char *owner,
                       const char *name, const char *value, struct failure *failure);

/* Turns percentages into numbers, for an input of WIDTH x HEIGHT: rounded half up, and at least the
 * range's minimum if more than 0. STATUS_BAD_PARAM if one is out of its range. */
enum status params_settle(struct params *params, const struct param *list, const char *owner,
                          uint32_t width, uint32_t height, struct failure *failure);

/* Whether parameter INDEX of LIST has a value that params_set could have set. */
bool params_is_valid(const struct params *params, const struct param *list, int index);

/* Whether it has a value where none is given: a default out of range means "not given". */
bool param_has_default(const struct param *param);

/* STATUS_BAD_PARAM unless every required parameter was given. */
enum status params_complete(const struct params *params, const struct param *list,
                            const char *owner, struct failure *failure);

/* Writes the range: "integer 2..65536", "minmax | maxabs", "true | false"... */
void param_range(const struct param *param, char *text, size_t size);

/* Writes the value of parameter INDEX as text that params_set reads back. */
void param_print(const struct param *param, const struct params *params, int index, char *text,
                 size_t size);

enum { PARAM_SHOWN_MAX = 48 };

/* A client's TEXT made fit for a message: printable ASCII, cut short. Returns SHOWN. */
const char *param_shown(const char *text, char shown[PARAM_SHOWN_MAX]);

/* Reads all of TEXT as a decimal integer; false if it is none or does not fit. */
bool param_integer(const char *text, long *number);

/* Reads all of TEXT as a decimal with at most three places after the point, in thousandths; false
 * if it is none or does not fit. No rounding, no locale. */
bool param_decimal(const char *text, long *thousandths);

/* Reads RRGGBB or RRGGBBAA, with or without a leading '#', or a name (colour_names.h) as
 * 0xRRGGBBAA; opaque without alpha. */
bool param_colour(const char *text, uint32_t *rgba);

enum { PAIR_TEXT_MAX = 32 };

/* A pair as text, "4x3"; returns TEXT. */
const char *param_pair_print(long pair, char text[PAIR_TEXT_MAX]);

enum { COLOUR_TEXT_MAX = 16 };

/* 0xRRGGBBAA as text, without alpha if it is opaque; returns TEXT. */
const char *param_colour_print(uint32_t rgba, char text[COLOUR_TEXT_MAX]);

enum { DECIMAL_TEXT_MAX = 32 };

/* Thousandths as the shortest text that param_decimal reads back: "0.5", "-3"; returns TEXT. */
const char *param_decimal_print(long thousandths, char text[DECIMAL_TEXT_MAX]);

/* Reads true, false, 1, 0, yes, no, on, off in any case; false if TEXT is none of them. */
bool param_bool(const char *text, bool *value);

/* The candidate nearest to NAME by edit distance, or NULL if none is near. Ignores case and treats
 * '-' as '_'. */
const char *nearest_name(const char *name, const char *const *candidates, size_t count);

#ifdef __cplusplus
}
#endif
#endif
