// SPDX-License-Identifier: Apache-2.0
/* systemd.h - what a service manager and its service tell each other: sockets that were opened for
 * us, messages about our state, and the watchdog's beats.
 *
 * Used by:  command_serve.c.
 * Owns:     the sockets, until they are given to front_create; the one for messages, until the
 *           process ends; the watchdog's thread.
 * Fails:    systemd_open: STATUS_BAD_PARAM where the environment cannot be meant for us as it is.
 *           systemd_notify never: a message that is lost is logged. It waits for a second at most,
 *           where the service manager reads nothing.
 * Threads:  systemd_open runs before there are threads; any may notify then. The main thread
 *           starts and stops the watchdog; it has blocked the signals that it waits for.
 * Source:   sd_listen_fds(3), sd_notify(3), sd_watchdog_enabled(3). The protocol is three
 *           variables and a datagram, promised to stay, so libsystemd and the compression
 *           libraries that it loads are not linked; podman and others speak it too.
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
    int64_t watchdog_ns;          /* WATCHDOG_USEC: killed when silent for so long; 0: never */
    int notify_fd;                /* what messages go out by; -1: nobody listens */
    struct sockaddr_un notify;    /* NOTIFY_SOCKET */
    socklen_t notify_length;      /* 0: nobody listens */
};

/* Reads the variables and removes them from the environment, so that workers do not take them for
 * theirs. Sockets are named by LISTEN_FDNAMES: "http" and "admin"; without names the first is
 * "http". */
enum status systemd_open(struct systemd *systemd, struct failure *failure);

/* Sends "READY=1", "STOPPING=1", "STATUS=..." or "WATCHDOG=1", several separated by newlines. Does
 * nothing where nobody listens. */
void systemd_notify(const struct systemd *systemd, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

struct watchdog;

/* From now on a thread sends WATCHDOG=1 every half of `watchdog_ns` if IS_ALIVE says so; later
 * where that took long. IS_ALIVE takes TIMEOUT_MS at most, half of that half: so two beats are
 * never further apart than three quarters of what the service manager waits. NULL: no watchdog is
 * wanted, or there is no thread or no memory for one, which is logged. */
struct watchdog *systemd_watchdog_start(const struct systemd *systemd,
                                        bool (*is_alive)(void *context, int timeout_ms),
                                        void *context);
void systemd_watchdog_stop(struct watchdog *watchdog); /* accepts NULL */

#endif
