// SPDX-License-Identifier: Apache-2.0
#include "server/api/ops_json.h"

#include "pipeline/op_alias.h"

#include <string.h>

static const char *const type_names[] = {
    [PARAM_INT] = "integer",   [PARAM_BOOL] = "boolean",   [PARAM_CHOICE] = "choice",
    [PARAM_TAPS] = "integers", [PARAM_DECIMAL] = "number", [PARAM_COLOUR] = "colour",
    [PARAM_PAIR] = "pair",     [PARAM_MATRIX] = "numbers",
};

static json_t *choices_json(const struct param *param) {
    json_t *choices = json_array();
    for (int i = 0; i < CHOICES_MAX && param->choices[i]; i++)
        json_array_append_new(choices, json_string(param->choices[i]));
    return choices;
}

static json_t *number_json(const struct param *param, long number) {
    if (param->type != PARAM_DECIMAL && param->type != PARAM_MATRIX) return json_integer(number);
    return number % 1000 ? json_real((double)number / 1000) : json_integer(number / 1000);
}

/* NULL: the parameter has no default. */
static json_t *default_json(const struct param *param) {
    if (!param_has_default(param)) return NULL;
    if (param->type == PARAM_BOOL) return json_boolean(param->def);
    if (param->type == PARAM_CHOICE) return json_string(param->choices[param->def]);
    if (param->type == PARAM_COLOUR) {
        char text[COLOUR_TEXT_MAX];
        return json_string(param_colour_print((uint32_t)param->def, text));
    }
    if (param->type == PARAM_PAIR) {
        char text[PAIR_TEXT_MAX];
        return json_string(param_pair_print(param->def, text));
    }
    return number_json(param, param->def);
}

static json_t *param_json(const struct param *param) {
    json_t *json =
        json_pack("{s:s, s:s, s:s*, s:s*}", "name", param->name, "type", type_names[param->type],
                  "summary", param->summary, "unit", param->unit);
    if (param->type == PARAM_INT || param_is_list(param->type) || param->type == PARAM_DECIMAL ||
        param->type == PARAM_PAIR) {
        json_object_set_new(json, "min", number_json(param, param->min));
        json_object_set_new(json, "max", number_json(param, param->max));
    }
    if (param->share)
        json_object_set_new(json, "percent_of",
                            json_string(param->share == SHARE_OF_WIDTH ? "width" : "height"));
    if (param->type == PARAM_CHOICE) json_object_set_new(json, "choices", choices_json(param));
    if (param_is_list(param->type))
        json_object_set_new(json, "counts", json_pack("[i, i]", 9, param_list_max(param->type)));
    json_object_set_new(json, "default", default_json(param)); /* NULL sets nothing */
    if (param->example) json_object_set_new(json, "example", number_json(param, param->example));
    json_object_set_new(json, "required", json_boolean(param->required));
    return json;
}

const char *ops_values(const struct op *op) {
    const struct image gray = image_shape(1, 1, 1, 8);
    struct params params;
    if (!op->values) return NULL;
    if (op->text) return "text";
    if (op->value_names) return "object";
    params_init(&params, op->params);
    return op->values(op, &params, &gray).is_list ? "list" : "number";
}

/* False: there is no memory, or ITEM is NULL because a text in it is no UTF-8. */
static bool append(json_t *array, json_t *item) {
    return json_array_append_new(array, item) == 0;
}

/* NULL: there are none. *ALL becomes false where there is no memory. */
static json_t *aliases_json(const struct op *op, bool *all) {
    json_t *aliases = json_array();
    const char *words;
    for (int i = 0; (words = op_alias_words(op->name, i)); i++)
        for (size_t length; (length = strcspn(words, " ")); words += length + 1)
            *all &= append(aliases, json_stringn(words, length));
    if (json_array_size(aliases)) return aliases;
    json_decref(aliases);
    return NULL;
}

static json_t *op_json(const struct op *op) {
    json_t *params = json_array(), *parts = json_array();
    bool all = true;
    for (const struct param *param = op->params; param && param->type != PARAM_NONE; param++)
        all &= append(params, param_json(param));
    for (int i = 0; i < OP_AUX_MAX && op->aux[i].name; i++)
        all &= append(parts, json_pack("{s:s, s:s, s:s}", "name", op->aux[i].name, "summary",
                                       op->aux[i].summary, "kind",
                                       op->aux[i].kind == AUX_PICTURE ? "picture" : "mask"));
    json_t *json = json_pack("{s:s, s:s*, s:s, s:s*, s:o*, s:o, s:o, s:s*}", "name", op->name,
                             "title", op->title, "summary", op->summary, "group",
                             op_group_name(op->group), "aliases", aliases_json(op, &all),
                             "parameters", params, "parts", parts, "values", ops_values(op));
    if (op->depth) json_object_set_new(json, "depth", json_integer(op->depth));
    if (op->widths) json_object_set_new(json, "widths", json_true());
    if (all) return json;
    json_decref(json);
    return NULL;
}

json_t *ops_json(const struct op_set *ops) {
    json_t *operators = json_array(), *groups = json_array();
    bool all = true;
    for (int i = OP_UNGROUPED + 1; i < OP_GROUPS; i++)
        all &= append(groups, json_string(op_group_name((enum op_group)i)));
    for (int i = 0; i < op_set_count(ops); i++)
        all &= append(operators, op_json(op_set_at(ops, i)));
    if (all) return json_pack("{s:o, s:o}", "groups", groups, "operators", operators);
    json_decref(operators);
    json_decref(groups);
    return NULL;
}
