// SPDX-License-Identifier: Apache-2.0
/* upload.h - the body of a request on its way into a slot: raw, or the first image part of a form.
 *
 * Fields of the form become settings. Nothing is copied twice and nothing is kept that is not
 * needed. What is refused for lack of room is counted in metrics.
 *
 * Used by:  exchange.c, in the order of these functions; the handlers (upload_check_aux).
 * Owns:     the exchange's slot and its share of queue_bytes, until upload_release.
 * Fails:    STATUS_BODY_TOO_LARGE, STATUS_BUSY (no slot, or too many bytes held),
 *           STATUS_BAD_REQUEST (no image, two images, broken form), STATUS_BAD_PARAM (a field),
 *           STATUS_NOT_AN_IMAGE (a body with a Content-Encoding).
 * Threads:  the exchange's.
 * Limits:   body_bytes_max, queue_bytes, parts_max; FIELD_NAME_MAX and FIELD_VALUE_MAX.
 */
#ifndef BURIN_UPLOAD_H
#define BURIN_UPLOAD_H

#include "pipeline/op.h"
#include "pipeline/probe.h"
#include "server/http/multipart.h"

enum { FIELD_NAME_MAX = 64, FIELD_VALUE_MAX = 16384 };

struct exchange;

/* A further image of the form: its bytes in the slot, and the part's name. */
struct upload_aux {
    const char *name; /* an operator's record's */
    uint64_t offset, length;
};

struct upload {
    bool multipart;
    struct multipart parser;
    uint64_t bytes; /* of the body, so far */
    int64_t held;   /* of front.body_bytes_held, ours */
    int images;     /* image parts seen */
    int aux_count;
    struct upload_aux aux[OP_AUX_MAX];
    uint64_t *image_length; /* the part under way is an image: counts its bytes; else NULL */
    char field[FIELD_NAME_MAX];
    char *value; /* of the field under way; heap, FIELD_VALUE_MAX + 1 bytes, allocated at the first
                    field */
    size_t value_length;
};

/* After the headers. Holds nothing yet. */
enum status upload_begin(struct exchange *exchange, struct failure *failure);

/* The first call takes the slot. */
enum status upload_feed(struct exchange *exchange, const uint8_t *bytes, size_t length,
                        struct failure *failure);

/* After the last byte: the image's place stands in the job. */
enum status upload_finish(struct exchange *exchange, struct failure *failure);

/* Once the plan is known: the form's further images are some step's, as large as SHAPES
 * (plan_shapes') has its input, and stand in the job. STATUS_MISMATCH where one is of another size,
 * and what probe_image returns. */
enum status upload_check_aux(struct exchange *exchange, const struct probe_limits *limits,
                             const struct image *shapes, struct failure *failure);

/* Gives back the slot, unless it is a response's, and all else that it holds; any number of times.
 * The bytes first: whoever finds a slot free finds room for a body, too. */
void upload_release(struct exchange *exchange);

/* The Content-Encoding that makes the body unreadable here, as sent; NULL: there is none. */
const char *upload_coding(const struct exchange *exchange);

/* CONTEXT is a front without a free slot: slow bodies occupy them. Of deadline_limits. */
bool upload_is_pressed(const void *context);

#endif
