// SPDX-License-Identifier: Apache-2.0
/* How it works. Names that all requests share are in one table with their setters; every other name
 * is a parameter of the plan's operator (plan.h). Each item of a list of steps begins a step and
 * sets its parameters in order, as if they came in a query. A dialect gets names and steps first
 * and sets Burin's. Settings for several results are kept until all have come (outputs.h). */
#include "server/request/settings.h"

#include "pipeline/registry.h"
#include "pipeline/utf8.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names that every operator shares */

static enum status set_damaged(struct settings *settings, const char *value,
                               struct failure *failure) {
    settings->accept_damage = strcmp(value, "accept") == 0;
    if (settings->accept_damage || strcmp(value, "refuse") == 0) return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM, "damaged must be refuse or accept");
}

static enum status set_device(struct settings *settings, const char *value,
                              struct failure *failure) {
    long index;
    const bool numbered = strncmp(value, "cuda:", 5) == 0 && param_integer(value + 5, &index) &&
                          index >= 0 && index < 100;
    if (!numbered && strcmp(value, "auto") != 0 && strcmp(value, "cpu") != 0 &&
        strcmp(value, "cuda") != 0)
        return fail(failure, STATUS_BAD_PARAM,
                    "device must be auto, cpu, cuda or cuda:N with N from 0");
    snprintf(settings->device, sizeof settings->device, "%.15s", value);
    return STATUS_OK;
}

static enum status set_overlay(struct settings *settings, const char *value,
                               struct failure *failure) {
    if (!*value || strlen(value) >= sizeof settings->overlay)
        return fail(failure, STATUS_BAD_PARAM,
                    "overlay must be a picture, sent as a part with a file name, or the name of "
                    "one of the server's, of 1 to %d bytes",
                    OVERLAY_NAME_MAX - 1);
    strcpy(settings->overlay, value);
    return STATUS_OK;
}

/* ---- values and parameters in JSON */

/* Jansson reads 1e-400 as 0. TEXT is valid JSON. */
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
    text += utf8_mark(text, strlen(text));
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    why[0] = '\0';
    if (json && !has_number_lost(text)) return json;
    param_shown(json ? "a number is so small that it reads as 0" : error.text, why);
    json_decref(json);
    return NULL;
}

static bool print_item(const json_t *value, char *text, size_t size) {
    if (json_is_integer(value))
        return snprintf(text, size, "%lld", (long long)json_integer_value(value)) < (int)size;
    /* Twelve digits keep a decimal's three places exact. */
    return json_is_real(value) && snprintf(text, size, "%.12g", json_real_value(value)) < (int)size;
}

/* "1 2 3.5" */
static bool print_list(const json_t *list, char *text, size_t size) {
    size_t used = 0, i;
    json_t *item;
    text[0] = '\0';
    json_array_foreach (list, i, item) {
        if (used > size - 24) return false;
        if (i) text[used++] = ' ';
        if (!print_item(item, text + used, size - used)) return false;
        used += strlen(text + used);
    }
    return true;
}

bool operations_value(const json_t *value, char text[JSON_VALUE_MAX]) {
    if (json_is_array(value)) return print_list(value, text, JSON_VALUE_MAX);
    if (json_is_string(value))
        return snprintf(text, JSON_VALUE_MAX, "%s", json_string_value(value)) < JSON_VALUE_MAX;
    if (!json_is_boolean(value)) return print_item(value, text, JSON_VALUE_MAX);
    snprintf(text, JSON_VALUE_MAX, "%s", json_is_true(value) ? "true" : "false");
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

/* ---- a list of steps */

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

enum status operations_add_output(struct plan *plan, const json_t *list,
                                  const struct dialect *dialect, struct encode_options *encode,
                                  struct failure *failure) {
    struct operations_place place = { .plan = plan, .encode = encode };
    return add_all(&place, dialect, list, failure);
}

static enum status set_operations(struct settings *settings, const char *value,
                                  struct failure *failure) {
    char why[PARAM_SHOWN_MAX];
    json_t *list = operations_load(value, why);
    enum status status = STATUS_OK;
    if (!json_is_array(list) || json_array_size(list) == 0)
        status = fail(failure, STATUS_BAD_PARAM,
                      "operations must be a JSON list such as [{\"operation\": \"histeq\", "
                      "\"params\": {\"bins\": 64}}]%s%s",
                      *why ? ": " : "", why);
    struct operations_place place = { .plan = &settings->plan,
                                      .encode = &settings->encode,
                                      .settings = settings };
    if (!status) status = add_all(&place, settings->dialect, list, failure);
    json_decref(list);
    return status;
}

/* ---- the table */

static bool is_pipeline(const struct settings *settings) {
    return settings->pipeline;
}

static bool has_widths(const struct settings *settings) {
    return settings->plan.count == 1 && !settings->pipeline && settings->plan.steps[0].op->widths;
}

/* The steps of a pipeline may come later: they are asked by request_check_aux. */
static bool takes_overlay(const struct settings *settings) {
    return settings->pipeline || plan_aux(&settings->plan, OVERLAY_PART) >= 0;
}

/* Settings of the request itself. The options of the file follow them (encode_options.h). */
static const struct reserved {
    const char *name;
    enum status (*set)(struct settings *settings, const char *value, struct failure *failure);
    bool (*takes)(const struct settings *settings); /* NULL: every request does */
} reserved[] = {
    { "device", set_device, NULL },
    { "operations", set_operations, is_pipeline },
    { "damaged", set_damaged, NULL },
    { "widths", outputs_set_widths, has_widths },
    { "types", outputs_set_types, NULL },
    { "outputs", outputs_set_list, is_pipeline },
    { OVERLAY_PART, set_overlay, takes_overlay },
};
enum { RESERVED = sizeof reserved / sizeof *reserved, NAMES_MAX = 32 };

const char *settings_shared_name(int index) {
    return index < RESERVED ? reserved[index].name : encode_option_name(index - RESERVED);
}

enum status settings_init(struct settings *settings, const struct op_set *ops, const char *op,
                          struct dialect *dialect, struct failure *failure) {
    *settings = (struct settings){ .pipeline = op == NULL,
                                   .encode = encode_options_default,
                                   .device = "auto",
                                   .plan.ops = ops,
                                   .dialect = dialect };
    settings->encode.format = FORMAT_NONE;
    if (!op) return STATUS_OK;
    return dialect ? dialect->begin(dialect, &settings->plan, op, failure)
                   : plan_add(&settings->plan, op, failure);
}

enum status settings_init_info(struct settings *settings, struct dialect *dialect) {
    settings_init(settings, NULL, NULL, dialect, NULL);
    settings->pipeline = false;
    settings->info = true;
    return STATUS_OK;
}

/* For the end of a sentence: "operations, device, type". */
static void list_names(char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "operations");
    const char *name;
    for (int i = 0; (name = settings_shared_name(i)) && used < size; i++)
        if (strcmp(name, "operations") != 0 && strcmp(name, "widths") != 0)
            used += (size_t)snprintf(text + used, size - used, ", %s", name);
}

static enum status unknown(const char *name, struct failure *failure) {
    if (strcmp(name, "widths") == 0)
        return fail(failure, STATUS_BAD_PARAM,
                    "widths works for a single operator; in /pipeline list one resize or carve per "
                    "width under outputs");
    const char *names[NAMES_MAX];
    char shown[PARAM_SHOWN_MAX], all[264];
    int count = 0;
    while (count < NAMES_MAX && (names[count] = settings_shared_name(count))) count++;
    const char *near = nearest_name(name, names, count);
    list_names(all, sizeof all);
    return fail(failure, STATUS_BAD_PARAM, "/pipeline has no parameter \"%s\"%s%s%s; it accepts %s",
                param_shown(name, shown), near ? "; did you mean \"" : "", near ? near : "",
                near ? "\"?" : "", all);
}

static enum status set_reserved(struct settings *settings, int index, const char *value,
                                struct failure *failure) {
    const char *name = settings_shared_name(index);
    const int option = index - RESERVED;
    if (settings->given & 1u << index)
        return fail(failure, STATUS_BAD_PARAM,
                    "%s is given twice; give it once, in the query or as a form field", name);
    settings->given |= 1u << index;
    if (option < 0) return reserved[index].set(settings, value, failure);
    if (encode_option_set(&settings->encode, option, value)) return STATUS_OK;
    char range[FORMAT_LIST_MAX];
    return fail(failure, STATUS_BAD_PARAM, "%s must be %s", name,
                encode_option_range(option, range));
}

static int find_reserved(const char *name) {
    const char *reserved_name;
    for (int i = 0; (reserved_name = settings_shared_name(i)); i++)
        if (strcmp(name, reserved_name) == 0) return i;
    return -1;
}

bool settings_give(const struct settings *settings, const char *name) {
    return settings->given >> find_reserved(name) & 1;
}

/* The file is written once. As in imaginary, several steps may set the type, and only the last step
 * the other options. The first background goes under transparency. */
enum status settings_set_in_step(struct settings *settings, const char *name, const char *value,
                                 bool last, struct failure *failure) {
    const int index = find_reserved(name);
    const bool background = strcmp(name, "background") == 0, type = strcmp(name, "type") == 0;
    const uint32_t bit = 1u << index;
    if (background && settings->given_in_step & bit) return STATUS_OK;
    if (!last && !background && !type)
        return fail(
            failure, STATUS_BAD_PARAM,
            "operations: \"%s\" is in a step that is not the last, but the image is encoded "
            "once; give it in the last step, or beside operations",
            name);
    if (settings->given_in_step & bit) settings->given &= ~bit;
    settings->given_in_step |= bit;
    return set_reserved(settings, index, value, failure);
}

enum status settings_set(struct settings *settings, const char *name, const char *value,
                         struct failure *failure) {
    char shown[PARAM_SHOWN_MAX];
    if (settings->info && !settings->dialect && strcmp(name, "device") != 0)
        return fail(failure, STATUS_BAD_PARAM,
                    "/info accepts only the parameter device; remove \"%s\"",
                    param_shown(name, shown));
    return settings->dialect
               ? settings->dialect->set(settings->dialect, settings, name, value, failure)
               : settings_set_native(settings, name, value, failure);
}

bool settings_is_shared(const struct settings *settings, const char *name) {
    const int index = find_reserved(name);
    return index >= RESERVED ||
           (index >= 0 && (!reserved[index].takes || reserved[index].takes(settings)));
}

enum status settings_set_native(struct settings *settings, const char *name, const char *value,
                                struct failure *failure) {
    if (settings_is_shared(settings, name))
        return set_reserved(settings, find_reserved(name), value, failure);
    if (settings->pipeline) return unknown(name, failure);
    return plan_set(&settings->plan, name, value, failure);
}

bool settings_takes(const struct settings *settings, const char *name) {
    if (settings->pipeline || settings->info) return false;
    return settings->dialect ? settings->dialect->takes(settings->dialect, &settings->plan, name)
                             : plan_takes(&settings->plan, name);
}

bool settings_names_operators(const char *name) {
    return strcmp(name, "operations") == 0 || strcmp(name, "outputs") == 0;
}

bool settings_may_plan(const struct settings *settings, bool more) {
    const struct plan *plan = &settings->plan;
    const struct outputs *outputs = settings->outputs;
    if (plan_has_user_operators(plan) || (outputs && outputs->has_user_operators)) return true;
    const bool steps_come = settings->pipeline && !settings_give(settings, "operations");
    return steps_come && (more || !outputs || !outputs->list);
}

enum status settings_give_background(const struct encode_options *encode, struct plan *plan,
                                     struct failure *failure) {
    char text[COLOUR_TEXT_MAX];
    if (!encode->has_background) return STATUS_OK;
    param_colour_print(encode_background(encode), text);
    return plan_give(plan, "background", text, failure);
}

static bool has_several_widths(const struct settings *settings) {
    return settings->outputs && settings->outputs->widths.count;
}

enum status settings_complete(struct settings *settings, struct failure *failure) {
    const bool several = settings->outputs && settings->outputs->list;
    if (settings->pipeline && !settings_give(settings, "operations") && !several)
        return fail(
            failure, STATUS_BAD_PARAM,
            "operations is missing: a JSON list such as [{\"operation\": \"histeq\"}], in the "
            "query or as a form field");
    enum status status = STATUS_OK;
    if (settings->dialect && !settings->pipeline && !has_several_widths(settings))
        status = settings->dialect->complete(settings->dialect, &settings->plan, &settings->encode,
                                             failure);
    if (!status && !several) status = encode_options_check(&settings->encode, failure);
    if (!status && !has_several_widths(settings)) /* else each width's plan gets it */
        status = settings_give_background(&settings->encode, &settings->plan, failure);
    if (!status && settings->outputs) status = outputs_check(settings, failure);
    return status ? status : plan_complete(&settings->plan, failure);
}

enum status settings_check_image(const struct settings *settings, const struct probe *probe,
                                 struct failure *failure) {
    const bool as_stored = settings->dialect && settings->dialect->as_stored;
    if (as_stored && probe->orientation != 1 && !format_record(probe->format)->turns)
        return fail(failure, STATUS_BAD_PARAM,
                    "this image is always rotated as its EXIF says: leave norotation out");
    return probe_check_data(probe, settings->accept_damage, failure);
}

void settings_release(struct settings *settings) {
    outputs_release(settings->outputs);
    settings->outputs = NULL;
}
