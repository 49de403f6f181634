// SPDX-License-Identifier: Apache-2.0
/* upload.h - the source of a request's images: a body that comes in pieces, raw or as a form, and
 * becomes images in a slot.
 *
 * Fields of the form become settings. Image bytes are copied once at most. What is refused for lack
 * of room is counted in metrics.
 *
 * Used by:  http/request_flow.c, in the order of these functions; request.c releases it.
 * Owns:     the request's slot and its share of queue_bytes, until upload_release.
 * Fails:    STATUS_BODY_TOO_LARGE, STATUS_BUSY (no slot, or too many bytes held),
 *           STATUS_BAD_REQUEST (no image, two images, broken form), STATUS_BAD_PARAM (a field),
 *           STATUS_NOT_AN_IMAGE (a body that is compressed).
 * Threads:  the request's.
 * Limits:   body_bytes_max, queue_bytes, parts_max; FIELD_NAME_MAX and FIELD_VALUE_MAX.
 */
#ifndef BURIN_UPLOAD_H
#define BURIN_UPLOAD_H

#include "pipeline/op.h"
#include "server/request/multipart.h"

enum { FIELD_NAME_MAX = 64, FIELD_VALUE_MAX = 16384 };

struct request;

/* What is known before the first byte. */
struct upload_head {
    int64_t length;     /* bytes of the body; -1: not known */
    const char *type;   /* the media type; NULL: none is given */
    const char *coding; /* the content coding that compresses the body; NULL: none */
};

/* A further image of the form: its bytes in the slot, and the part's name. */
struct upload_aux {
    const char *name; /* a literal of an operator's record */
    uint64_t offset, length;
};

struct upload {
    bool multipart;
    struct multipart parser;
    uint64_t bytes; /* of the body, so far */
    int64_t length; /* of the whole body; -1: not known */
    int64_t held;   /* our share of service.body_bytes_held */
    int images;     /* image parts seen */
    int aux_count;
    struct upload_aux aux[OP_AUX_MAX];
    uint64_t *image_length;    /* the part under way is an image: counts its bytes; else NULL */
    const struct part *unused; /* the part under way, so far: see upload.c; NULL: it is used */
    char field[FIELD_NAME_MAX];
    char *value; /* of the field under way; heap, FIELD_VALUE_MAX + 1 bytes, allocated at the first
                    field */
    size_t value_length;
};

/* Holds nothing yet. TYPE and CODING are not kept. */
enum status upload_begin(struct request *request, const struct upload_head *head,
                         struct failure *failure);

/* The place to receive the next bytes of the body in, so that upload_feed need not copy them: up to
 * *ROOM. NULL: nowhere yet; receive them elsewhere. */
void *upload_place(struct request *request, size_t *room);

/* The first call takes the slot. BYTES may lie at the place that upload_place returned. */
enum status upload_feed(struct request *request, const uint8_t *bytes, size_t length,
                        struct failure *failure);

/* After the last byte: the place of the image stands in the job. */
enum status upload_finish(struct request *request, struct failure *failure);

/* Gives back the bytes held and then the slot, unless a result has it; any number of times. In this
 * order a client that finds a slot free finds room for a body, too. */
void upload_release(struct request *request);

#endif
