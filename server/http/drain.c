// SPDX-License-Identifier: Apache-2.0
/* front_drain: the end of a front's requests. The I/O threads keep running: front_destroy stops the
 * library later (engine/README.md).
 *
 * How it works. There are two ways to end, depending on the socket that clients connect to.
 *
 * A socket of our own: a client that keeps its connection sends its next request a moment after the
 * last answer, and should get 503 rather than a closed connection. So the drain waits for a moment
 * without requests, but never long, since refused clients that retry at once never pause. Ignoring
 * new connections ends their retries; the connections that are open by then are answered.
 *
 * An inherited socket, which the next process takes over: no request needs to be refused. We stop
 * accepting, and new clients wait in the backlog for that process. Open connections are served as
 * usual, with an answer that closes the connection; idle ones are closed. So their number falls to
 * zero. */
#include "server/http/front.h"
#include "server/http/front_state.h"

#include <unistd.h>

/* Quiet: there was no request for QUIET_MS. QUIET_WITHIN_MS: the longest wait for that. */
enum { QUIET_MS = 100, QUIET_WITHIN_MS = 500, LOOK_MS = 5 };

/* A new connection without a request, such as a browser's that connects in advance, is waited for
 * this long. */
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

/* On sockets of our own, connections that are in the backlog by now are still accepted. */
static void stop_accepting(struct front *front) {
    for (int i = 0; i < 2; i++) listen_socket_remove_file(&front->files[i]);
    for (int i = 0; i < LISTENERS_MAX; i++)
        if (front->listeners[i].listener) listener_stop_accepting(front->listeners[i].listener);
}

/* begin_work in request_flow.c explains the order of `draining` and `accepted`. */
static void set_stage(struct front *front, int stage) {
    __atomic_store_n(&front->service.draining, stage, __ATOMIC_SEQ_CST);
}

/* Reads `connections` first: an abandoned one that ends in between counts as connected then. */
static bool is_any_connected(const struct front *front) {
    struct deadline_counts counts;
    deadline_thread_counts(front->deadlines, &counts);
    return counts.connections > __atomic_load_n(&front->abandoned, __ATOMIC_SEQ_CST);
}

/* A client that moves nothing of its body or answer, or a byte now and then, would delay the end by
 * body_ms or write_ms. */
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

/* Stops accepting before answers close connections, so that clients reconnect to the next process
 * and not to us. */
static void hand_over(struct front *front, int (*interrupted)(void)) {
    stop_accepting(front);
    __atomic_store_n(&front->last_requests, true, __ATOMIC_SEQ_CST);
    for (long waited = 0; waited < front->service.config->drain_timeout_ms && !interrupted();
         waited += LOOK_MS) {
        if (!is_any_connected(front)) break;
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
