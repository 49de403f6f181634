// SPDX-License-Identifier: Apache-2.0
/* overload_probe.h - asks for /livez every 20 ms, each time on a connection of its own, and notes
 * how long the answer took, from probe_count on; failures are noted from the beginning.
 *
 * Used by:  overload.c, one for each port that is asked.
 * Owns:     a thread, until probe_end.
 */
#ifndef BURIN_OVERLOAD_PROBE_H
#define BURIN_OVERLOAD_PROBE_H

#include "tests/bench/overload_times.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { PROBE_EVERY_US = 20000, PROBE_PATIENCE_S = 5 };

struct probe {
    int port;    /* 0: nobody is asked */
    bool counts; /* atomic; what is asked before is not timed */
    bool stop;   /* atomic */
    long failed;
    struct times times;
    pthread_t thread;
};

/* Seconds of patience for each step: connecting, sending, reading. */
static int probe_socket(int port) {
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_port = htons((uint16_t)port),
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const struct timeval patience = { .tv_sec = PROBE_PATIENCE_S };
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0) return fd;
    close(fd);
    return -1;
}

static bool probe_once(int port) {
    static const char ask[] = "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    const int fd = probe_socket(port);
    char answer[1024] = "";
    size_t length = 0;
    if (fd < 0) return false;
    if (send(fd, ask, sizeof ask - 1, MSG_NOSIGNAL) == sizeof ask - 1)
        for (ssize_t got; length < sizeof answer &&
                          (got = recv(fd, answer + length, sizeof answer - length, 0)) > 0;)
            length += (size_t)got;
    close(fd);
    return memcmp(answer, "HTTP/1.1 200", 12) == 0;
}

static void *probe_run(void *argument) {
    struct probe *probe = argument;
    while (!__atomic_load_n(&probe->stop, __ATOMIC_RELAXED)) {
        const bool counts = __atomic_load_n(&probe->counts, __ATOMIC_RELAXED);
        const int64_t start = now_ns();
        if (!probe_once(probe->port)) probe->failed++;
        if (counts) times_add(&probe->times, now_ns() - start);
        usleep(PROBE_EVERY_US);
    }
    return NULL;
}

static void probe_begin(struct probe *probe, int port) {
    *probe = (struct probe){ .port = port };
    if (port && pthread_create(&probe->thread, NULL, probe_run, probe) != 0) probe->port = 0;
}

static void probe_count(struct probe *probe) {
    __atomic_store_n(&probe->counts, true, __ATOMIC_RELAXED);
}

static void probe_end(struct probe *probe) {
    __atomic_store_n(&probe->stop, true, __ATOMIC_RELAXED);
    if (probe->port) pthread_join(probe->thread, NULL);
}

#endif
