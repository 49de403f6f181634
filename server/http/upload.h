// SPDX-License-Identifier: Apache-2.0
/* upload.h - the body of a request on its way into a slot: raw, or the first image part of a form.
 *
 * Fields of the form become settings. Nothing is copied twice and nothing is kept that is not
 * needed. What is refused for lack of room is counted in metrics.
 *
 * Used by:  request_flow.c, in the order of these functions; the handlers (upload_check_aux).
 * Owns:     the exchange's slot and its share of queue_bytes, until upload_release.
 * Fails:    STATUS_BODY_TOO_LARGE, STATUS_BUSY (no slot, or too many bytes held),
 *           STATUS_BAD_REQUEST (no image, two images, broken form), STATUS_BAD_PARAM (a field),
 *           STATUS_NOT_AN_IMAGE (a body with a Content-Encoding).
 * Threads:  the exchange's.
 * Limits:   body_bytes_max, queue_bytes, parts_max; FIELD_NAME_MAX and FIELD_VALUE_MAX.
 */
#ifndef BURIN_UPLOAD_H
#define BURIN_UPLOAD_H

#include "pipeline/probe.h"
#include "server/http/exchange.h"
#include "server/http/work.h"

/* After the headers. Holds nothing yet. */
enum status upload_begin(struct exchange *exchange, struct failure *failure);

/* Where the next bytes of the body may be received, so that upload_feed need not copy them: up to
 * *ROOM. NULL: nowhere yet; hand them to upload_feed from elsewhere. */
void *upload_place(struct exchange *exchange, size_t *room);

/* The first call takes the slot. BYTES may be where upload_place said. */
enum status upload_feed(struct exchange *exchange, const uint8_t *bytes, size_t length,
                        struct failure *failure);

/* After the last byte: the image's place stands in the job. */
enum status upload_finish(struct exchange *exchange, struct failure *failure);

/* Once the plan is known: the form's further images are some step's, as large as the shapes of WORK
 * have its input, and stand in the job. STATUS_MISMATCH where one is of another size, and what
 * probe_image returns. */
enum status upload_check_aux(struct exchange *exchange, const struct probe_limits *limits,
                             const struct work *work, struct failure *failure);

/* Gives back the slot, unless it is a response's, and all else that it holds; any number of times.
 * The bytes first: whoever finds a slot free finds room for a body, too. */
void upload_release(struct exchange *exchange);

/* The Content-Encoding that makes the body unreadable here, as sent; NULL: there is none. */
const char *upload_coding(const struct exchange *exchange);

#endif
