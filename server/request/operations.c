// SPDX-License-Identifier: Apache-2.0
/* How it works. Each item begins a step, and its parameters are set in the order in which they
 * stand there, as if they came in a query. A dialect appends the steps that have its names. */
#include "server/request/operations.h"

#include "server/request/settings.h"

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
    param_shown(json ? "number too small to be distinguished from 0" : error.text, why);
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

enum status operations_set_params(const json_t *params, operations_setter *set, void *context,
                                  struct failure *failure) {
    const char *name;
    char text[JSON_VALUE_MAX], shown[PARAM_SHOWN_MAX];
    json_t *value;
    json_object_foreach ((json_t *)params, name, value) {
        const char *given = json_is_string(value) ? json_string_value(value) : text;
        if (given == text && !operations_value(value, text))
            return fail(failure, STATUS_BAD_PARAM,
                        "operations: \"%s\" must be a string, a number, true, false or a short "
                        "list of whole numbers",
                        param_shown(name, shown));
        if (set(context, name, given, failure)) return failure->status;
    }
    return STATUS_OK;
}

/* ---- steps */

enum status operations_check_name(const char *name, struct failure *failure) {
    const char *shared;
    for (int i = 0; (shared = settings_shared_name(i)); i++)
        if (strcmp(name, shared) == 0)
            return fail(failure, STATUS_BAD_PARAM,
                        "operations: \"%s\" belongs beside operations, in the query or as a form "
                        "field, not in the params of a step",
                        name);
    return STATUS_OK;
}

static enum status set_param(void *plan, const char *name, const char *value,
                             struct failure *failure) {
    if (!plan_takes(plan, name) && operations_check_name(name, failure)) return failure->status;
    return plan_set(plan, name, value, failure);
}

static bool is_key_of_item(const char *key) {
    return strcmp(key, "operation") == 0 || strcmp(key, "params") == 0 ||
           strcmp(key, "ignore_failure") == 0;
}

static enum status add_step(const struct operations_place *place, const struct dialect *dialect,
                            const json_t *item, struct failure *failure) {
    const char *key;
    char shown[PARAM_SHOWN_MAX];
    json_t *value;
    json_object_foreach ((json_t *)item, key, value)
        if (!is_key_of_item(key))
            return fail(failure, STATUS_BAD_PARAM,
                        "operations: \"%s\" is not known; an item has \"operation\" and \"params\"",
                        param_shown(key, shown));
    const json_t *operation = json_object_get(item, "operation");
    const json_t *params = json_object_get(item, "params");
    const json_t *ignore_failure = json_object_get(item, "ignore_failure");
    if (!json_is_string(operation) || (params && !json_is_object(params)))
        return fail(failure, STATUS_BAD_PARAM,
                    "operations: each item must be {\"operation\": \"name\", \"params\": {...}}");
    if (ignore_failure && !json_is_false(ignore_failure))
        return fail(failure, STATUS_BAD_PARAM,
                    "operations: \"ignore_failure\" must be false: if a step fails, the request "
                    "fails");
    const char *name = json_string_value(operation);
    if (dialect && dialect->has_step(dialect, place->plan, name))
        return dialect->add_step(dialect, place, name, params, failure);
    if (plan_add(place->plan, name, failure)) return failure->status;
    return operations_set_params(params, set_param, place->plan, failure);
}

static enum status add_all(struct operations_place *place, const struct dialect *dialect,
                           const json_t *list, struct failure *failure) {
    size_t i;
    json_t *item;
    json_array_foreach (list, i, item) {
        place->first = i == 0;
        place->last = i + 1 == json_array_size(list);
        if (add_step(place, dialect, item, failure)) return failure->status;
    }
    return STATUS_OK;
}

enum status operations_add(struct settings *settings, const json_t *list, struct failure *failure) {
    struct operations_place place = { .plan = &settings->plan,
                                      .encode = &settings->encode,
                                      .settings = settings };
    return add_all(&place, settings->dialect, list, failure);
}

enum status operations_add_output(struct plan *plan, const json_t *list,
                                  const struct dialect *dialect, struct encode_options *encode,
                                  struct failure *failure) {
    struct operations_place place = { .plan = plan, .encode = encode };
    return add_all(&place, dialect, list, failure);
}
