// SPDX-License-Identifier: Apache-2.0
#include "server/process/stillness.h"

#include "server/process/thread_looks.h"

enum { STEP_MAX_MS = 100, HELD_TIMES = 30 };

void stillness_end(struct stillness *stillness) {
    *stillness = (struct stillness){ .looked_ns = 0 };
}

static int64_t step_of(const struct stillness *stillness, const struct thread_account *account,
                       int64_t now) {
    const int64_t most = STEP_MAX_MS * INT64_C(1000000), past = now - stillness->looked_ns;
    const int64_t step = !stillness->looked_ns ? 0 : past < most ? past : most;
    switch (account->state) {
    case THREAD_STOPPED:
    case THREAD_SLEEPS: return step;
    case THREAD_HELD:
    case THREAD_UNKNOWN: return step / HELD_TIMES;
    default: return 0;
    }
}

static bool goes_on(const struct stillness *stillness, const struct thread_account *account) {
    if (account->state == THREAD_RUNS || account->state == THREAD_TRACED) return true;
    return stillness->looked_ns && account->turns != stillness->account.turns;
}

int64_t stillness_count(struct stillness *stillness, const struct thread_account *account,
                        int64_t now) {
    stillness->still_ns =
        goes_on(stillness, account) ? 0 : stillness->still_ns + step_of(stillness, account, now);
    stillness->looked_ns = now;
    stillness->account = *account;
    return stillness->still_ns;
}

int64_t stillness_look(struct stillness *stillness, pid_t pid, pid_t thread, int64_t now) {
    const struct thread_account account = thread_looks_last(pid, thread);
    return stillness_count(stillness, &account, now);
}
