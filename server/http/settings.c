// SPDX-License-Identifier: Apache-2.0
/* How it works. Reserved names, which every operator shares, are in one table with their setters;
 * every other name is a parameter of the plan's operator (plan.h). A pipeline's steps come as one
 * JSON list, read item by item into the plan. */
#include "server/http/settings.h"

#include "pipeline/registry.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* ---- names that every operator shares */

static enum status set_damaged(struct settings *settings, const char *value,
                               struct failure *failure) {
    settings->accept_damage = strcmp(value, "accept") == 0;
    if (settings->accept_damage || strcmp(value, "refuse") == 0) return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM, "damaged must be refuse or accept");
}

static bool names_device(const char *value) {
    if (strcmp(value, "auto") == 0 || strcmp(value, "cpu") == 0 || strcmp(value, "cuda") == 0)
        return true;
    long index;
    return strncmp(value, "cuda:", 5) == 0 && param_integer(value + 5, &index) && index >= 0 &&
           index < 100;
}

static enum status set_device(struct settings *settings, const char *value,
                              struct failure *failure) {
    if (!names_device(value))
        return fail(failure, STATUS_BAD_PARAM,
                    "device must be auto, cpu, cuda or cuda:N with N from 0");
    snprintf(settings->device, sizeof settings->device, "%.15s", value);
    return STATUS_OK;
}

/* ---- operations of a pipeline: [{"operation": "histeq", "params": {"bins": 64}}, ...] */

static enum status set_from_json(struct plan *plan, const char *name, const json_t *value,
                                 struct failure *failure) {
    char text[256], shown[PARAM_SHOWN_MAX];
    if (json_is_string(value)) return plan_set(plan, name, json_string_value(value), failure);
    if (json_is_integer(value))
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value)) /* twelve digits tell a decimal's three places exactly */
        snprintf(text, sizeof text, "%.12g", json_real_value(value));
    else if (json_is_boolean(value))
        snprintf(text, sizeof text, "%s", json_is_true(value) ? "true" : "false");
    else if (json_is_array(value)) {
        size_t used = 0, i;
        json_t *item;
        json_array_foreach (value, i, item) {
            if (!json_is_integer(item) || used > sizeof text - 24)
                return fail(failure, STATUS_BAD_PARAM,
                            "operations: \"%s\" must be a short list of whole numbers",
                            param_shown(name, shown));
            used += (size_t)snprintf(text + used, sizeof text - used, i ? " %lld" : "%lld",
                                     (long long)json_integer_value(item));
        }
    } else
        return fail(failure, STATUS_BAD_PARAM,
                    "operations: \"%s\" must be a string, a number, true, false or a list of "
                    "whole numbers",
                    param_shown(name, shown));
    return plan_set(plan, name, text, failure);
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

static enum status set_operations(struct settings *settings, const char *value,
                                  struct failure *failure) {
    json_error_t error;
    char shown[PARAM_SHOWN_MAX];
    json_t *list = json_loads(value, JSON_REJECT_DUPLICATES, &error);
    enum status status = STATUS_OK;
    if (!json_is_array(list) || json_array_size(list) == 0)
        status = fail(failure, STATUS_BAD_PARAM,
                      "operations must be a JSON list such as [{\"operation\": \"histeq\", "
                      "\"params\": {\"bins\": 64}}]%s%s",
                      list ? "" : ": ", list ? "" : param_shown(error.text, shown));
    size_t i;
    json_t *item;
    if (!status)
        json_array_foreach (list, i, item) {
            status = add_operation(&settings->plan, item, failure);
            if (status) break;
        }
    json_decref(list);
    return status;
}

/* ---- all together */

/* Those of the request itself. How the result is written stands behind them (encode_options.h). */
static const struct reserved {
    const char *name;
    enum status (*set)(struct settings *settings, const char *value, struct failure *failure);
    bool pipeline_only;
} reserved[] = {
    { "device", set_device, false },
    { "operations", set_operations, true },
    { "damaged", set_damaged, false },
};
enum { RESERVED = sizeof reserved / sizeof *reserved, NAMES_MAX = 32 };

const char *settings_reserved(int index) {
    return index < RESERVED ? reserved[index].name : encode_option_name(index - RESERVED);
}

enum status settings_init(struct settings *settings, const struct op_set *ops, const char *op,
                          struct failure *failure) {
    *settings = (struct settings){
        .pipeline = op == NULL, .encode = encode_options_default, .device = "auto", .plan.ops = ops
    };
    settings->encode.format = FORMAT_NONE;
    return op ? plan_add(&settings->plan, op, failure) : STATUS_OK;
}

void settings_init_info(struct settings *settings) {
    settings_init(settings, NULL, NULL, NULL);
    settings->pipeline = false;
    settings->info = true;
}

/* All of them, as a sentence ends: "operations, device, type". */
static void list_names(char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "operations");
    const char *name;
    for (int i = 0; (name = settings_reserved(i)) && used < size; i++)
        if (strcmp(name, "operations") != 0)
            used += (size_t)snprintf(text + used, size - used, ", %s", name);
}

static enum status unknown(const char *name, struct failure *failure) {
    const char *names[NAMES_MAX];
    char shown[PARAM_SHOWN_MAX], all[160];
    int count = 0;
    while (count < NAMES_MAX && (names[count] = settings_reserved(count))) count++;
    const char *near = nearest_name(name, names, count);
    list_names(all, sizeof all);
    return fail(failure, STATUS_BAD_PARAM, "/pipeline has no parameter \"%s\"%s%s%s; it accepts %s",
                param_shown(name, shown), near ? "; did you mean \"" : "", near ? near : "",
                near ? "\"?" : "", all);
}

static enum status set_reserved(struct settings *settings, int index, const char *value,
                                struct failure *failure) {
    const char *name = settings_reserved(index);
    const int option = index - RESERVED;
    if (settings->given & 1u << index)
        return fail(failure, STATUS_BAD_PARAM,
                    "%s is given twice; give it once, in the query or as a form field", name);
    settings->given |= 1u << index;
    if (option < 0) return reserved[index].set(settings, value, failure);
    if (encode_option_set(&settings->encode, option, value)) return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM, "%s must be %s", name, encode_option_range(option));
}

enum status settings_set(struct settings *settings, const char *name, const char *value,
                         struct failure *failure) {
    char shown[PARAM_SHOWN_MAX];
    const char *reserved_name;
    if (settings->info && strcmp(name, "device") != 0)
        return fail(failure, STATUS_BAD_PARAM,
                    "/info accepts only the parameter device; remove \"%s\"",
                    param_shown(name, shown));
    for (int i = 0; (reserved_name = settings_reserved(i)); i++) {
        if (strcmp(name, reserved_name) != 0) continue;
        if (i < RESERVED && reserved[i].pipeline_only && !settings->pipeline) break;
        return set_reserved(settings, i, value, failure);
    }
    return settings->pipeline ? unknown(name, failure)
                              : plan_set(&settings->plan, name, value, failure);
}

bool settings_takes(const struct settings *settings, const char *name) {
    if (settings->pipeline || settings->info) return false;
    const struct param *param = settings->plan.steps[0].op->params;
    while (param->name && strcmp(param->name, name) != 0) param++;
    return param->name;
}

/* A request's background is of its operators too, but of those that were given one of their own. */
static enum status give_background(struct settings *settings, struct failure *failure) {
    char text[COLOUR_TEXT_MAX];
    if (!settings->encode.has_background) return STATUS_OK;
    param_colour_print(encode_background(&settings->encode), text);
    return plan_give(&settings->plan, "background", text, failure);
}

enum status settings_complete(struct settings *settings, struct failure *failure) {
    if (settings->plan.count == 0)
        return fail(
            failure, STATUS_BAD_PARAM,
            "operations is missing: a JSON list such as [{\"operation\": \"histeq\"}], in the "
            "query or as a form field");
    enum status status = encode_options_check(&settings->encode, failure);
    if (!status) status = give_background(settings, failure);
    return status ? status : plan_complete(&settings->plan, failure);
}
