// SPDX-License-Identifier: Apache-2.0
/* How it works. The next generation is made from the folder, its workers start beside those in
 * force, and when they are healthy it is exchanged for the current one. Nobody waits for a worker
 * that opens its device, and none is ended that has a job: the supervisor ends the old ones when
 * the last request that holds their generation is answered. */
#include "server/http/reload.h"

#include "server/log.h"
#include "server/user_operators.h"

#include <string.h>
#include <unistd.h>

enum { LOOK_MS = 5, TELL_MS = 1000 };

static enum status stopped(struct failure *failure) {
    return fail(failure, STATUS_CANCELLED, "the daemon is stopping");
}

/* Workers of the generation before the current one may still be busy. */
static enum status start_workers(struct front *front, struct generation *next,
                                 int (*interrupted)(void), struct failure *failure) {
    for (int waited = 0; !supervisor_start_operators(front->supervisor, next); waited += LOOK_MS) {
        if (interrupted()) return stopped(failure);
        if (waited == TELL_MS)
            log_event(LOG_INFO, "operators_dir: requests still have the operators of the last "
                                "reload but one; the new ones wait for them");
        usleep(LOOK_MS * 1000);
    }
    return STATUS_OK;
}

static enum status wait_ready(struct front *front, const struct generation *next,
                              int (*interrupted)(void), struct failure *failure) {
    const int64_t end = clock_ns() + front->config->worker_start_ms * INT64_C(1000000);
    while (!supervisor_operators_ready(front->supervisor, next)) {
        if (interrupted()) return stopped(failure);
        if (clock_ns() >= end)
            return fail(failure, STATUS_DEADLINE,
                        "the workers for the new operators were not ready within worker_start_ms, "
                        "%ld ms",
                        front->config->worker_start_ms);
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
    enum status status = start_workers(front, next, interrupted, failure);
    if (!status) status = wait_ready(front, next, interrupted, failure);
    if (status) return generation_release(next), status;
    metrics_add_operators(front->metrics, &next->ops);
    const int count = next->ops.added_count;
    generations_replace(&front->generations, next);
    log_event(LOG_INFO, "operators_dir was read again: %d operator%s in force", count,
              count == 1 ? "" : "s");
    return STATUS_OK;
}

bool reload_run(struct front *front, int (*interrupted)(void), struct failure *failure) {
    struct generation *now = generations_hold(&front->generations);
    const struct user_operators_watch watch = { .interrupted = interrupted };
    struct generation *next = user_operators_read(front->config, now, &watch, failure);
    const bool same = next && is_same(now, next);
    generation_release(now);
    if (next && same) {
        log_event(LOG_INFO, "operators_dir was read again: nothing has changed");
        generation_release(next);
    }
    return next && (same || !put_in_force(front, next, interrupted, failure));
}
