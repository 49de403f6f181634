// SPDX-License-Identifier: Apache-2.0
#include "server/process/stillness.h"

#include "server/process/launcher.h"

#include <string.h>

enum { STEP_MAX_MS = 100, HELD_TIMES = 30 };

static struct {
    struct thread_id threads[LAUNCHER_LOOKS_MAX];
    struct thread_status statuses[LAUNCHER_LOOKS_MAX];
    bool wanted[LAUNCHER_LOOKS_MAX]; /* asked for since the last look */
    int count;
} looks;

void stillness_end(struct stillness *stillness) {
    *stillness = (struct stillness){ .looked_ns = 0 };
}

static int64_t step_of(const struct stillness *stillness, const struct thread_status *status,
                       int64_t now) {
    const int64_t most = STEP_MAX_MS * INT64_C(1000000), past = now - stillness->looked_ns;
    const int64_t step = !stillness->looked_ns ? 0 : past < most ? past : most;
    switch (status->state) {
    case THREAD_STOPPED:
    case THREAD_SLEEPS: return step;
    case THREAD_HELD:
    case THREAD_UNKNOWN: return step / HELD_TIMES;
    default: return 0;
    }
}

static bool goes_on(const struct stillness *stillness, const struct thread_status *status) {
    if (status->state == THREAD_RUNS || status->state == THREAD_TRACED) return true;
    return stillness->looked_ns && status->turns != stillness->status.turns;
}

int64_t stillness_count(struct stillness *stillness, const struct thread_status *status,
                        int64_t now) {
    stillness->still_ns =
        goes_on(stillness, status) ? 0 : stillness->still_ns + step_of(stillness, status, now);
    stillness->looked_ns = now;
    stillness->status = *status;
    return stillness->still_ns;
}

int64_t stillness_look(struct stillness *stillness, pid_t pid, pid_t thread, int64_t now) {
    const struct thread_status status = stillness_last(pid, thread);
    return stillness_count(stillness, &status, now);
}

struct thread_status stillness_last(pid_t pid, pid_t thread) {
    int at = 0;
    if (!launcher_is_open()) return thread_status_read(pid, thread);
    while (at < looks.count && (looks.threads[at].pid != pid || looks.threads[at].thread != thread))
        at++;
    if (at == LAUNCHER_LOOKS_MAX) return (struct thread_status){ .turns = 0 };
    if (at == looks.count) {
        looks.threads[looks.count++] = (struct thread_id){ pid, thread };
        looks.statuses[at] = (struct thread_status){ .turns = 0 };
    }
    looks.wanted[at] = true;
    return looks.statuses[at];
}

void stillness_look_at_all(void) {
    int kept = 0;
    for (int i = 0; i < looks.count; i++)
        if (looks.wanted[i]) looks.threads[kept++] = looks.threads[i];
    looks.count = kept;
    memset(looks.wanted, 0, sizeof looks.wanted);
    if (kept && !launcher_look(looks.threads, kept, looks.statuses))
        memset(looks.statuses, 0, sizeof looks.statuses);
}
