// SPDX-License-Identifier: Apache-2.0
#include "server/http/route.h"

#include "pipeline/param.h"
#include "pipeline/registry.h"

#include <string.h>

static const struct route routes[] = {
    { .path = "/pipeline",
      .methods = ROUTE_POST,
      .begin = process_begin,
      .finish = process_finish },
    { .path = "/info", .methods = ROUTE_POST, .begin = info_begin, .finish = info_finish },
    { .path = "/ops", .methods = ROUTE_GET, .finish = handle_ops },
    { .path = "/", .methods = ROUTE_GET, .finish = handle_root },
    { .path = "/livez", .methods = ROUTE_GET, .admin = true, .finish = handle_livez },
    { .path = "/health", .methods = ROUTE_GET, .admin = true, .finish = handle_livez },
    { .path = "/readyz", .methods = ROUTE_GET, .admin = true, .finish = handle_readyz },
    { .path = "/metrics", .methods = ROUTE_GET, .admin = true, .finish = handle_metrics },
};

static const struct route operator_route = {
    .path = "/{operator}",
    .methods = ROUTE_POST,
    .begin = process_begin,
    .finish = process_finish,
};

static int method_bit(const char *method) {
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0) return ROUTE_GET;
    if (strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0) return ROUTE_POST;
    return 0;
}

static const struct route *by_path(const char *path) {
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (strcmp(path, routes[i].path) == 0) return &routes[i];
    return registry_find(path + 1) ? &operator_route : NULL;
}

const struct route *route_find(const char *method, const char *path, bool admin_socket,
                               int *http_status, struct failure *failure) {
    const struct route *route = by_path(path);
    if (!route || (admin_socket && !route->admin)) {
        char shown[PARAM_SHOWN_MAX];
        const char *near = registry_nearest(path + 1);
        *http_status = 404;
        fail(failure, STATUS_BAD_REQUEST,
             near ? "there is no %s here; did you mean /%s?"
                  : "there is no %s here; GET /ops lists the operators",
             param_shown(path, shown), near);
        return NULL;
    }
    if (route->methods & method_bit(method)) return route;
    *http_status = 405;
    fail(failure, STATUS_BAD_REQUEST, "%.60s takes %s", path,
         route->methods & ROUTE_GET ? "GET" : "POST or PUT with an image");
    return NULL;
}
