// SPDX-License-Identifier: Apache-2.0
/* route.h - which handler answers which path.
 *
 * Every operator of the registry is a path of its own; the rest stands in one table.
 */
#ifndef BURIN_ROUTE_H
#define BURIN_ROUTE_H

#include "server/http/exchange.h"

enum { ROUTE_GET = 1, ROUTE_POST = 2 /* and PUT */ };

struct route {
    const char *path;
    int methods;
    bool admin; /* probes and metrics: on the admin socket, where there is one */
    /* After the headers: looks at the query and at what the body is to be. NULL: nothing to do. */
    enum status (*begin)(struct exchange *exchange, struct failure *failure);
    /* After the body: queues an answer, or suspends the connection until there is one. */
    enum MHD_Result (*finish)(struct exchange *exchange);
};

/* The route for PATH (no query) and METHOD. NULL, and a failure that says what there is instead:
 * then *HTTP_STATUS is 404 or 405. */
const struct route *route_find(const char *method, const char *path, bool admin_socket,
                               int *http_status, struct failure *failure);

/* handle_*.c */
enum status process_begin(struct exchange *exchange, struct failure *failure);
enum MHD_Result process_finish(struct exchange *exchange);
enum status info_begin(struct exchange *exchange, struct failure *failure);
enum MHD_Result info_finish(struct exchange *exchange);
enum MHD_Result handle_ops(struct exchange *exchange);
enum MHD_Result handle_root(struct exchange *exchange);
enum MHD_Result handle_livez(struct exchange *exchange);
enum MHD_Result handle_readyz(struct exchange *exchange);
enum MHD_Result handle_metrics(struct exchange *exchange);

#endif
