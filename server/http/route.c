// SPDX-License-Identifier: Apache-2.0
#include "server/http/route.h"

#include "pipeline/op_alias.h"
#include "pipeline/param.h"
#include "server/http/imaginary.h"

#include <string.h>

static const struct route routes[] = {
    { "/pipeline", ROUTE_POST, .begin = process_begin, .submit = process_submit },
    { "/info", ROUTE_POST, .begin = process_begin, .answer = info_answer },
    { "/ops", ROUTE_GET, .answer = handle_ops },
    { "/openapi.json", ROUTE_GET, .answer = handle_openapi },
    { "/quota", ROUTE_GET, .keyed = true, .answer = handle_quota },
    { "/", ROUTE_GET, .answer = handle_root },
    { IMAGINARY_PATH "/", ROUTE_GET, .answer = handle_imaginary },
    { IMAGINARY_PATH "/health", ROUTE_GET, .answer = handle_imaginary_health },
    { "*", ROUTE_OPTIONS, .admin = true, .answer = handle_options },
    { "/livez", ROUTE_GET, .admin = true, .answer = handle_livez },
    { "/health", ROUTE_GET, .admin = true, .answer = handle_livez },
    { "/readyz", ROUTE_GET, .admin = true, .answer = handle_readyz },
    { "/metrics", ROUTE_GET, .admin = true, .answer = handle_metrics },
};

static const struct route page_route = { "/web/{file}", ROUTE_GET, .answer = handle_page };
static const struct route progress_route = { PROGRESS_PATH "{request-id}", ROUTE_GET,
                                             .answer = handle_progress };
static const struct route preset_route = { "/preset/{name}", ROUTE_POST, .begin = preset_begin,
                                           .submit = process_submit };
static const struct route operator_route = { "/{operator}", ROUTE_POST, .begin = process_begin,
                                             .submit = process_submit };

/* The methods of each kind of route; the value of Allow; the text in a message. */
static const struct {
    int bit;
    const char *methods[2], *allow, *text;
} kinds[] = {
    { ROUTE_GET, { "GET", "HEAD" }, "GET, HEAD", "GET" },
    { ROUTE_POST, { "POST", "PUT" }, "POST, PUT", "POST or PUT and an image" },
    { ROUTE_OPTIONS, { "OPTIONS", "OPTIONS" }, "OPTIONS", "OPTIONS" },
};

const char *route_preset_name(const char *path) {
    static const char folder[] = "/preset/";
    return strncmp(path, folder, strlen(folder)) == 0 ? path + strlen(folder) : NULL;
}

const struct preset *route_preset(const struct key_table *keys, const char *path) {
    const char *name = route_preset_name(path);
    return keys && name ? key_table_preset(keys, name) : NULL;
}

bool route_is_imaginary(const char *path) {
    return strncmp(path, IMAGINARY_PATH "/", strlen(IMAGINARY_PATH "/")) == 0;
}

const char *route_name(const char *path) {
    return path + 1 + (route_is_imaginary(path) ? strlen(IMAGINARY_PATH) : 0);
}

static int method_bit(const char *method) {
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int i = 0; i < 2; i++)
            if (strcmp(method, kinds[k].methods[i]) == 0) return kinds[k].bit;
    return 0;
}

/* PATH follows IMAGINARY_PATH. */
static const struct route *by_path_of_imaginary(const char *path) {
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (routes[i].begin && strcmp(path, routes[i].path) == 0) return &routes[i];
    return imaginary_has(path + 1) ? &operator_route : NULL;
}

static const struct route *by_path(const struct op_set *ops, const struct key_table *keys,
                                   const char *path) {
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (strcmp(path, routes[i].path) == 0 && (keys || !routes[i].keyed)) return &routes[i];
    if (route_is_imaginary(path)) return by_path_of_imaginary(path + strlen(IMAGINARY_PATH));
    if (op_set_find(ops, path + 1) || imaginary_has(path + 1)) return &operator_route;
    if (keys && route_preset_name(path)) return &preset_route;
    if (strncmp(path, PROGRESS_PATH, strlen(PROGRESS_PATH)) == 0) return &progress_route;
    return page_has(path) ? &page_route : NULL;
}

/* The operator or operation of imaginary with the most similar name; NULL: none is similar. */
static const char *nearest(const struct op_set *ops, const char *name) {
    const char *names[1 + IMAGINARY_NAMES_MAX], *op;
    const char *near = op_set_nearest(ops, name);
    size_t count = 0;
    if (near) names[count++] = near;
    for (int i = 0; i < IMAGINARY_NAMES_MAX && (names[count] = imaginary_name(i, &op)); i++)
        count++;
    return nearest_name(name, names, count);
}

static struct route_match not_found(const struct op_set *ops, const char *path,
                                    struct failure *failure) {
    char shown[PARAM_SHOWN_MAX];
    const char *name = route_name(path), *instead = op_alias(name), *near = nearest(ops, name);
    param_shown(path, shown);
    if (instead)
        fail(failure, STATUS_BAD_REQUEST, "there is no %s here; %s", shown, instead);
    else if (near)
        fail(failure, STATUS_BAD_REQUEST, "there is no %s here; did you mean /%s?", shown, near);
    else
        fail(failure, STATUS_BAD_REQUEST, "there is no %s here; GET /ops lists the operators",
             shown);
    return (struct route_match){ NULL, 404, NULL };
}

struct route_match route_find(const struct op_set *ops, const struct key_table *keys,
                              const char *method, const char *path, bool admin_socket,
                              struct failure *failure) {
    const struct route *route = by_path(ops, keys, path);
    if (!route || (admin_socket && !route->admin)) return not_found(ops, path, failure);
    if (route->methods & method_bit(method)) return (struct route_match){ route, 0, NULL };
    const int kind = route->methods & ROUTE_GET ? 0 : 1;
    fail(failure, STATUS_BAD_REQUEST, "%.60s must be called with %s", path, kinds[kind].text);
    return (struct route_match){ NULL, 405, kinds[kind].allow };
}
