// SPDX-License-Identifier: Apache-2.0
#include "server/http/link.h"

#include "server/http/farewell.h"

#include <stdio.h>
#include <stdlib.h>

struct link *link_open(struct front *front, struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct link *link = info ? calloc(1, sizeof *link) : NULL;
    if (!link) return NULL;
    link->watched = watch_add(front->watch, info->connect_fd);
    link->sluice =
        sluice_open(info->connect_fd, (size_t)front->config->header_bytes, link->watched);
    return link;
}

void link_close(struct link *link, struct front *front, struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info && link->sluice && sluice_shut(link->sluice))
        farewell_take(front->farewell, info->connect_fd);
    sluice_close(link->sluice);
    watch_remove(front->watch, link->watched);
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
    link->start_ns = link->sluice ? sluice_begun_ns(link->sluice, link->requests) : 0;
    if (!link->start_ns) link->start_ns = clock_ns();
    watch_phase_headers(link->watched);
}

void link_end(struct link *link) {
    watch_phase_idle(link->watched);
    if (sluice_holds(link->sluice)) watch_phase_begun(link->watched);
}
