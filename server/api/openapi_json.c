// SPDX-License-Identifier: Apache-2.0
/* How it works. The text is written from beginning to end into memory that grows until it fits:
 * operators' paths and parameters from their records, which also check requests, and everything
 * else from openapi_fixed.h. */
#include "server/api/openapi_json.h"

#include "pipeline/format.h"
#include "pipeline/plan_tree.h"
#include "server/api/json_writer.h"
#include "server/api/openapi_fixed.h"
#include "server/http/imaginary.h"
#include "server/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SIZE = 64 << 10, LARGEST_SIZE = 64 << 20 };

/* ---- JSON as text: ' in place of ", and commas where they are needed */

/* Each format's first media type as a key; for input without PNM, of which there is an example. */
static void media_types(struct json_writer *json, bool input) {
    enum format format;
    const char *before = "\"";
    for (int i = 0; (format = format_at(FORMATS_DESCRIBED, i)); i++) {
        if (!format_can(format, input ? FORMAT_READ : FORMAT_WRITTEN)) continue;
        if (input && format == FORMAT_PNM) continue;
        json_writer_add(json, before);
        json_writer_add(json, format_media_type(format));
        json_writer_add(json, "\":{}");
        before = ",\"";
    }
}

static bool is(const char *word, size_t length, const char *name) {
    return strlen(name) == length && memcmp(word, name, length) == 0;
}

/* The list that a WORD between ~ stands for. */
static void put_formats(struct json_writer *json, const char *word, size_t length) {
    static const struct {
        const char *name;
        unsigned abilities;
    } titles[] = {
        { "inputs", FORMAT_READ },
        { "quality", FORMAT_QUALITY },
        { "compression", FORMAT_COMPRESSION },
        { "progressive", FORMAT_PROGRESSIVE },
        { "lossless", FORMAT_LOSSLESS },
        { "palette", FORMAT_PALETTE },
        { "effort", FORMAT_EFFORT },
        { "metadata", FORMAT_METADATA },
    };
    char text[FORMAT_LIST_MAX];
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (is(word, length, titles[i].name))
            json_writer_add(json,
                            format_list(FORMAT_TITLES, titles[i].abilities, ", ", " or ", text));
    if (is(word, length, "types")) {
        json_writer_add(json, "\"");
        json_writer_add(json, format_list(FORMAT_NAMES, FORMAT_WRITTEN, "\",\"", "\",\"", text));
        json_writer_add(json, "\"");
    }
    if (is(word, length, "media types")) media_types(json, false);
    if (is(word, length, "input media types")) media_types(json, true);
}

/* TEXT with ' in place of ", and lists of formats for words between ~. */
static void put(struct json_writer *json, const char *text) {
    for (size_t length; *text; text += length + (text[length] != '\0')) {
        length = strcspn(text, "'~");
        json_writer_bytes(json, text, length);
        if (text[length] == '\'') json_writer_bytes(json, "\"", 1);
        if (text[length] != '~') continue;
        text += length + 1;
        length = strcspn(text, "~");
        put_formats(json, text, length);
    }
}

/* Writes a comma unless an object or a list has just begun. */
static void next(struct json_writer *json) {
    const char before = json->length ? json->start[json->length - 1] : '{';
    if (before != '{' && before != '[') json_writer_bytes(json, ",", 1);
}

static void put_next(struct json_writer *json, const char *text) {
    next(json);
    put(json, text);
}

/* ---- an operator's parameter */

static void number(struct json_writer *json, const struct param *param, long value) {
    char text[DECIMAL_TEXT_MAX];
    if (param->type == PARAM_DECIMAL || param->type == PARAM_MATRIX)
        json_writer_add(json, param_decimal_print(value, text));
    else
        json_writer_number(json, value);
}

static void value(struct json_writer *json, const struct param *param, long value) {
    char text[COLOUR_TEXT_MAX + PAIR_TEXT_MAX];
    switch (param->type) {
    case PARAM_BOOL: json_writer_add(json, value ? "true" : "false"); break;
    case PARAM_CHOICE: json_writer_string(json, param->choices[value]); break;
    case PARAM_COLOUR: json_writer_string(json, param_colour_print((uint32_t)value, text)); break;
    case PARAM_PAIR: json_writer_string(json, param_pair_print(value, text)); break;
    case PARAM_TAPS: json_writer_add(json, "[0,0,0,0,1,0,0,0,0]"); break;
    case PARAM_MATRIX: json_writer_add(json, "[1,0,0,0,1,0,0,0,1]"); break;
    default: number(json, param, value);
    }
}

static void choices(struct json_writer *json, const struct param *param) {
    put_next(json, "'enum':[");
    for (int i = 0; i < CHOICES_MAX && param->choices[i]; i++) {
        next(json);
        json_writer_string(json, param->choices[i]);
    }
    json_writer_add(json, "]");
}

static void range(struct json_writer *json, const struct param *param) {
    json_writer_key(json, "minimum");
    number(json, param, param->min);
    json_writer_key(json, "maximum");
    number(json, param, param->max);
}

static void schema(struct json_writer *json, const struct param *param) {
    static const char *const types[] = {
        [PARAM_INT] = "integer", [PARAM_BOOL] = "boolean",   [PARAM_CHOICE] = "string",
        [PARAM_TAPS] = "array",  [PARAM_DECIMAL] = "number", [PARAM_COLOUR] = "string",
        [PARAM_PAIR] = "string", [PARAM_MATRIX] = "array",
    };
    json_writer_key(json, "schema");
    json_writer_add(json, "{");
    if (param->share)
        put_next(json, "'type':['integer','string'],'pattern':'" OPENAPI_PERCENT "'");
    else
        json_writer_key_string(json, "type", types[param->type]);
    if (param->type == PARAM_INT || param->type == PARAM_DECIMAL) range(json, param);
    if (param->type == PARAM_CHOICE) choices(json, param);
    if (param->type == PARAM_COLOUR) put_next(json, "'pattern':'" OPENAPI_COLOUR "'");
    if (param->type == PARAM_PAIR) put_next(json, "'pattern':'^[0-9]+x[0-9]+$'");
    if (param_is_list(param->type)) {
        put_next(json, param->type == PARAM_TAPS ? "'items':{'type':'integer'"
                                                 : "'items':{'type':'number'");
        range(json, param);
        json_writer_add(json, "}");
        json_writer_key_number(json, "minItems", 9);
        json_writer_key_number(json, "maxItems", param_list_max(param->type));
    }
    if (param_has_default(param)) {
        json_writer_key(json, "default");
        value(json, param, param->def);
    }
    json_writer_add(json, "}");
}

/* Writes a parameter into the list that JSON is in. */
static void parameter(struct json_writer *json, const struct param *param) {
    char text[512];
    snprintf(text, sizeof text, "%s%s%s%s", param->summary ? param->summary : "",
             param->unit ? " (" : "", param->unit ? param->unit : "", param->unit ? ")" : "");
    put_next(json, "{'in':'query'");
    json_writer_key_string(json, "name", param->name);
    json_writer_key_string(json, "description", text);
    if (param->required) put_next(json, "'required':true");
    if (param_is_list(param->type)) put_next(json, "'style':'form','explode':false");
    schema(json, param);
    json_writer_key(json, "example");
    value(json, param,
          param->example             ? param->example
          : param_has_default(param) ? param->def
                                     : param->min);
    json_writer_add(json, "}");
}

/* ---- paths */

/* Writes the request's body: an image, and the additional ones that the operator takes. */
static void body(struct json_writer *json, const struct op *op) {
    char text[512];
    json_writer_key(json, "requestBody");
    if (!op->aux[0].name) {
        put(json,
            op->depth == 16 ? openapi_body_16 : "{'$ref':'#/components/requestBodies/Image'}");
        return;
    }
    put(json, "{'required':true,'content':{'multipart/form-data':{'schema':{'type':'object',"
              "'properties':{" OPENAPI_IMAGE_PART);
    for (int i = 0; i < OP_AUX_MAX && op->aux[i].name; i++) {
        json_writer_key(json, op->aux[i].name);
        put(json, "{'type':'string','contentMediaType':'application/octet-stream'");
        const bool overlay = op->aux[i].kind == AUX_PICTURE;
        snprintf(text, sizeof text, "%s%s", op->aux[i].summary, overlay ? OPENAPI_NAMED : "");
        json_writer_key_string(json, "description", text);
        json_writer_add(json, "}");
    }
    const bool needs = op->aux[0].kind == AUX_PICTURE;
    put(json, "},'required':['image'");
    if (needs) {
        next(json);
        json_writer_string(json, op->aux[0].name);
    }
    put(json, "]},'example':{'image':'" OPENAPI_PICTURE "'");
    for (int i = 0; i < OP_AUX_MAX && op->aux[i].name; i++) {
        json_writer_key(json, op->aux[i].name);
        put(json, "'" OPENAPI_PICTURE "'");
    }
    put(json, needs ? "}}}}" : "}}," OPENAPI_RAW_BODIES(OPENAPI_PICTURE) "}}");
}

/* The statuses of failed requests with an image. */
static const struct problem {
    const char *status, *meaning;
} problems[] = {
    { "400", "A parameter or the form is wrong, or the request can be read in two ways" },
    { "401", "No key, or one that does not hold" },
    { "403", "The key or the signed address does not allow this" },
    { "410", "The signed address has expired" },
    { "413", "The body is too large" },
    { "415", "Not an image of a known type, or a body with a Content-Encoding" },
    { "422", "Too many pixels, or a damaged image" },
    { "429", "The key has used up what it may ask for a second" },
    { "500", "The job ended its workers" },
    { "503", "No room, no healthy worker, or the daemon is stopping" },
    { "504", "The deadline passed" },
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

/* RESULT: a response object, with ' for ". */
static void responses(struct json_writer *json, const char *result) {
    put_next(json, "'responses':{'200':");
    put(json, result);
    for (int i = 0; i < PROBLEMS; i++) {
        json_writer_key(json, problems[i].status);
        put(json, "{'$ref':'#/components/responses/");
        json_writer_add(json, problems[i].status);
        put(json, "'}");
    }
    json_writer_add(json, "}");
}

static void begin_path(struct json_writer *json, const char *name, const char *tag) {
    char path[64];
    snprintf(path, sizeof path, "/%s", name);
    json_writer_key(json, path);
    json_writer_add(json, "{\"post\":{\"tags\":[");
    json_writer_string(json, tag);
    json_writer_add(json, "]");
    json_writer_key_string(json, "operationId", name);
}

/* Writes the parameters of every request with an image, except background; NAME: its operator, or
 * NULL. */
static void shared_parameters(struct json_writer *json, const char *name, const char *type) {
    put_next(json, type);
    put_next(json, name && imaginary_has(name) ? OPENAPI_COMPRESSION_9 : OPENAPI_COMPRESSION);
    put_next(json, OPENAPI_SHARED_PARAMETERS "]");
}

static void operator_path(struct json_writer *json, const struct op *op) {
    begin_path(json, op->name, "operators");
    json_writer_key_string(json, "summary", op->summary ? op->summary : op->name);
    if (op->group) json_writer_key_string(json, "x-group", op_group_name(op->group));
    put_next(json, "'parameters':[");
    bool background = true;
    for (const struct param *param = op->params; param && param->type != PARAM_NONE; param++) {
        parameter(json, param);
        background = background && strcmp(param->name, "background") != 0;
    }
    if (background) put_next(json, OPENAPI_BACKGROUND);
    if (op->widths) put_next(json, "{'$ref':'#/components/parameters/widths'}");
    shared_parameters(json, op->name, OPENAPI_TYPE);
    body(json, op);
    responses(json, op->values ? "{'$ref':'#/components/responses/Values'}"
                               : "{'$ref':'#/components/responses/Image'}");
    json_writer_add(json, "}}");
}

/* Writes an operation of imaginary, which becomes OP, or no operator if OP is NULL. */
static void imaginary_path(struct json_writer *json, const struct op_set *ops, const char *name,
                           const char *op) {
    char summary[96];
    struct op parts = { .name = NULL };
    if (op) memcpy(parts.aux, op_set_find(ops, op)->aux, sizeof parts.aux);
    snprintf(summary, sizeof summary, "For clients of imaginary: %s%s",
             op ? "runs " : "the image as it came", op ? op : "");
    begin_path(json, name, "imaginary");
    json_writer_key_string(json, "summary", summary);
    put_next(json, "'parameters':[");
    if (op && !parts.aux[0].name) put_next(json, OPENAPI_SIDES);
    put_next(json, OPENAPI_BACKGROUND);
    shared_parameters(json, name,
                      strcmp(name, "convert") == 0 ? OPENAPI_NEEDED_TYPE : OPENAPI_TYPE);
    body(json, &parts);
    responses(json, "{'$ref':'#/components/responses/Image'}");
    json_writer_add(json, "}}");
}

/* Whether imaginary's operation NAME is served: a user's operator of that name replaces it. */
static bool is_there(const struct op_set *ops, const char *name, const char *op) {
    return !op_set_find(ops, name) && (!op || op_set_find(ops, op));
}

static void imaginary_paths(struct json_writer *json, const struct op_set *ops) {
    const char *name, *op;
    for (int i = 0; (name = imaginary_name(i, &op)); i++)
        if (is_there(ops, name, op)) imaginary_path(json, ops, name, op);
}

/* Writes an example of two steps that need no parameter and accept the example's picture. */
static void steps(struct json_writer *json, const struct op_set *ops) {
    int count = 0;
    json_writer_add(json, "[");
    for (int i = 0; i < op_set_count(ops) && count < 2; i++) {
        const struct op *op = op_set_at(ops, i);
        bool simple = op->depth != 16 && !op->aux[0].name;
        for (const struct param *param = op->params; param && param->type != PARAM_NONE; param++)
            simple = simple && !param->required && !param->example;
        if (!simple) continue;
        count++;
        put_next(json, "{");
        json_writer_key_string(json, "operation", op->name);
        put_next(json, "'params':{}}");
    }
    json_writer_add(json, "]");
}

static void pipeline_path(struct json_writer *json, const struct op_set *ops) {
    put_next(json, "'/pipeline':{'post':{'operationId':'post-pipeline','tags':['operators'],"
                   "'summary':'The image after several operators; it is decoded and encoded once',"
                   "'parameters':[{'name':'operations','in':'query','description':'May be a form "
                   "field instead','content':{'application/json':{'schema':{"
                   "'$ref':'#/components/schemas/Operations'},'example':");
    steps(json, ops);
    put(json, "}}},{'name':'outputs','in':'query','description':'Several results, each from what "
              "operations make; may be a form field instead','content':{'application/json':{"
              "'schema':{'$ref':'#/components/schemas/Outputs'},'example':[{'operations':");
    steps(json, ops);
    put(json, ",'type':'png','name':'small'},{'type':'jpeg','quality':60}]}}}," OPENAPI_BACKGROUND);
    shared_parameters(json, NULL, OPENAPI_TYPE);
    put(json, ",'requestBody':{'required':true,'content':{"
              "'multipart/form-data':{'schema':{'type':'object','properties':{" OPENAPI_IMAGE_PART
              ",'operations':{'$ref':'#/components/schemas/Operations'},"
              "'outputs':{'$ref':'#/components/schemas/Outputs'}},'required':['image']},"
              "'encoding':{'operations':{'contentType':'application/json'},"
              "'outputs':{'contentType':'application/json'}},"
              "'example':{'image':'" OPENAPI_PICTURE "','operations':");
    steps(json, ops);
    put(json, "}}," OPENAPI_RAW_BODIES(OPENAPI_PICTURE) "}}");
    responses(json, "{'$ref':'#/components/responses/Image'}");
    json_writer_add(json, "}}");
}

static void info_path(struct json_writer *json) {
    put_next(json, "'/info':{'post':{'operationId':'post-info','tags':['operators'],"
                   "'summary':'Type, size, depth and channels, from the header of the image',"
                   "'parameters':[{'$ref':'#/components/parameters/device'},"
                   "{'$ref':'#/components/parameters/id'}],"
                   "'requestBody':{'$ref':'#/components/requestBodies/Image'}");
    responses(json, OPENAPI_JSON("What the header says", "Info"));
    json_writer_add(json, "}}");
}

/* ---- components */

static void problem_responses(struct json_writer *json) {
    for (int i = 0; i < PROBLEMS; i++) {
        json_writer_key(json, problems[i].status);
        json_writer_add(json, "{");
        json_writer_key_string(json, "description", problems[i].meaning);
        put_next(json, "'content':{'application/problem+json':{'schema':{"
                       "'$ref':'#/components/schemas/Problem'}}}");
        if (strcmp(problems[i].status, "503") == 0)
            put_next(json, "'headers':{'Retry-After':{"
                           "'$ref':'#/components/headers/Retry-After'}}");
        json_writer_add(json, "}");
    }
}

static void operations_schema(struct json_writer *json, const struct op_set *ops) {
    put_next(json, "'Operations':{'type':'array','minItems':1");
    json_writer_key_number(json, "maxItems", PLAN_STEPS_MAX);
    put_next(json, "'items':{'type':'object','properties':{'operation':{'enum':[");
    for (int i = 0; i < op_set_count(ops); i++) {
        next(json);
        json_writer_string(json, op_set_at(ops, i)->name);
    }
    const char *name, *op;
    for (int i = 0; (name = imaginary_name(i, &op)); i++) {
        if (!is_there(ops, name, op)) continue;
        next(json);
        json_writer_string(json, name);
    }
    put(json,
        "]},'params':{'type':'object'},'ignore_failure':{'const':false}},'required':['operation'],"
        "'additionalProperties':false}}");
}

static void outputs_schema(struct json_writer *json) {
    put_next(json, "'Outputs':{'type':'array','minItems':1");
    json_writer_key_number(json, "maxItems", PLAN_BRANCHES_MAX);
    put_next(json,
             "'items':{'type':'object','description':'Steps of this output, and all settings of "
             "its encoding that a request takes','properties':{'operations':{"
             "'$ref':'#/components/schemas/Operations'},'type':{'enum':['auto'," OPENAPI_TYPES
             "]},'quality':{'type':'integer','minimum':1,'maximum':100},"
             "'name':{'type':'string','pattern':'^[A-Za-z0-9_-][A-Za-z0-9._-]{0,59}$'}}}}");
}

static void stages_schema(struct json_writer *json) {
    put_next(json, "'Stages':{'type':'object','description':'Milliseconds; they add up to total',"
                   "'properties':{'operators':{'type':'array','items':{"
                   "'$ref':'#/components/schemas/Span'}},'total':{'type':'number'}");
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        json_writer_key(json, stage_name((enum stage)stage));
        put(json, "{'type':'number'}");
    }
    put(json, "},'required':['operators','total'");
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        next(json);
        json_writer_string(json, stage_name((enum stage)stage));
    }
    json_writer_add(json, "]}");
}

static void components(struct json_writer *json, const struct op_set *ops) {
    put_next(json, "'components':{'parameters':{");
    put(json, openapi_parameters);
    put(json, openapi_palette_parameters);
    put(json, openapi_file_parameters);
    put(json, "},'headers':{");
    put(json, openapi_headers);
    put(json, "},'requestBodies':{'Image':");
    put(json, openapi_body);
    put(json, "},'securitySchemes':{'token':{'type':'http','scheme':'bearer','description':'Where "
              "the daemon has a file of keys'},'signature':{'type':'apiKey','in':'query','name':"
              "'signature','description':'Of an address that burin sign makes'}");
    put(json, "},'responses':{");
    put(json, openapi_results);
    problem_responses(json);
    put(json, "},'schemas':{");
    put(json, openapi_schemas);
    put_next(json, openapi_status_schemas);
    stages_schema(json);
    operations_schema(json, ops);
    outputs_schema(json);
    json_writer_add(json, "}}");
}

/* ---- all of it */

static void write(struct json_writer *json, const struct op_set *ops) {
    json_writer_add(json, "{");
    put(json, openapi_info);
    put_next(json, "'info':{'title':'Burin','summary':'Image processing over HTTP',"
                   "'license':{'name':'Apache License 2.0','identifier':'Apache-2.0'}");
    json_writer_key_string(json, "version", version_text());
    json_writer_key_string(json, "description", openapi_description);
    put(json, "},'paths':{");
    for (int i = 0; i < op_set_count(ops); i++) operator_path(json, op_set_at(ops, i));
    imaginary_paths(json, ops);
    pipeline_path(json, ops);
    info_path(json);
    put_next(json, openapi_service_paths);
    json_writer_add(json, "}");
    components(json, ops);
    json_writer_add(json, "}");
}

char *openapi_json(const struct op_set *ops) {
    for (size_t size = FIRST_SIZE; size <= LARGEST_SIZE; size *= 2) {
        char *text = malloc(size);
        if (!text) return NULL;
        struct json_writer json = json_writer_in(text, size);
        write(&json, ops);
        if (!json.full) return text;
        free(text);
    }
    return NULL;
}
