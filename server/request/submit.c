// SPDX-License-Identifier: Apache-2.0
/* How it works. The image's header is checked against the limits, and the shape after every step is
 * computed from it, so that an impossible request is refused before a pixel is decoded. Then each
 * result gets its type, from the request or from what its client accepts, the time of all work is
 * predicted, and the job goes to the supervisor. */
#include "server/request/request.h"

#include "config/memory.h"
#include "pipeline/plan_tree.h"
#include "server/jobs/codec_choice.h"
#include "server/jobs/result_limits.h"
#include "server/request/capacity.h"

#include <stdio.h>
#include <string.h>

/* ---- slot and operators */

void request_release_operators(struct request *request) {
    generation_release(request->generation);
    request->generation = NULL;
    request->settings.plan.ops = NULL; /* they belong to the generation */
}

void request_hold_operators(struct request *request) {
    if (request->generation) return;
    request->generation = current_hold(&request->service->operators);
    request->settings.plan.ops = &request->generation->ops;
}

void request_release_unplanned(struct request *request) {
    if (request->generation && !settings_may_plan(&request->settings, request->upload.multipart))
        request_release_operators(request);
}

/* ---- shapes and cost, known before a pixel is decoded */

/* The plan in its parts, and the shapes before and after each step. Some 100 KB, on the stack. */
struct work {
    struct plan_tree plans;
    struct image shapes[PLAN_PARTS_MAX][PLAN_STEPS_MAX + 1]; /* of each part: plan_shapes' */
    bool only_values; /* every step of the request returns values: it asks for no image */
};

static const struct image *part_result(const struct work *work, int part) {
    return &work->shapes[part][work->plans.parts[part].count];
}

/* IN: the shape of the image. */
static enum status compute_shapes(struct work *work, const struct image *in, uint64_t pixels_max,
                                  struct failure *failure) {
    enum status status = STATUS_OK;
    for (int p = 0; p < work->plans.count && !status; p++)
        status = plan_settle(&work->plans.parts[p], p ? part_result(work, 0) : in,
                             plan_tree_knows_size(&work->plans, p, 0), pixels_max, work->shapes[p],
                             failure);
    return status;
}

/* Sets the shapes of JOB's results, which must have at most PIXELS_MAX pixels together; plan_shapes
 * has checked each. */
static enum status size_results(const struct work *work, struct job *job, uint64_t pixels_max,
                                struct failure *failure) {
    const int count = job_output_count(job);
    uint64_t pixels = 0;
    for (int o = 0; o < count; o++) {
        const int part = job->outputs[o].part;
        job->outputs[o].image = *part_result(work, part);
        job->outputs[o].cut = !plan_tree_knows_size(&work->plans, part, PLAN_STEPS_MAX);
        pixels += image_pixels(&job->outputs[o].image);
    }
    if (count == 1) return STATUS_OK;
    return plan_tree_check_pixels(pixels, pixels_max, (uint32_t)count, false, failure);
}

/* *COUNT: numbers returned by all steps, at most PLAN_VALUES_MAX. */
static enum status count_values(const struct work *work, uint32_t *count, struct failure *failure) {
    uint64_t values = 0;
    for (int p = 0; p < work->plans.count; p++)
        values += plan_value_count(&work->plans.parts[p], work->shapes[p]);
    *count = (uint32_t)values;
    if (values <= PLAN_VALUES_MAX) return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM,
                "the steps of all outputs return %llu values, more than the %d of one request; ask "
                "for fewer bins, steps or outputs",
                (unsigned long long)values, PLAN_VALUES_MAX);
}

/* Bit i is set if the further image at place i is there. */
static uint32_t aux_there(const struct job *job) {
    uint32_t aux = 0;
    for (int i = 0; i < OP_AUX_MAX; i++) aux |= (job->aux[i].length ? UINT32_C(1) : 0) << i;
    return aux;
}

/* The steps of all parts; common steps of branches count once. */
static void add_steps(const struct work *work, struct job *job) {
    const struct plan *branches[PLAN_BRANCHES_MAX] = { NULL };
    const int count = work->plans.count - 1;
    const bool branches_get = plan_tree_aux_part(&work->plans) > 0;
    const uint32_t aux = branches_get ? aux_there(job) : 0;
    struct plan_common common;
    for (int b = 0; b < count; b++) branches[b] = &work->plans.parts[1 + b];
    plan_common_find(&common, branches, count, part_result(work, 0), aux);
    cost_work_add_plan(&job->work, &work->plans.parts[0], work->shapes[0]);
    cost_work_add_common(&job->work, &common, part_result(work, 0));
    for (int b = 0; b < count; b++)
        cost_work_add_steps(&job->work, branches[b], work->shapes[1 + b],
                            plan_common_serves(&common, b));
}

/* The work of the steps that get the further image at PLACE. */
static void add_aux(const struct work *work, struct job *job, int place) {
    const int part = plan_tree_aux_part(&work->plans);
    for (int p = part; p >= 0 && p < (part ? work->plans.count : 1); p++)
        cost_work_add_aux(&job->work, &work->plans.parts[p], work->shapes[p], place);
}

/* Whether an operator that takes most of the time does many images at once (op.abreast). */
static bool is_abreast(const struct work *work, const struct job *job) {
    const struct plan *plan = &work->plans.parts[0];
    bool abreast = false;
    for (int i = 0; i < plan->count && work->plans.count == 1; i++) {
        const struct step *step = &plan->steps[i];
        const struct image *shapes = &work->shapes[0][i];
        if (!step->op->abreast) continue;
        abreast = step->op->abreast(&step->params, &shapes[0], &shapes[1], aux_there(job));
        if (!abreast) break;
    }
    return abreast;
}

/* Adds the predicted time of all files, parts and results to JOB. */
static void add_cost(const struct work *work, struct job *job) {
    struct probe probe = job->probe;
    if (job->decodes_apart) probe.format = FORMAT_PNM; /* pixels are as good as a raw file */
    cost_work_add_file(&job->work, &probe,
                       job->decodes_apart  ? job_pixels_bytes(&probe.shape)
                       : job->probe.frames ? job->image_length / job->probe.frames
                                           : job->image_length);
    for (int i = 0; i < OP_AUX_MAX; i++)
        if (job->aux[i].length) {
            probe = job->aux[i].probe;
            if (job->aux[i].apart) probe.format = FORMAT_PNM;
            cost_work_add_file(&job->work, &probe, job->aux[i].length);
            add_aux(work, job, i);
        }
    add_steps(work, job);
    job->abreast = is_abreast(work, job);
    for (int o = 0; o < job_output_count(job) && !job->json_only; o++) {
        const struct job_output *output = &job->outputs[o];
        struct encode_options encode = job_encode_options(job, output);
        if (output->apart) encode.format = FORMAT_PNM;
        cost_work_add_result(&job->work, &output->image, &encode);
    }
    for (uint32_t t = 0; t < job->work.count && job->probe.frames; t++)
        job->work.terms[t].amount *= (float)job->probe.frames;
}

/* ---- the other images of the form */

struct probe_limits request_limits(const struct request *request) {
    const struct config *config = request->service->config;
    const long pixels_max = grant_limit(config->pixels_max, request->grant.pixels_max);
    return (struct probe_limits){ .pixels_max = (uint64_t)pixels_max,
                                  .side_max = (uint32_t)config->side_max };
}

enum status request_probe(const struct request *request, struct probe *probe,
                          struct failure *failure) {
    const struct probe_limits limits = request_limits(request);
    const struct job *job = request_job(request);
    const enum status status =
        probe_image(slot_bytes(request->service->slots, request->slot) + job->image_offset,
                    job->image_length, &limits, probe, failure);
    return status ? status : grant_check_type(&request->grant, format_name(probe->format), failure);
}

static enum status check_aux(struct request *request, const struct upload_aux *aux,
                             const struct work *work, struct failure *failure) {
    const int part = work ? plan_tree_aux_part(&work->plans) : -1;
    const int place = part < 0 ? -1 : plan_aux(&work->plans.parts[part], aux->name);
    if (place < 0) return plan_tree_refuse_aux(work ? &work->plans : NULL, aux->name, failure);
    if (aux->length == 0)
        return fail(failure, STATUS_BAD_REQUEST,
                    "%s is empty: it has no bytes; send an image, or leave the part out",
                    aux->name);
    const struct probe_limits limits = request_limits(request);
    struct job_aux *out = &request_job(request)->aux[place];
    out->offset = aux->offset, out->length = aux->length;
    out->kind = plan_aux_at(&work->plans.parts[part], place)->kind;
    snprintf(out->name, sizeof out->name, "%s", aux->name);
    const uint8_t *bytes = slot_bytes(request->service->slots, request->slot) + aux->offset;
    const struct image *image = &request_job(request)->probe.shape;
    enum status status =
        aux_image_probe(out->kind, bytes, aux->length, image, &limits, &out->probe, failure);
    if (!status && !aux->kept)
        status = grant_check_type(&request->grant, format_name(out->probe.format), failure);
    fail_named(aux->name, status, failure);
    if (status == STATUS_NOT_AN_IMAGE) /* a 415 would mean the main image */
        status = failure->status = STATUS_BAD_PARAM;
    for (int p = part; p < work->plans.count && !status; p++) {
        const struct plan *plan = &work->plans.parts[p];
        const bool known = plan_tree_knows_size(&work->plans, p, plan_aux_step(plan));
        if (known && plan_aux(plan, aux->name) >= 0 && (part || !p))
            status = plan_aux_fits(plan, aux->name, &out->probe.shape, work->shapes[p], failure);
    }
    return status;
}

enum status request_check_aux(struct request *request, const struct work *work,
                              struct failure *failure) {
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < request->upload.aux_count; i++)
        status = check_aux(request, &request->upload.aux[i], work, failure);
    if (status || !work) return status;
    return plan_tree_aux_complete(&work->plans, aux_there(request_job(request)), failure);
}

/* ---- animations */

/* A client may not choose by Accept what an address or a preset leaves out; type=auto lets it. */
static const struct negotiation *accepted_types(const struct request *request) {
    static const struct negotiation every;
    const struct settings *settings = &request->settings;
    const bool named = settings_give(settings, "type") || settings_give(settings, "types");
    const bool bound = request->grant.is_signed || request->grant.preset;
    return bound && !named ? &every : &request->accept;
}

/* Whether the result's type, as far as it is known before the plan, has animations. */
static bool may_be_animated(const struct request *request) {
    const enum format input = request_job(request)->probe.format;
    enum format type = request->settings.encode.format;
    if (!type) type = negotiation_type(accepted_types(request), input, &request->service->prefer);
    return format_record(type ? type : input)->begin_animation != NULL;
}

/* Counts the frames of an animation whose frames are all wanted. */
static enum status count_frames(struct request *request, const struct probe_limits *limits,
                                struct failure *failure) {
    const struct service *service = request->service;
    struct job *job = request_job(request);
    if (!request->settings.encode.animated || !job->probe.animated || request->settings.outputs ||
        !format_record(job->probe.format)->decode_frames || !may_be_animated(request) ||
        negotiation_answer(&request->accept, false) == ANSWER_JSON)
        return STATUS_OK;
    return probe_frames(slot_bytes(service->slots, request->slot) + job->image_offset,
                        job->image_length, (uint32_t)service->config->frames_max, limits,
                        &job->probe, failure);
}

/* An animation has one result, an animation, and nothing else. */
static enum status check_frames(const struct request *request, const struct work *work,
                                uint64_t pixels_max, struct failure *failure) {
    const struct job *job = request_job(request);
    const uint64_t pixels = image_pixels(&job->outputs[0].image) * job->probe.frames;
    bool several = false;
    for (int o = 0; o < job_output_count(job) && request->settings.outputs; o++)
        several |= job->outputs[o].encode.animated;
    if (several ||
        (job->probe.frames && (plan_reports(&work->plans.parts[0]) || request->upload.aux_count)))
        return fail(failure, STATUS_BAD_PARAM,
                    "animation=keep is for one result, without values and further images; leave "
                    "it out, or %s",
                    several ? "ask for one result"
                            : "the steps that return values or take a further image");
    return plan_tree_check_pixels(pixels, pixels_max, job->probe.frames, true, failure);
}

/* ---- the image and the plan */

/* The plan's parts, and the part of each result. */
static enum status make_plans(struct request *request, uint64_t pixels_max, struct work *work,
                              struct failure *failure) {
    struct job *job = request_job(request);
    const struct settings *settings = &request->settings;
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

/* If results are to be sRGB and the image has a profile, the first step of all converts it. */
static enum status settle_profile(struct work *work, struct job *job, struct failure *failure) {
    struct plan *trunk = &work->plans.parts[0];
    enum status status = STATUS_OK;
    int wanted = 0;
    for (int o = 0; o < job_output_count(job); o++)
        wanted += job->outputs[o].encode.profile == PROFILE_SRGB;
    if (wanted && wanted < job_output_count(job))
        return fail(failure, STATUS_BAD_PARAM,
                    "profile=srgb is for all outputs or none: give it beside operations");
    if (wanted && job->probe.profile) status = plan_begin_with(trunk, "srgb", failure);
    for (int o = 0; o < job_output_count(job); o++) {
        const bool converts =
            plan_converts(trunk) || plan_converts(&work->plans.parts[job->outputs[o].part]);
        if (wanted || converts)
            job->outputs[o].encode.profile = converts ? PROFILE_SRGB : PROFILE_KEEP;
    }
    return status ? status : plan_tree_check(&work->plans, failure);
}

/* Checks the input and every step's output against the limits. */
static enum status check_image(struct request *request, struct work *work,
                               struct failure *failure) {
    struct job *job = request_job(request);
    const struct probe_limits limits = request_limits(request);
    enum status status = request->upload.multipart ? settings_complete(&request->settings, failure)
                                                   : STATUS_OK; /* completed at the head */
    if (!status) status = request_probe(request, &job->probe, failure);
    if (!status) status = settings_check_image(&request->settings, &job->probe, failure);
    if (!status) status = count_frames(request, &limits, failure);
    if (!status) status = make_plans(request, limits.pixels_max, work, failure);
    work->only_values =
        !status && work->plans.count == 1 && plan_only_reports(&work->plans.parts[0]);
    if (!status) status = settle_profile(work, job, failure);
    if (!status) status = compute_shapes(work, &job->probe.shape, limits.pixels_max, failure);
    if (!status) status = size_results(work, job, limits.pixels_max, failure);
    if (!status) status = request_check_aux(request, work, failure);
    if (!status) status = count_values(work, &job->value_count, failure);
    if (!status) status = check_frames(request, work, limits.pixels_max, failure);
    return status ? status : plan_tree_pack(&work->plans, &job->plan, failure);
}

static void negotiate(struct request *request, const struct work *work) {
    struct job *job = request_job(request);
    const struct negotiation *accept = &request->accept, *types = accepted_types(request);
    const bool values = work->only_values && !request->settings.encode.format;
    request->answer = request->settings.outputs ? negotiation_answer_several(accept)
                                                : negotiation_answer(accept, values);
    for (int o = 0; o < job_output_count(job); o++) {
        struct job_output *output = &job->outputs[o];
        if (!output->encode.format)
            output->encode.format =
                negotiation_type(types, job_output_type(job, output), &request->service->prefer);
        if (!output->encode.format)
            encode_options_as_input(&output->encode, &job->probe, job_output_type(job, output));
        output->type = job_output_type(job, output);
    }
}

/* Images that a cell decodes follow the upload. */
static void place_pixels(struct job *job) {
    uint64_t at = job->pixels_offset = slot_paged(job->body_length);
    job->decodes_apart = format_record(job->probe.format)->contained;
    if (job->decodes_apart) at += job_pixels_bytes(&job->probe.shape);
    for (int p = 0; p < OP_AUX_MAX; p++) {
        struct job_aux *aux = &job->aux[p];
        aux->apart = aux->length && format_record(aux->probe.format)->contained;
        if (!aux->apart) continue;
        aux->pixels_offset = at;
        at += job_aux_pixels(aux);
    }
    job->pixels_end = at > job->pixels_offset ? at : 0;
}

static void fill_job(struct request *request, const struct work *work) {
    struct job *job = request_job(request);
    job->io_thread = request->io_thread;
    snprintf(job->request_id, sizeof job->request_id, "%s", request->id);
    memcpy(job->trace_id, request->trace.id, sizeof job->trace_id);
    memcpy(job->device, request->settings.device, sizeof job->device);
    job->client = request->grant.use.quota ? quota_client(request->grant.use.quota)
                                           : client_unit(&request->client);
    job->share = (int32_t)request->grant.share;
    job->generation = plan_tree_has_user_operators(&work->plans) ? request->generation->number : 0;
    job->accept_damage = request->settings.accept_damage;
    job->pixels_max = request_limits(request).pixels_max;
    place_pixels(job);
    job->by_engine = codec_engine_takes(job, slot_bytes(request->service->slots, request->slot),
                                        (size_t)request->service->config->codec_memory_bytes);
    job->json_only = request->answer == ANSWER_JSON;
    for (int o = 0; o < job_output_count(job); o++)
        job->outputs[o].apart = !job->json_only && format_record(job->outputs[o].type)->contained;
    job->checksums = request->answer == ANSWER_ZIP;
    job->still_ms = (double)config_now(&request->service->config->encode_still_ms);
    job->processing_ms = (double)request->service->config->processing_ms;
    job->cells_bytes = (uint64_t)memory_cells(request->service->config);
    job->progress.deadline_ns =
        request->received_ns + request->service->config->processing_ms * INT64_C(1000000);
}

static enum status check_result(const struct request *request, const struct job_output *output,
                                struct failure *failure) {
    const char *missing = codec_missing(output->type);
    if (request_job(request)->probe.frames && !format_record(output->type)->begin_animation)
        return fail(failure, STATUS_BAD_PARAM,
                    "a %s holds no animation, and the result fits no other type: leave out "
                    "animation=keep, or the steps that make 16 bits",
                    format_record(output->type)->title);
    if (missing) return fail(failure, STATUS_BAD_PARAM, "%s", missing);
    const enum status status = result_limits_check(request_job(request), output, failure);
    return status ? status : codec_check_sides(&output->image, output->type, failure);
}

/* Results have their types now, and may get names. */
static enum status check_results(const struct request *request, struct failure *failure) {
    const struct job *job = request_job(request);
    enum status status = STATUS_OK;
    for (int o = 0; o < job_output_count(job) && !status && !job->json_only; o++)
        status = check_result(request, &job->outputs[o], failure);
    if (status || !request->settings.outputs) return status;
    return outputs_name(&request->settings, request->label, job->outputs, failure);
}

/* ---- to the supervisor and back */

void request_count_refusal(const struct request *request, enum status status) {
    const struct service *service = request->service;
    if (status == STATUS_TOO_LARGE) metrics_reject(service->metrics, REJECTED_TIME);
    if (status == STATUS_BUSY)
        metrics_reject(service->metrics,
                       service_draining(service) ? REJECTED_DRAINING : REJECTED_QUEUE);
}

enum status request_submit(struct request *request, struct failure *failure) {
    struct work work;
    if (check_image(request, &work, failure)) return failure->status;
    negotiate(request, &work);
    fill_job(request, &work);
    if (check_results(request, failure)) return failure->status;
    add_cost(&work, request_job(request));
    request->pixels = job_pixels(request_job(request));
    if (!supervisor_submit(request->service->supervisor, request->slot, failure)) return STATUS_OK;
    return request_count_refusal(request, failure->status), failure->status;
}

void request_cancel(struct request *request) {
    supervisor_cancel(request->service->supervisor, request->slot);
}

static void report(struct service *service, const struct completion *completions, int count) {
    for (int i = 0; i < count; i++) {
        const int slot = completions[i].slot;
        if (!supervisor_returned(service->supervisor, slot, completions[i].run_number)) continue;
        struct job_owner *owner = slot_owner(service->slots, slot);
        owner->completed(owner);
    }
}

void request_take_completed(struct service *service, int io_thread, int pipe, int64_t *looked_ns) {
    struct completion completions[64];
    const int64_t now = clock_ns();
    report(service, completions, completion_pipe_take(pipe, completions, 64));
    if (now - *looked_ns < LOST_MS * INT64_C(1000000)) return;
    *looked_ns = now;
    report(service, completions,
           supervisor_overdue(service->supervisor, io_thread, completions, 64));
}
