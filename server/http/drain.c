// SPDX-License-Identifier: Apache-2.0
/* front_drain: the end of a front's requests. The I/O threads keep running: the library is stopped
 * later, by front_destroy (engine/README.md).
 *
 * How it works. There are two ends, by who owns the socket that clients connect to.
 *
 * Our own: a client whose connection stays open sends its next request a moment after the last
 * answer: it shall get 503, not find the connection closed. So the end waits for a moment of quiet,
 * but never long, for refused clients that try again at once keep it from ever being quiet. What
 * ends them is that new connections are ignored; those that are open by then are answered.
 *
 * One that we have inherited, with the next process behind us: nobody needs to be refused. We
 * accept no more, and who connects waits in the backlog for that process. Each client that is
 * connected has its request served as ever, and the answer says that the connection ends; one that
 * asks nothing is disconnected. So the connections become fewer until there are none. */
#include "server/http/front.h"
#include "server/http/front_state.h"

#include <unistd.h>

/* Quiet: no request has been under way for QUIET_MS. The wait for it is bounded. */
enum { QUIET_MS = 100, QUIET_WITHIN_MS = 500, LOOK_MS = 5 };

/* A client that has been connected for so long and sent no request is no longer waited for: a
 * browser, say, that connects beforehand. */
enum { FRESH_MS = 1000 };

static bool is_zero(const int *counter) {
    return __atomic_load_n(counter, __ATOMIC_SEQ_CST) == 0;
}

static void wait_for_quiet(const struct front *front, int (*interrupted)(void)) {
    long quiet = 0;
    for (long waited = 0; waited < QUIET_WITHIN_MS && quiet < QUIET_MS && !interrupted();
         waited += LOOK_MS) {
        usleep(LOOK_MS * 1000);
        quiet = is_zero(&front->exchanges) ? quiet + LOOK_MS : 0;
    }
}

/* Connections that were made before still wait to be accepted: at sockets of our own they are. */
static void stop_accepting(struct front *front) {
    for (int i = 0; i < 2; i++) listen_socket_remove_file(&front->files[i]);
    for (int i = 0; i < LISTENERS_MAX; i++)
        if (front->listeners[i].listener) listener_stop_accepting(front->listeners[i].listener);
}

/* See begin_work in request_flow.c for the order of the two counters. */
static void set_stage(struct front *front, int stage) {
    __atomic_store_n(&front->service.draining, stage, __ATOMIC_SEQ_CST);
}

/* In this order: an abandoned one that ends in between is counted among the connections alone. */
static bool anybody_is_connected(const struct front *front) {
    struct deadline_counts counts;
    deadline_thread_counts(front->deadlines, &counts);
    return counts.connections > __atomic_load_n(&front->abandoned, __ATOMIC_SEQ_CST);
}

/* A client that sends nothing of its body or takes nothing of its answer, or a byte now and then,
 * would hold up the end for as long as body_ms or write_ms. */
static void end_slow(struct front *front) {
    deadline_thread_end_slow(front->deadlines, front->service.config->drain_client_ms);
}

static bool wait_for_accepted(struct front *front, int (*interrupted)(void)) {
    const long most = front->service.config->drain_timeout_ms;
    for (long waited = 0; waited < most && !interrupted(); waited += LOOK_MS) {
        if (is_zero(&front->accepted)) return true;
        end_slow(front);
        usleep(LOOK_MS * 1000);
    }
    return false;
}

/* Stops accepting before it announces: an answer that ends its connection sends the client to the
 * next process, not back to us. */
static void hand_over(struct front *front, int (*interrupted)(void)) {
    stop_accepting(front);
    __atomic_store_n(&front->last_requests, true, __ATOMIC_SEQ_CST);
    for (long waited = 0; waited < front->service.config->drain_timeout_ms && !interrupted();
         waited += LOOK_MS) {
        if (!anybody_is_connected(front)) break;
        deadline_thread_end_idle(front->deadlines, QUIET_MS, FRESH_MS);
        end_slow(front);
        usleep(LOOK_MS * 1000);
    }
    set_stage(front, 2);
}

void front_drain(struct front *front, int (*interrupted)(void)) {
    set_stage(front, 1);
    for (long waited = 0; waited < front->service.config->drain_delay_ms && !interrupted();
         waited += LOOK_MS)
        usleep(LOOK_MS * 1000);
    if (front->inherited[0]) {
        hand_over(front, interrupted);
    } else {
        set_stage(front, 2);
        if (wait_for_accepted(front, interrupted)) wait_for_quiet(front, interrupted);
        stop_accepting(front);
        wait_for_quiet(front, interrupted);
    }
    supervisor_drain(front->service.supervisor);
}
