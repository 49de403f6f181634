// SPDX-License-Identifier: Apache-2.0
/* An image and operators in, an image out. The path names the operator; the query and the form's
 * fields, which come next, become settings. */
#include "server/http/route.h"

#include <string.h>

enum status process_begin(struct exchange *exchange, struct failure *failure) {
    struct request *request = &exchange->request;
    const struct op_set *ops = &request->generation->ops;
    const char *op = strcmp(request->label, "pipeline") == 0 ? NULL : request->label;
    struct dialect *dialect =
        imaginary_dialect(&exchange->imaginary, ops, op, route_is_imaginary(exchange->path));
    return settings_init(&request->settings, ops, op, dialect, failure);
}

enum status process_submit(struct exchange *exchange, struct failure *failure) {
    struct header_lines lines;
    connection_header_lines(exchange->library, MHD_HTTP_HEADER_ACCEPT, &lines);
    for (int i = 0; i < lines.count; i++)
        negotiation_add(&exchange->request.accept, lines.values[i]);
    return request_submit(&exchange->request, failure);
}
