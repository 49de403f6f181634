// SPDX-License-Identifier: Apache-2.0
/* The further images of an upload, masks and the like, once the plan is known that uses them. */
#include "server/http/upload.h"

#include <string.h>

/* The form's image AUX becomes one of the job. WORK: NULL where nothing takes any. */
static enum status check_aux(struct exchange *exchange, const struct upload_aux *aux,
                             const struct probe_limits *limits, const struct work *work,
                             struct failure *failure) {
    const int part = work ? plan_tree_aux_part(&work->plans) : -1;
    const int place = part < 0 ? -1 : plan_aux(&work->plans.parts[part], aux->name);
    if (place < 0)
        return fail(failure, STATUS_BAD_PARAM, "no step of this request uses a part named %s",
                    aux->name);
    if (aux->length == 0)
        return fail(failure, STATUS_BAD_REQUEST,
                    "%s is empty: it has no bytes; send an image, or leave the part out",
                    aux->name);
    struct job_aux *out = &exchange_job(exchange)->aux[place];
    out->offset = aux->offset;
    out->length = aux->length;
    const uint8_t *bytes = slot_bytes(exchange->front->slots, exchange->slot) + aux->offset;
    enum status status = probe_image(bytes, aux->length, limits, &out->probe, failure);
    if (!status) status = probe_check_data(&out->probe, false, failure);
    fail_named(aux->name, status, failure);
    if (status == STATUS_NOT_AN_IMAGE) /* 415 would blame the main image */
        status = failure->status = STATUS_BAD_PARAM;
    for (int p = part; p < work->plans.count && !status; p++) {
        const struct plan *plan = &work->plans.parts[p];
        if (plan_aux(plan, aux->name) >= 0 && (part || !p))
            status = plan_aux_fits(plan, aux->name, &out->probe.shape, work->shapes[p], failure);
    }
    return status;
}

enum status upload_check_aux(struct exchange *exchange, const struct probe_limits *limits,
                             const struct work *work, struct failure *failure) {
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < exchange->upload.aux_count; i++)
        status = check_aux(exchange, &exchange->upload.aux[i], limits, work, failure);
    return status;
}
