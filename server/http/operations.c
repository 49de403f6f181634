// SPDX-License-Identifier: Apache-2.0
/* How it works. Each item begins a step, its parameters are set in the order in which they stand
 * there, as if they came in a query; then what it says in imaginary's words becomes steps around
 * it. */
#include "server/http/operations.h"

#include "server/http/settings.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON */

/* JSON's reader makes 0 of 1e-400. TEXT is sound JSON. */
static bool has_number_lost(const char *text) {
    bool lost = false;
    while (*text && !lost) {
        char *end = (char *)text + 1;
        if (*text == '"') {
            while (*end != '"') end += *end == '\\' ? 2 : 1;
            end++;
        } else if (*text == '-' || isdigit((unsigned char)*text)) {
            const bool zero = !isdigit((unsigned char)text[strspn(text, "-0.")]);
            lost = fpclassify(strtod(text, &end)) == FP_ZERO && !zero;
        }
        text = end;
    }
    return lost;
}

json_t *operations_load(const char *text, char why[PARAM_SHOWN_MAX]) {
    json_error_t error;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    why[0] = '\0';
    if (json && !has_number_lost(text)) return json;
    param_shown(json ? "a number is too small to be told from 0" : error.text, why);
    json_decref(json);
    return NULL;
}

/* "1 2 3" */
static bool print_list(const json_t *list, char *text, size_t size) {
    size_t used = 0, i;
    json_t *item;
    text[0] = '\0';
    json_array_foreach (list, i, item) {
        if (!json_is_integer(item) || used > size - 24) return false;
        used += (size_t)snprintf(text + used, size - used, i ? " %lld" : "%lld",
                                 (long long)json_integer_value(item));
    }
    return true;
}

bool operations_value(const json_t *value, char text[JSON_VALUE_MAX]) {
    if (json_is_array(value)) return print_list(value, text, JSON_VALUE_MAX);
    if (json_is_string(value))
        return snprintf(text, JSON_VALUE_MAX, "%s", json_string_value(value)) < JSON_VALUE_MAX;
    if (json_is_integer(value))
        snprintf(text, JSON_VALUE_MAX, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value)) /* twelve digits tell a decimal's three places exactly */
        snprintf(text, JSON_VALUE_MAX, "%.12g", json_real_value(value));
    else if (json_is_boolean(value))
        snprintf(text, JSON_VALUE_MAX, "%s", json_is_true(value) ? "true" : "false");
    else
        return false;
    return true;
}

/* A step while it is read. */
struct reading {
    struct plan *plan;
    struct imaginary imaginary;
    struct settings
        *settings; /* of a request, what steps may say of the file; NULL: of an output */
    struct encode_options *encode;
    bool last;
};

static bool is_of_the_file(const char *name) {
    return strcmp(name, "type") == 0 || strcmp(name, "quality") == 0 ||
           strcmp(name, "compression") == 0;
}

/* A colour as imaginary writes it is laid under transparency too, one as it is written here is the
 * step's alone. */
static enum status set_background(struct reading *reading, const char *value,
                                  struct failure *failure) {
    char text[IMAGINARY_VALUE_MAX];
    enum status status = STATUS_OK;
    if (imaginary_value("background", value, text) == text && reading->settings)
        status = settings_set_in_step(reading->settings, "background", value, false, failure);
    return status ? status
                  : imaginary_set(&reading->imaginary, reading->plan, "background", value, failure);
}

/* What may be beside "operation" and "params": clients of imaginary send it. */
static enum status check_ignore_failure(const json_t *value, struct failure *failure) {
    if (!value || json_is_false(value)) return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM,
                "operations: \"ignore_failure\" must be false: if a step fails, the request fails");
}

/* The answer's type and the like are no step's. */
static enum status check_param_name(const struct reading *reading, const char *name,
                                    struct failure *failure) {
    const char *reserved_name;
    if (imaginary_takes(&reading->imaginary, reading->plan, name)) return STATUS_OK;
    for (int i = 0; (reserved_name = settings_reserved(i)); i++)
        if (strcmp(name, reserved_name) == 0)
            return fail(failure, STATUS_BAD_PARAM,
                        "operations: \"%s\" belongs beside operations, in the query or as a form "
                        "field, not in the params of a step",
                        name);
    return STATUS_OK;
}

static enum status set_text(struct reading *reading, const char *name, const char *value,
                            struct failure *failure) {
    struct imaginary *imaginary = &reading->imaginary;
    char text[IMAGINARY_VALUE_MAX];
    if (imaginary->row && reading->settings && is_of_the_file(name)) {
        imaginary->has_type |= strcmp(name, "type") == 0;
        return settings_set_in_step(reading->settings, name, value, reading->last, failure);
    }
    if (imaginary->row && strcmp(name, "background") == 0 &&
        (imaginary_takes(imaginary, reading->plan, name) ||
         imaginary_value(name, value, text) == text))
        return set_background(reading, value, failure);
    if (check_param_name(reading, name, failure)) return failure->status;
    return imaginary->row ? imaginary_set(imaginary, reading->plan, name, value, failure)
                          : plan_set(reading->plan, name, value, failure);
}

static enum status set_from_json(struct reading *reading, const char *name, const json_t *value,
                                 struct failure *failure) {
    char text[JSON_VALUE_MAX], shown[PARAM_SHOWN_MAX];
    if (json_is_string(value)) return set_text(reading, name, json_string_value(value), failure);
    if (operations_value(value, text)) return set_text(reading, name, text, failure);
    if (check_param_name(reading, name, failure)) return failure->status;
    return fail(failure, STATUS_BAD_PARAM,
                "operations: \"%s\" must be a string, a number, true, false or a short list "
                "of whole numbers",
                param_shown(name, shown));
}

static bool is_key_of_item(const char *key) {
    return strcmp(key, "operation") == 0 || strcmp(key, "params") == 0 ||
           strcmp(key, "ignore_failure") == 0;
}

static enum status add_operation(struct reading *reading, const json_t *item,
                                 struct failure *failure) {
    const char *key;
    char shown[PARAM_SHOWN_MAX];
    json_t *value;
    json_object_foreach ((json_t *)item, key, value)
        if (!is_key_of_item(key))
            return fail(failure, STATUS_BAD_PARAM,
                        "operations: \"%s\" is not known; an item has \"operation\" and \"params\"",
                        param_shown(key, shown));
    const json_t *name = json_object_get(item, "operation");
    json_t *params = json_object_get(item, "params");
    if (!json_is_string(name) || (params && !json_is_object(params)))
        return fail(failure, STATUS_BAD_PARAM,
                    "operations: each item must be {\"operation\": \"name\", \"params\": {...}}");
    enum status status = check_ignore_failure(json_object_get(item, "ignore_failure"), failure);
    if (!status)
        status =
            imaginary_begin(&reading->imaginary, reading->plan, json_string_value(name), failure);
    if (status) return status;
    json_object_foreach (params, key, value) {
        status = set_from_json(reading, key, value, failure);
        if (status) return status;
    }
    return imaginary_complete(&reading->imaginary, reading->plan, reading->encode, failure);
}

static enum status add_all(struct reading *reading, const json_t *list, struct failure *failure) {
    size_t i;
    json_t *item;
    json_array_foreach (list, i, item) {
        reading->last = i + 1 == json_array_size(list);
        reading->imaginary.upright = i > 0;
        if (add_operation(reading, item, failure)) return failure->status;
    }
    return STATUS_OK;
}

enum status operations_add(struct settings *settings, const json_t *list, struct failure *failure) {
    struct reading reading = { .plan = &settings->plan,
                               .imaginary.whole = settings->imaginary.whole,
                               .settings = settings,
                               .encode = &settings->encode };
    return add_all(&reading, list, failure);
}

enum status operations_add_output(struct plan *plan, const json_t *list, bool whole,
                                  struct encode_options *encode, struct failure *failure) {
    struct reading reading = { .plan = plan, .imaginary.whole = whole, .encode = encode };
    return add_all(&reading, list, failure);
}
