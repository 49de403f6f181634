// SPDX-License-Identifier: Apache-2.0
#include "server/http/cors.h"

#include "config/origins.h"
#include "server/http/access.h"
#include "server/http/front.h"

#include <string.h>

/* Headers of answers that pages cannot read without permission. */
static const char exposed[] =
    "Accept-Encoding, Allow, ETag, RateLimit, RateLimit-Policy, Retry-After, Server-Timing, "
    "WWW-Authenticate, X-Burin-Device, X-Burin-Timing, X-Origin-Height, X-Origin-Width, "
    "X-Request-ID, X-Result-Height, X-Result-Width, traceparent, tracestate";

/* The asterisk does not mean Authorization, and old browsers take it for a name. */
static const char allowed_headers[] =
    "Accept, Authorization, Cache-Control, Content-Type, If-None-Match, X-Request-ID, "
    "X-Requested-With, traceparent, tracestate, *";

static const char *origin_of(const struct exchange *exchange) {
    return connection_only_header(exchange->library, MHD_HTTP_HEADER_ORIGIN);
}

/* NULL: none. The request's own text is sent back only if it equals a configured origin. */
static const char *allowed_origin(const char *list, const char *origin) {
    if (origins_are_any(list)) return list;
    return origin && origins_name(list, origin) ? origin : NULL;
}

int cors_fields_for(const char *list, const char *origin,
                    struct cors_field fields[CORS_FIELDS_MAX]) {
    if (!list[0]) return 0;
    const char *allowed = allowed_origin(list, origin);
    int count = 0;
    /* Also without an allowed origin: a cache must not give this answer to an allowed one. */
    if (!origins_are_any(list))
        fields[count++] = (struct cors_field){ MHD_HTTP_HEADER_VARY, "Origin" };
    if (!allowed) return count;
    fields[count++] = (struct cors_field){ "Access-Control-Allow-Origin", allowed };
    fields[count++] = (struct cors_field){ "Access-Control-Expose-Headers", exposed };
    fields[count++] = (struct cors_field){ "Timing-Allow-Origin", allowed };
    return count;
}

/* Those that the key `cors_origins` names, or the only one that a signed address is for. */
static const char *list_of(const struct exchange *exchange) {
    const char *list = front_origins(exchange->front), *page = exchange->request.grant.origin;
    const char *origin = origin_of(exchange);
    const bool is_page = page && origin && strcmp(page, origin) == 0 &&
                         strlen(page) < CONFIG_ORIGINS_MAX && !allowed_origin(list, origin);
    return is_page ? page : list;
}

int cors_fields(const struct exchange *exchange, struct cors_field fields[CORS_FIELDS_MAX]) {
    if (exchange->listener->admin) return 0;
    return cors_fields_for(list_of(exchange), origin_of(exchange), fields);
}

/* ---- preflights */

static enum status answer_preflight(struct exchange *exchange, struct reply *reply,
                                    struct failure *failure) {
    (void)failure;
    reply->http_status = MHD_HTTP_NO_CONTENT;
    reply->response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    if (!reply->response || !allowed_origin(list_of(exchange), origin_of(exchange)))
        return STATUS_OK;
    static const struct cors_field fields[] = {
        { "Access-Control-Allow-Methods", "GET, HEAD, POST, PUT" },
        { "Access-Control-Allow-Headers", allowed_headers },
        { "Access-Control-Max-Age", "7200" }, /* seconds; the longest that browsers accept */
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        MHD_add_response_header(reply->response, fields[i].name, fields[i].value);
    return STATUS_OK;
}

static const struct route preflight_route = { .path = "*", .answer = answer_preflight };

const struct route *cors_preflight(struct exchange *exchange) {
    const char *method = connection_header(exchange->library, "Access-Control-Request-Method");
    if (exchange->listener->admin || strcmp(exchange->method, MHD_HTTP_METHOD_OPTIONS) != 0 ||
        !method || !connection_header(exchange->library, MHD_HTTP_HEADER_ORIGIN))
        return NULL;
    if (exchange->keys) access_note_page(exchange, method);
    return list_of(exchange)[0] ? &preflight_route : NULL;
}
