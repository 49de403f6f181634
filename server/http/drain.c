// SPDX-License-Identifier: Apache-2.0
/* How it works. A client whose connection stays open sends its next request a moment after the last
 * answer: it shall get 503, not find the connection closed. So the end waits for a moment of quiet,
 * but never long, for refused clients that try again at once keep it from ever being quiet. What
 * ends them is that new connections are ignored; those that are open by then are answered. */
#include "server/http/drain.h"

#include <unistd.h>

/* Quiet: no request has been under way for QUIET_MS. The wait for it is bounded. */
enum { QUIET_MS = 100, QUIET_WITHIN_MS = 500, LOOK_MS = 5 };

static bool is_zero(const int *counter) {
    return __atomic_load_n(counter, __ATOMIC_SEQ_CST) == 0;
}

bool drain_wait(const int *counter, long timeout_ms, int (*interrupted)(void)) {
    for (long waited = 0; waited < timeout_ms && !interrupted(); waited += LOOK_MS) {
        if (counter && is_zero(counter)) return true;
        usleep(LOOK_MS * 1000);
    }
    return false;
}

static void wait_for_quiet(const struct front *front, int (*interrupted)(void)) {
    long quiet = 0;
    for (long waited = 0; waited < QUIET_WITHIN_MS && quiet < QUIET_MS && !interrupted();
         waited += LOOK_MS) {
        usleep(LOOK_MS * 1000);
        quiet = is_zero(&front->exchanges) ? quiet + LOOK_MS : 0;
    }
}

/* Connections that were made before still wait to be accepted, and are. */
static void ignore_new(struct front *front) {
    for (int i = 0; i < 2; i++) listen_socket_remove_file(&front->files[i]);
    for (int i = 0; i < LISTENERS_MAX; i++)
        if (front->listeners[i].listener)
            listen_socket_ignore_new(listener_fd(front->listeners[i].listener));
}

/* See begin_work in request_flow.c for the order of the two counters. */
static void set_stage(struct front *front, int stage) {
    __atomic_store_n(&front->draining, stage, __ATOMIC_SEQ_CST);
}

void drain_run(struct front *front, int (*interrupted)(void)) {
    set_stage(front, 1);
    drain_wait(NULL, front->config->drain_delay_ms, interrupted);
    set_stage(front, 2);
    if (drain_wait(&front->accepted, front->config->drain_timeout_ms, interrupted))
        wait_for_quiet(front, interrupted);
    ignore_new(front);
    wait_for_quiet(front, interrupted);
}
