// SPDX-License-Identifier: Apache-2.0
/* request_flow.h - the steps of a request, from its first line to the last byte of its answer.
 *
 * Used by:  front.c gives the functions to its listeners.
 * Owns:     each struct exchange, from the first call for a request to request_flow_ended.
 * Threads:  the I/O thread of the connection.
 */
#ifndef BURIN_REQUEST_FLOW_H
#define BURIN_REQUEST_FLOW_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

/* For listener_options and connection_options (the two about bodies). CONTEXT: a struct
 * front_listener. *STATE, MEMORY: the request's exchange. */
enum MHD_Result request_flow_proceed(void *context, struct MHD_Connection *library,
                                     const char *path, const char *method, const char *version,
                                     const char *body, size_t *length, void **state);
void *request_flow_body_buffer(void *memory, size_t *size);
bool request_flow_body_received(void *memory, const void *bytes, size_t length);
void request_flow_jobs_completed(void *context, int pipe);
void request_flow_ended(void *context, struct MHD_Connection *library, void **state,
                        enum MHD_RequestTerminationCode how);

#endif
