// SPDX-License-Identifier: Apache-2.0
#include "server/api/openapi_param.h"

#include "server/api/openapi_fixed.h"
#include "server/api/openapi_text.h"

#include <stdio.h>

static void flag(struct json_writer *json, const char *name, bool value) {
    json_writer_key(json, name);
    json_writer_add(json, value ? "true" : "false");
}

static void number(struct json_writer *json, const struct param *param, long value) {
    char text[DECIMAL_TEXT_MAX];
    if (param->type == PARAM_DECIMAL)
        json_writer_add(json, param_decimal_print(value, text));
    else
        json_writer_number(json, value);
}

static void colour(struct json_writer *json, long value) {
    char text[COLOUR_TEXT_MAX];
    json_writer_string(json, param_colour_print((uint32_t)value, text));
}

static void pair(struct json_writer *json, long value) {
    char text[PAIR_TEXT_MAX];
    json_writer_string(json, param_pair_print(value, text));
}

static void key_of_number(struct json_writer *json, const char *name, const struct param *param,
                          long value) {
    json_writer_key(json, name);
    number(json, param, value);
}

/* A default out of range stands for "not given". */
static bool has_default(const struct param *param) {
    if (param->required || param->type == PARAM_TAPS) return false;
    const bool ranged = param->type == PARAM_INT || param->type == PARAM_DECIMAL;
    return !ranged || (param->def >= param->min && param->def <= param->max);
}

static void value(struct json_writer *json, const struct param *param, long number_) {
    switch (param->type) {
    case PARAM_BOOL: json_writer_add(json, number_ ? "true" : "false"); break;
    case PARAM_CHOICE: json_writer_string(json, param->choices[number_]); break;
    case PARAM_COLOUR: colour(json, number_); break;
    case PARAM_PAIR: pair(json, number_); break;
    case PARAM_TAPS: json_writer_add(json, "[0,0,0,0,1,0,0,0,0]"); break;
    default: number(json, param, number_);
    }
}

static void choices(struct json_writer *json, const struct param *param) {
    openapi_put_next(json, "'enum':[");
    for (int i = 0; i < CHOICES_MAX && param->choices[i]; i++) {
        openapi_next(json);
        json_writer_string(json, param->choices[i]);
    }
    json_writer_add(json, "]");
}

static void range(struct json_writer *json, const struct param *param) {
    key_of_number(json, "minimum", param, param->min);
    key_of_number(json, "maximum", param, param->max);
}

static void schema(struct json_writer *json, const struct param *param) {
    static const char *const types[] = {
        [PARAM_INT] = "integer", [PARAM_BOOL] = "boolean",   [PARAM_CHOICE] = "string",
        [PARAM_TAPS] = "array",  [PARAM_DECIMAL] = "number", [PARAM_COLOUR] = "string",
        [PARAM_PAIR] = "string",
    };
    json_writer_key(json, "schema");
    json_writer_add(json, "{");
    json_writer_key_string(json, "type", types[param->type]);
    if (param->type == PARAM_INT || param->type == PARAM_DECIMAL) range(json, param);
    if (param->type == PARAM_CHOICE) choices(json, param);
    if (param->type == PARAM_COLOUR) openapi_put_next(json, "'pattern':'" OPENAPI_COLOUR "'");
    if (param->type == PARAM_PAIR) openapi_put_next(json, "'pattern':'^[0-9]+x[0-9]+$'");
    if (param->type == PARAM_TAPS) {
        openapi_put_next(json, "'items':{'type':'integer'");
        range(json, param);
        json_writer_add(json, "}");
        json_writer_key_number(json, "minItems", 9);
        json_writer_key_number(json, "maxItems", TAPS_MAX);
    }
    if (has_default(param)) {
        json_writer_key(json, "default");
        value(json, param, param->def);
    }
    json_writer_add(json, "}");
}

void openapi_param(struct json_writer *json, const struct param *param) {
    char text[512];
    snprintf(text, sizeof text, "%s%s%s%s", param->summary ? param->summary : "",
             param->unit ? " (" : "", param->unit ? param->unit : "", param->unit ? ")" : "");
    openapi_put_next(json, "{'in':'query'");
    json_writer_key_string(json, "name", param->name);
    json_writer_key_string(json, "description", text);
    if (param->required) flag(json, "required", true);
    if (param->type == PARAM_TAPS) openapi_put_next(json, "'style':'form','explode':false");
    schema(json, param);
    json_writer_key(json, "example");
    value(json, param,
          param->example       ? param->example
          : has_default(param) ? param->def
                               : param->min);
    json_writer_add(json, "}");
}
