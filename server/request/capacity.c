// SPDX-License-Identifier: Apache-2.0
#include "server/request/capacity.h"

static int64_t now(const int64_t *counter) {
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* Adds BYTES to COUNTER if it is at most BELOW. *HELD: its value before. Never counts a request
 * that is refused, not even briefly: that could cause another refusal. */
static bool add_below(int64_t *counter, int64_t bytes, int64_t below, int64_t *held) {
    *held = now(counter);
    while (*held <= below)
        if (__atomic_compare_exchange_n(counter, held, *held + bytes, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return true;
    return false;
}

/* ---- uploads */

static enum status no_bytes(struct service *service, int64_t held, int64_t wanted,
                            struct failure *failure) {
    metrics_reject(service->metrics, REJECTED_BYTES);
    service->note_shortage(service->context, SHORT_OF_BODIES, wanted);
    return fail(failure, STATUS_BUSY,
                "uploads hold %ld bytes already (queue_bytes is %ld); try again later", (long)held,
                service->config->queue_bytes);
}

static enum status no_slot(struct service *service, struct failure *failure) {
    metrics_reject(service->metrics, REJECTED_SLOTS);
    service->note_shortage(service->context, SHORT_OF_SLOTS, 1);
    return fail(failure, STATUS_BUSY, "%d requests are being served already; try again later",
                slots_count(service->slots));
}

enum status capacity_check_body(struct service *service, int64_t length, struct failure *failure) {
    const int64_t held = now(&service->body_bytes_held);
    if (held + length > service->config->queue_bytes)
        return no_bytes(service, held, length, failure);
    return service_full(service) ? no_slot(service, failure) : STATUS_OK;
}

enum status capacity_hold_body(struct service *service, int64_t bytes, int64_t length,
                               struct failure *failure) {
    int64_t held;
    if (add_below(&service->body_bytes_held, bytes, service->config->queue_bytes - bytes, &held))
        return STATUS_OK;
    return no_bytes(service, held, length, failure);
}

void capacity_release_body(struct service *service, int64_t bytes) {
    __atomic_sub_fetch(&service->body_bytes_held, bytes, __ATOMIC_RELAXED);
}

int capacity_take_slot(struct service *service, size_t expected, struct job_owner *owner,
                       struct failure *failure) {
    const int slot = slot_take(service->slots, expected, owner);
    if (slot < 0)
        no_slot(service, failure);
    else if (service_full(service))
        service->note_shortage(service->context, SHORT_OF_SLOTS, 0);
    return slot;
}

/* ---- answers */

static enum status no_answer(struct service *service, int64_t held, struct failure *failure) {
    metrics_reject(service->metrics, REJECTED_ANSWERS);
    service->note_shortage(service->context, SHORT_OF_ANSWERS, 1);
    return fail(failure, STATUS_BUSY,
                "answers that are still being sent hold %ld bytes (answer_bytes is %ld); try again "
                "later",
                (long)held, service->config->answer_bytes);
}

enum status capacity_check_answer(struct service *service, struct failure *failure) {
    const int64_t held = now(&service->answer_bytes_held);
    return held < service->config->answer_bytes ? STATUS_OK : no_answer(service, held, failure);
}

enum status capacity_hold_answer(struct service *service, int64_t bytes, struct failure *failure) {
    int64_t held;
    if (add_below(&service->answer_bytes_held, bytes, service->config->answer_bytes - 1, &held))
        return STATUS_OK;
    return no_answer(service, held, failure);
}

void capacity_release_answer(struct service *service, int64_t bytes) {
    __atomic_sub_fetch(&service->answer_bytes_held, bytes, __ATOMIC_RELAXED);
}
