// SPDX-License-Identifier: Apache-2.0
/* upload.h - the source of a request's images: a body that comes in pieces, an image or a form, and
 * becomes images in a slot.
 *
 * Fields of the form become settings. If they name an overlay of the server's, it is copied behind
 * the images. Image bytes are copied at most once. Metrics count bodies that are refused for lack
 * of room.
 *
 * Used by:  http/request_flow.c, in the order of these functions; submit.c releases it.
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
#include "server/request/multipart_parser.h"

enum { FIELD_NAME_MAX = 64, FIELD_VALUE_MAX = 16384 };

struct request;

/* Known before the first byte. */
struct upload_head {
    int64_t length;     /* bytes of the body; -1: unknown */
    const char *type;   /* the media type; NULL: none */
    const char *coding; /* the content coding that compresses the body; NULL: none */
};

/* A further image of the form, in the slot. */
struct upload_aux {
    const char *name; /* the part's; a literal of an operator's record */
    uint64_t offset, length;
    bool kept; /* the server's own, not the client's */
};

struct upload {
    bool multipart;
    struct multipart parser;
    uint64_t bytes; /* of the body, so far */
    int64_t length; /* of the whole body; -1: unknown */
    long bytes_max; /* body_bytes_max when the request began: a reload may change the key */
    int64_t held;   /* its share of service.body_bytes_held */
    int images;     /* main image parts so far */
    int aux_count;
    struct upload_aux aux[OP_AUX_MAX];
    uint64_t *image_length;    /* counts the bytes of the present image part; NULL: a field */
    const struct part *unused; /* the present part, while it may be an empty input; else NULL */
    char field[FIELD_NAME_MAX];
    char *value; /* of the present field; heap, FIELD_VALUE_MAX + 1 bytes, allocated at the first
                    field */
    size_t value_length;
};

/* Reserves nothing. Does not keep TYPE and CODING. */
enum status upload_begin(struct request *request, const struct upload_head *head,
                         struct failure *failure);

/* The buffer for the next *SIZE bytes of the body, so that upload_feed need not copy them. NULL:
 * receive them elsewhere. */
void *upload_buffer(struct request *request, size_t *size);

/* The first call takes the slot. BYTES may be in the buffer that upload_buffer returned. */
enum status upload_feed(struct request *request, const uint8_t *bytes, size_t length,
                        struct failure *failure);

/* After the last byte: the job knows where its images are. */
enum status upload_finish(struct request *request, struct failure *failure);

/* Gives back the bytes held and then the slot, unless a result has it; any number of times. In this
 * order, a client that finds a free slot also finds room for its body. */
void upload_release(struct request *request);

#endif
