// SPDX-License-Identifier: Apache-2.0
#include "server/http/exchange.h"

#include "server/http/route.h"
#include "server/http/upload.h"
#include "server/json_writer.h"
#include "server/log.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Left as they are: text that is written before it is read, and spans that nobody reads here. The
 * fewer lines of the cache a request touches, the more of them stay a lane's. */
void exchange_clear(struct exchange *exchange) {
    char *start = (char *)exchange;
    static const size_t parts[][2] = {
        { 0, offsetof(struct exchange, target) },
        { offsetof(struct exchange, method), offsetof(struct exchange, upload.parser.line) },
        { offsetof(struct exchange, upload.bytes), offsetof(struct exchange, timing.spans) },
        { offsetof(struct exchange, device), sizeof *exchange },
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        memset(start + parts[i][0], 0, parts[i][1] - parts[i][0]);
}

/* The client's id where it is harmless, else one of ours. */
void exchange_name(struct exchange *exchange) {
    const char *id = exchange_header(exchange, "X-Request-ID");
    const size_t length = id ? strlen(id) : 0;
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    if (length > 0 && length < REQUEST_ID_MAX && strspn(id, allowed) == length) {
        strcpy(exchange->request_id, id);
        return;
    }
    const int64_t number = __atomic_add_fetch(&exchange->front->request_count, 1, __ATOMIC_RELAXED);
    snprintf(exchange->request_id, sizeof exchange->request_id, "%08lx-%lx",
             (unsigned long)exchange->front->run_id, (unsigned long)number);
}

enum status exchange_fail(struct exchange *exchange, const struct failure *failure) {
    if (!exchange->failure.status) exchange->failure = *failure;
    return failure->status;
}

const char *exchange_header(const struct exchange *exchange, const char *name) {
    return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

struct query {
    struct settings *settings;
    struct failure *failure;
    enum status status;
};

static enum MHD_Result take_argument(void *context, enum MHD_ValueKind kind, const char *name,
                                     const char *value) {
    (void)kind;
    struct query *query = context;
    query->status = settings_set(query->settings, name, value ? value : "", query->failure);
    return query->status ? MHD_NO : MHD_YES;
}

enum status exchange_query(struct exchange *exchange, struct failure *failure) {
    struct query query = { &exchange->settings, failure, STATUS_OK };
    MHD_get_connection_values(exchange->connection, MHD_GET_ARGUMENT_KIND, take_argument, &query);
    return query.status;
}

struct lines {
    const char *name;
    void (*take)(void *context, const char *value);
    void *context;
};

static enum MHD_Result take_line(void *context, enum MHD_ValueKind kind, const char *name,
                                 const char *value) {
    (void)kind;
    const struct lines *lines = context;
    if (strcasecmp(name, lines->name) == 0) lines->take(lines->context, value ? value : "");
    return MHD_YES;
}

void exchange_lines(const struct exchange *exchange, const char *name,
                    void (*take)(void *context, const char *value), void *context) {
    struct lines lines = { name, take, context };
    MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, take_line, &lines);
}

void exchange_release(struct exchange *exchange) {
    upload_release(exchange);
    if (exchange->slot >= 0) slot_give(exchange->front->slots, exchange->slot);
    exchange->slot = -1;
}

void exchange_log(const struct exchange *exchange, double total_ms) {
    const bool work = exchange->route && exchange->route->begin;
    if (!log_wants(LOG_INFO) || (!work && exchange->http_status < 400)) return;
    char memory[4096]; /* room for every byte of a message escaped */
    struct json_writer line = json_writer_in(memory, sizeof memory);
    json_writer_key_string(&line, "event", "request");
    json_writer_key_string(&line, "id", exchange->request_id);
    json_writer_key_string(&line, "method", exchange->method);
    json_writer_key_string(&line, "op", exchange->label);
    json_writer_key_number(&line, "status", exchange->http_status);
    json_writer_key_number(&line, "bytes_in", (int64_t)exchange->upload.bytes);
    json_writer_key_number(&line, "bytes_out", (int64_t)exchange->bytes_out);
    json_writer_key_ms(&line, "ms", total_ms);
    if (exchange->device[0]) json_writer_key_string(&line, "device", exchange->device);
    for (int s = 0; exchange->device[0] && s < STAGE_COUNT; s++)
        json_writer_key_ms(&line, stage_name((enum stage)s), exchange->timing.stage_ms[s]);
    if (exchange->failure.status) json_writer_key_string(&line, "error", exchange->failure.message);
    log_fields(LOG_INFO, memory);
}
