// SPDX-License-Identifier: Apache-2.0
#include "server/request/work.h"

enum status work_shape(struct work *work, const struct image *in, uint64_t pixels_max,
                       struct failure *failure) {
    enum status status = STATUS_OK;
    for (int p = 0; p < work->plans.count && !status; p++)
        status = plan_shapes(&work->plans.parts[p], p ? work_result(work, 0) : in, pixels_max,
                             work->shapes[p], failure);
    return status;
}

/* One alone is within it, as plan_shapes has said. */
enum status work_size_results(const struct work *work, struct job *job, uint64_t pixels_max,
                              struct failure *failure) {
    const int count = job_output_count(job);
    uint64_t pixels = 0;
    for (int o = 0; o < count; o++) {
        job->outputs[o].image = *work_result(work, job->outputs[o].part);
        pixels += image_pixels(&job->outputs[o].image);
    }
    if (count == 1 || pixels <= pixels_max) return STATUS_OK;
    return fail(failure, STATUS_TOO_LARGE,
                "the %d results have %llu pixels together, more than the %llu of pixels_max; ask "
                "for fewer or smaller ones",
                count, (unsigned long long)pixels, (unsigned long long)pixels_max);
}

enum status work_count_values(const struct work *work, uint32_t *count, struct failure *failure) {
    uint64_t values = 0;
    for (int p = 0; p < work->plans.count; p++)
        values += plan_value_count(&work->plans.parts[p], work->shapes[p]);
    *count = (uint32_t)values;
    if (values <= PLAN_VALUES_MAX) return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM,
                "the steps of all outputs report %llu values of this image, more than the %d of "
                "one request; ask for fewer bins, steps or outputs",
                (unsigned long long)values, PLAN_VALUES_MAX);
}

bool work_only_reports(const struct work *work) {
    return work->plans.count == 1 && plan_only_reports(&work->plans.parts[0]);
}

/* The steps of all parts; of branches, what they have in common once. */
static void add_steps(const struct work *work, struct job *job) {
    const struct plan *branches[PLAN_BRANCHES_MAX] = { NULL };
    const int count = work->plans.count - 1;
    struct plan_common common;
    for (int b = 0; b < count; b++) branches[b] = &work->plans.parts[1 + b];
    plan_common_find(&common, branches, count, work_result(work, 0));
    cost_work_add_plan(&job->work, &work->plans.parts[0], work->shapes[0]);
    cost_work_add_common(&job->work, &common, work_result(work, 0));
    for (int b = 0; b < count; b++)
        cost_work_add_steps(&job->work, branches[b], work->shapes[1 + b],
                            plan_common_serves(&common, b));
}

void work_add_cost(const struct work *work, struct job *job) {
    cost_work_add_file(&job->work, &job->probe, job->image_length);
    for (int i = 0; i < OP_AUX_MAX; i++)
        if (job->aux[i].length)
            cost_work_add_file(&job->work, &job->aux[i].probe, job->aux[i].length);
    add_steps(work, job);
    for (int o = 0; o < job_output_count(job) && !job->json_only; o++) {
        const struct job_output *output = &job->outputs[o];
        struct encode_options encode = output->encode;
        encode.format = job_output_type(job, output);
        cost_work_add_result(&job->work, &output->image, &encode);
    }
}
