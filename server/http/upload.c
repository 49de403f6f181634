// SPDX-License-Identifier: Apache-2.0
#include "server/http/upload.h"

#include "pipeline/param.h"
#include "pipeline/registry.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { UNKNOWN_LENGTH_GUESS = 1 << 20, IMAGE_ALIGN = 64 };

static bool is_image_name(const char *name) {
    return strcmp(name, "image") == 0 || strcmp(name, "file") == 0 || strcmp(name, "media") == 0;
}

/* ---- bytes held by all requests together */

static enum status no_room(struct front *front, int64_t held, struct failure *failure) {
    metrics_reject(front->metrics, REJECTED_BYTES);
    return fail(failure, STATUS_BUSY,
                "uploads hold %ld bytes already (queue_bytes is %ld); try again later", (long)held,
                front->config->queue_bytes);
}

/* What has come, and not what is announced: else a few who announce much and send nothing keep out
 * all others. A slot's memory is had as bytes are written, so this bounds it. */
static enum status hold(struct exchange *exchange, int64_t bytes, struct failure *failure) {
    struct front *front = exchange->front;
    int64_t now = __atomic_load_n(&front->body_bytes_held, __ATOMIC_RELAXED);
    /* Never counted in part: one that is refused must not make another be refused. */
    while (now + bytes <= front->config->queue_bytes)
        if (__atomic_compare_exchange_n(&front->body_bytes_held, &now, now + bytes, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            exchange->upload.held += bytes;
            return STATUS_OK;
        }
    return no_room(front, now, failure);
}

void upload_release(struct exchange *exchange) {
    struct upload *upload = &exchange->upload;
    __atomic_sub_fetch(&exchange->front->body_bytes_held, upload->held, __ATOMIC_RELAXED);
    upload->held = 0;
    free(upload->value);
    upload->value = NULL;
}

/* ---- the image */

/* Where the next image of the body begins in the slot. */
static uint64_t next_offset(struct job *job) {
    job->body_length = (job->body_length + IMAGE_ALIGN - 1) / IMAGE_ALIGN * IMAGE_ALIGN;
    return job->body_length;
}

static enum status image_starts(struct exchange *exchange, struct failure *failure) {
    struct upload *upload = &exchange->upload;
    if (++upload->images > 1)
        return fail(failure, STATUS_BAD_REQUEST,
                    "the form has two image parts; send one part named image, file or media");
    struct job *job = exchange_job(exchange);
    job->image_offset = next_offset(job);
    upload->image_length = &job->image_length;
    return STATUS_OK;
}

static enum status further_image_starts(struct exchange *exchange, const char *name,
                                        struct failure *failure) {
    struct upload *upload = &exchange->upload;
    for (int i = 0; i < upload->part_count; i++)
        if (strcmp(upload->parts[i].name, name) == 0)
            return fail(failure, STATUS_BAD_REQUEST, "the form has two parts named %s; send one",
                        name);
    if (upload->part_count == OP_AUX_MAX)
        return fail(failure, STATUS_BAD_REQUEST, "the form has more than %d images beside the one",
                    OP_AUX_MAX);
    struct upload_part *part = &upload->parts[upload->part_count++];
    *part = (struct upload_part){ .name = name, .offset = next_offset(exchange_job(exchange)) };
    upload->image_length = &part->length;
    return STATUS_OK;
}

static enum status image_bytes_come(struct exchange *exchange, const uint8_t *bytes, size_t length,
                                    struct failure *failure) {
    struct job *job = exchange_job(exchange);
    if (job->body_length + length >
        (uint64_t)exchange->front->config->body_bytes_max + (1 + OP_AUX_MAX) * IMAGE_ALIGN)
        return fail(failure, STATUS_BODY_TOO_LARGE, "the body is over %ld bytes (body_bytes_max)",
                    exchange->front->config->body_bytes_max);
    memcpy(slot_bytes(exchange->front->slots, exchange->slot) + job->body_length, bytes, length);
    job->body_length += length;
    *exchange->upload.image_length += length;
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
    exchange->upload.image_length = NULL;
    if (is_image_name(part->name)) return image_starts(exchange, failure);
    const char *further = registry_aux(part->name);
    return further ? further_image_starts(exchange, further, failure)
                   : field_starts(exchange, part, failure);
}

static enum status part_data(void *context, const uint8_t *bytes, size_t length,
                             struct failure *failure) {
    struct exchange *exchange = context;
    struct upload *upload = &exchange->upload;
    if (upload->image_length) return image_bytes_come(exchange, bytes, length, failure);
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
    if (upload->image_length) return STATUS_OK;
    upload->value[upload->value_length] = 0;
    if (strlen(upload->value) != upload->value_length)
        return fail(failure, STATUS_BAD_PARAM, "field \"%s\" holds a zero byte", upload->field);
    return settings_set(&exchange->settings, upload->field, upload->value, failure);
}

/* ---- the body as a whole */

/* One that all bodies together may not hold would be told to try again for ever. */
static long largest_body(const struct config *config) {
    return config->body_bytes_max < config->queue_bytes ? config->body_bytes_max
                                                        : config->queue_bytes;
}

static enum status too_large(const struct front *front, struct failure *failure) {
    const long most = largest_body(front->config);
    const bool held = most < front->config->body_bytes_max;
    if (held) metrics_reject(front->metrics, REJECTED_BYTES);
    return fail(failure, STATUS_BODY_TOO_LARGE,
                "the body is over %ld bytes; send a smaller one, or raise %s", most,
                held ? "queue_bytes" : "body_bytes_max");
}

static void take_coding(void *context, const char *value) {
    const char **coding = context;
    if (!*coding && *value && strcasecmp(value, "identity") != 0) *coding = value;
}

const char *upload_coding(const struct exchange *exchange) {
    const char *coding = NULL;
    exchange_lines(exchange, MHD_HTTP_HEADER_CONTENT_ENCODING, take_coding, &coding);
    return coding;
}

static enum status judge_coding(const struct exchange *exchange, struct failure *failure) {
    const char *coding = upload_coding(exchange);
    char shown[PARAM_SHOWN_MAX];
    if (!coding) return STATUS_OK;
    return fail(failure, STATUS_NOT_AN_IMAGE,
                "Content-Encoding is %s, and no body is unpacked here; send the image without it",
                param_shown(coding, shown));
}

static enum status no_slot(const struct exchange *exchange, struct failure *failure) {
    metrics_reject(exchange->front->metrics, REJECTED_SLOTS);
    return fail(failure, STATUS_BUSY, "%d requests are under way already; try again later",
                slots_count(exchange->front->slots));
}

bool upload_pressed(const void *context) {
    return front_full(context);
}

/* At the first bytes of the body: who announces one and sends nothing keeps nobody out. */
static enum status take_slot(struct exchange *exchange, struct failure *failure) {
    const struct front *front = exchange->front;
    const size_t length =
        exchange->facts.has_length ? (size_t)exchange->facts.length : UNKNOWN_LENGTH_GUESS;
    /* An answer is mostly no longer than its upload: twice that, and the slot need not grow. */
    exchange->slot = slot_take(front->slots, 2 * length + 65536, exchange);
    if (front_full(front)) watch_press(front->watch);
    if (exchange->slot < 0) return no_slot(exchange, failure);
    return exchange->upload.multipart ? STATUS_OK : image_starts(exchange, failure);
}

/* One who announces more than there is room for now hears it before the body is sent. It may still
 * be refused later: neither bytes nor a slot are kept for it. */
static enum status foresee(const struct exchange *exchange, struct failure *failure) {
    struct front *front = exchange->front;
    const int64_t now = __atomic_load_n(&front->body_bytes_held, __ATOMIC_RELAXED);
    if (now + exchange->facts.length > front->config->queue_bytes)
        return no_room(front, now, failure);
    return front_full(front) ? no_slot(exchange, failure) : STATUS_OK;
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
    if (facts->has_length && facts->length > largest_body(front->config))
        return too_large(front, failure);
    if (!facts->chunked && facts->length == 0)
        return fail(failure, STATUS_BAD_REQUEST,
                    "there is no body; send an image, for example with curl -F image=@photo.jpg");
    enum status status = judge_coding(exchange, failure);
    const char *type = exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_TYPE);
    if (!status && type && multipart_is(type)) status = open_form(exchange, type, failure);
    return status ? status : foresee(exchange, failure);
}

enum status upload_feed(struct exchange *exchange, const uint8_t *bytes, size_t length,
                        struct failure *failure) {
    struct upload *upload = &exchange->upload;
    upload->bytes += length;
    if (upload->bytes > (uint64_t)largest_body(exchange->front->config))
        return too_large(exchange->front, failure);
    enum status status = hold(exchange, (int64_t)length, failure);
    if (!status && exchange->slot < 0) status = take_slot(exchange, failure);
    if (status) return status;
    return upload->multipart ? multipart_feed(&upload->parser, bytes, length, failure)
                             : image_bytes_come(exchange, bytes, length, failure);
}

enum status upload_finish(struct exchange *exchange, struct failure *failure) {
    struct upload *upload = &exchange->upload;
    if (upload->multipart) {
        const enum status status = multipart_finish(&upload->parser, failure);
        if (status) return status;
        if (upload->images == 0)
            return fail(failure, STATUS_BAD_REQUEST,
                        "the form has no image; send it in a part named image, file or media, for "
                        "example with curl -F image=@photo.jpg");
    }
    if (exchange->slot < 0 || exchange_job(exchange)->image_length == 0)
        return fail(
            failure, STATUS_BAD_REQUEST,
            "the image is empty: no byte of it came; send a file that has some, for example with "
            "curl -F image=@photo.jpg");
    return STATUS_OK;
}

enum status upload_parts(struct exchange *exchange, const struct probe_limits *limits,
                         const struct image *shapes, struct failure *failure) {
    const struct plan *plan = &exchange->settings.plan;
    struct job *job = exchange_job(exchange);
    for (int i = 0; i < exchange->upload.part_count; i++) {
        const struct upload_part *part = &exchange->upload.parts[i];
        const int place = plan_aux(plan, part->name);
        if (place < 0)
            return fail(failure, STATUS_BAD_PARAM, "no step here takes a part named %s",
                        part->name);
        if (part->length == 0)
            return fail(failure, STATUS_BAD_REQUEST,
                        "%s is empty: no byte of it came; send an image, or leave the part out",
                        part->name);
        struct job_aux *slot_part = &job->aux[place];
        slot_part->offset = part->offset;
        slot_part->length = part->length;
        const uint8_t *bytes = slot_bytes(exchange->front->slots, exchange->slot) + part->offset;
        enum status status =
            fail_named(part->name,
                    probe_image(bytes, part->length, limits, &slot_part->probe, failure), failure);
        if (status == STATUS_NOT_AN_IMAGE) /* 415 would be said of the image that is worked on */
            status = failure->status = STATUS_BAD_PARAM;
        if (!status)
            status = plan_aux_fits(plan, part->name, &slot_part->probe.shape, shapes, failure);
        if (status) return status;
    }
    return STATUS_OK;
}
