// SPDX-License-Identifier: Apache-2.0
/* What there is to be called, as JSON. A client that has it asks whether it is still the same: a
 * reload of operators is seen at once, and where nothing has changed nothing is sent. */
#include "server/http/reply.h"
#include "server/http/route.h"

/* Copied: who reads slowly must not keep the generation. */
static struct reply document_reply(const struct exchange *exchange,
                                   const struct generation_document *document) {
    const bool known = exchange_is_known(exchange, document->etag);
    struct reply reply = { .http_status = known ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK,
                           .bytes = known ? 0 : document->length };
    reply.response =
        MHD_create_response_from_buffer(document->length, document->text, MHD_RESPMEM_MUST_COPY);
    if (!reply.response) return reply;
    MHD_add_response_header(reply.response, MHD_HTTP_HEADER_ETAG, document->etag);
    MHD_add_response_header(reply.response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    if (!known)
        MHD_add_response_header(reply.response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
    return reply;
}

enum status handle_ops(struct exchange *exchange, struct reply *reply, struct failure *failure) {
    (void)failure;
    *reply = document_reply(exchange, &exchange->request.generation->list);
    return STATUS_OK;
}

enum status handle_openapi(struct exchange *exchange, struct reply *reply,
                           struct failure *failure) {
    (void)failure;
    *reply = document_reply(exchange, &exchange->request.generation->openapi);
    return STATUS_OK;
}
