// SPDX-License-Identifier: Apache-2.0
#include "server/http/operations.h"

#include "server/http/settings.h"

#include <stdio.h>
#include <string.h>

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

static enum status set_from_json(struct plan *plan, const char *name, const json_t *value,
                                 struct failure *failure) {
    char text[JSON_VALUE_MAX], shown[PARAM_SHOWN_MAX];
    if (json_is_string(value)) return plan_set(plan, name, json_string_value(value), failure);
    if (operations_value(value, text)) return plan_set(plan, name, text, failure);
    return fail(failure, STATUS_BAD_PARAM,
                "operations: \"%s\" must be a string, a number, true, false or a short list "
                "of whole numbers",
                param_shown(name, shown));
}

/* What may be beside "operation" and "params": clients of imaginary send it. */
static enum status check_ignore_failure(const json_t *value, struct failure *failure) {
    if (!value || json_is_false(value)) return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM,
                "operations: \"ignore_failure\" must be false: if a step fails, the request fails");
}

/* The answer's type and the like are no step's, where clients of imaginary put them. */
static enum status check_param_name(const struct plan *plan, const char *name,
                                    struct failure *failure) {
    const char *reserved_name;
    if (plan_takes(plan, name)) return STATUS_OK;
    for (int i = 0; (reserved_name = settings_reserved(i)); i++)
        if (strcmp(name, reserved_name) == 0)
            return fail(failure, STATUS_BAD_PARAM,
                        "operations: \"%s\" belongs beside operations, in the query or as a form "
                        "field, not in the params of a step",
                        name);
    return STATUS_OK;
}

static bool is_key_of_item(const char *key) {
    return strcmp(key, "operation") == 0 || strcmp(key, "params") == 0 ||
           strcmp(key, "ignore_failure") == 0;
}

static enum status add_operation(struct plan *plan, const json_t *item, struct failure *failure) {
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
    if (!status) status = plan_add(plan, json_string_value(name), failure);
    if (status) return status;
    json_object_foreach (params, key, value) {
        status = check_param_name(plan, key, failure);
        if (!status) status = set_from_json(plan, key, value, failure);
        if (status) return status;
    }
    return STATUS_OK;
}

enum status operations_add(struct plan *plan, const json_t *list, struct failure *failure) {
    size_t i;
    json_t *item;
    json_array_foreach (list, i, item) {
        const enum status status = add_operation(plan, item, failure);
        if (status) return status;
    }
    return STATUS_OK;
}
