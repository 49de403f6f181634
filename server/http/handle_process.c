// SPDX-License-Identifier: Apache-2.0
/* How it works: an image and a plan in, an image out. process_begin: the path chooses the operator.
 * Then query and form fields become settings and the image gets a slot (request_flow.c, upload.c).
 * process_submit: the image's header is checked against the limits, and the job goes to the
 * supervisor. */
#include "server/http/route.h"
#include "server/http/upload.h"
#include "server/http/work.h"

#include <stdio.h>
#include <string.h>

enum status process_begin(struct exchange *exchange, struct failure *failure) {
    const bool pipeline = strcmp(exchange->label, "pipeline") == 0;
    return settings_init(&exchange->settings, &exchange->generation->ops,
                         pipeline ? NULL : exchange->label, route_is_imaginary(exchange->path),
                         failure);
}

static struct probe_limits limits_of(const struct config *config) {
    return (struct probe_limits){ .pixels_max = (uint64_t)config->pixels_max,
                                  .side_max = (uint32_t)config->side_max };
}

/* The plan's parts, and which part each result is of. */
static enum status make_plans(struct exchange *exchange, uint64_t pixels_max, struct work *work,
                              struct failure *failure) {
    struct job *job = exchange_job(exchange);
    const struct settings *settings = &exchange->settings;
    if (!settings->outputs) {
        work->plans.count = 1;
        work->plans.parts[0] = settings->plan;
        job->outputs[0].encode = settings->encode;
        return STATUS_OK;
    }
    const enum status status =
        outputs_plan(settings, &job->probe.shape, pixels_max, &work->plans, job->outputs, failure);
    if (!status) job->further = (uint32_t)settings->outputs->count - 1;
    return status;
}

/* Input and every step's output fit the limits: known before anything is decoded. */
static enum status check_image(struct exchange *exchange, struct work *work,
                               struct failure *failure) {
    struct job *job = exchange_job(exchange);
    const struct probe_limits limits = limits_of(exchange->front->config);
    enum status status = settings_complete(&exchange->settings, failure);
    if (!status)
        status = probe_image(slot_bytes(exchange->front->slots, exchange->slot) + job->image_offset,
                             job->image_length, &limits, &job->probe, failure);
    if (!status) status = probe_check_data(&job->probe, exchange->settings.accept_damage, failure);
    if (!status) status = make_plans(exchange, limits.pixels_max, work, failure);
    if (!status) status = work_shape(work, &job->probe.shape, limits.pixels_max, failure);
    if (!status) status = work_size_results(work, job, limits.pixels_max, failure);
    if (!status) status = upload_check_aux(exchange, &limits, work, failure);
    if (!status) status = work_count_values(work, &job->value_count, failure);
    return status ? status : plan_tree_print(&work->plans, job->plan, sizeof job->plan, failure);
}

static void negotiate(struct exchange *exchange, const struct work *work) {
    struct job *job = exchange_job(exchange);
    const struct settings *settings = &exchange->settings;
    struct negotiation accept = { 0 };
    struct header_lines lines;
    connection_header_lines(exchange->library, MHD_HTTP_HEADER_ACCEPT, &lines);
    for (int i = 0; i < lines.count; i++) negotiation_add(&accept, lines.values[i]);
    exchange->answer =
        settings->outputs
            ? negotiation_answer_several(&accept)
            : negotiation_answer(&accept, work_tells_only(work) && !settings->encode.format);
    for (int o = 0; o < job_output_count(job); o++) {
        struct job_output *output = &job->outputs[o];
        if (!output->encode.format)
            output->encode.format =
                negotiation_type(&accept, job_output_type(job, output), &exchange->front->prefer);
        if (!output->encode.format)
            encode_options_as_input(&output->encode, &job->probe, job_output_type(job, output));
        output->type = job_output_type(job, output);
    }
}

static void fill_job(struct exchange *exchange, const struct work *work) {
    struct job *job = exchange_job(exchange);
    const struct settings *settings = &exchange->settings;
    job->io_thread = (int32_t)(exchange->listener - exchange->front->listeners);
    snprintf(job->request_id, sizeof job->request_id, "%s", exchange->request_id);
    memcpy(job->device, settings->device, sizeof job->device);
    job->client = client_unit(&exchange->client);
    job->generation = plan_tree_has_user_operators(&work->plans) ? exchange->generation->number : 0;
    job->accept_damage = settings->accept_damage;
    job->json_only = exchange->answer == ANSWER_JSON;
    job->checksums = exchange->answer == ANSWER_ZIP;
    job->progress.deadline_ns =
        exchange->received_ns + exchange->front->config->processing_ms * INT64_C(1000000);
}

/* An encoder that cannot be stopped is bounded by the picture that takes it longest. */
static enum status check_still(const struct exchange *exchange, const struct job_output *output,
                               struct failure *failure) {
    const struct config *config = exchange->front->config;
    const bool deadline = config->processing_ms < config->encode_still_ms;
    const double most = (double)(deadline ? config->processing_ms : config->encode_still_ms);
    struct encode_options options = output->encode;
    options.format = output->type;
    const double ms = codec_still_ms(&output->image, &options);
    if (ms <= most) return STATUS_OK;
    return fail(failure, STATUS_TOO_LARGE,
                "the %s of %llu pixels with effort %d may take %.1f s, in which it cannot be "
                "stopped, and %.1f s are allowed (%s); ask for less effort or quality, another "
                "type, or %.0f pixels at most",
                format_name(output->type), (unsigned long long)image_pixels(&output->image),
                options.effort, ms / 1e3, most / 1e3,
                deadline ? "processing_ms" : "encode_still_ms",
                (double)image_pixels(&output->image) * most / ms);
}

static enum status check_result(const struct exchange *exchange, const struct job_output *output,
                                struct failure *failure) {
    const uint64_t pixels = image_pixels(&output->image);
    const uint64_t most = (uint64_t)exchange->front->config->result_pixels_max[output->type];
    const char *title = format_record(output->type)->title;
    const char *missing = codec_missing(output->type);
    if (missing) return fail(failure, STATUS_BAD_PARAM, "%s", missing);
    if (most && pixels > most)
        return fail(failure, STATUS_TOO_LARGE,
                    "the result has %llu pixels and %s %s may have at most %llu "
                    "(%s_pixels_max); ask for another type or a smaller one",
                    (unsigned long long)pixels, strchr("AEIOU", *title) ? "an" : "a", title,
                    (unsigned long long)most, format_name(output->type));
    const enum status status = check_still(exchange, output, failure);
    return status ? status : codec_check_sides(&output->image, output->type, failure);
}

/* What is to be written has a type now, and may get a name. */
static enum status check_results(const struct exchange *exchange, struct failure *failure) {
    const struct job *job = exchange_job(exchange);
    enum status status = STATUS_OK;
    for (int o = 0; o < job_output_count(job) && !status && !job->json_only; o++)
        status = check_result(exchange, &job->outputs[o], failure);
    if (status || !exchange->settings.outputs) return status;
    return outputs_name(&exchange->settings, exchange->label, job->outputs, failure);
}

void process_count_refusal(struct front *front, enum status status) {
    if (status == STATUS_TOO_LARGE) metrics_reject(front->metrics, REJECTED_TIME);
    if (status == STATUS_BUSY)
        metrics_reject(front->metrics, front_draining(front) ? REJECTED_DRAINING : REJECTED_QUEUE);
}

enum status process_submit(struct exchange *exchange, struct failure *failure) {
    struct front *front = exchange->front;
    struct work work;
    if (check_image(exchange, &work, failure)) return failure->status;
    negotiate(exchange, &work);
    fill_job(exchange, &work);
    if (check_results(exchange, failure)) return failure->status;
    work_add_cost(&work, exchange_job(exchange));
    if (!supervisor_submit(front->supervisor, exchange->slot, failure)) return STATUS_OK;
    process_count_refusal(front, failure->status);
    return failure->status;
}
