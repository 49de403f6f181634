// SPDX-License-Identifier: Apache-2.0
/* How it works. The writer's grammar also checks a text, from left to right: every skip function
 * skips the element that it is named after, or returns false. */
#include "server/api/values_json.h"

#include <string.h>

size_t values_json_bound(uint64_t count) {
    const size_t steps = count < VALUES_STEPS_MAX ? (size_t)count : VALUES_STEPS_MAX;
    return (size_t)count * VALUES_NUMBER_MAX + steps * VALUES_STEP_MAX + PLAN_TEXT_MAX;
}

void values_json_number(struct json_writer *json, const struct values *values, size_t index) {
    switch (values->shape.type) {
    case VALUE_INT32: json_writer_number(json, ((const int32_t *)values->numbers)[index]); break;
    case VALUE_UINT32: json_writer_number(json, ((const uint32_t *)values->numbers)[index]); break;
    case VALUE_INT64: json_writer_number(json, ((const int64_t *)values->numbers)[index]); break;
    case VALUE_UINT64:
        json_writer_unsigned(json, ((const uint64_t *)values->numbers)[index]);
        break;
    case VALUE_DOUBLE: json_writer_double(json, ((const double *)values->numbers)[index]); break;
    default: break; /* samples are reported as a text */
    }
}

static void write_channel(struct json_writer *json, const struct values *values, uint32_t c) {
    const struct values_shape *shape = &values->shape;
    if (shape->is_list) json_writer_add(json, "[");
    for (uint32_t i = 0; i < shape->length; i++) {
        if (i) json_writer_add(json, ",");
        values_json_number(json, values, (size_t)c * shape->length + i);
    }
    if (shape->is_list) json_writer_add(json, "]");
}

static void write_channels(struct json_writer *json, const struct values *values) {
    json_writer_add(json, "[");
    for (uint32_t c = 0; c < values->shape.channels; c++) {
        if (c) json_writer_add(json, ",");
        write_channel(json, values, c);
    }
    json_writer_add(json, "]");
}

/* The reporter of STEP: op.finder's values are reported as the step's. */
static const struct op *reporter_of(const struct step *step) {
    return step->op->finder ? step->op->finder : step->op;
}

static void write_object(struct json_writer *json, const char *const *names,
                         const struct values *values) {
    json_writer_add(json, "{");
    for (uint32_t i = 0; i < values->shape.length; i++) {
        json_writer_key(json, names[i]);
        values_json_number(json, values, i);
    }
    json_writer_add(json, "}");
}

/* An operator's text needs no escaping: op.h. */
static void write_text(struct json_writer *json, const struct step *step,
                       const struct values *values) {
    char text[VALUES_TEXT_MAX];
    json_writer_add(json, "\"");
    json_writer_bytes(json, text, step->op->text(&step->params, values, text));
    json_writer_add(json, "\"");
}

static void write_step(struct json_writer *json, const struct step *step, int number, int output,
                       const struct values *values) {
    json_writer_add(json, "{");
    json_writer_key_string(json, "operation", step->op->name);
    json_writer_key_number(json, "step", number);
    if (output >= 0) json_writer_key_number(json, "output", output);
    json_writer_key(json, "value");
    const char *const *names = reporter_of(step)->value_names;
    if (step->op->text)
        write_text(json, step, values);
    else if (names)
        write_object(json, names, values);
    else
        write_channels(json, values);
    json_writer_add(json, "}");
}

size_t values_json_write(const struct plan *plan, const struct values *values, char *text,
                         size_t size) {
    return values_json_write_parts(&(struct values_part){ plan, values, -1 }, 1, text, size);
}

size_t values_json_write_parts(const struct values_part *parts, int count, char *text,
                               size_t size) {
    struct json_writer json = json_writer_in(text, size);
    json_writer_add(&json, "[");
    for (int p = 0; p < count; p++) {
        const struct plan *plan = parts[p].plan;
        const int before = p ? parts[0].plan->count : 0;
        for (int s = 0; s < plan->count; s++) {
            const struct values *values = &parts[p].values[s];
            if (values->shape.type == VALUE_NONE) continue;
            if (json.length > 1) json_writer_add(&json, ",");
            write_step(&json, &plan->steps[s], before + s, parts[p].output, values);
        }
    }
    json_writer_add(&json, "]");
    return json.full ? 0 : json.length;
}

/* ---- checking */

struct cursor {
    const char *at, *end;
};

static bool skip(struct cursor *cursor, const char *literal) {
    const size_t length = strlen(literal);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, literal, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

/* Skips one character of SET. */
static bool skip_any(struct cursor *cursor, const char *set) {
    if (cursor->at == cursor->end || !*cursor->at || !strchr(set, *cursor->at)) return false;
    cursor->at++;
    return true;
}

static bool skip_some(struct cursor *cursor, const char *set) {
    if (!skip_any(cursor, set)) return false;
    while (skip_any(cursor, set)) continue;
    return true;
}

static bool skip_digits(struct cursor *cursor) {
    const char *start = cursor->at;
    while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9') cursor->at++;
    return cursor->at > start;
}

/* JSON has no zero before other digits. */
static bool skip_integer(struct cursor *cursor) {
    return skip(cursor, "0") || skip_digits(cursor);
}

static bool skip_number(struct cursor *cursor) {
    if (skip(cursor, "null")) return true;
    skip(cursor, "-");
    if (!skip_integer(cursor) || (skip(cursor, ".") && !skip_digits(cursor))) return false;
    if (!skip_any(cursor, "eE")) return true;
    skip_any(cursor, "+-");
    return skip_digits(cursor);
}

/* *COUNT: the remaining numbers and texts. */
static bool skip_numbers(struct cursor *cursor, uint64_t *count) {
    do {
        if (!*count || !skip_number(cursor)) return false;
        --*count;
    } while (skip(cursor, ","));
    return true;
}

static bool skip_channels(struct cursor *cursor, uint64_t *count) {
    if (!skip(cursor, "[")) return skip_numbers(cursor, count);
    do {
        if (!skip_numbers(cursor, count) || !skip(cursor, "]")) return false;
    } while (skip(cursor, ",["));
    return true;
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* Accepts characters that need no escaping, without the quote. */
static bool skip_text(struct cursor *cursor, uint64_t *count) {
    const char *start = cursor->at;
    if (!*count || !skip_some(cursor, LETTERS "#$%*+,-./:;=?@[]^_{|}~")) return false;
    --*count;
    return cursor->at - start < VALUES_TEXT_MAX && skip(cursor, "\"");
}

static bool skip_object(struct cursor *cursor, uint64_t *count) {
    do {
        if (!*count || !skip(cursor, "\"") || !skip_some(cursor, LETTERS "_") ||
            !skip(cursor, "\":") || !skip_number(cursor))
            return false;
        --*count;
    } while (skip(cursor, ","));
    return skip(cursor, "}");
}

static bool skip_value(struct cursor *cursor, uint64_t *count) {
    if (skip(cursor, "\"")) return skip_text(cursor, count);
    if (skip(cursor, "{")) return skip_object(cursor, count);
    return skip(cursor, "[") && skip_channels(cursor, count) && skip(cursor, "]");
}

static bool skip_step(struct cursor *cursor, uint64_t *count) {
    if (!skip(cursor, "{\"operation\":\"") || !skip_some(cursor, LETTERS "_-") ||
        !skip(cursor, "\",\"step\":") || !skip_integer(cursor))
        return false;
    if (skip(cursor, ",\"output\":") && !skip_integer(cursor)) return false;
    return skip(cursor, ",\"value\":") && skip_value(cursor, count) && skip(cursor, "}");
}

bool values_json_check(const char *text, size_t length, uint64_t count) {
    struct cursor cursor = { text, text + length };
    if (!skip(&cursor, "[")) return false;
    do {
        if (!skip_step(&cursor, &count)) return false;
    } while (skip(&cursor, ","));
    return skip(&cursor, "]") && cursor.at == cursor.end && !count;
}
