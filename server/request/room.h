// SPDX-License-Identifier: Apache-2.0
/* room.h - whether there is room for one more request: slots, bytes of uploads, bytes of answers.
 *
 * What is refused is counted in metrics and reported as pressure, so that clients who hold room and
 * stand still are let go (engine/pressure.h).
 *
 * Used by:  upload.c (slots, uploads), reply.c (answers), request_flow.c (answers, at the head),
 *           front.c (room_left).
 * Owns:     nothing: who holds gives back.
 * Fails:    STATUS_BUSY, with what is full and the key that bounds it.
 * Threads:  any.
 * Limits:   queue_bytes, answer_bytes and one answer more, the number of slots.
 */
#ifndef BURIN_ROOM_H
#define BURIN_ROOM_H

#include "server/request/service.h"

/* For a body of LENGTH bytes at this moment: nothing is reserved. */
enum status room_check_body(struct service *service, int64_t length, struct failure *failure);

/* BYTES more of a body of LENGTH bytes in all have come. */
enum status room_hold_body(struct service *service, int64_t bytes, int64_t length,
                           struct failure *failure);
void room_release_body(struct service *service, int64_t bytes);

/* As slot_take; -1: none is free. */
int room_take_slot(struct service *service, size_t expected, struct job_owner *owner,
                   struct failure *failure);

/* For one more answer at this moment: nothing is reserved. */
enum status room_check_answer(struct service *service, struct failure *failure);

/* An answer with its upload, BYTES in all. The one that reaches the bound is still sent: so an
 * answer of any size can be, and what is held stays below the bound plus one answer. */
enum status room_hold_answer(struct service *service, int64_t bytes, struct failure *failure);
void room_release_answer(struct service *service, int64_t bytes);

#endif
