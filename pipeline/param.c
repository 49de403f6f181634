// SPDX-License-Identifier: Apache-2.0
/* How it works. params_set finds a parameter by name in the operator's list, reads its value by
 * type and stores the number at the same index. A message names the range of a bad value, or
 * suggests the nearest name to an unknown one: nearest by an edit distance that counts a swap of
 * neighbours as one slip, except that a name which begins with the unknown one is nearer than any
 * other. */
#include "pipeline/param.h"

#include "pipeline/colour_names.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Longer names are never suggested and get no suggestion. */
enum { NAME_MAX_NEAR = 40 };

static int count_params(const struct param *list) {
    int count = 0;
    while (list && list[count].type != PARAM_NONE) count++;
    assert(count <= PARAMS_MAX);
    return count;
}

static int count_choices(const struct param *param) {
    int count = 0;
    while (count < CHOICES_MAX && param->choices[count]) count++;
    return count;
}

void params_init(struct params *params, const struct param *list) {
    memset(params, 0, sizeof *params);
    for (int i = 0; i < count_params(list); i++) params->number[i] = list[i].def;
}

const char *param_shown(const char *text, char shown[PARAM_SHOWN_MAX]) {
    size_t length = 0;
    for (; length < PARAM_SHOWN_MAX - 4 && text[length]; length++)
        shown[length] = text[length] >= ' ' && text[length] <= '~' ? text[length] : '?';
    memcpy(shown + length, text[length] ? "..." : "", text[length] ? 4 : 1);
    return shown;
}

bool param_integer(const char *text, long *number) {
    const char *digits = text + (*text == '-' || *text == '+');
    if (!isdigit((unsigned char)*digits)) return false;
    char *end;
    errno = 0;
    *number = strtol(text, &end, 10);
    return errno == 0 && *end == '\0';
}

/* Fifteen digits before the point leave room for the thousandths in a long. */
enum { DECIMAL_DIGITS_MAX = 15, DECIMAL_PLACES_MAX = 3 };

bool param_decimal(const char *text, long *thousandths) {
    const bool negative = *text == '-';
    text += *text == '-' || *text == '+';
    const size_t digits = strspn(text, "0123456789");
    const char *point = text + digits;
    const size_t places = *point == '.' ? strspn(point + 1, "0123456789") : 0;
    if (!digits || digits > DECIMAL_DIGITS_MAX || places > DECIMAL_PLACES_MAX) return false;
    if (*point && (!places || point[1 + places])) return false;
    long number = 0;
    for (size_t i = 0; i < digits; i++) number = number * 10 + (text[i] - '0');
    for (size_t i = 0; i < DECIMAL_PLACES_MAX; i++)
        number = number * 10 + (i < places ? point[1 + i] - '0' : 0);
    *thousandths = negative ? -number : number;
    return true;
}

const char *param_decimal_print(long thousandths, char text[DECIMAL_TEXT_MAX]) {
    const unsigned long size =
        thousandths < 0 ? 0ul - (unsigned long)thousandths : (unsigned long)thousandths;
    int length = snprintf(text, DECIMAL_TEXT_MAX, "%s%lu.%03lu", thousandths < 0 ? "-" : "",
                          size / 1000, size % 1000);
    while (text[length - 1] == '0') length--;
    if (text[length - 1] == '.') length--;
    text[length] = '\0';
    return text;
}

bool param_bool(const char *text, bool *value) {
    static const char *const words[] = { "false", "true", "0", "1", "no", "yes", "off", "on" };
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasecmp(text, words[i]) != 0) continue;
        *value = i % 2;
        return true;
    }
    return false;
}

bool param_colour(const char *text, uint32_t *rgba) {
    if (colour_named(text, rgba)) return true;
    text += *text == '#';
    const size_t length = strlen(text);
    if ((length != 6 && length != 8) || strspn(text, "0123456789abcdefABCDEF") != length)
        return false;
    const uint32_t number = (uint32_t)strtoul(text, NULL, 16);
    *rgba = length == 6 ? number << 8 | 0xff : number;
    return true;
}

const char *param_colour_print(uint32_t rgba, char text[COLOUR_TEXT_MAX]) {
    const bool opaque = (rgba & 0xff) == 0xff;
    snprintf(text, COLOUR_TEXT_MAX, "%0*x", opaque ? 6 : 8, opaque ? rgba >> 8 : rgba);
    return text;
}

const char *param_pair_print(long pair, char text[PAIR_TEXT_MAX]) {
    snprintf(text, PAIR_TEXT_MAX, "%ldx%ld", PAIR_FIRST(pair), PAIR_SECOND(pair));
    return text;
}

/* Appends to TEXT and cuts at its end; USED stays below SIZE. */
static void append(char *text, size_t size, size_t *used, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void append(char *text, size_t size, size_t *used, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text + *used, size - *used, format, arguments);
    va_end(arguments);
    *used += (size_t)length;
    if (*used >= size) *used = size - 1;
}

static enum status unknown_name(const struct param *list, const char *owner, const char *name,
                                struct failure *failure) {
    const char *names[PARAMS_MAX];
    int count = count_params(list);
    for (int i = 0; i < count; i++) names[i] = list[i].name;

    char shown[PARAM_SHOWN_MAX], all[256];
    param_shown(name, shown);
    if (!count)
        return fail(failure, STATUS_BAD_PARAM, "%s has no parameter \"%s\"; it takes none", owner,
                    shown);
    size_t used = 0;
    for (int i = 0; i < count; i++) append(all, sizeof all, &used, "%s%s", i ? ", " : "", names[i]);
    const char *near = nearest_name(name, names, (size_t)count);
    if (!near)
        return fail(failure, STATUS_BAD_PARAM, "%s has no parameter \"%s\"; it takes %s", owner,
                    shown, all);
    return fail(failure, STATUS_BAD_PARAM,
                "%s has no parameter \"%s\"; did you mean \"%s\"? It takes %s", owner, shown, near,
                all);
}

/* The most of a percentage: then 64 bits hold its product with a side. */
enum { PERCENT_MAX = 100000 };

/* Reads "12.5%", of which *THOUSANDTHS is 12500. */
static bool read_percent(const char *text, long *thousandths) {
    char number[DECIMAL_TEXT_MAX];
    const size_t length = strlen(text);
    if (length < 2 || length > sizeof number || text[length - 1] != '%') return false;
    memcpy(number, text, length - 1);
    number[length - 1] = '\0';
    return param_decimal(number, thousandths) && labs(*thousandths) <= PERCENT_MAX * 1000L;
}

static enum status set_int(struct params *params, int index, const struct param *param,
                           const char *owner, const char *value, struct failure *failure) {
    char shown[PARAM_SHOWN_MAX];
    long number;
    if (param->share && read_percent(value, &params->number[index])) {
        params->percent |= UINT32_C(1) << index;
        return STATUS_OK;
    }
    if (!param_integer(value, &number))
        return fail(failure, STATUS_BAD_PARAM, "%s: %s must be an integer %ld..%ld%s, not \"%s\"",
                    owner, param->name, param->min, param->max,
                    param->share ? " or a percentage up to 100000%" : "",
                    param_shown(value, shown));
    if (number < param->min || number > param->max)
        return fail(failure, STATUS_BAD_PARAM, "%s: %s must be %ld..%ld, not %ld", owner,
                    param->name, param->min, param->max, number);
    params->number[index] = number;
    return STATUS_OK;
}

static enum status set_decimal(struct params *params, int index, const struct param *param,
                               const char *owner, const char *value, struct failure *failure) {
    char shown[PARAM_SHOWN_MAX], range[128];
    long number;
    if (param_decimal(value, &number) && number >= param->min && number <= param->max) {
        params->number[index] = number;
        return STATUS_OK;
    }
    param_range(param, range, sizeof range);
    return fail(failure, STATUS_BAD_PARAM,
                "%s: %s must be a %s with at most three places after the point, not \"%s\"", owner,
                param->name, range, param_shown(value, shown));
}

/* Reads one integer of a pair at *TEXT and moves *TEXT past it; -1: none, or out of range. */
static long read_side(const char **text, const struct param *param) {
    char *end;
    if (!isdigit((unsigned char)**text)) return -1;
    const long number = strtol(*text, &end, 10); /* LONG_MAX if it does not fit */
    *text = end;
    return number >= param->min && number <= param->max ? number : -1;
}

static bool read_pair(const char *text, const struct param *param, long *pair) {
    const long first = read_side(&text, param);
    if (first < 0 || *text++ != 'x') return false;
    const long second = read_side(&text, param);
    *pair = PAIR(first, second);
    return second >= 0 && !*text;
}

static enum status set_word(struct params *params, int index, const struct param *param,
                            const char *owner, const char *value, struct failure *failure) {
    bool yes;
    uint32_t rgba;
    long pair;
    if (param->type == PARAM_BOOL && param_bool(value, &yes)) {
        params->number[index] = yes;
        return STATUS_OK;
    }
    if (param->type == PARAM_COLOUR && param_colour(value, &rgba)) {
        params->number[index] = rgba;
        return STATUS_OK;
    }
    if (param->type == PARAM_PAIR && read_pair(value, param, &pair)) {
        params->number[index] = pair;
        return STATUS_OK;
    }
    for (int i = 0; param->type == PARAM_CHOICE && i < count_choices(param); i++) {
        if (strcmp(value, param->choices[i]) != 0) continue;
        params->number[index] = i;
        return STATUS_OK;
    }
    char range[128], shown[PARAM_SHOWN_MAX];
    param_range(param, range, sizeof range);
    return fail(failure, STATUS_BAD_PARAM, "%s: %s must be %s, not \"%s\"", owner, param->name,
                range, param_shown(value, shown));
}

/* Reads one tap at *TEXT and moves *TEXT past it and the separator behind it. */
static bool read_tap(const char **text, const struct param *param, int32_t *tap) {
    static const char blanks[] = " \t\n\v\f\r";
    char word[32];
    long number;
    const char *start = *text + strspn(*text, blanks), *end = start;
    while (*end && *end != ',' && !strchr(blanks, *end)) end++;
    if (end - start >= (ptrdiff_t)sizeof word) return false;
    memcpy(word, start, (size_t)(end - start));
    word[end - start] = '\0';
    if (!(param->type == PARAM_MATRIX ? param_decimal : param_integer)(word, &number) ||
        number < param->min || number > param->max)
        return false;
    end += strspn(end, blanks);
    if (*end == ',') {
        end += 1 + strspn(end + 1, blanks);
        if (!*end || *end == ',') return false;
    }
    *text = end;
    *tap = (int32_t)number;
    return true;
}

static enum status set_taps(struct params *params, const struct param *param, const char *owner,
                            const char *value, struct failure *failure) {
    int32_t taps[TAPS_MAX];
    int count = 0;
    const int most = param_list_max(param->type);
    const char *text = value;
    while (*text && count < most && read_tap(&text, param, &taps[count])) count++;
    if (*text || (count != 9 && count != most)) {
        char range[64], shown[PARAM_SHOWN_MAX];
        param_range(param, range, sizeof range);
        return fail(failure, STATUS_BAD_PARAM, "%s: %s must be %s, not \"%s\"", owner, param->name,
                    range, param_shown(value, shown));
    }
    params->tap_count = count;
    memcpy(params->taps, taps, (size_t)count * sizeof *taps);
    return STATUS_OK;
}

enum status params_set(struct params *params, const struct param *list, const char *owner,
                       const char *name, const char *value, struct failure *failure) {
    int index = 0, count = count_params(list);
    while (index < count && strcmp(list[index].name, name) != 0) index++;
    if (index == count) return unknown_name(list, owner, name, failure);

    const struct param *param = &list[index];
    if (params->given >> index & 1)
        return fail(failure, STATUS_BAD_PARAM, "%s: %s is given twice; give it once", owner,
                    param->name);
    enum status status = STATUS_INTERNAL;
    if (param->type == PARAM_INT)
        status = set_int(params, index, param, owner, value, failure);
    else if (param->type == PARAM_DECIMAL)
        status = set_decimal(params, index, param, owner, value, failure);
    else if (param_is_list(param->type))
        status = set_taps(params, param, owner, value, failure);
    else
        status = set_word(params, index, param, owner, value, failure);
    if (status == STATUS_OK) params->given |= UINT32_C(1) << index;
    return status;
}

static long share_of(long thousandths, uint32_t side) {
    const long half = 50000, whole = 2 * half, product = thousandths * side + half;
    return product / whole - (product % whole < 0); /* rounded down */
}

enum status params_settle(struct params *params, const struct param *list, const char *owner,
                          uint32_t width, uint32_t height, struct failure *failure) {
    for (int i = 0; i < count_params(list) && params->percent; i++) {
        const struct param *param = &list[i];
        const uint32_t side = param->share == SHARE_OF_WIDTH ? width : height;
        if (!(params->percent >> i & 1)) continue;
        long number = share_of(params->number[i], side);
        if (number < param->min && params->number[i] > 0) number = param->min;
        if (param->min > number || number > param->max)
            return fail(failure, STATUS_BAD_PARAM,
                        "%s: %s must be %ld..%ld, and %s%% of %u pixels is %ld", owner, param->name,
                        param->min, param->max,
                        param_decimal_print(params->number[i], (char[DECIMAL_TEXT_MAX]){ 0 }), side,
                        number);
        params->number[i] = number;
        params->percent &= ~(UINT32_C(1) << i);
    }
    return STATUS_OK;
}

bool param_has_default(const struct param *param) {
    if (param->required || param_is_list(param->type)) return false;
    if (param->type == PARAM_COLOUR) return param->def >= 0;
    const bool ranged = param->type == PARAM_INT || param->type == PARAM_DECIMAL;
    return !ranged || (param->def >= param->min && param->def <= param->max);
}

bool params_is_valid(const struct params *params, const struct param *list, int index) {
    const struct param *param = &list[index];
    const long number = params->number[index];
    bool valid = params->tap_count == 9 || params->tap_count == param_list_max(param->type);
    switch (param->type) {
    case PARAM_BOOL: return number == 0 || number == 1;
    case PARAM_CHOICE: return number >= 0 && number < count_choices(param);
    case PARAM_COLOUR: return number >= 0 && number <= UINT32_MAX;
    case PARAM_PAIR:
        return number >= 0 && PAIR_FIRST(number) >= param->min &&
               PAIR_FIRST(number) <= param->max && PAIR_SECOND(number) >= param->min &&
               PAIR_SECOND(number) <= param->max;
    case PARAM_TAPS:
    case PARAM_MATRIX:
        for (int i = 0; valid && i < params->tap_count; i++)
            valid = params->taps[i] >= param->min && params->taps[i] <= param->max;
        return valid;
    default: return number >= param->min && number <= param->max;
    }
}

enum status params_complete(const struct params *params, const struct param *list,
                            const char *owner, struct failure *failure) {
    for (int i = 0; i < count_params(list); i++) {
        if (!list[i].required || params->given >> i & 1) continue;
        char range[128];
        param_range(&list[i], range, sizeof range);
        return fail(failure, STATUS_BAD_PARAM, "%s: %s must be given: %s", owner, list[i].name,
                    range);
    }
    return STATUS_OK;
}

void param_range(const struct param *param, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    if (param->type == PARAM_INT)
        append(text, size, &used, "integer %ld..%ld", param->min, param->max);
    else if (param->type == PARAM_TAPS)
        append(text, size, &used, "9 or 25 integers %ld..%ld", param->min, param->max);
    else if (param->type == PARAM_DECIMAL || param->type == PARAM_MATRIX)
        append(text, size, &used,
               param->type == PARAM_DECIMAL ? "number %s..%s" : "9 or 12 numbers %s..%s",
               param_decimal_print(param->min, (char[DECIMAL_TEXT_MAX]){ 0 }),
               param_decimal_print(param->max, (char[DECIMAL_TEXT_MAX]){ 0 }));
    else if (param->type == PARAM_BOOL)
        append(text, size, &used, "true | false");
    else if (param->type == PARAM_COLOUR)
        append(text, size, &used, "RRGGBB, RRGGBBAA or a CSS colour name");
    else if (param->type == PARAM_PAIR)
        append(text, size, &used, "%ldx%ld..%ldx%ld", param->min, param->min, param->max,
               param->max);
    for (int i = 0; param->type == PARAM_CHOICE && i < count_choices(param); i++)
        append(text, size, &used, "%s%s", i ? " | " : "", param->choices[i]);
}

void param_print(const struct param *param, const struct params *params, int index, char *text,
                 size_t size) {
    size_t used = 0;
    long number = params->number[index];
    text[0] = '\0';
    if (params->percent >> index & 1)
        append(text, size, &used, "%s%%",
               param_decimal_print(number, (char[DECIMAL_TEXT_MAX]){ 0 }));
    else if (param->type == PARAM_INT)
        append(text, size, &used, "%ld", number);
    else if (param->type == PARAM_DECIMAL)
        append(text, size, &used, "%s", param_decimal_print(number, (char[DECIMAL_TEXT_MAX]){ 0 }));
    else if (param->type == PARAM_BOOL)
        append(text, size, &used, "%s", number ? "true" : "false");
    else if (param->type == PARAM_CHOICE)
        append(text, size, &used, "%s", param->choices[number]);
    else if (param->type == PARAM_COLOUR)
        append(text, size, &used, "%s",
               param_colour_print((uint32_t)number, (char[COLOUR_TEXT_MAX]){ 0 }));
    else if (param->type == PARAM_PAIR)
        append(text, size, &used, "%s", param_pair_print(number, (char[PAIR_TEXT_MAX]){ 0 }));
    for (int i = 0; param->type == PARAM_TAPS && i < params->tap_count; i++)
        append(text, size, &used, "%s%d", i ? " " : "", params->taps[i]);
    for (int i = 0; param->type == PARAM_MATRIX && i < params->tap_count; i++)
        append(text, size, &used, "%s%s", i ? " " : "",
               param_decimal_print(params->taps[i], (char[DECIMAL_TEXT_MAX]){ 0 }));
}

static char folded(char c) {
    return c == '-' ? '_' : (char)tolower((unsigned char)c);
}

static int least(int a, int b) {
    return a < b ? a : b;
}

/* Edit distance by optimal string alignment: insertions, deletions, substitutions and swaps of
 * neighbours count 1 each. */
static int distance(const char *a, const char *b) {
    int rows[3][NAME_MAX_NEAR + 1];
    int *before = rows[0], *last = rows[1], *row = rows[2];
    int width = (int)strlen(b);
    for (int j = 0; j <= width; j++) last[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        row[0] = i;
        for (int j = 1; j <= width; j++) {
            bool same = folded(a[i - 1]) == folded(b[j - 1]);
            row[j] = least(least(row[j - 1], last[j]) + 1, last[j - 1] + !same);
            if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) &&
                folded(a[i - 2]) == folded(b[j - 1]))
                row[j] = least(row[j], before[j - 2] + 1);
        }
        int *spare = before;
        before = last, last = row, row = spare;
    }
    return last[width];
}

const char *nearest_name(const char *name, const char *const *candidates, size_t count) {
    size_t length = strlen(name);
    if (!length || length > NAME_MAX_NEAR) return NULL;
    const char *best = NULL;
    int best_distance = INT_MAX;
    for (size_t i = 0; i < count; i++) {
        if (strlen(candidates[i]) > NAME_MAX_NEAR) continue;
        int d = distance(name, candidates[i]);
        /* One slip is allowed in every four letters, and one in a shorter name; a prefix beats any
         * slip. */
        bool begins = length >= 3 && strncasecmp(name, candidates[i], length) == 0;
        if (!begins && d > (length < 8 ? 1 : (int)length / 4)) continue;
        if (begins) d -= NAME_MAX_NEAR;
        if (d >= best_distance) continue;
        best = candidates[i];
        best_distance = d;
    }
    return best;
}
