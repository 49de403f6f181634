// SPDX-License-Identifier: Apache-2.0
/* An image and a plan in, an image out. process_begin: the path chooses the operator. Then query
 * and form fields become settings and the image gets a slot (request_flow.c, upload.c).
 * process_submit: the image's header is checked against the limits, and the job goes to the
 * supervisor. */
#include "server/http/route.h"
#include "server/http/upload.h"

#include <stdio.h>
#include <string.h>

enum status process_begin(struct exchange *exchange, struct failure *failure) {
    const bool pipeline = strcmp(exchange->label, "pipeline") == 0;
    return settings_init(&exchange->settings, &exchange->generation->ops,
                         pipeline ? NULL : exchange->label, failure);
}

static struct probe_limits limits_of(const struct config *config) {
    return (struct probe_limits){ .pixels_max = (uint64_t)config->pixels_max,
                                  .side_max = (uint32_t)config->side_max };
}

/* Input and every step's output fit the limits: known before anything is decoded. */
static enum status check_image(struct exchange *exchange, struct image *shapes,
                               struct failure *failure) {
    struct job *job = exchange_job(exchange);
    const struct probe_limits limits = limits_of(exchange->front->config);
    enum status status = settings_complete(&exchange->settings, failure);
    if (!status)
        status = probe_image(slot_bytes(exchange->front->slots, exchange->slot) + job->image_offset,
                             job->image_length, &limits, &job->probe, failure);
    if (!status) status = probe_check_data(&job->probe, exchange->settings.accept_damage, failure);
    if (!status)
        status = plan_shapes(&exchange->settings.plan, &job->probe.shape, limits.pixels_max, shapes,
                             failure);
    if (!status) status = upload_check_aux(exchange, &limits, shapes, failure);
    if (!status) job->value_count = (uint32_t)plan_value_count(&exchange->settings.plan, shapes);
    return status ? status
                  : plan_print(&exchange->settings.plan, job->plan, sizeof job->plan, failure);
}

static void fill_job(struct exchange *exchange) {
    struct job *job = exchange_job(exchange);
    struct job_output *output = &job->outputs[0];
    const struct settings *settings = &exchange->settings;
    struct negotiation accept = { 0 };
    struct header_lines lines;
    struct types prefer;
    types_read(exchange->front->config->prefer, &prefer);
    connection_header_lines(exchange->library, MHD_HTTP_HEADER_ACCEPT, &lines);
    for (int i = 0; i < lines.count; i++) negotiation_add(&accept, lines.values[i]);
    exchange->answer =
        negotiation_answer(&accept, plan_tells_only(&settings->plan) && !settings->encode.format);
    job->io_thread = (int32_t)(exchange->listener - exchange->front->listeners);
    snprintf(job->request_id, sizeof job->request_id, "%s", exchange->request_id);
    memcpy(job->device, settings->device, sizeof job->device);
    job->client = client_unit(&exchange->client);
    output->encode = settings->encode;
    if (!output->encode.format)
        output->encode.format = negotiation_type(&accept, job->probe.format, &prefer);
    job->generation = plan_has_user_operators(&settings->plan) ? exchange->generation->number : 0;
    job->accept_damage = settings->accept_damage;
    job->json_only = exchange->answer == ANSWER_JSON;
    job->progress.deadline_ns =
        exchange->received_ns + exchange->front->config->processing_ms * INT64_C(1000000);
}

/* What is to be written has a type now. */
static enum status check_result(const struct exchange *exchange, const struct image *shapes,
                                struct failure *failure) {
    const struct job *job = exchange_job(exchange);
    if (job->json_only) return STATUS_OK;
    return codec_check_sides(&shapes[exchange->settings.plan.count],
                             job_output_type(job, &job->outputs[0]), failure);
}

static void describe_work(struct exchange *exchange, const struct image *shapes) {
    struct job *job = exchange_job(exchange);
    const struct plan *plan = &exchange->settings.plan;
    cost_work_add_file(&job->work, &job->probe, job->image_length);
    for (int i = 0; i < OP_AUX_MAX; i++)
        if (job->aux[i].length)
            cost_work_add_file(&job->work, &job->aux[i].probe, job->aux[i].length);
    cost_work_add_plan(&job->work, plan, shapes);
    struct encode_options encode = job->outputs[0].encode;
    encode.format = job_output_type(job, &job->outputs[0]);
    if (!job->json_only) cost_work_add_result(&job->work, &shapes[plan->count], &encode);
}

enum status process_submit(struct exchange *exchange, struct failure *failure) {
    struct front *front = exchange->front;
    struct image shapes[PLAN_STEPS_MAX + 1];
    if (check_image(exchange, shapes, failure)) return failure->status;
    fill_job(exchange);
    if (check_result(exchange, shapes, failure)) return failure->status;
    describe_work(exchange, shapes);
    if (!supervisor_submit(front->supervisor, exchange->slot, failure)) return STATUS_OK;
    if (failure->status == STATUS_BUSY)
        metrics_reject(front->metrics, front_draining(front) ? REJECTED_DRAINING : REJECTED_QUEUE);
    return failure->status;
}
