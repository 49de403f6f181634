// SPDX-License-Identifier: Apache-2.0
#include "server/http/reply.h"

#include <stdlib.h>
#include <string.h>

static void add(struct MHD_Response *response, const char *name, const char *value) {
    MHD_add_response_header(response, name, value);
}

struct reply reply_text(const char *media_type, const char *cache_control, char *text) {
    struct reply reply = { .http_status = MHD_HTTP_OK, .bytes = text ? strlen(text) : 0 };
    if (!text) return reply;
    reply.response = MHD_create_response_from_buffer(reply.bytes, text, MHD_RESPMEM_MUST_FREE);
    if (!reply.response) return free(text), reply;
    add(reply.response, MHD_HTTP_HEADER_CONTENT_TYPE, media_type);
    add(reply.response, MHD_HTTP_HEADER_CACHE_CONTROL, cache_control);
    return reply;
}

struct reply reply_json(int http_status, json_t *body) {
    char *text = json_dumps(body, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
    struct reply reply = reply_text("application/json", "no-cache", text);
    json_decref(body);
    reply.http_status = http_status;
    return reply;
}
