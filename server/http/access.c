// SPDX-License-Identifier: Apache-2.0
#include "server/http/access.h"

#include "server/access/judge.h"
#include "server/access/once.h"
#include "server/http/route.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

_Static_assert((int)ARGUMENTS_MAX >= (int)QUERY_ARGUMENTS_MAX, "each argument has a place");

static enum MHD_Result add_argument(void *context, enum MHD_ValueKind kind, const char *name,
                                    const char *value) {
    (void)kind;
    struct asking *asking = context;
    if (!*name && (!value || !*value)) return MHD_YES; /* nothing between two & */
    asking->arguments[asking->count++] = (struct argument){ name, value ? value : "" };
    return MHD_YES;
}

/* Clients of imaginary send their key there. */
static const char *key_of_imaginary(const struct exchange *exchange, const struct asking *asking) {
    if (!route_is_imaginary(exchange->path)) return NULL;
    const char *key = connection_only_header(exchange->library, "API-Key");
    return key ? key : query_find(asking->arguments, asking->count, "key");
}

/* Its arguments are in ARGUMENTS. */
static struct asking asking_of(const struct exchange *exchange, const char *method,
                               struct argument arguments[ARGUMENTS_MAX]) {
    struct asking asking = {
        .method = method, .path = exchange->path, .arguments = arguments, .now = time(NULL)
    };
    MHD_get_connection_values(exchange->library, MHD_GET_ARGUMENT_KIND, add_argument, &asking);
    return asking;
}

enum status access_check(struct exchange *exchange, struct failure *failure) {
    const char *name = route_preset_name(exchange->path);
    struct argument arguments[ARGUMENTS_MAX];
    char what[sizeof "preset:" + PRESET_NAME_MAX];
    struct asking asking = asking_of(exchange, exchange->method, arguments);
    if (name) snprintf(what, sizeof what, "preset:%s", name);
    if (exchange->route->begin) asking.what = name ? what : exchange->request.label;
    asking.preset = route_preset(exchange->keys, exchange->path);
    asking.authorization = connection_only_header(exchange->library, MHD_HTTP_HEADER_AUTHORIZATION);
    asking.origin = connection_only_header(exchange->library, MHD_HTTP_HEADER_ORIGIN);
    asking.client = exchange->request.client;
    asking.api_key = key_of_imaginary(exchange, &asking);
    return judge(exchange->keys, exchange->listener->hasher, &asking, &exchange->request.grant,
                 failure);
}

void access_note_page(struct exchange *exchange, const char *method) {
    struct argument arguments[ARGUMENTS_MAX];
    struct grant grant = { .origin = NULL };
    struct failure ignored;
    struct asking asking = asking_of(exchange, method, arguments);
    asking.what = "";
    judge(exchange->keys, exchange->listener->hasher, &asking, &grant, &ignored);
    exchange->request.grant.origin = grant.origin;
    grant_release(&grant);
}

enum status access_set(struct exchange *exchange, const char *name, const char *value,
                       struct failure *failure) {
    const struct grant *grant = &exchange->request.grant;
    const struct grant preset = { .preset = grant->preset };
    if (grant_owns(grant, name)) return STATUS_OK;
    if (grant_check_field(&preset, name, value, failure)) return failure->status;
    return settings_set(&exchange->request.settings, name, value, failure);
}

static enum status take_once(struct exchange *exchange, struct failure *failure) {
    struct grant *grant = &exchange->request.grant;
    if (!grant->is_once) return STATUS_OK;
    switch (once_take(exchange->front->once, grant->key, grant->once, grant->expires, time(NULL),
                      clock_ns() / 1000000000)) {
    case ONCE_TAKEN: grant->once_taken = true; return STATUS_OK;
    case ONCE_USED:
        return fail(failure, STATUS_EXPIRED,
                    "the address has served its only request, or has expired");
    default:
        return fail(failure, STATUS_BUSY,
                    "too many addresses that serve once are in use, of this key or of all");
    }
}

void access_give_back(struct exchange *exchange) {
    struct grant *grant = &exchange->request.grant;
    if (grant->once_taken) once_give_back(exchange->front->once, grant->once);
    grant->once_taken = false;
}

/* An address that served before charges nothing: else its holder could use up what others need. */
enum status access_enter(struct exchange *exchange, struct failure *failure) {
    const struct grant *grant = &exchange->request.grant;
    struct quota_use *use = &exchange->request.grant.use;
    if (take_once(exchange, failure)) return failure->status;
    const int64_t bytes = exchange->facts.chunked ? 0 : exchange->facts.length;
    if (quota_enter(use, bytes, clock_ns())) return STATUS_OK;
    access_give_back(exchange);
    exchange->http_status = MHD_HTTP_TOO_MANY_REQUESTS;
    metrics_quota_refused(exchange->front->service.metrics, grant->key, use->over);
    return fail(failure, STATUS_BUSY, "the key %s has reached its limit %s; try again in %d s",
                grant->key, quota_limit_name(use->over), use->retry_s);
}

void access_submitted(struct exchange *exchange) {
    const struct request *request = &exchange->request;
    struct quota_use *use = &exchange->request.grant.use;
    const int64_t now = clock_ns();
    exchange->predicted = true;
    quota_charge(use, QUOTA_BYTES, (double)request->upload.bytes, now);
    quota_charge(use, QUOTA_PIXELS, (double)request->pixels, now);
    quota_charge(use, QUOTA_DEVICE_MS, request_job(request)->least_ms, now);
}

void access_returned(struct exchange *exchange) {
    struct quota_use *use = &exchange->request.grant.use;
    if (!exchange->predicted) return;
    exchange->predicted = false;
    const struct job *job = request_job(&exchange->request);
    const bool died = job->lost_runs && !job->finished_ns; /* how long it took is not known */
    exchange->device_ms = job->finished_ns ? job_device_ms(job) : 0;
    if (!died) quota_charge(use, QUOTA_DEVICE_MS, exchange->device_ms, clock_ns());
    const uint64_t pixels = job->finished_ns ? job_pixels(job) : 0; /* which trim may change */
    if (!died) quota_charge(use, QUOTA_PIXELS, (double)pixels, clock_ns());
}

void access_leave(struct exchange *exchange) {
    struct grant *grant = &exchange->request.grant;
    access_returned(exchange);
    quota_charge(&grant->use, QUOTA_BYTES, (double)exchange->request.upload.bytes, clock_ns());
    grant_release(grant);
}
