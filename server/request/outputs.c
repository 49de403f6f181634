// SPDX-License-Identifier: Apache-2.0
/* How it works. Lists are read and checked as they come. They take effect after all other settings:
 * then a list of outputs is read a second time, starting from the request's own options. Outputs
 * with the same steps share a part of the plan. */
#include "server/request/outputs.h"

#include "server/request/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static enum status make(struct settings *settings, struct failure *failure) {
    if (!settings->outputs) settings->outputs = calloc(1, sizeof *settings->outputs);
    return settings->outputs
               ? STATUS_OK
               : fail(failure, STATUS_NO_MEMORY, "there is no memory for several outputs");
}

void outputs_release(struct outputs *outputs) {
    if (!outputs) return;
    json_decref(outputs->list);
    free(outputs);
}

/* ---- widths and types: lists with commas */

enum status outputs_set_widths(struct settings *settings, const char *value,
                               struct failure *failure) {
    if (make(settings, failure)) return failure->status;
    if (width_list_read(&settings->outputs->widths, value)) return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM, "widths must be " WIDTH_LIST_RANGE);
}

static int option_index(const char *name) {
    const char *option;
    for (int i = 0; (option = encode_option_name(i)); i++)
        if (strcmp(name, option) == 0) return i;
    return -1;
}

static bool has_type(const struct outputs *outputs, enum format type) {
    bool any = false;
    for (int i = 0; i < outputs->type_count; i++) any |= outputs->types[i] == type;
    return any;
}

enum status outputs_set_types(struct settings *settings, const char *value,
                              struct failure *failure) {
    const int option = option_index("type");
    char word[16], range[FORMAT_LIST_MAX];
    if (make(settings, failure)) return failure->status;
    struct outputs *outputs = settings->outputs;
    do {
        struct encode_options options = { .format = FORMAT_NONE };
        const bool good =
            list_next_word(&value, word, sizeof word) && encode_option_set(&options, option, word);
        if (!good || !options.format || has_type(outputs, options.format) ||
            outputs->type_count == OUTPUT_TYPES_MAX)
            return fail(failure, STATUS_BAD_PARAM,
                        "types must be different ones of %s, but not auto, with commas between",
                        encode_option_range(option, range));
        outputs->types[outputs->type_count++] = options.format;
    } while (value);
    return STATUS_OK;
}

/* ---- a list of outputs */

/* One of the list: its own steps, its options, its name ("": none). */
struct item {
    struct plan plan;
    struct encode_options encode;
    char name[OUTPUT_NAME_MAX];
    const struct dialect *dialect; /* the request's; NULL: none */
};

/* A file name that every system accepts, with room for a type after it. */
static enum status read_name(const json_t *value, char name[OUTPUT_NAME_MAX],
                             struct failure *failure) {
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    const size_t length = strlen(text);
    if (strcasecmp(text, OUTPUTS_MANIFEST) == 0)
        return fail(failure, STATUS_BAD_PARAM,
                    "\"name\" must not be " OUTPUTS_MANIFEST ": the report has that name");
    if (!length || length > 60 || text[0] == '.' || strspn(text, allowed) != length)
        return fail(failure, STATUS_BAD_PARAM,
                    "\"name\" must be 1 to 60 letters, digits, dots, - and _, without a dot in "
                    "front");
    memcpy(name, text, length + 1);
    return STATUS_OK;
}

static enum status read_member(const char *key, const json_t *value, struct item *item,
                               struct failure *failure) {
    char text[JSON_VALUE_MAX], shown[PARAM_SHOWN_MAX], range[FORMAT_LIST_MAX];
    if (strcmp(key, "name") == 0) return read_name(value, item->name, failure);
    if (strcmp(key, "operations") == 0)
        return json_is_array(value)
                   ? operations_add_output(&item->plan, value, item->dialect, &item->encode,
                                           failure)
                   : fail(failure, STATUS_BAD_PARAM, "\"operations\" must be a JSON list");
    const int option = option_index(key);
    if (option < 0)
        return fail(failure, STATUS_BAD_PARAM,
                    "\"%s\" is not known; an item has operations, name, type, quality and the "
                    "other options of how a result is written",
                    param_shown(key, shown));
    if (operations_value(value, text) && encode_option_set(&item->encode, option, text))
        return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM, "%s must be %s", key,
                encode_option_range(option, range));
}

/* Changes only those options of ITEM that JSON has. */
static enum status read_item(const json_t *json, struct item *item, struct failure *failure) {
    const char *key;
    json_t *value;
    enum status status = STATUS_OK;
    if (!json_is_object(json))
        return fail(failure, STATUS_BAD_PARAM,
                    "it must be {\"operations\": [...], \"type\": \"jpeg\", ...}");
    json_object_foreach ((json_t *)json, key, value) {
        status = read_member(key, value, item, failure);
        if (status) return status;
    }
    status = encode_options_check(&item->encode, failure);
    if (!status) status = settings_give_background(&item->encode, &item->plan, failure);
    return status ? status : plan_complete(&item->plan, failure);
}

/* Reads item INDEX; a failure names it. */
static enum status read_item_at(const struct settings *settings, size_t index,
                                const struct encode_options *encode, struct item *item,
                                struct failure *failure) {
    const json_t *list = settings->outputs->list;
    struct failure inner;
    item->dialect = settings->dialect;
    item->plan.ops = settings->plan.ops;
    item->plan.count = 0;
    item->encode = *encode;
    item->name[0] = '\0';
    const enum status status = read_item(json_array_get(list, index), item, &inner);
    return status ? fail(failure, status, "outputs, item %zu: %s", index + 1, inner.message)
                  : STATUS_OK;
}

enum status outputs_set_list(struct settings *settings, const char *value,
                             struct failure *failure) {
    char why[PARAM_SHOWN_MAX];
    struct item item;
    if (make(settings, failure)) return failure->status;
    struct outputs *outputs = settings->outputs;
    /* The request's own quality may come later: the highest is assumed. */
    struct encode_options encode = encode_options_default;
    encode.quality = 100;
    json_t *list = outputs->list = operations_load(value, why);
    const size_t count = json_array_size(list);
    if (count < 1 || count > OUTPUTS_MAX)
        return fail(failure, STATUS_BAD_PARAM,
                    "outputs must be a JSON list of 1 to %d items such as [{\"operations\": "
                    "[...], \"type\": \"jpeg\", \"name\": \"small\"}]%s%s",
                    OUTPUTS_MAX, *why ? ": " : "", why);
    for (size_t i = 0; i < count; i++) {
        if (read_item_at(settings, i, &encode, &item, failure)) return failure->status;
        outputs->has_user_operators |= plan_has_user_operators(&item.plan);
    }
    return STATUS_OK;
}

/* ---- whether the settings are compatible */

/* Makes the plan of the INDEX-th width; what a dialect adds may depend on it. */
static enum status make_plan_of_width(const struct settings *settings, int index, struct plan *plan,
                                      struct failure *failure) {
    struct dialect *dialect = settings->dialect;
    char text[16];
    *plan = settings->plan;
    snprintf(text, sizeof text, "%u", settings->outputs->widths.widths[index]);
    enum status status = plan_set(plan, "width", text, failure);
    if (!status && dialect) status = dialect->complete(dialect, plan, &settings->encode, failure);
    if (!status) status = settings_give_background(&settings->encode, plan, failure);
    return status ? status : plan_complete(plan, failure);
}

static enum status check_widths(const struct settings *settings, struct failure *failure) {
    const struct outputs *outputs = settings->outputs;
    const int types = outputs->type_count ? outputs->type_count : 1;
    struct plan plan;
    enum status status = plan_check_widths(&settings->plan, failure);
    for (int i = 0; i < outputs->widths.count && !status; i++)
        status = make_plan_of_width(settings, i, &plan, failure);
    if (status || outputs->widths.count * types <= OUTPUTS_MAX) return status;
    return fail(failure, STATUS_BAD_PARAM, "%d widths in %d types are more than %d results",
                outputs->widths.count, types, OUTPUTS_MAX);
}

enum status outputs_check(const struct settings *settings, struct failure *failure) {
    const struct outputs *outputs = settings->outputs;
    if (outputs->type_count && settings->encode.format)
        return fail(failure, STATUS_BAD_PARAM,
                    "type and types exclude each other: put the type into types");
    if (outputs->type_count && outputs->list)
        return fail(failure, STATUS_BAD_PARAM,
                    "types does not go with outputs: each item of outputs has its own type");
    return outputs->widths.count ? check_widths(settings, failure) : STATUS_OK;
}

/* ---- parts and results */

/* Adds a part without steps to PLANS. */
static struct plan *add_part(struct plan_tree *plans, const struct op_set *ops) {
    struct plan *part = &plans->parts[plans->count++];
    part->ops = ops;
    part->count = 0;
    return part;
}

/* Adds a result of PART for each type. */
static void add_results(struct outputs *outputs, const struct encode_options *encode, int part,
                        struct job_output *results) {
    const int types = outputs->type_count ? outputs->type_count : 1;
    for (int t = 0; t < types; t++) {
        struct job_output *result = &results[outputs->count++];
        result->part = part;
        result->encode = *encode;
        if (outputs->type_count) result->encode.format = outputs->types[t];
    }
}

/* Whether one of the COUNT results before RESULT is as wide; both would have the same name. */
static bool is_there(const struct image *result, const struct image *before, int count) {
    bool any = false;
    for (int i = 0; i < count; i++) any |= result->width == before[i].width;
    return any;
}

static enum status plan_widths(const struct settings *settings, const struct image *in,
                               uint64_t pixels_max, struct plan_tree *plans,
                               struct job_output *results, struct failure *failure) {
    struct outputs *outputs = settings->outputs;
    struct image shapes[PLAN_STEPS_MAX + 1], made[WIDTHS_MAX];
    add_part(plans, settings->plan.ops);
    for (int i = 0; i < outputs->widths.count; i++) {
        const int part = plans->count;
        struct plan *plan = add_part(plans, settings->plan.ops);
        enum status status = make_plan_of_width(settings, i, plan, failure);
        if (!status) status = plan_settle(plan, in, true, pixels_max, shapes, failure);
        if (status) return status;
        const struct image *result = &shapes[plan->count];
        if (result->width != outputs->widths.widths[i]) outputs->notes |= NOTE_OTHER_WIDTHS;
        made[part - 1] = *result;
        if (is_there(result, made, part - 1))
            plans->count--;
        else
            add_results(outputs, &settings->encode, part, results);
    }
    return STATUS_OK;
}

/* The part with the steps of PLAN; a new one if there is none. */
static int part_of(struct plan_tree *plans, const struct plan *plan) {
    if (!plan->count) return 0;
    for (int p = 1; p < plans->count; p++)
        if (plan_is_same(&plans->parts[p], plan)) return p;
    plans->parts[plans->count] = *plan;
    return plans->count++;
}

static enum status plan_list(const struct settings *settings, struct plan_tree *plans,
                             struct job_output *results, struct failure *failure) {
    struct outputs *outputs = settings->outputs;
    struct item item;
    for (size_t i = 0; i < json_array_size(outputs->list); i++) {
        if (read_item_at(settings, i, &settings->encode, &item, failure)) return failure->status;
        memcpy(outputs->names[i], item.name, sizeof item.name);
        add_results(outputs, &item.encode, part_of(plans, &item.plan), results);
    }
    return plan_tree_check(plans, failure);
}

enum status outputs_plan(const struct settings *settings, const struct image *in,
                         uint64_t pixels_max, struct plan_tree *plans,
                         struct job_output results[OUTPUTS_MAX], struct failure *failure) {
    struct outputs *outputs = settings->outputs;
    plans->count = 0;
    outputs->count = 0;
    outputs->notes = 0;
    if (outputs->widths.count)
        return plan_widths(settings, in, pixels_max, plans, results, failure);
    *add_part(plans, settings->plan.ops) = settings->plan;
    if (outputs->list) return plan_list(settings, plans, results, failure);
    add_results(outputs, &settings->encode, 0, results);
    return STATUS_OK;
}

/* ---- names */

static enum status check_name(const struct outputs *outputs, int index, struct failure *failure) {
    for (int i = 0; i < index; i++)
        if (strcasecmp(outputs->names[i], outputs->names[index]) == 0)
            return fail(failure, STATUS_BAD_PARAM,
                        "outputs, item %d: it has the name of item %d, %s; give each its own name",
                        index + 1, i + 1, outputs->names[i]);
    return STATUS_OK;
}

enum status outputs_name(const struct settings *settings, const char *label,
                         const struct job_output *results, struct failure *failure) {
    struct outputs *outputs = settings->outputs;
    for (int i = 0; i < outputs->count; i++) {
        char *name = outputs->names[i];
        const char *type = format_name(results[i].type);
        const size_t length = strlen(name), room = sizeof outputs->names[i] - length;
        if (outputs->widths.count)
            snprintf(name, room, "%uw.%s", results[i].image.width, type);
        else if (!outputs->list)
            snprintf(name, room, "%.48s.%s", label, type);
        else if (!length)
            snprintf(name, room, "%d.%s", i + 1, type);
        else if (!strchr(name, '.'))
            snprintf(name + length, room, ".%s", type);
        const enum status status = check_name(outputs, i, failure);
        if (status) return status;
    }
    return STATUS_OK;
}
