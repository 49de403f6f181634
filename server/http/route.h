// SPDX-License-Identifier: Apache-2.0
/* route.h - which handler answers which path. Every operator is a path of its own;
 * the rest stands in one table.
 *
 * Used by:  request_flow.c.
 * Fails:    route_find returns no route, and says what there is instead.
 * Threads:  any; no state.
 */
#ifndef BURIN_ROUTE_H
#define BURIN_ROUTE_H

#include "server/http/exchange.h"
#include "server/http/reply.h"

enum { ROUTE_GET = 1 /* and HEAD */, ROUTE_POST = 2 /* and PUT */, ROUTE_OPTIONS = 4 };

/* Either `answer` or `submit` is set. */
struct route {
    const char *path;
    int methods;
    bool admin; /* probes and metrics: on the admin socket, where there is one */
    /* Work on an upload: after the headers, before the query is read into the settings. NULL: a
     * body is not wanted. */
    enum status (*begin)(struct exchange *exchange, struct failure *failure);
    /* After the body: answers at once... */
    enum status (*answer)(struct exchange *exchange, struct reply *reply, struct failure *failure);
    /* ... or gives the slot's job to the supervisor: reply_job answers when it comes back. */
    enum status (*submit)(struct exchange *exchange, struct failure *failure);
};

struct route_match {
    const struct route *route; /* NULL: none */
    int http_status;           /* of a failure: 404 or 405; else 0 */
    const char *allow;         /* of a 405: the methods of PATH, as the header has them */
};

/* For PATH (no query) and METHOD, where OPS are the operators. */
struct route_match route_find(const struct op_set *ops, const char *method, const char *path,
                              bool admin_socket, struct failure *failure);

/* What PATH calls: an operator, imaginary's operation, "pipeline", "info"... */
const char *route_name(const char *path);

/* Whether names in PATH mean what they mean to imaginary (imaginary.h). */
bool route_is_imaginary(const char *path);

/* handle_process.c */
enum status process_begin(struct exchange *exchange, struct failure *failure);
enum status process_submit(struct exchange *exchange, struct failure *failure);
/* handle_info.c */
enum status info_begin(struct exchange *exchange, struct failure *failure);
enum status info_answer(struct exchange *exchange, struct reply *reply, struct failure *failure);
/* handle_document.c */
enum status handle_ops(struct exchange *exchange, struct reply *reply, struct failure *failure);
enum status handle_openapi(struct exchange *exchange, struct reply *reply, struct failure *failure);
/* handle_health.c; "*": what the server as a whole can do; "/": the page for browsers
 * (handle_page.c), JSON for programs. */
enum status handle_options(struct exchange *exchange, struct reply *reply, struct failure *failure);
enum status handle_root(struct exchange *exchange, struct reply *reply, struct failure *failure);
enum status handle_livez(struct exchange *exchange, struct reply *reply, struct failure *failure);
enum status handle_readyz(struct exchange *exchange, struct reply *reply, struct failure *failure);
enum status handle_metrics(struct exchange *exchange, struct reply *reply, struct failure *failure);
/* handle_progress.c; the id of a request follows. */
#define PROGRESS_PATH "/progress/"
enum status handle_progress(struct exchange *exchange, struct reply *reply,
                            struct failure *failure);
/* handle_page.c; whether a file of the page answers PATH, and whether a browser asks. */
bool page_has(const char *path);
bool page_is_wanted(const struct exchange *exchange);
enum status handle_page(struct exchange *exchange, struct reply *reply, struct failure *failure);

#endif
