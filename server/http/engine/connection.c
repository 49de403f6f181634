// SPDX-License-Identifier: Apache-2.0
/* How it works. The library calls connection_notify for each connection that begins and ends. A
 * connection has one piece of memory behind the library's socket context: its filter, its deadline,
 * its place in admission, and the memory of its requests, which follow each other. */
#include "server/http/engine/connection.h"

#include "pipeline/timing.h"
#include "server/http/engine/eviction.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- large bodies */

static bool body_begun(void *context, int64_t number) {
    const struct connection *connection = context;
    return number == connection->requests;
}

static void *body_buffer(void *context, size_t *size) {
    struct connection *connection = context;
    return connection->options->body_buffer(connection->memory, size);
}

static bool body_received(void *context, const void *bytes, size_t length) {
    struct connection *connection = context;
    return connection->options->body_received(connection->memory, bytes, length);
}

/* ---- life */

static struct connection *open_connection(struct MHD_Connection *library,
                                          const struct connection_options *options) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(library, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct connection *connection =
        info ? calloc(1, sizeof(struct connection) + options->request_bytes) : NULL;
    if (!connection) return NULL;
    connection->deadline = deadline_thread_add(options->deadlines, info->connect_fd);
    if (options->share) connection_eviction_peer(connection->deadline, connection_peer(library));
    connection->options = options;
    const struct recv_sink sink = { body_begun, body_buffer, body_received, connection };
    connection->filter =
        recv_filter_open(info->connect_fd, options->header_bytes_max, connection->deadline, &sink);
    admission_join(options->admission, &connection->entry, info->connect_fd,
                   connection_peer(library), connection->deadline);
    if (connection->filter) recv_filter_set_entry(connection->filter, &connection->entry);
    return connection;
}

static void close_connection(struct connection *connection, struct MHD_Connection *library,
                             const struct connection_options *options) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(library, MHD_CONNECTION_INFO_CONNECTION_FD);
    const bool refused = connection->answered_early ||
                         (connection->filter && recv_filter_has_refused(connection->filter));
    if (info && refused) lingering_close_add(options->lingering, info->connect_fd);
    recv_filter_close(connection->filter);
    admission_leave(&connection->entry);
    deadline_thread_remove(options->deadlines, connection->deadline);
    free(connection);
}

void connection_notify(void *options, struct MHD_Connection *library, void **connection,
                       enum MHD_ConnectionNotificationCode what) {
    const struct connection_options *shared = options;
    /* Before the connection leaves the deadlines' table: connection_eviction_run relies on that. */
    accept_balance_count(shared->share, what == MHD_CONNECTION_NOTIFY_STARTED ? 1 : -1);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *connection = open_connection(library, options);
    } else if (*connection) {
        close_connection(*connection, library, options);
        *connection = NULL;
    }
}

struct connection *connection_of(struct MHD_Connection *library) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(library, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

/* ---- requests */

void *connection_begin_request(void *unused, const char *target, struct MHD_Connection *library) {
    (void)unused, (void)target;
    struct connection *connection = connection_of(library);
    if (!connection) return NULL;
    connection->requests++;
    connection->start_ns =
        connection->filter ? recv_filter_request_start_ns(connection->filter, connection->requests)
                           : 0;
    if (!connection->start_ns) connection->start_ns = clock_ns();
    deadline_enter_headers(connection->deadline);
    return NULL;
}

bool connection_refusal(const struct connection *connection, struct failure *failure,
                        enum head_excess *excess) {
    return recv_filter_refusal(connection->filter, connection->requests, failure, excess);
}

const struct sockaddr *connection_peer(struct MHD_Connection *library) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(library, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : NULL;
}

const char *connection_header(struct MHD_Connection *library, const char *name) {
    return MHD_lookup_connection_value(library, MHD_HEADER_KIND, name);
}

void connection_read_facts(struct MHD_Connection *library, struct request_facts *facts) {
    const char *length = connection_header(library, MHD_HTTP_HEADER_CONTENT_LENGTH);
    *facts = (struct request_facts){
        .has_length = length != NULL,
        .length = length ? strtoll(length, NULL, 10) : 0,
        .chunked = connection_header(library, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL,
        .expects_continue = connection_header(library, MHD_HTTP_HEADER_EXPECT) != NULL,
    };
    const struct connection *connection = connection_of(library);
    recv_filter_bypassed(connection->filter, connection->requests, &facts->length);
}

static enum MHD_Result add_line(void *context, enum MHD_ValueKind kind, const char *name,
                                const char *value) {
    (void)kind;
    struct header_lines *lines = context;
    if (strcasecmp(name, lines->name) == 0 && lines->count < HEADERS_MAX)
        lines->values[lines->count++] = value ? value : "";
    return MHD_YES;
}

void connection_header_lines(struct MHD_Connection *library, const char *name,
                             struct header_lines *lines) {
    lines->name = name;
    lines->count = 0;
    MHD_get_connection_values(library, MHD_HEADER_KIND, add_line, lines);
}

void connection_end_request(struct connection *connection) {
    deadline_enter_idle(connection->deadline);
    if (recv_filter_has_partial_head(connection->filter))
        deadline_request_started(connection->deadline);
}
