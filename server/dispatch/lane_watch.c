// SPDX-License-Identifier: Apache-2.0
#include "server/dispatch/lane_watch.h"

/* A job that was seen to go on so lately asks nothing of the kernel. */
enum { SEEN_MS = 250 };

static pid_t thread_of(const struct job *job) {
    const bool runs = __atomic_load_n(&job->started, __ATOMIC_ACQUIRE) &&
                      !__atomic_load_n(&job->finished_ns, __ATOMIC_ACQUIRE);
    return runs ? __atomic_load_n(&job->lane, __ATOMIC_RELAXED) : 0;
}

enum lane_state lane_watch_look(struct stillness *lane, const struct job *job, pid_t pid,
                                int64_t still_ns, int64_t now) {
    const pid_t thread = thread_of(job);
    const int64_t seen = __atomic_load_n(&job->progress.seen_ns, __ATOMIC_RELAXED);
    if (!thread || now - seen <= SEEN_MS * INT64_C(1000000)) {
        stillness_end(lane);
        return LANE_UNKNOWN;
    }
    const int64_t still = stillness_look(lane, pid, thread, now);
    if (!still) return LANE_MOVES;
    if (still <= still_ns) return LANE_SLEEPS;
    if (lane->status.process_idle) return LANE_HANGS;
    stillness_end(lane);
    return LANE_SLEEPS;
}

bool lane_watch_hangs(struct stillness *lane, const struct job *job, struct worker_handle *worker,
                      int64_t still_ns, int64_t now) {
    if (worker_handle_is_late(worker, now)) {
        stillness_end(lane);
        return false;
    }
    const enum lane_state state = lane_watch_look(lane, job, worker->pid, still_ns, now);
    if (state == LANE_MOVES) worker_handle_moved(worker, now);
    return state == LANE_HANGS;
}
