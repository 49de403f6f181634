// SPDX-License-Identifier: Apache-2.0
/* How it works. The line is written when the request has ended. A query may hold secrets of other
 * services, by a client's mistake too, and no list of their names is complete: so the line has the
 * values of those names alone that Burin gives a meaning, within lists of steps too. */
#include "server/http/access_log.h"

#include "pipeline/builtin_ops.h"
#include "pipeline/format.h"
#include "server/api/json_writer.h"
#include "server/http/route.h"
#include "server/log/log.h"

#include <stdio.h>
#include <string.h>

/* Bytes of texts that a client chooses. */
enum { SHOWN_METHOD = 16, SHOWN_PATH = 256, SHOWN_QUERY = 1024, SHOWN_AGENT = 160 };

/* ---- the address */

/* Adds TEXT as it stands in an address, so that it can be sent again. */
static void add_escaped(struct json_writer *to, const char *text) {
    json_writer_percent(to, text, "-._~/:,@!*'()");
}

/* Whether Burin gives NAME a meaning. Parameters of a user's operator count for that OPERATION
 * alone: their author chose the names. */
static bool is_known(const struct op_set *ops, const char *operation, const char *name) {
    const char *shared;
    if (imaginary_knows(name)) return true;
    for (int i = 0; (shared = settings_shared_name(i)); i++)
        if (strcmp(shared, name) == 0) return true;
    for (int i = 0; i < op_set_count(ops); i++) {
        const struct op *op = op_set_at(ops, i);
        if (i >= builtin_op_count() && strcmp(op->name, operation) != 0) continue;
        for (const struct param *param = op->params; param && param->name; param++)
            if (strcmp(param->name, name) == 0) return true;
    }
    return false;
}

/* Whether VALUE may hold an address with a query, or several arguments in one. */
static bool has_arguments(const char *value) {
    return strpbrk(value, "?=&") != NULL;
}

/* Whether a list of steps or of outputs has known names alone. */
static bool is_plain(const struct op_set *ops, const char *operation, const json_t *json) {
    static const char words[] = " operation params ignore_failure name ";
    const char *name, *step = json_string_value(json_object_get(json, "operation"));
    char word[PARAM_SHOWN_MAX];
    json_t *value;
    size_t i;
    if (step) operation = step;
    json_object_foreach ((json_t *)json, name, value) {
        snprintf(word, sizeof word, " %s ", name);
        if (!strstr(words, word) && !is_known(ops, operation, name)) return false;
        if (!is_plain(ops, operation, value)) return false;
    }
    json_array_foreach (json, i, value)
        if (!is_plain(ops, operation, value)) return false;
    return !json_is_string(json) || !has_arguments(json_string_value(json));
}

struct address {
    struct json_writer *query;
    const struct grant *grant;
    const struct op_set *ops;
    const char *operation;
};

/* Whether the value of NAME holds no secret, even by a client's mistake. Of what belongs to a
 * signature the limits are shown; `key` may be a token in the wrong place. */
static bool is_shown(const struct address *address, const char *name, const char *value) {
    if (grant_owns(address->grant, name))
        return !strstr(" key once signature ", name) && !has_arguments(value);
    if (!is_known(address->ops, address->operation, name)) return false;
    if (!settings_names_operators(name)) return !has_arguments(value);
    char why[PARAM_SHOWN_MAX];
    json_t *steps = operations_load(value, why);
    const bool plain = json_is_array(steps) && is_plain(address->ops, "", steps);
    json_decref(steps);
    return plain;
}

/* An address of another service is cut before its query. */
static enum MHD_Result add_argument(void *context, enum MHD_ValueKind kind, const char *name,
                                    const char *value) {
    (void)kind;
    const struct address *address = context;
    struct json_writer *query = address->query;
    char place[SHOWN_PATH];
    if (query->full) return MHD_NO;
    if (query->length) json_writer_add(query, "&");
    if (!value && *name) return add_escaped(query, "REDACTED"), MHD_YES;
    add_escaped(query, name);
    if (!value) return MHD_YES;
    json_writer_add(query, "=");
    snprintf(place, sizeof place, "%.*s", (int)strcspn(value, "?#%&;"), value);
    if (strcmp(name, "url") == 0 && !strchr(place, '@'))
        add_escaped(query, place);
    else
        add_escaped(query, is_shown(address, name, value) ? value : "REDACTED");
    return MHD_YES;
}

/* ---- the line */

/* Adds at most MOST bytes of TEXT; nothing for NULL and "". */
static void add_text(struct json_writer *line, const char *name, const char *text, int most) {
    char shown[SHOWN_QUERY + 8];
    if (!text || !*text) return;
    snprintf(shown, sizeof shown, "%.*s", most, text);
    json_writer_key_string(line, name, shown);
}

static void add_address(struct json_writer *line, const struct exchange *exchange) {
    static const char cut[] = "...";
    char memory[SHOWN_QUERY + sizeof cut];
    struct json_writer path = json_writer_in(memory, SHOWN_PATH);
    if (exchange->path) add_escaped(&path, exchange->path);
    if (path.full) strcpy(memory + path.length, cut);
    add_text(line, "path", memory, sizeof memory);
    struct json_writer query = json_writer_in(memory, SHOWN_QUERY);
    struct generation *operators = current_hold(&exchange->front->service.operators);
    struct address address = { &query, &exchange->request.grant, &operators->ops,
                               exchange->path && *exchange->path ? route_name(exchange->path)
                                                                 : "" };
    MHD_get_connection_values(exchange->library, MHD_GET_ARGUMENT_KIND, add_argument, &address);
    generation_release(operators);
    if (query.full) strcpy(memory + query.length, cut);
    add_text(line, "query", memory, sizeof memory);
}

static void add_image(struct json_writer *line, const char *direction,
                      const struct image_facts *image) {
    char name[32];
    snprintf(name, sizeof name, "type_%s", direction);
    add_text(line, name, image->type, sizeof image->type);
    if (!image->width) return;
    snprintf(name, sizeof name, "width_%s", direction);
    json_writer_key_number(line, name, image->width);
    snprintf(name, sizeof name, "height_%s", direction);
    json_writer_key_number(line, name, image->height);
}

void access_log_note(struct exchange *exchange) {
    struct image_facts *input = &exchange->input;
    if (exchange->request.slot < 0 || input->width) return;
    const struct probe *probe = &request_job(&exchange->request)->probe;
    if (!probe->shape.width) return;
    snprintf(input->type, sizeof input->type, "%s", format_media_type(probe->format));
    input->width = probe->shape.width;
    input->height = probe->shape.height;
}

void access_log_write(const struct exchange *exchange, double total_ms) {
    const struct request *request = &exchange->request;
    const bool work = exchange->route && exchange->route->begin;
    if (!log_wants(LOG_INFO) || (!work && exchange->http_status < 400)) return;
    char memory[5120], client[CLIENT_TEXT_MAX]; /* suffices with all bytes of texts escaped */
    struct json_writer line = json_writer_in(memory, sizeof memory);
    json_writer_key_string(&line, "event", "request");
    client_print(&request->client, client);
    json_writer_key_string(&line, "id", request->id);
    json_writer_key_string(&line, "trace_id", request->trace.id);
    json_writer_key_string(&line, "span_id", request->trace.span);
    json_writer_key_string(&line, "client", client);
    add_text(&line, "key", request->grant.key, KEY_ID_MAX);
    if (request->grant.use.retry_s)
        json_writer_key_string(&line, "limit", quota_limit_name(request->grant.use.over));
    add_text(&line, "agent", connection_header(exchange->library, MHD_HTTP_HEADER_USER_AGENT),
             SHOWN_AGENT);
    add_text(&line, "method", exchange->method, SHOWN_METHOD);
    add_address(&line, exchange);
    json_writer_key_string(&line, "op", request->label);
    json_writer_key_number(&line, "status", exchange->http_status);
    add_image(&line, "in", &exchange->input);
    json_writer_key_number(&line, "bytes_in", (int64_t)request->upload.bytes);
    add_image(&line, "out", &exchange->output);
    json_writer_key_number(&line, "bytes_out", (int64_t)exchange->bytes_out);
    json_writer_key_ms(&line, "ms", total_ms);
    if (exchange->device[0]) json_writer_key_string(&line, "device", exchange->device);
    for (int s = 0; exchange->device[0] && s < STAGE_COUNT; s++)
        json_writer_key_ms(&line, stage_name((enum stage)s), exchange->timing.stage_ms[s]);
    if (exchange->failure.status) json_writer_key_string(&line, "error", exchange->failure.message);
    log_fields(LOG_INFO, memory);
}
