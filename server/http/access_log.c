// SPDX-License-Identifier: Apache-2.0
#include "server/http/access_log.h"

#include "pipeline/format.h"
#include "server/api/json_writer.h"
#include "server/http/route.h"
#include "server/log/log.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Bytes of texts that a client chooses. */
enum { SHOWN_METHOD = 16, SHOWN_PATH = 256, SHOWN_QUERY = 1024, SHOWN_AGENT = 160 };

/* ---- the address */

/* Adds TEXT as it stands in an address, so that it can be sent again. */
static void add_escaped(struct json_writer *to, const char *text) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "-._~/:,@!*'()",
                      hex[] = "0123456789ABCDEF";
    for (; *text && !to->full; text++) {
        const unsigned char c = (unsigned char)*text;
        if (strchr(plain, c))
            json_writer_bytes(to, text, 1);
        else
            json_writer_bytes(to, (char[]){ '%', hex[c >> 4], hex[c & 15] }, 3);
    }
}

/* Whether an argument of that name may be a secret, now or in a client's mistake. */
static bool is_secret(const char *name) {
    static const char *const words[] = { "sign", "key", "token", "secret", "pass", "auth" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasestr(name, words[i])) return true;
    return strcasecmp(name, "sig") == 0;
}

static enum MHD_Result add_argument(void *context, enum MHD_ValueKind kind, const char *name,
                                    const char *value) {
    (void)kind;
    struct json_writer *query = context;
    if (query->full) return MHD_NO;
    if (query->length) json_writer_add(query, "&");
    add_escaped(query, name);
    if (!value) return MHD_YES;
    json_writer_add(query, "=");
    add_escaped(query, is_secret(name) ? "REDACTED" : value);
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
    MHD_get_connection_values(exchange->library, MHD_GET_ARGUMENT_KIND, add_argument, &query);
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
