// SPDX-License-Identifier: Apache-2.0
/* How it works. At the head the body is refused if it is too large, coded, or if there is no room
 * now; nothing is reserved, since a client may announce a body and send nothing. With the first
 * bytes a slot is taken, and each byte counts against queue_bytes from when it has come. A form is
 * read event by event (multipart.h), its fields become settings. Image bytes are copied once, from
 * the library's buffer into the slot; those of a large body are received in the slot, where they
 * belong, and a form is read there. */
#include "server/http/upload.h"

#include "pipeline/param.h"
#include "pipeline/registry.h"
#include "server/http/room.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { UNKNOWN_LENGTH_GUESS = 1 << 20, IMAGE_ALIGN = 64 };

/* ---- at the head: whether there would be room */

/* A body larger than queue_bytes can never be accepted: with a 503 its client would try for ever.
 */
static long largest_body(const struct config *config) {
    return config->body_bytes_max < config->queue_bytes ? config->body_bytes_max
                                                        : config->queue_bytes;
}

static enum status too_large(const struct front *front, struct failure *failure) {
    const long most = largest_body(front->config);
    const bool held = most < front->config->body_bytes_max;
    if (held) metrics_reject(front->metrics, REJECTED_BYTES);
    return fail(failure, STATUS_BODY_TOO_LARGE,
                "the body is larger than %ld bytes; send a smaller one, or raise %s", most,
                held ? "queue_bytes" : "body_bytes_max");
}

const char *upload_coding(const struct exchange *exchange) {
    struct header_lines lines;
    connection_header_lines(exchange->library, MHD_HTTP_HEADER_CONTENT_ENCODING, &lines);
    for (int i = 0; i < lines.count; i++)
        if (*lines.values[i] && strcasecmp(lines.values[i], "identity") != 0)
            return lines.values[i];
    return NULL;
}

static enum status check_coding(const struct exchange *exchange, struct failure *failure) {
    const char *coding = upload_coding(exchange);
    char shown[PARAM_SHOWN_MAX];
    if (!coding) return STATUS_OK;
    return fail(
        failure, STATUS_NOT_AN_IMAGE,
        "Content-Encoding is %s, but bodies are not decompressed here; send the image without it",
        param_shown(coding, shown));
}

/* A client that announces more than there is room for now learns it before it sends the body. It
 * may still be refused later: neither bytes nor a slot are reserved for it. */
static enum status check_room(const struct exchange *exchange, struct failure *failure) {
    return room_check_body(exchange->front, exchange->facts.length, failure);
}

static enum status open_form(struct exchange *exchange, const char *type, struct failure *failure) {
    const struct config *config = exchange->front->config;
    const struct multipart_limits limits = {
        .parts_max = (int)config->parts_max,
        .part_headers_bytes = (size_t)config->part_headers_bytes,
    };
    exchange->upload.multipart = true;
    return multipart_init(&exchange->upload.parser, type, &limits, failure);
}

enum status upload_begin(struct exchange *exchange, struct failure *failure) {
    const struct front *front = exchange->front;
    const struct request_facts *facts = &exchange->facts;
    if (facts->has_length && facts->length > largest_body(front->config))
        return too_large(front, failure);
    if (!facts->chunked && facts->length == 0)
        return fail(failure, STATUS_BAD_REQUEST,
                    "there is no body; send an image, for example with curl -F image=@photo.jpg");
    enum status status = check_coding(exchange, failure);
    const char *type = connection_header(exchange->library, MHD_HTTP_HEADER_CONTENT_TYPE);
    if (!status && type && multipart_is(type)) status = open_form(exchange, type, failure);
    return status ? status : check_room(exchange, failure);
}

/* ---- images, into the slot */

/* Where the next byte of an image is stored. */
static uint8_t *store_place(const struct exchange *exchange) {
    return slot_bytes(exchange->front->slots, exchange->slot) + exchange_job(exchange)->body_length;
}

static bool is_in_slot(const struct exchange *exchange, const uint8_t *bytes) {
    const uint8_t *start = slot_bytes(exchange->front->slots, exchange->slot);
    return bytes >= start && bytes < start + slot_span(exchange->front->slots);
}

/* Of bytes that were received in the slot some are the form's own, and lie behind its images: their
 * pages are the slot's to give back, too. */
static void note_written(const struct exchange *exchange, const uint8_t *end) {
    struct job *job = exchange_job(exchange);
    const uint64_t written = (uint64_t)(end - slot_bytes(exchange->front->slots, exchange->slot));
    if (written > job->written_length) job->written_length = written;
}

/* Where the next image of the body begins in the slot. */
static uint64_t next_offset(struct job *job) {
    job->body_length = (job->body_length + IMAGE_ALIGN - 1) / IMAGE_ALIGN * IMAGE_ALIGN;
    return job->body_length;
}

static enum status begin_image(struct exchange *exchange, struct failure *failure) {
    struct upload *upload = &exchange->upload;
    if (++upload->images > 1)
        return fail(failure, STATUS_BAD_REQUEST,
                    "the form has two image parts; send one part named image, file or media");
    struct job *job = exchange_job(exchange);
    job->image_offset = next_offset(job);
    upload->image_length = &job->image_length;
    return STATUS_OK;
}

static enum status begin_aux_image(struct exchange *exchange, const char *name,
                                   struct failure *failure) {
    struct upload *upload = &exchange->upload;
    for (int i = 0; i < upload->aux_count; i++)
        if (strcmp(upload->aux[i].name, name) == 0)
            return fail(failure, STATUS_BAD_REQUEST, "the form has two parts named %s; send one",
                        name);
    if (upload->aux_count == OP_AUX_MAX)
        return fail(failure, STATUS_BAD_REQUEST,
                    "the form has more than %d images besides the main one", OP_AUX_MAX);
    struct upload_aux *aux = &upload->aux[upload->aux_count++];
    *aux = (struct upload_aux){ .name = name, .offset = next_offset(exchange_job(exchange)) };
    upload->image_length = &aux->length;
    return STATUS_OK;
}

static enum status store_image(struct exchange *exchange, const uint8_t *bytes, size_t length,
                               struct failure *failure) {
    struct job *job = exchange_job(exchange);
    if (job->body_length + length >
        (uint64_t)exchange->front->config->body_bytes_max + (1 + OP_AUX_MAX) * IMAGE_ALIGN)
        return fail(failure, STATUS_BODY_TOO_LARGE,
                    "the body is larger than %ld bytes (body_bytes_max)",
                    exchange->front->config->body_bytes_max);
    uint8_t *place = store_place(exchange);
    if (place != bytes) memmove(place, bytes, length); /* they may overlap: see upload_place */
    job->body_length += length;
    *exchange->upload.image_length += length;
    return STATUS_OK;
}

/* ---- fields, into the settings */

static enum status begin_field(struct exchange *exchange, const struct part *part,
                               struct failure *failure) {
    struct upload *upload = &exchange->upload;
    if (strlen(part->name) >= FIELD_NAME_MAX)
        return fail(failure, STATUS_BAD_PARAM,
                    "the name of a form field is longer than %d characters", FIELD_NAME_MAX - 1);
    if (!request_check_is_token(part->name, strlen(part->name)))
        return fail(failure, STATUS_BAD_PARAM,
                    "the name of a form field must be a token, without blanks or quotes");
    if (part->has_filename)
        return fail(failure, STATUS_BAD_REQUEST,
                    "part \"%s\" is a file; the image goes in a part named image, file or media",
                    part->name);
    strcpy(upload->field, part->name);
    upload->value_length = 0;
    if (!upload->value) upload->value = malloc(FIELD_VALUE_MAX + 1);
    return upload->value ? STATUS_OK
                         : fail(failure, STATUS_NO_MEMORY, "there is no memory for a form field");
}

static enum status store_field(struct upload *upload, const uint8_t *bytes, size_t length,
                               struct failure *failure) {
    if (upload->value_length + length > FIELD_VALUE_MAX)
        return fail(failure, STATUS_BAD_PARAM, "field \"%s\" is longer than %d bytes",
                    upload->field, FIELD_VALUE_MAX);
    memcpy(upload->value + upload->value_length, bytes, length);
    upload->value_length += length;
    return STATUS_OK;
}

static enum status end_field(struct exchange *exchange, struct failure *failure) {
    struct upload *upload = &exchange->upload;
    upload->value[upload->value_length] = 0;
    if (strlen(upload->value) != upload->value_length)
        return fail(failure, STATUS_BAD_PARAM, "field \"%s\" contains a zero byte", upload->field);
    if (settings_names_operators(upload->field)) exchange_hold_generation(exchange);
    return settings_set(&exchange->settings, upload->field, upload->value, failure);
}

/* ---- a form's parts */

static bool is_image_name(const char *name) {
    return strcmp(name, "image") == 0 || strcmp(name, "file") == 0 || strcmp(name, "media") == 0;
}

static enum status begin_part(struct exchange *exchange, const struct part *part,
                              struct failure *failure) {
    if (is_image_name(part->name)) return begin_image(exchange, failure);
    const bool field = settings_takes(&exchange->settings, part->name);
    const char *aux = field ? NULL : registry_aux(part->name);
    return aux ? begin_aux_image(exchange, aux, failure) : begin_field(exchange, part, failure);
}

/* A file without a name may be an input of a form that nobody used, which has no bytes either: then
 * it is as if it were not there. So it begins with its first byte, where an image would. */
static enum status begin_part_or_wait(struct exchange *exchange, const struct part *part,
                                      struct failure *failure) {
    struct upload *upload = &exchange->upload;
    upload->image_length = NULL;
    upload->unused = part->has_filename && !part->filename[0] ? part : NULL;
    if (!upload->unused) return begin_part(exchange, part, failure);
    next_offset(exchange_job(exchange));
    return STATUS_OK;
}

static enum status store(struct exchange *exchange, const struct multipart_event *event,
                         struct failure *failure) {
    struct upload *upload = &exchange->upload;
    const struct part *part = upload->unused;
    upload->unused = NULL;
    if (part && begin_part(exchange, part, failure)) return failure->status;
    return upload->image_length ? store_image(exchange, event->bytes, event->length, failure)
                                : store_field(upload, event->bytes, event->length, failure);
}

static enum status handle_event(struct exchange *exchange, const struct multipart_event *event,
                                struct failure *failure) {
    struct upload *upload = &exchange->upload;
    switch (event->kind) {
    case MULTIPART_PART_BEGIN: return begin_part_or_wait(exchange, event->part, failure);
    case MULTIPART_DATA: return store(exchange, event, failure);
    case MULTIPART_PART_END:
        return upload->image_length || upload->unused ? STATUS_OK : end_field(exchange, failure);
    default: return STATUS_OK;
    }
}

/* A further image begins in bytes that were received in the slot, and its place lies behind its
 * first byte: storing it there would overwrite what is not read yet. So that moves first, by less
 * than IMAGE_ALIGN. */
static void make_way(struct exchange *exchange, const uint8_t **bytes, const uint8_t **end) {
    uint8_t *place = store_place(exchange);
    const size_t length = (size_t)(*end - *bytes);
    if (!is_in_slot(exchange, *bytes) || place <= *bytes) return;
    memmove(place, *bytes, length);
    *bytes = place;
    *end = place + length;
    note_written(exchange, *end);
}

static enum status read_form(struct exchange *exchange, const uint8_t *bytes, size_t length,
                             struct failure *failure) {
    const uint8_t *end = bytes + length;
    struct multipart_event event;
    enum status status;
    do {
        status = multipart_next(&exchange->upload.parser, &bytes, end, &event, failure);
        if (!status) status = handle_event(exchange, &event, failure);
        if (!status && event.kind == MULTIPART_PART_BEGIN) make_way(exchange, &bytes, &end);
    } while (!status && event.kind != MULTIPART_MORE);
    return status;
}

static enum status finish_form(struct exchange *exchange, struct failure *failure) {
    struct multipart_event event;
    enum status status = multipart_finish(&exchange->upload.parser, &event, failure);
    if (!status) status = handle_event(exchange, &event, failure);
    if (status || exchange->upload.images) return status;
    return fail(failure, STATUS_BAD_REQUEST,
                "the form has no image; send it in a part named image, file or media, for example "
                "with curl -F image=@photo.jpg");
}

/* ---- the bytes of the body, as they come */

static int64_t length_or_guess(const struct exchange *exchange) {
    return exchange->facts.has_length ? exchange->facts.length : UNKNOWN_LENGTH_GUESS;
}

/* What has come counts, not what is announced: else a few clients that announce much and send
 * nothing would keep out all others. A slot's memory is allocated as bytes are written, so this
 * bounds it. */
static enum status hold(struct exchange *exchange, int64_t bytes, struct failure *failure) {
    const enum status status =
        room_hold_body(exchange->front, bytes, length_or_guess(exchange), failure);
    if (!status) exchange->upload.held += bytes;
    return status;
}

/* At the first bytes of the body: a client that announces one and sends nothing occupies no slot.
 * An answer is mostly no longer than its upload: twice that, and the slot need not grow. */
static enum status take_slot(struct exchange *exchange, struct failure *failure) {
    const size_t expected = 2 * (size_t)length_or_guess(exchange) + 65536;
    exchange->slot = room_take_slot(exchange->front, expected, exchange, failure);
    if (exchange->slot < 0) return failure->status;
    return exchange->upload.multipart ? STATUS_OK : begin_image(exchange, failure);
}

/* In the middle of an image, and behind what the form's parser has kept back of it: if that turns
 * out to be data, it fits in between. A client that announces a body and sends nothing has no slot,
 * so there is no place before the first bytes. */
void *upload_place(struct exchange *exchange, size_t *room) {
    const struct upload *upload = &exchange->upload;
    size_t kept = 0;
    (void)room; /* a slot has addresses for the largest body, and the head was checked against it */
    if (exchange->slot < 0 || !upload->image_length) return NULL;
    if (upload->multipart && !multipart_in_data(&upload->parser, &kept)) return NULL;
    return store_place(exchange) + kept;
}

enum status upload_feed(struct exchange *exchange, const uint8_t *bytes, size_t length,
                        struct failure *failure) {
    struct upload *upload = &exchange->upload;
    upload->bytes += length;
    if (exchange->slot >= 0 && is_in_slot(exchange, bytes)) note_written(exchange, bytes + length);
    if (upload->bytes > (uint64_t)largest_body(exchange->front->config))
        return too_large(exchange->front, failure);
    enum status status = hold(exchange, (int64_t)length, failure);
    if (!status && exchange->slot < 0) status = take_slot(exchange, failure);
    if (status) return status;
    return upload->multipart ? read_form(exchange, bytes, length, failure)
                             : store_image(exchange, bytes, length, failure);
}

enum status upload_finish(struct exchange *exchange, struct failure *failure) {
    enum status status = exchange->upload.multipart ? finish_form(exchange, failure) : STATUS_OK;
    if (status) return status;
    if (exchange->slot < 0 || exchange_job(exchange)->image_length == 0)
        return fail(failure, STATUS_BAD_REQUEST,
                    "the image is empty: it has no bytes; send a file that has some, for example "
                    "with curl -F image=@photo.jpg");
    return STATUS_OK;
}

/* ---- the end */

void upload_release(struct exchange *exchange) {
    struct upload *upload = &exchange->upload;
    room_release_body(exchange->front, upload->held);
    upload->held = 0;
    free(upload->value);
    upload->value = NULL;
    if (exchange->slot >= 0) slot_give(exchange->front->slots, exchange->slot);
    exchange->slot = -1;
}
