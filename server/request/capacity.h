// SPDX-License-Identifier: Apache-2.0
/* capacity.h - whether there is room for one more request: slots, bytes of uploads, bytes of
 * answers.
 *
 * Refusals are counted in metrics and reported by service.note_shortage, so that clients that hold
 * room and stand still are evicted (http/engine/eviction.h).
 *
 * Used by:  upload.c (slots, uploads), result.c (answers), http/request_flow.c (answers, at the
 *           head).
 * Owns:     nothing: the caller releases what it holds.
 * Fails:    STATUS_BUSY, with a sentence that names what is full and the key that bounds it.
 * Threads:  any.
 * Limits:   queue_bytes, answer_bytes plus one answer, the number of slots.
 */
#ifndef BURIN_CAPACITY_H
#define BURIN_CAPACITY_H

#include "server/request/service.h"

/* Whether a body of LENGTH bytes fits now; reserves nothing. */
enum status capacity_check_body(struct service *service, int64_t length, struct failure *failure);

/* BYTES more of a body of LENGTH bytes have come. */
enum status capacity_hold_body(struct service *service, int64_t bytes, int64_t length,
                               struct failure *failure);
void capacity_release_body(struct service *service, int64_t bytes);

/* slot_take; -1: none is free. */
int capacity_take_slot(struct service *service, size_t expected, struct job_owner *owner,
                       struct failure *failure);

/* Whether one more answer fits now; reserves nothing. */
enum status capacity_check_answer(struct service *service, struct failure *failure);

/* BYTES: of an answer and its upload. The answer that reaches answer_bytes is still sent, so that
 * answers of any size can be; the bytes held stay below that plus one answer. */
enum status capacity_hold_answer(struct service *service, int64_t bytes, struct failure *failure);
void capacity_release_answer(struct service *service, int64_t bytes);

#endif
