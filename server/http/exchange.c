// SPDX-License-Identifier: Apache-2.0
#include "server/http/exchange.h"

#include "server/http/identity.h"
#include "server/http/route.h"
#include "server/log/log.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Leaves out texts that are written before they are read, and spans, which are not read here: cache
 * lines that a request does not touch stay a lane's. */
static void clear(struct exchange *exchange) {
    char *start = (char *)exchange;
    static const size_t parts[][2] = {
        { 0, offsetof(struct exchange, request.upload.parser.headers.line) },
        { offsetof(struct exchange, request.upload.bytes),
          offsetof(struct exchange, timing.spans) },
        { offsetof(struct exchange, device), sizeof *exchange },
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        memset(start + parts[i][0], 0, parts[i][1] - parts[i][0]);
}

void exchange_make_id(const char *given, size_t length, char id[REQUEST_ID_MAX]) {
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    if (length > 0 && length < REQUEST_ID_MAX) {
        memcpy(id, given, length);
        id[length] = '\0';
        if (strspn(id, allowed) == length) return;
    }
    uint64_t bits[2];
    trace_random(bits, sizeof bits);
    snprintf(id, REQUEST_ID_MAX, "%016llx%016llx", (unsigned long long)bits[0],
             (unsigned long long)bits[1]);
}

/* Reads X-Forwarded-For only from a trusted peer. */
static struct client find_client(struct MHD_Connection *library, const struct networks *trusted) {
    const struct sockaddr *peer = connection_peer(library);
    struct header_lines lines = { .count = 0 };
    if (identity_is_trusted(trusted, peer))
        connection_header_lines(library, "X-Forwarded-For", &lines);
    return identity_find(trusted, peer, lines.values, lines.count);
}

struct exchange *exchange_begin(const struct front_listener *listener,
                                struct MHD_Connection *library, const char *method) {
    struct front *front = listener->front;
    struct connection *connection = connection_of(library);
    const char *id = connection_header(library, "X-Request-ID");
    if (!connection || !connection->filter) {
        log_event(LOG_ERROR, "no_memory", "a connection was closed: there is no memory for it");
        return NULL;
    }
    struct exchange *exchange = (struct exchange *)connection->memory;
    clear(exchange);
    exchange->front = front;
    exchange->request.service = &front->service;
    exchange->request.generation = current_hold(&front->service.operators);
    exchange->request.io_thread = (int)(listener - front->listeners);
    exchange->listener = listener;
    exchange->connection = connection;
    exchange->library = library;
    exchange->method = method;
    exchange->request.client = find_client(library, &front->trusted_proxies);
    exchange->request.slot = -1;
    exchange->request.upload.bytes_max = config_now(&front->service.config->body_bytes_max);
    exchange->request.start_ns = connection->start_ns;
    strcpy(exchange->request.label, "other");
    exchange_make_id(id, id ? strlen(id) : 0, exchange->request.id);
    struct header_lines parents;
    connection_header_lines(library, "traceparent", &parents);
    trace_begin(&exchange->request.trace, parents.values, parents.count);
    __atomic_add_fetch(&front->exchanges, 1, __ATOMIC_RELAXED);
    return exchange;
}

const char *exchange_coding(const struct exchange *exchange) {
    struct header_lines lines;
    connection_header_lines(exchange->library, MHD_HTTP_HEADER_CONTENT_ENCODING, &lines);
    for (int i = 0; i < lines.count; i++)
        if (*lines.values[i] && strcasecmp(lines.values[i], "identity") != 0)
            return lines.values[i];
    return NULL;
}
