// SPDX-License-Identifier: Apache-2.0
/* upload.h - the body of a request on its way into a slot: raw, or the first image part of a form.
 *
 * Fields of the form become settings. Nothing is copied twice and nothing is kept that is not
 * needed.
 *
 * Fails:  STATUS_BODY_TOO_LARGE, STATUS_BUSY (no slot, or too many bytes held; told to metrics),
 *         STATUS_BAD_REQUEST (no image, two images, broken form), STATUS_BAD_PARAM (a field),
 *         STATUS_NOT_AN_IMAGE (a body with a Content-Encoding).
 */
#ifndef BURIN_UPLOAD_H
#define BURIN_UPLOAD_H

#include "server/http/exchange.h"

/* After the headers. Holds nothing yet. */
enum status upload_begin(struct exchange *exchange, struct failure *failure);
/* The first call takes the slot. */
enum status upload_feed(struct exchange *exchange, const uint8_t *bytes, size_t length,
                        struct failure *failure);
/* After the last byte: the image's place stands in the job. */
enum status upload_finish(struct exchange *exchange, struct failure *failure);
/* Once the plan is known: the form's further images are some step's, as large as SHAPES
 * (plan_shapes') has its input, and stand in the job. STATUS_MISMATCH where one is of another size,
 * and what probe_image says. */
enum status upload_parts(struct exchange *exchange, const struct probe_limits *limits,
                         const struct image *shapes, struct failure *failure);
/* The Content-Encoding that makes the body unreadable here, as sent; NULL: none does. */
const char *upload_coding(const struct exchange *exchange);
/* CONTEXT is a front without a free slot: bodies that hardly come keep others out. Of
 * deadline_limits. */
bool upload_pressed(const void *context);
/* Gives back what it held apart from the slot; any number of times. */
void upload_release(struct exchange *exchange);

#endif
