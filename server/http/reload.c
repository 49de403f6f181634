// SPDX-License-Identifier: Apache-2.0
/* Changes while the daemon serves. front_reload reads operators_dir again, front_reload_keys
 * keys_file, front_reload_overlays overlays_dir.
 *
 * How it works. The next generation is made from the folder, its workers start beside the present
 * ones, and when they are healthy it replaces the present generation. No request waits for a worker
 * that opens its device, and no worker with a job is ended: the supervisor ends the old ones when
 * the last request that holds their generation is answered. I/O threads and the supervisor's wait
 * only for two locks: one is held for microseconds, the supervisor's while a process starts on each
 * device, about a millisecond each. */
#include "server/access/key_file.h"
#include "server/access/quota.h"
#include "server/http/front.h"
#include "server/http/front_state.h"
#include "server/log/log.h"
#include "server/request/overlays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_MS = 5, REPORT_MS = 1000, REPORT_AGAIN_MS = 60000 };

static enum status stopped(struct failure *failure) {
    return fail(failure, STATUS_CANCELLED, "the daemon is stopping");
}

static void set_end(struct front *front, int64_t end) {
    __atomic_store_n(&front->reload_waits_until, end, __ATOMIC_RELAXED);
}

/* Workers of the generation before the present one may still be busy: with jobs, which have
 * processing_ms, and with bodies that still come, which get as long. */
static enum status wait_and_start(struct front *front, struct generation *next,
                                  int (*interrupted)(void), struct failure *failure) {
    const int64_t start = clock_ns();
    int64_t report_ms = REPORT_MS;
    set_end(front, start + front->service.config->processing_ms * INT64_C(1000000));
    while (!supervisor_start_operators(front->service.supervisor, next)) {
        if (interrupted()) return stopped(failure);
        const int64_t waited_ms = (clock_ns() - start) / 1000000;
        if (waited_ms >= report_ms) {
            log_event(report_ms == REPORT_MS ? LOG_INFO : LOG_ERROR, "reload_waits",
                      "operators_dir: some requests still use the operators of the last reload but "
                      "one; the new ones have waited %lld s for them",
                      (long long)(waited_ms / 1000));
            report_ms += REPORT_AGAIN_MS;
        }
        usleep(LOOK_MS * 1000);
    }
    return STATUS_OK;
}

static enum status wait_ready(struct front *front, const struct generation *next,
                              int (*interrupted)(void), struct failure *failure) {
    const int64_t end = clock_ns() + front->service.config->worker_start_ms * INT64_C(1000000);
    while (!supervisor_operators_ready(front->service.supervisor, next)) {
        if (interrupted()) return stopped(failure);
        if (clock_ns() >= end)
            return fail(failure, STATUS_DEADLINE,
                        "the workers for the new operators were not ready within worker_start_ms, "
                        "%ld ms",
                        front->service.config->worker_start_ms);
        usleep(LOOK_MS * 1000);
    }
    return STATUS_OK;
}

static bool is_same(const struct generation *a, const struct generation *b) {
    return a->texts_length == b->texts_length &&
           (!a->texts_length || memcmp(a->texts, b->texts, a->texts_length) == 0);
}

/* Takes over the caller's hold of NEXT. */
static enum status put_in_force(struct front *front, struct generation *next,
                                int (*interrupted)(void), struct failure *failure) {
    enum status status = wait_and_start(front, next, interrupted, failure);
    set_end(front, 0);
    if (!status) status = wait_ready(front, next, interrupted, failure);
    if (status) return generation_release(next), status;
    metrics_add_operators(front->service.metrics, &next->ops);
    const int count = next->ops.added_count;
    generation_replace(&front->service.operators, next);
    log_event(LOG_INFO, "operators_loaded", "operators_dir was read again: %d operator%s in force",
              count, count == 1 ? "" : "s");
    return STATUS_OK;
}

bool front_reload(struct front *front, const struct user_operators_watch *watch,
                  struct failure *failure) {
    struct generation *now = current_hold(&front->service.operators);
    struct generation *next = user_operators_read(front->service.config, now, watch, failure);
    const bool same = next && is_same(now, next);
    const bool taken = next && !same && !put_in_force(front, next, watch->interrupted, failure);
    if (!taken) generation_set_problems(now, watch->problems);
    generation_release(now);
    if (same) {
        log_event(LOG_INFO, "operators_unchanged",
                  "operators_dir was read again: nothing has changed");
        generation_release(next);
    }
    return same || taken;
}

/* ---- keys */

bool front_adopt_keys(struct front *front, struct key_table *keys) {
    if (!quota_link(keys, front->keys.thing, front->service.config->quota_divisor)) return false;
    for (int i = 0; i < keys->key_count; i++)
        metrics_add_key(front->service.metrics, keys->keys[i].id);
    return true;
}

bool front_reload_keys(struct front *front, struct failure *failure) {
    struct generation *now = current_hold(&front->service.operators);
    struct overlays *overlays = current_hold(&front->service.overlays);
    struct key_table *next =
        key_file_read(front->service.config->keys_file, &now->ops, overlays, failure);
    overlays_release(overlays);
    generation_release(now);
    if (!next) return false;
    if (!front_adopt_keys(front, next)) {
        key_table_release(next);
        fail(failure, STATUS_NO_MEMORY, "there is no memory for the groups of keys");
        return false;
    }
    key_table_release(current_replace(&front->keys, next));
    log_event(LOG_INFO, "keys_loaded", "keys_file was read again: %d key%s in force",
              next->key_count, next->key_count == 1 ? "" : "s");
    return true;
}

/* ---- overlays */

bool front_reload_overlays(struct front *front, struct failure *failure) {
    const struct config *config = front->service.config;
    struct overlays *next =
        overlays_read(config->overlays_dir, config->overlays_bytes_max, failure);
    if (!next) return false;
    const int count = next->count;
    overlays_release(current_replace(&front->service.overlays, next));
    log_event(LOG_INFO, "overlays_loaded", "overlays_dir was read again: %d overlay%s in force",
              count, count == 1 ? "" : "s");
    return true;
}

/* ---- what all requests see */

bool front_set_origins(struct front *front, const char *list) {
    struct origins *next = calloc(1, sizeof *next);
    if (!next) return false;
    next->before = front->origins;
    snprintf(next->list, sizeof next->list, "%s", list);
    __atomic_store_n(&front->origins, next, __ATOMIC_RELEASE);
    return true;
}

const char *front_origins(const struct front *front) {
    return __atomic_load_n(&front->origins, __ATOMIC_ACQUIRE)->list;
}

void front_set_outcome(struct front *front, json_t *outcome) {
    pthread_mutex_lock(&front->outcome_lock);
    json_decref(front->outcome);
    front->outcome = outcome;
    pthread_mutex_unlock(&front->outcome_lock);
}
