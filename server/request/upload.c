// SPDX-License-Identifier: Apache-2.0
/* How it works. At the head a body is refused if it is too large or encoded, or if there is no
 * room now. Nothing is reserved yet, since a client may announce a body and send nothing. The
 * first bytes take a slot, and each byte counts against queue_bytes once it has come. A form is
 * read event by event (multipart_parser.h), and its fields become settings. Image bytes are copied
 * once, from the library's buffer into the slot. The bytes of a large body are received in the
 * slot itself, and a form is read there. */
#include "server/request/request.h"

#include "pipeline/param.h"
#include "pipeline/registry.h"
#include "server/header_token.h"
#include "server/request/capacity.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { UNKNOWN_LENGTH_GUESS = 1 << 20, IMAGE_ALIGN = 64 };

/* ---- at the head: whether there would be room */

/* A body larger than queue_bytes can never be accepted; after a 503 its client would retry
 * forever. */
static long largest_body(const struct request *request) {
    const long most = grant_limit(request->upload.bytes_max, request->grant.body_bytes_max);
    return grant_limit(most, request->service->config->queue_bytes);
}

static enum status too_large(const struct request *request, struct failure *failure) {
    const long most = largest_body(request);
    const bool held = most < request->upload.bytes_max;
    if (most == request->grant.body_bytes_max)
        return fail(
            failure, STATUS_BODY_TOO_LARGE,
            "the body is larger than %ld bytes, the most that the key or the address allows", most);
    if (held) metrics_reject(request->service->metrics, REJECTED_BYTES);
    return fail(failure, STATUS_BODY_TOO_LARGE,
                "the body is larger than %ld bytes; send a smaller one, or raise %s", most,
                held ? "queue_bytes" : "body_bytes_max");
}

static enum status open_form(struct request *request, const char *type, struct failure *failure) {
    const struct config *config = request->service->config;
    const struct multipart_limits limits = {
        .parts_max = (int)config_now(&config->parts_max),
        .part_headers_bytes = (size_t)config->part_headers_bytes,
    };
    request->upload.multipart = true;
    return multipart_init(&request->upload.parser, type, &limits, failure);
}

/* A client that announces more than there is room for is refused before it sends the body. Others
 * may still be refused later: neither bytes nor a slot are reserved. */
enum status upload_begin(struct request *request, const struct upload_head *head,
                         struct failure *failure) {
    struct service *service = request->service;
    char shown[PARAM_SHOWN_MAX];
    request->upload.length = head->length;
    if (head->length > largest_body(request)) return too_large(request, failure);
    if (head->length == 0)
        return fail(failure, STATUS_BAD_REQUEST,
                    "there is no body; send an image, for example with curl -F image=@photo.jpg");
    if (head->coding)
        return fail(failure, STATUS_NOT_AN_IMAGE,
                    "Content-Encoding is %s, but bodies are not decompressed here; send the image "
                    "without it",
                    param_shown(head->coding, shown));
    if (head->type && multipart_is(head->type) && open_form(request, head->type, failure))
        return failure->status;
    return capacity_check_body(service, head->length > 0 ? head->length : 0, failure);
}

/* ---- images, into the slot */

/* The place of the image's next byte. */
static uint8_t *next_byte(const struct request *request) {
    return slot_bytes(request->service->slots, request->slot) + request_job(request)->body_length;
}

static bool is_in_slot(const struct request *request, const uint8_t *bytes) {
    const uint8_t *start = slot_bytes(request->service->slots, request->slot);
    return bytes >= start && bytes < start + slot_span(request->service->slots);
}

/* Bytes of the form itself may lie after its images in the slot; their pages must be given back
 * with the slot. */
static void note_written(const struct request *request, const uint8_t *end) {
    struct job *job = request_job(request);
    const uint64_t written = (uint64_t)(end - slot_bytes(request->service->slots, request->slot));
    if (written > job->written_length) job->written_length = written;
}

/* The offset of the body's next image in the slot. */
static uint64_t next_offset(struct job *job) {
    job->body_length = (job->body_length + IMAGE_ALIGN - 1) / IMAGE_ALIGN * IMAGE_ALIGN;
    return job->body_length;
}

static enum status begin_image(struct request *request, struct failure *failure) {
    struct upload *upload = &request->upload;
    if (++upload->images > 1)
        return fail(failure, STATUS_BAD_REQUEST,
                    "the form has two image parts; send one part named image, file or media");
    struct job *job = request_job(request);
    job->image_offset = next_offset(job);
    upload->image_length = &job->image_length;
    return STATUS_OK;
}

static enum status begin_aux_image(struct request *request, const char *name,
                                   struct failure *failure) {
    struct upload *upload = &request->upload;
    for (int i = 0; i < upload->aux_count; i++)
        if (strcmp(upload->aux[i].name, name) == 0)
            return fail(failure, STATUS_BAD_REQUEST, "the form has two parts named %s; send one",
                        name);
    if (upload->aux_count == OP_AUX_MAX)
        return fail(failure, STATUS_BAD_REQUEST,
                    "the form has more than %d images besides the main one", OP_AUX_MAX);
    struct upload_aux *aux = &upload->aux[upload->aux_count++];
    *aux = (struct upload_aux){ .name = name, .offset = next_offset(request_job(request)) };
    upload->image_length = &aux->length;
    return STATUS_OK;
}

static enum status store_image(struct request *request, const uint8_t *bytes, size_t length,
                               struct failure *failure) {
    struct job *job = request_job(request);
    const uint64_t most = (uint64_t)request->upload.bytes_max + (1 + OP_AUX_MAX) * IMAGE_ALIGN;
    if (job->body_length + length > most)
        return fail(failure, STATUS_BODY_TOO_LARGE,
                    "the body is larger than %ld bytes (body_bytes_max)",
                    request->upload.bytes_max);
    if (request->upload.image_length == &job->image_length &&
        grant_hash(&request->grant, bytes, length, failure))
        return failure->status;
    uint8_t *place = next_byte(request);
    if (place != bytes) memmove(place, bytes, length); /* may overlap, after upload_buffer */
    job->body_length += length;
    *request->upload.image_length += length;
    return STATUS_OK;
}

/* ---- fields, into the settings */

/* JSON with a file name is all that a browser can send with that Content-Type. */
static bool is_json(const struct part *part) {
    static const char json[] = "application/json";
    const char *behind = part->content_type + sizeof json - 1;
    return strncasecmp(part->content_type, json, sizeof json - 1) == 0 && strchr("; \t", *behind);
}

static enum status begin_field(struct request *request, const struct part *part,
                               struct failure *failure) {
    struct upload *upload = &request->upload;
    if (strlen(part->name) >= FIELD_NAME_MAX)
        return fail(failure, STATUS_BAD_PARAM,
                    "the name of a form field is longer than %d characters", FIELD_NAME_MAX - 1);
    if (!token_is(part->name, strlen(part->name)))
        return fail(failure, STATUS_BAD_PARAM,
                    "the name of a form field must be a token, without blanks or quotes");
    if (part->has_filename && !(is_json(part) && settings_names_operators(part->name)))
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

static enum status end_field(struct request *request, struct failure *failure) {
    struct upload *upload = &request->upload;
    upload->value[upload->value_length] = 0;
    if (strlen(upload->value) != upload->value_length)
        return fail(failure, STATUS_BAD_PARAM, "field \"%s\" contains a zero byte", upload->field);
    if (grant_check_field(&request->grant, upload->field, upload->value, failure))
        return failure->status;
    if (settings_names_operators(upload->field)) request_hold_operators(request);
    return settings_set(&request->settings, upload->field, upload->value, failure);
}

/* ---- a form's parts */

static bool is_image_name(const char *name) {
    return strcmp(name, "image") == 0 || strcmp(name, "file") == 0 || strcmp(name, "media") == 0;
}

/* A part `overlay` that is text and no file has the name of one of the server's. */
static bool names_overlay(const struct request *request, const struct part *part) {
    const bool text = !part->content_type[0] || strncmp(part->content_type, "text/", 5) == 0;
    return text && !part->has_filename && strcmp(part->name, OVERLAY_PART) == 0 &&
           settings_is_shared(&request->settings, part->name);
}

static enum status begin_part(struct request *request, const struct part *part,
                              struct failure *failure) {
    if (is_image_name(part->name))
        return grant_check_part(&request->grant, "image", failure) ? failure->status
                                                                   : begin_image(request, failure);
    const bool field =
        settings_takes(&request->settings, part->name) || names_overlay(request, part);
    const char *aux = field ? NULL : registry_aux(part->name);
    if (aux && grant_check_part(&request->grant, aux, failure)) return failure->status;
    return aux ? begin_aux_image(request, aux, failure) : begin_field(request, part, failure);
}

/* A file without a name may be an unused input of a form, which has no bytes either and is ignored.
 * So such a part begins with its first byte, at the place of an image. */
static enum status begin_part_or_wait(struct request *request, const struct part *part,
                                      struct failure *failure) {
    struct upload *upload = &request->upload;
    upload->image_length = NULL;
    upload->unused = part->has_filename && !part->filename[0] ? part : NULL;
    if (!upload->unused) return begin_part(request, part, failure);
    next_offset(request_job(request));
    return STATUS_OK;
}

static enum status store(struct request *request, const struct multipart_event *event,
                         struct failure *failure) {
    struct upload *upload = &request->upload;
    const struct part *part = upload->unused;
    upload->unused = NULL;
    if (part && begin_part(request, part, failure)) return failure->status;
    return upload->image_length ? store_image(request, event->bytes, event->length, failure)
                                : store_field(upload, event->bytes, event->length, failure);
}

static enum status handle_event(struct request *request, const struct multipart_event *event,
                                struct failure *failure) {
    struct upload *upload = &request->upload;
    switch (event->kind) {
    case MULTIPART_PART_BEGIN: return begin_part_or_wait(request, event->part, failure);
    case MULTIPART_DATA: return store(request, event, failure);
    case MULTIPART_PART_END:
        return upload->image_length || upload->unused ? STATUS_OK : end_field(request, failure);
    default: return STATUS_OK;
    }
}

/* A further image may begin in bytes that were received in the slot, before its aligned place:
 * storing it there would overwrite bytes that are not read yet. So these move first, by less than
 * IMAGE_ALIGN. */
static void make_way(struct request *request, const uint8_t **bytes, const uint8_t **end) {
    uint8_t *place = next_byte(request);
    const size_t length = (size_t)(*end - *bytes);
    if (!is_in_slot(request, *bytes) || place <= *bytes) return;
    memmove(place, *bytes, length);
    *bytes = place;
    *end = place + length;
    note_written(request, *end);
}

static enum status read_form(struct request *request, const uint8_t *bytes, size_t length,
                             struct failure *failure) {
    const uint8_t *end = bytes + length;
    struct multipart_event event;
    enum status status;
    do {
        status = multipart_next(&request->upload.parser, &bytes, end, &event, failure);
        if (!status) status = handle_event(request, &event, failure);
        if (!status && event.kind == MULTIPART_PART_BEGIN) make_way(request, &bytes, &end);
    } while (!status && event.kind != MULTIPART_MORE);
    return status;
}

static enum status finish_form(struct request *request, struct failure *failure) {
    struct multipart_event event;
    enum status status = multipart_finish(&request->upload.parser, &event, failure);
    if (!status) status = handle_event(request, &event, failure);
    if (status || request->upload.images) return status;
    return fail(failure, STATUS_BAD_REQUEST,
                "the form has no image; send it in a part named image, file or media, for example "
                "with curl -F image=@photo.jpg");
}

/* ---- the bytes of the body, as they come */

static int64_t length_or_guess(const struct request *request) {
    return request->upload.length >= 0 ? request->upload.length : UNKNOWN_LENGTH_GUESS;
}

/* Counts the bytes that have come rather than those announced: otherwise a few clients that
 * announce much and send nothing would keep out all others. A slot's memory is allocated as bytes
 * are written, so this bounds it. */
static enum status hold(struct request *request, int64_t bytes, struct failure *failure) {
    const enum status status =
        capacity_hold_body(request->service, bytes, length_or_guess(request), failure);
    if (!status) request->upload.held += bytes;
    return status;
}

/* At the first bytes of the body, so that a client that announces one and sends nothing takes no
 * slot. An answer is rarely longer than its upload: twice that, and the slot need not grow. */
static enum status take_slot(struct request *request, struct failure *failure) {
    const size_t expected = 2 * (size_t)length_or_guess(request) + 65536;
    request->slot = capacity_take_slot(request->service, expected, &request->owner, failure);
    if (request->slot < 0) return failure->status;
    return request->upload.multipart ? STATUS_OK : begin_image(request, failure);
}

/* Only in the middle of an image: before the first bytes there is no slot. Leaves space for bytes
 * that the form's parser has kept back, should they turn out to be data. */
void *upload_buffer(struct request *request, size_t *size) {
    const struct upload *upload = &request->upload;
    size_t kept = 0;
    (void)size; /* a slot has addresses for the largest body, which the head was checked against */
    if (request->slot < 0 || !upload->image_length) return NULL;
    if (upload->multipart && !multipart_in_data(&upload->parser, &kept)) return NULL;
    return next_byte(request) + kept;
}

enum status upload_feed(struct request *request, const uint8_t *bytes, size_t length,
                        struct failure *failure) {
    struct upload *upload = &request->upload;
    upload->bytes += length;
    if (request->slot >= 0 && is_in_slot(request, bytes)) note_written(request, bytes + length);
    if (upload->bytes > (uint64_t)largest_body(request)) return too_large(request, failure);
    enum status status = hold(request, (int64_t)length, failure);
    if (!status && request->slot < 0) status = take_slot(request, failure);
    if (status) return status;
    return upload->multipart ? read_form(request, bytes, length, failure)
                             : store_image(request, bytes, length, failure);
}

/* ---- an overlay that the server keeps */

static enum status copy_overlay(struct request *request, const struct overlay *overlay,
                                struct failure *failure) {
    struct upload *upload = &request->upload;
    const long queue_bytes = request->service->config->queue_bytes;
    for (int i = 0; i < upload->aux_count; i++)
        if (strcmp(upload->aux[i].name, OVERLAY_PART) == 0)
            return fail(failure, STATUS_BAD_REQUEST,
                        "the request has a part overlay and names one of the server's: leave one "
                        "of them out");
    if (upload->bytes + overlay->length > (uint64_t)queue_bytes)
        return fail(failure, STATUS_BODY_TOO_LARGE,
                    "the body and its overlay are larger than %ld bytes; send a smaller one, or "
                    "raise queue_bytes",
                    queue_bytes);
    if (begin_aux_image(request, OVERLAY_PART, failure)) return failure->status;
    if (hold(request, (int64_t)overlay->length, failure)) return failure->status;
    memcpy(next_byte(request), overlay->bytes, overlay->length);
    request_job(request)->body_length += overlay->length;
    *upload->image_length = overlay->length;
    upload->aux[upload->aux_count - 1].kept = true;
    return STATUS_OK;
}

static enum status place_overlay(struct request *request, struct failure *failure) {
    if (!*request->settings.overlay) return STATUS_OK;
    struct overlays *overlays = current_hold(&request->service->overlays);
    const struct overlay *overlay = overlays_find(overlays, request->settings.overlay, failure);
    const enum status status = overlay ? copy_overlay(request, overlay, failure) : failure->status;
    overlays_release(overlays);
    return status;
}

enum status upload_finish(struct request *request, struct failure *failure) {
    enum status status = request->upload.multipart ? finish_form(request, failure) : STATUS_OK;
    if (status) return status;
    if (request->slot < 0 || request_job(request)->image_length == 0)
        return fail(failure, STATUS_BAD_REQUEST,
                    "the image is empty: it has no bytes; send a file that has some, for example "
                    "with curl -F image=@photo.jpg");
    status = grant_check_digest(&request->grant, failure);
    return status ? status : place_overlay(request, failure);
}

/* ---- the end */

void upload_release(struct request *request) {
    struct upload *upload = &request->upload;
    capacity_release_body(request->service, upload->held);
    upload->held = 0;
    free(upload->value);
    upload->value = NULL;
    if (request->slot >= 0) slot_give(request->service->slots, request->slot);
    request->slot = -1;
}
