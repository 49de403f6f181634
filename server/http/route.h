// SPDX-License-Identifier: Apache-2.0
/* route.h - the handler of each path. Every operator is a path of its own; the rest are in a table.
 *
 * Used by:  request_flow.c; overload.c (route_name); cors.c has a route of its own.
 * Owns:     nothing; routes are constants.
 * Fails:    route_find returns no route, and a sentence that names what there is instead.
 * Threads:  any; no state. Handlers run on the I/O thread of the connection.
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
    bool admin; /* probes and metrics: the admin socket serves them too */
    bool keyed; /* it needs a key; without a file of keys there is no such path */
    /* Called after the headers, before the query is read into the settings. NULL: the body is not
     * used. */
    enum status (*begin)(struct exchange *exchange, struct failure *failure);
    /* Called after the body: answers at once... */
    enum status (*answer)(struct exchange *exchange, struct reply *reply, struct failure *failure);
    /* ... or submits the slot's job: reply_job answers when it comes back. */
    enum status (*submit)(struct exchange *exchange, struct failure *failure);
};

struct route_match {
    const struct route *route; /* NULL: none */
    int http_status;           /* 404 or 405 without a route; else 0 */
    const char *allow;         /* for a 405: the value of Allow */
};

/* PATH: without the query. OPS: the operators. KEYS: for presets; NULL: there are none. */
struct route_match route_find(const struct op_set *ops, const struct key_table *keys,
                              const char *method, const char *path, bool admin_socket,
                              struct failure *failure);

/* The name of a preset in PATH, whether there is such a preset or not; NULL: none. */
const char *route_preset_name(const char *path);

/* The preset that PATH names; NULL: none. KEYS may be NULL. */
const struct preset *route_preset(const struct key_table *keys, const char *path);

/* The name in PATH: an operator, an operation of imaginary, "pipeline", "info"... */
const char *route_name(const char *path);

/* Whether names in PATH have imaginary's meaning (imaginary.h). */
bool route_is_imaginary(const char *path);

/* handle_image.c */
enum status process_begin(struct exchange *exchange, struct failure *failure);
enum status process_submit(struct exchange *exchange, struct failure *failure);
enum status preset_begin(struct exchange *exchange, struct failure *failure);
enum status info_answer(struct exchange *exchange, struct reply *reply, struct failure *failure);

/* handle_document.c. page_has: PATH is a file of the page. page_is_wanted: a browser asks. */
enum status handle_ops(struct exchange *exchange, struct reply *reply, struct failure *failure);
enum status handle_openapi(struct exchange *exchange, struct reply *reply, struct failure *failure);
enum status handle_page(struct exchange *exchange, struct reply *reply, struct failure *failure);
bool page_has(const char *path);
bool page_is_wanted(const struct exchange *exchange);

/* handle_status.c. handle_root: the page for browsers, JSON for programs. A request's id follows
 * PROGRESS_PATH. handle_imaginary, ..._health: what imaginary answers to GET / and /health. */
#define PROGRESS_PATH "/progress/"
enum status handle_options(struct exchange *exchange, struct reply *reply, struct failure *failure);
enum status handle_root(struct exchange *exchange, struct reply *reply, struct failure *failure);
enum status handle_livez(struct exchange *exchange, struct reply *reply, struct failure *failure);
enum status handle_readyz(struct exchange *exchange, struct reply *reply, struct failure *failure);
enum status handle_metrics(struct exchange *exchange, struct reply *reply, struct failure *failure);
enum status handle_imaginary(struct exchange *exchange, struct reply *reply,
                             struct failure *failure);
enum status handle_imaginary_health(struct exchange *exchange, struct reply *reply,
                                    struct failure *failure);
enum status handle_progress(struct exchange *exchange, struct reply *reply,
                            struct failure *failure);
enum status handle_quota(struct exchange *exchange, struct reply *reply, struct failure *failure);

#endif
