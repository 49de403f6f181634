// SPDX-License-Identifier: Apache-2.0
/* An image and a plan in, an image out: the whole way of a request on one page.
 *
 * begin: the query becomes settings. Then the body comes and gets a slot (upload.c). finish:
 * the image's header is judged against the limits, the job goes to the supervisor, the connection
 * sleeps. When the job comes back to this I/O thread it wakes the connection, and front.c calls
 * reply_job.
 */
#include "pipeline/registry.h"
#include "server/http/reply.h"
#include "server/http/route.h"
#include "server/http/upload.h"

#include <stdio.h>
#include <string.h>

static const char *operator_name(const struct exchange *exchange) {
    return strcmp(exchange->label, "pipeline") == 0 ? NULL : exchange->label;
}

enum status process_begin(struct exchange *exchange, struct failure *failure) {
    enum status status = settings_init(&exchange->settings, operator_name(exchange), failure);
    if (!status) status = exchange_query(exchange, failure);
    if (!status) status = upload_begin(exchange, failure);
    return status ? status : reply_foresee(exchange->front, failure);
}

static struct probe_limits limits_of(const struct config *config) {
    return (struct probe_limits){ .pixels_max = (uint64_t)config->pixels_max,
                                  .side_max = (uint32_t)config->side_max };
}

/* Input and every step's output fit the limits: known before anything is decoded. */
static enum status judge(struct exchange *exchange, struct failure *failure) {
    struct job *job = exchange_job(exchange);
    const struct probe_limits limits = limits_of(exchange->front->config);
    struct image shapes[PLAN_STEPS_MAX + 1];
    enum status status = settings_complete(&exchange->settings, failure);
    if (!status)
        status = probe_image(slot_bytes(exchange->front->slots, exchange->slot) + job->image_offset,
                             job->image_length, &limits, &job->probe, failure);
    if (!status)
        status = plan_shapes(&exchange->settings.plan, &job->probe.shape, limits.pixels_max, shapes,
                             failure);
    if (!status) status = upload_parts(exchange, &limits, shapes, failure);
    return status ? status
                  : plan_print(&exchange->settings.plan, job->plan, sizeof job->plan, failure);
}

static void take_accept(void *context, const char *line) {
    accept_take(context, line);
}

static void fill_job(struct exchange *exchange) {
    struct job *job = exchange_job(exchange);
    const struct settings *settings = &exchange->settings;
    struct accept accept = { 0 };
    exchange_lines(exchange, MHD_HTTP_HEADER_ACCEPT, take_accept, &accept);
    exchange->answer = accept_answer(&accept);
    job->line = (int32_t)(exchange->door - exchange->front->doors);
    snprintf(job->request_id, sizeof job->request_id, "%s", exchange->request_id);
    memcpy(job->device, settings->device, sizeof job->device);
    memcpy(job->background, settings->background, sizeof job->background);
    job->type = settings->type ? settings->type : accept_type(&accept, job->probe.format);
    job->quality = settings->quality;
    job->compression = settings->compression;
    job->accept_damage = settings->accept_damage;
    job->json_only = exchange->answer == ANSWER_JSON;
    job->progress.deadline_ns =
        exchange->received_ns + exchange->front->config->processing_ms * INT64_C(1000000);
}

static void client_left(void *context) {
    struct exchange *exchange = context;
    supervisor_cancel(exchange->front->supervisor, exchange->slot);
}

enum MHD_Result process_finish(struct exchange *exchange) {
    struct failure failure = { 0 };
    if (upload_finish(exchange, &failure) || judge(exchange, &failure)) {
        exchange_fail(exchange, &failure);
        return reply_problem(exchange, 0);
    }
    fill_job(exchange);
    if (supervisor_submit(exchange->front->supervisor, exchange->slot, &failure)) {
        if (failure.status == STATUS_BUSY)
            metrics_reject(exchange->front->metrics,
                           front_draining(exchange->front) ? REJECTED_DRAINING : REJECTED_QUEUE);
        exchange_fail(exchange, &failure);
        return reply_problem(exchange, 0);
    }
    /* The job may be done already, but it comes back to this very thread: not before we are done
     * here. */
    exchange->state = EXCHANGE_WAITING;
    __atomic_add_fetch(&exchange->front->asleep, 1, __ATOMIC_RELAXED);
    MHD_suspend_connection(exchange->connection);
    watch_phase_waiting(exchange->watched, client_left, exchange);
    return MHD_YES;
}
