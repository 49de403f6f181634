// SPDX-License-Identifier: Apache-2.0
/* HOW. A client whose connection stays open sends his next request a moment after the last answer:
 * he is to hear 503, not to find the connection closed. So the end waits for a moment of quiet, but
 * never long, for refused clients who try again at once keep it from ever being quiet. What ends
 * them is that the listeners let nobody in any more; whoever is in by then is answered. */
#include "server/http/drain.h"

#include <unistd.h>

/* Quiet is that nothing has been under way for so long; nobody waits longer than that for it. */
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

/* Connections that were made before still wait to be taken, and are. */
static void let_nobody_in(struct front *front) {
    for (int i = 0; i < 2; i++) listen_socket_remove_file(&front->files[i]);
    for (int i = 0; i < front->door_count; i++)
        if (front->doors[i].io) listen_socket_drop_new(io_thread_listen_fd(front->doors[i].io));
}

/* See begin_work in front.c for the order of the two counters. */
static void set_stage(struct front *front, int stage) {
    __atomic_store_n(&front->draining, stage, __ATOMIC_SEQ_CST);
}

void drain_run(struct front *front, int (*interrupted)(void)) {
    set_stage(front, 1);
    drain_wait(NULL, front->config->drain_delay_ms, interrupted);
    set_stage(front, 2);
    if (drain_wait(&front->accepted, front->config->drain_timeout_ms, interrupted))
        wait_for_quiet(front, interrupted);
    let_nobody_in(front);
    wait_for_quiet(front, interrupted);
}
