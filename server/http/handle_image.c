// SPDX-License-Identifier: Apache-2.0
/* Requests with an image: an operator (or /pipeline), and /info, which reads only the image's
 * header. The path names the operator; its settings follow in the query and in form fields. */
#include "pipeline/param.h"
#include "server/api/info_json.h"
#include "server/http/reply.h"
#include "server/http/route.h"

#include <stdio.h>
#include <string.h>

enum status process_begin(struct exchange *exchange, struct failure *failure) {
    struct request *request = &exchange->request;
    return imaginary_begin(&exchange->imaginary, &request->settings, &request->generation->ops,
                           request->label, route_is_imaginary(exchange->path), failure);
}

/* The preset's operator takes the place of its name. Only now a name that there is not is refused:
 * without a key, nobody learns which there are. */
enum status preset_begin(struct exchange *exchange, struct failure *failure) {
    const struct preset *preset = route_preset(exchange->keys, exchange->path);
    struct request *request = &exchange->request;
    char shown[PARAM_SHOWN_MAX];
    if (!preset) {
        exchange->http_status = MHD_HTTP_NOT_FOUND;
        return fail(failure, STATUS_BAD_REQUEST, "there is no %s here",
                    param_shown(exchange->path, shown));
    }
    snprintf(request->label, sizeof request->label, "%.47s", preset->op);
    enum status status = process_begin(exchange, failure);
    return status ? status : preset_apply(preset, &request->settings, failure);
}

enum status process_submit(struct exchange *exchange, struct failure *failure) {
    struct header_lines lines;
    connection_header_lines(exchange->library, MHD_HTTP_HEADER_ACCEPT, &lines);
    for (int i = 0; i < lines.count; i++)
        negotiation_add(&exchange->request.accept, lines.values[i]);
    return request_submit(&exchange->request, failure);
}

enum status info_answer(struct exchange *exchange, struct reply *reply, struct failure *failure) {
    struct request *request = &exchange->request;
    struct job *job = request_job(request);
    enum status status = request_check_aux(request, NULL, failure);
    if (!status) status = request_probe(request, &job->probe, failure);
    if (!status)
        status = info_count_frames(slot_bytes(request->service->slots, request->slot) +
                                       job->image_offset,
                                   job->image_length, &job->probe, failure);
    if (!status) *reply = reply_json(MHD_HTTP_OK, info_json(&job->probe, job->image_length));
    return status;
}
