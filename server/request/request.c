// SPDX-License-Identifier: Apache-2.0
#include "server/request/request.h"

void request_release_operators(struct request *request) {
    generation_release(request->generation);
    request->generation = NULL;
    request->settings.plan.ops = NULL; /* they were the generation's */
}

void request_hold_operators(struct request *request) {
    if (request->generation) return;
    request->generation = generations_hold(&request->service->generations);
    request->settings.plan.ops = &request->generation->ops;
}

void request_release_unplanned(struct request *request) {
    if (request->generation && !settings_may_plan(&request->settings, request->upload.multipart))
        request_release_operators(request);
}

void request_release(struct request *request) {
    upload_release(request);
    request_release_operators(request);
}
