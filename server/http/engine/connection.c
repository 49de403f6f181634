// SPDX-License-Identifier: Apache-2.0
#include "server/http/engine/connection.h"

#include "server/http/engine/lingering_close.h"

#include <stdio.h>
#include <stdlib.h>

struct link *link_open(struct front *front, struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct link *link = info ? calloc(1, sizeof *link) : NULL;
    if (!link) return NULL;
    link->deadline = deadlines_add(front->deadlines, info->connect_fd);
    link->filter =
        recv_filter_open(info->connect_fd, (size_t)front->config->header_bytes, link->deadline);
    return link;
}

void link_close(struct link *link, struct front *front, struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info && link->filter && recv_filter_has_refused(link->filter))
        lingering_close_add(front->lingering, info->connect_fd);
    recv_filter_close(link->filter);
    deadlines_remove(front->deadlines, link->deadline);
    free(link);
}

struct link *link_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

void link_begin(struct link *link, const char *target) {
    snprintf(link->target, sizeof link->target, "%s", target);
    link->requests++;
    link->start_ns = link->filter ? recv_filter_request_start_ns(link->filter, link->requests) : 0;
    if (!link->start_ns) link->start_ns = clock_ns();
    deadline_enter_headers(link->deadline);
}

void link_end(struct link *link) {
    deadline_enter_idle(link->deadline);
    if (recv_filter_has_partial_head(link->filter)) deadline_request_started(link->deadline);
}
