// SPDX-License-Identifier: Apache-2.0
#include "server/http/reply_body.h"

#include "server/http/room.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reply_body *reply_body_make(struct front *front, int slot, int64_t held, size_t text_room) {
    struct reply_body *body = malloc(sizeof *body);
    char *text = malloc(text_room ? text_room : 1);
    if (!body || !text) {
        free(body);
        free(text);
        return NULL;
    }
    body->front = front;
    body->slot = slot;
    body->held = held;
    body->text = text;
    body->text_room = text_room;
    body->text_used = body->text_told = 0;
    body->length = 0;
    body->count = 0;
    return body;
}

static void add_piece(struct reply_body *body, const void *bytes, size_t length) {
    if (!length) return;
    assert(body->count < REPLY_PIECES_MAX);
    body->pieces[body->count++] = (struct MHD_IoVec){ bytes, length };
}

static void tell_text(struct reply_body *body) {
    add_piece(body, body->text + body->text_told, body->text_used - body->text_told);
    body->text_told = body->text_used;
}

void reply_body_text(struct reply_body *body, const void *bytes, size_t length) {
    assert(length <= body->text_room - body->text_used);
    memcpy(body->text + body->text_used, bytes, length);
    body->text_used += length;
    body->length += length;
}

void reply_body_print(struct reply_body *body, const char *format, ...) {
    const size_t room = body->text_room - body->text_used;
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(body->text + body->text_used, room, format, arguments);
    va_end(arguments);
    assert(length >= 0 && (size_t)length < room);
    body->text_used += (size_t)length;
    body->length += (size_t)length;
}

void reply_body_bytes(struct reply_body *body, const void *bytes, size_t length) {
    tell_text(body);
    add_piece(body, bytes, length);
    body->length += length;
}

static void sent(void *context) {
    struct reply_body *body = context;
    room_release_answer(body->front, body->held);
    slot_give(body->front->slots, body->slot);
    free(body->text);
    free(body);
}

struct MHD_Response *reply_body_response(struct reply_body *body) {
    tell_text(body);
    if (body->count == 1) /* which goes out together with the headers */
        return MHD_create_response_from_buffer_with_free_callback_cls(
            body->pieces[0].iov_len, (void *)body->pieces[0].iov_base, sent, body);
    return MHD_create_response_from_iovec(body->pieces, (unsigned)body->count, sent, body);
}

void reply_body_abandon(struct reply_body *body) {
    room_release_answer(body->front, body->held);
    free(body->text);
    free(body);
}
