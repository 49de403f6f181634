// SPDX-License-Identifier: Apache-2.0
/* reply_body.h - the body of an answer in pieces: texts of its own, and bytes of a slot, which are
 * not copied.
 *
 * Used by:  reply_job.c.
 * Owns:     the slot, its share of answer_bytes and the texts, from reply_body_make on: until the
 *           response was sent, or reply_body_abandon.
 * Fails:    NULL without memory.
 * Threads:  the exchange's, then the library's.
 * Limits:   REPLY_PIECES_MAX pieces; as many bytes of text as were asked for at first.
 */
#ifndef BURIN_REPLY_BODY_H
#define BURIN_REPLY_BODY_H

#include "server/http/exchange.h"

enum { REPLY_PIECES_MAX = 2 * OUTPUTS_MAX + 8 };

struct reply_body {
    struct front *front;
    int slot;
    int64_t held;                           /* of front.answer_bytes_held, ours */
    char *text;                             /* heap: all texts, one behind the other */
    size_t text_used, text_room, text_told; /* told: up to there pieces have it */
    uint64_t length;                        /* of all pieces */
    int count;
    struct MHD_IoVec pieces[REPLY_PIECES_MAX];
};

/* HELD bytes are held for it already. */
struct reply_body *reply_body_make(struct front *front, int slot, int64_t held, size_t text_room);

/* The next piece, or the end of the last one, is a copy of LENGTH bytes. */
void reply_body_text(struct reply_body *body, const void *bytes, size_t length);
__attribute__((format(printf, 2, 3))) void reply_body_print(struct reply_body *body,
                                                            const char *format, ...);

/* The next piece lies where it is until all is sent. */
void reply_body_bytes(struct reply_body *body, const void *bytes, size_t length);

/* Takes BODY over. NULL: it is the caller's still. */
struct MHD_Response *reply_body_response(struct reply_body *body);

/* The slot stays whose it was. */
void reply_body_abandon(struct reply_body *body);

#endif
