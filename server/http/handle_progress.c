// SPDX-License-Identifier: Apache-2.0
/* How far a request is that another connection waits for. That it is not here is an answer too: it
 * may have ended just now. */
#include "pipeline/plan_tree.h"
#include "server/http/reply.h"
#include "server/http/route.h"

#include <string.h>

/* A GPU is given all steps at once: at which of several it is, is not told. */
static json_t *describe(const struct generation *operators, const struct job_progress *now) {
    struct plan_tree plans;
    json_t *json = json_pack("{s:s}", "state", now->waiting ? "waiting" : "running");
    const bool known = !now->generation || now->generation == operators->number;
    if (now->waiting || !known || plan_tree_unpack(&plans, &operators->ops, &now->plan, NULL))
        return json;
    const struct step *step = plan_tree_step(&plans, now->step);
    if (!step) return json;
    const bool told = now->in_order || !plan_tree_step(&plans, 1);
    const struct op *op = step->op;
    if (told) json_object_set_new(json, "step", json_integer(now->step));
    if (told) json_object_set_new(json, "operation", json_string(op->name));
    if (!now->total) return json;
    json_object_set_new(json, "done", json_integer(now->done));
    json_object_set_new(json, "total", json_integer(now->total));
    json_object_set_new(json, "unit",
                        json_string(told && op->unit ? op->unit : plan_tree_unit(&plans)));
    return json;
}

enum status handle_progress(struct exchange *exchange, struct reply *reply,
                            struct failure *failure) {
    (void)failure;
    struct job_progress now;
    const char *id = exchange->path + strlen(PROGRESS_PATH);
    const bool found = supervisor_progress(exchange->front->service.supervisor, id, &now);
    *reply = reply_json(MHD_HTTP_OK, found ? describe(exchange->request.generation, &now)
                                           : json_pack("{s:s}", "state", "unknown"));
    return STATUS_OK;
}
