// SPDX-License-Identifier: Apache-2.0
/* systemd.h - the protocol between a service manager and the daemon: sockets that it opened for the
 * daemon, messages about the daemon's state, and the watchdog.
 *
 * Used by:  command_serve.c.
 * Owns:     the sockets, until front_create takes them; the socket for messages, until the process
 *           ends; the watchdog's thread.
 * Fails:    systemd_open: STATUS_BAD_PARAM if a variable is invalid or for a different process.
 *           systemd_notify never: it logs a lost message.
 * Threads:  systemd_open runs before there are threads; any may notify then. The main thread
 *           starts and stops the watchdog, after blocking the signals that it waits for.
 * Limits:   systemd_notify waits for a second at most, if the service manager does not read.
 * Source:   sd_listen_fds(3), sd_notify(3), sd_watchdog_enabled(3). The protocol is a few variables
 *           and a datagram, and is guaranteed to be stable, so libsystemd and the compression
 *           libraries that it loads are not linked; podman and others use it too.
 */
#ifndef BURIN_SYSTEMD_H
#define BURIN_SYSTEMD_H

#include "pipeline/status.h"
#include "server/http/front.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct systemd {
    struct front_sockets sockets; /* LISTEN_FDS; -1 where none was passed */
    int64_t watchdog_ns;          /* WATCHDOG_USEC: killed after this long silence; 0: never */
    int notify_fd;                /* the socket that sends messages; -1: none */
    struct sockaddr_un notify;    /* NOTIFY_SOCKET */
    socklen_t notify_length;      /* 0: there is no NOTIFY_SOCKET */
};

/* Reads the variables and removes them from the environment, so that workers do not inherit them.
 * LISTEN_FDNAMES names the sockets "http" and "admin"; without names the first is "http". */
enum status systemd_open(struct systemd *systemd, struct failure *failure);

/* Sends "READY=1", "STOPPING=1", "STATUS=..." or "WATCHDOG=1", several separated by newlines. Does
 * nothing without NOTIFY_SOCKET. */
void systemd_notify(const struct systemd *systemd, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

struct watchdog;

/* Starts a thread that calls IS_ALIVE every half of `watchdog_ns`, and sends WATCHDOG=1 if it
 * returns true. IS_ALIVE takes at most TIMEOUT_MS, a quarter of `watchdog_ns`: so two messages are
 * at most three quarters of `watchdog_ns` apart. NULL: no watchdog is wanted, or there is no thread
 * or no memory for one, which is logged. */
struct watchdog *systemd_watchdog_start(const struct systemd *systemd,
                                        bool (*is_alive)(void *context, int timeout_ms),
                                        void *context);
void systemd_watchdog_stop(struct watchdog *watchdog); /* accepts NULL */

#endif
