// SPDX-License-Identifier: Apache-2.0
#include "server/http/upload.h"

#include <stdlib.h>
#include <string.h>

enum { UNKNOWN_LENGTH_GUESS = 1 << 20, IMAGE_ALIGN = 64 };

static bool is_image_name(const char *name) {
    return strcmp(name, "image") == 0 || strcmp(name, "file") == 0 || strcmp(name, "media") == 0;
}

/* ---- bytes held by all requests together */

static enum status hold(struct exchange *exchange, int64_t bytes, struct failure *failure) {
    struct front *front = exchange->front;
    const int64_t now = __atomic_add_fetch(&front->body_bytes_held, bytes, __ATOMIC_RELAXED);
    exchange->upload.held += bytes;
    if (now <= front->config->queue_bytes) return STATUS_OK;
    metrics_reject(front->metrics, REJECTED_BYTES);
    return fail(failure, STATUS_BUSY,
                "uploads hold %ld bytes already (queue_bytes is %ld); try again later",
                (long)(now - bytes), front->config->queue_bytes);
}

void upload_release(struct exchange *exchange) {
    struct upload *upload = &exchange->upload;
    __atomic_sub_fetch(&exchange->front->body_bytes_held, upload->held, __ATOMIC_RELAXED);
    upload->held = 0;
    free(upload->value);
    upload->value = NULL;
}

/* ---- the image */

static enum status image_starts(struct exchange *exchange, struct failure *failure) {
    struct upload *upload = &exchange->upload;
    if (++upload->images > 1)
        return fail(failure, STATUS_BAD_REQUEST,
                    "the form has two image parts; send one part named image, file or media");
    struct job *job = exchange_job(exchange);
    job->image_offset = (job->body_length + IMAGE_ALIGN - 1) / IMAGE_ALIGN * IMAGE_ALIGN;
    job->body_length = job->image_offset;
    upload->in_image = true;
    return STATUS_OK;
}

static enum status image_bytes_come(struct exchange *exchange, const uint8_t *bytes, size_t length,
                                    struct failure *failure) {
    struct job *job = exchange_job(exchange);
    if (job->body_length + length > (uint64_t)exchange->front->config->body_bytes_max + IMAGE_ALIGN)
        return fail(failure, STATUS_BODY_TOO_LARGE, "the body is over %ld bytes (body_bytes_max)",
                    exchange->front->config->body_bytes_max);
    memcpy(slot_bytes(exchange->front->slots, exchange->slot) + job->body_length, bytes, length);
    job->body_length += length;
    job->image_length += length;
    return STATUS_OK;
}

/* ---- a form's parts */

static enum status field_starts(struct exchange *exchange, const struct part *part,
                                struct failure *failure) {
    struct upload *upload = &exchange->upload;
    if (strlen(part->name) >= FIELD_NAME_MAX)
        return fail(failure, STATUS_BAD_PARAM, "a field's name is over %d characters long",
                    FIELD_NAME_MAX - 1);
    if (!gate_token(part->name, strlen(part->name)))
        return fail(failure, STATUS_BAD_PARAM,
                    "a field's name holds blanks or other odd characters");
    if (part->has_filename)
        return fail(failure, STATUS_BAD_REQUEST,
                    "part \"%s\" is a file; the image goes in a part named image, file or media",
                    part->name);
    strcpy(upload->field, part->name);
    upload->value_length = 0;
    if (!upload->value) upload->value = malloc(FIELD_VALUE_MAX + 1);
    return upload->value ? STATUS_OK
                         : fail(failure, STATUS_NO_MEMORY, "no memory for a form's field");
}

static enum status part_begin(void *context, const struct part *part, struct failure *failure) {
    struct exchange *exchange = context;
    exchange->upload.in_image = false;
    return is_image_name(part->name) ? image_starts(exchange, failure)
                                     : field_starts(exchange, part, failure);
}

static enum status part_data(void *context, const uint8_t *bytes, size_t length,
                             struct failure *failure) {
    struct exchange *exchange = context;
    struct upload *upload = &exchange->upload;
    if (upload->in_image) return image_bytes_come(exchange, bytes, length, failure);
    if (upload->value_length + length > FIELD_VALUE_MAX)
        return fail(failure, STATUS_BAD_PARAM, "field \"%s\" is over %d bytes long", upload->field,
                    FIELD_VALUE_MAX);
    memcpy(upload->value + upload->value_length, bytes, length);
    upload->value_length += length;
    return STATUS_OK;
}

static enum status part_end(void *context, struct failure *failure) {
    struct exchange *exchange = context;
    struct upload *upload = &exchange->upload;
    if (upload->in_image) return STATUS_OK;
    upload->value[upload->value_length] = 0;
    if (strlen(upload->value) != upload->value_length)
        return fail(failure, STATUS_BAD_PARAM, "field \"%s\" holds a zero byte", upload->field);
    return settings_set(&exchange->settings, upload->field, upload->value, failure);
}

/* ---- the body as a whole */

static enum status too_large(const struct front *front, struct failure *failure) {
    return fail(failure, STATUS_BODY_TOO_LARGE,
                "the body is over %ld bytes; send a smaller one, or raise body_bytes_max",
                front->config->body_bytes_max);
}

static enum status take_slot(struct exchange *exchange, struct failure *failure) {
    const size_t length =
        exchange->facts.has_length ? (size_t)exchange->facts.length : UNKNOWN_LENGTH_GUESS;
    /* An answer is mostly no longer than its upload: twice that, and the slot need not grow. */
    exchange->slot = slot_take(exchange->front->slots, 2 * length + 65536, exchange);
    if (exchange->slot >= 0) return STATUS_OK;
    metrics_reject(exchange->front->metrics, REJECTED_SLOTS);
    return fail(failure, STATUS_BUSY, "%d requests are under way already; try again later",
                slots_count(exchange->front->slots));
}

static enum status open_form(struct exchange *exchange, const char *type, struct failure *failure) {
    const struct config *config = exchange->front->config;
    const struct multipart_limits limits = {
        .parts_max = (int)config->parts_max,
        .part_headers_bytes = (size_t)config->part_headers_bytes,
    };
    const struct multipart_sink sink = {
        .context = exchange,
        .part_begin = part_begin,
        .part_data = part_data,
        .part_end = part_end,
    };
    exchange->upload.multipart = true;
    return multipart_init(&exchange->upload.parser, type, &limits, &sink, failure);
}

enum status upload_begin(struct exchange *exchange, struct failure *failure) {
    const struct front *front = exchange->front;
    const struct gate_facts *facts = &exchange->facts;
    if (facts->has_length && facts->length > front->config->body_bytes_max)
        return too_large(front, failure);
    if (!facts->chunked && facts->length == 0)
        return fail(failure, STATUS_BAD_REQUEST,
                    "there is no body; send an image, for example with curl -F image=@photo.jpg");
    enum status status = STATUS_OK;
    const char *type = exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_TYPE);
    if (type && multipart_is(type)) status = open_form(exchange, type, failure);
    if (!status) status = hold(exchange, facts->length, failure);
    if (!status) status = take_slot(exchange, failure);
    if (!status && !exchange->upload.multipart) status = image_starts(exchange, failure);
    return status;
}

enum status upload_feed(struct exchange *exchange, const uint8_t *bytes, size_t length,
                        struct failure *failure) {
    struct upload *upload = &exchange->upload;
    upload->bytes += length;
    if (upload->bytes > (uint64_t)exchange->front->config->body_bytes_max)
        return too_large(exchange->front, failure);
    enum status status = STATUS_OK;
    if (!exchange->facts.has_length) status = hold(exchange, (int64_t)length, failure);
    if (status) return status;
    return upload->multipart ? multipart_feed(&upload->parser, bytes, length, failure)
                             : image_bytes_come(exchange, bytes, length, failure);
}

enum status upload_finish(struct exchange *exchange, struct failure *failure) {
    struct upload *upload = &exchange->upload;
    if (upload->multipart) {
        const enum status status = multipart_finish(&upload->parser, failure);
        if (status) return status;
    }
    if (upload->images == 0)
        return fail(failure, STATUS_BAD_REQUEST,
                    "the form has no image; send it in a part named image, file or media, for "
                    "example with curl -F image=@photo.jpg");
    if (exchange_job(exchange)->image_length == 0)
        return fail(failure, STATUS_BAD_REQUEST, "the image is empty: no byte of it came");
    return STATUS_OK;
}
