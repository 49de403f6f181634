// SPDX-License-Identifier: Apache-2.0
#include "server/http/room.h"

static int64_t now(const int64_t *counter) {
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* Adds BYTES to COUNTER if that was BELOW or less before. Else *HELD is what there was: never
 * counted in part, for one that is refused must not make another be refused. */
static bool add_below(int64_t *counter, int64_t bytes, int64_t below, int64_t *held) {
    *held = now(counter);
    while (*held <= below)
        if (__atomic_compare_exchange_n(counter, held, *held + bytes, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return true;
    return false;
}

/* ---- uploads */

static enum status no_bytes(struct front *front, int64_t held, int64_t wanted,
                            struct failure *failure) {
    metrics_reject(front->metrics, REJECTED_BYTES);
    deadline_thread_note_pressure(front->deadlines, RESOURCE_BODIES, wanted);
    return fail(failure, STATUS_BUSY,
                "uploads hold %ld bytes already (queue_bytes is %ld); try again later", (long)held,
                front->config->queue_bytes);
}

static enum status no_slot(struct front *front, struct failure *failure) {
    metrics_reject(front->metrics, REJECTED_SLOTS);
    deadline_thread_note_pressure(front->deadlines, RESOURCE_SLOTS, 1);
    return fail(failure, STATUS_BUSY, "%d requests are being served already; try again later",
                slots_count(front->slots));
}

enum status room_check_body(struct front *front, int64_t length, struct failure *failure) {
    const int64_t held = now(&front->body_bytes_held);
    if (held + length > front->config->queue_bytes) return no_bytes(front, held, length, failure);
    return front_full(front) ? no_slot(front, failure) : STATUS_OK;
}

enum status room_hold_body(struct front *front, int64_t bytes, int64_t length,
                           struct failure *failure) {
    int64_t held;
    if (add_below(&front->body_bytes_held, bytes, front->config->queue_bytes - bytes, &held))
        return STATUS_OK;
    return no_bytes(front, held, length, failure);
}

void room_release_body(struct front *front, int64_t bytes) {
    __atomic_sub_fetch(&front->body_bytes_held, bytes, __ATOMIC_RELAXED);
}

int room_take_slot(struct front *front, size_t expected, void *owner, struct failure *failure) {
    const int slot = slot_take(front->slots, expected, owner);
    if (slot < 0)
        no_slot(front, failure);
    else if (front_full(front))
        deadline_thread_note_pressure(front->deadlines, RESOURCE_SLOTS, 0);
    return slot;
}

/* ---- answers */

static enum status no_answer(struct front *front, int64_t held, struct failure *failure) {
    metrics_reject(front->metrics, REJECTED_ANSWERS);
    deadline_thread_note_pressure(front->deadlines, RESOURCE_ANSWERS, 1);
    return fail(failure, STATUS_BUSY,
                "answers that are still being sent hold %ld bytes (answer_bytes is %ld); try again "
                "later",
                (long)held, front->config->answer_bytes);
}

enum status room_check_answer(struct front *front, struct failure *failure) {
    const int64_t held = now(&front->answer_bytes_held);
    return held < front->config->answer_bytes ? STATUS_OK : no_answer(front, held, failure);
}

enum status room_hold_answer(struct front *front, int64_t bytes, struct failure *failure) {
    int64_t held;
    if (add_below(&front->answer_bytes_held, bytes, front->config->answer_bytes - 1, &held))
        return STATUS_OK;
    return no_answer(front, held, failure);
}

void room_release_answer(struct front *front, int64_t bytes) {
    __atomic_sub_fetch(&front->answer_bytes_held, bytes, __ATOMIC_RELAXED);
}

/* ---- what is left */

int64_t room_left(const void *context, enum resource resource) {
    const struct front *front = context;
    const struct config *config = front->config;
    switch (resource) {
    case RESOURCE_SLOTS: return slots_count(front->slots) - slots_in_use(front->slots);
    case RESOURCE_BODIES: return config->queue_bytes - now(&front->body_bytes_held);
    default: return config->answer_bytes - now(&front->answer_bytes_held);
    }
}
