// SPDX-License-Identifier: Apache-2.0
/* How it works. The variables are read once, before anything else is opened: the sockets are
 * descriptors 3 and up. Each variable that is wrong is refused with what to do about it, since a
 * daemon that ignored it would fail later, with the address in use. A message is one datagram. Its
 * socket is opened before the sandbox closes, which opens none. */
#include "server/systemd.h"

#include "pipeline/param.h"
#include "server/log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { FIRST_FD = 3, SOCKETS_MAX = 2, MESSAGE_MAX = 512, SEND_S = 1 };
static const char *const names[SOCKETS_MAX] = { "http", "admin" };

/* ---- sockets */

static int *socket_named(struct front_sockets *sockets, const char *name) {
    return strcmp(name, names[0]) == 0   ? &sockets->http
           : strcmp(name, names[1]) == 0 ? &sockets->admin
                                         : NULL;
}

static enum status check_pid(const char *text, struct failure *failure) {
    long pid = 0;
    if (!text)
        return fail(failure, STATUS_BAD_PARAM,
                    "LISTEN_FDS is set and LISTEN_PID is not: set it to burin's process id, or "
                    "unset LISTEN_FDS");
    if (param_integer(text, &pid) && pid == getpid()) return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM,
                "LISTEN_PID is \"%.20s\" and burin is process %d: its sockets are for another "
                "program. Start burin by `exec`, not as the child of a script, or unset "
                "LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES",
                text, (int)getpid());
}

static enum status take(struct front_sockets *sockets, const char *name, int fd,
                        struct failure *failure) {
    int *place = socket_named(sockets, name);
    if (!place)
        return fail(failure, STATUS_BAD_PARAM,
                    "LISTEN_FDNAMES calls a socket \"%.40s\": set FileDescriptorName= of its "
                    "socket unit to http or admin",
                    name);
    if (*place >= 0)
        return fail(failure, STATUS_BAD_PARAM,
                    "two sockets are passed as \"%s\": name one http and one admin, by "
                    "FileDescriptorName= of two socket units",
                    name);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return fail(failure, STATUS_BAD_PARAM,
                    "LISTEN_FDS announces descriptor %d, and it is not open: unset LISTEN_FDS, or "
                    "pass the socket",
                    fd);
    *place = fd;
    return STATUS_OK;
}

/* GIVEN: LISTEN_FDNAMES, or NULL. */
static enum status take_all(struct front_sockets *sockets, long count, const char *given,
                            struct failure *failure) {
    char text[256] = "";
    char *rest = text;
    if (given) snprintf(text, sizeof text, "%s", given);
    for (long i = 0; i < count; i++) {
        const char *name = given ? strsep(&rest, ":") : names[i];
        if (!name) break;
        const enum status status = take(sockets, name, FIRST_FD + (int)i, failure);
        if (status) return status;
    }
    const int taken = (sockets->http >= 0) + (sockets->admin >= 0);
    if (taken == count && (!given || !rest)) return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM,
                "LISTEN_FDS is %ld and LISTEN_FDNAMES is \"%.80s\": there must be as many names, "
                "separated by colons",
                count, given ? given : "");
}

static enum status take_sockets(struct front_sockets *sockets, struct failure *failure) {
    const char *text = getenv("LISTEN_FDS");
    long count = 0;
    if (!text) return STATUS_OK;
    if (!param_integer(text, &count) || count < 0 || count > SOCKETS_MAX)
        return fail(failure, STATUS_BAD_PARAM,
                    "LISTEN_FDS is \"%.20s\": burin takes one socket named http and one named "
                    "admin, so it must be 0, 1 or 2",
                    text);
    if (!count) return STATUS_OK;
    const enum status status = check_pid(getenv("LISTEN_PID"), failure);
    return status ? status : take_all(sockets, count, getenv("LISTEN_FDNAMES"), failure);
}

/* ---- messages */

/* A path, or with @ in place of the first byte a name in Linux' abstract namespace. */
static enum status find_notify(struct systemd *systemd, struct failure *failure) {
    const char *text = getenv("NOTIFY_SOCKET");
    if (!text || !*text) return STATUS_OK;
    const size_t length = strlen(text);
    if ((*text != '/' && *text != '@') || length >= sizeof systemd->notify.sun_path)
        return fail(failure, STATUS_BAD_PARAM,
                    "NOTIFY_SOCKET is \"%.60s\": it must be a path from the root or begin with @, "
                    "and be shorter than %zu bytes; unset it if no service manager started burin",
                    text, sizeof systemd->notify.sun_path);
    systemd->notify.sun_family = AF_UNIX;
    memcpy(systemd->notify.sun_path, text, length);
    if (*text == '@') systemd->notify.sun_path[0] = '\0';
    systemd->notify_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    const struct timeval patience = { .tv_sec = SEND_S };
    systemd->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (systemd->notify_fd >= 0 &&
        setsockopt(systemd->notify_fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0)
        return STATUS_OK;
    return fail(failure, STATUS_NO_MEMORY, "no socket to tell the service manager: %s",
                strerror(errno));
}

/* WATCHDOG_PID: whom it is for, where that is said. */
static enum status find_watchdog(struct systemd *systemd, struct failure *failure) {
    const char *text = getenv("WATCHDOG_USEC"), *whose = getenv("WATCHDOG_PID");
    long us = 0, pid = 0;
    if (!text || (whose && param_integer(whose, &pid) && pid != getpid())) return STATUS_OK;
    if (!param_integer(text, &us) || us <= 0 || us > INT64_MAX / 1000)
        return fail(failure, STATUS_BAD_PARAM,
                    "WATCHDOG_USEC is \"%.20s\": it must be a number of microseconds; set "
                    "WatchdogSec= of the service unit, or unset it",
                    text);
    systemd->watchdog_ns = us * 1000;
    return STATUS_OK;
}

void systemd_notify(const struct systemd *systemd, const char *format, ...) {
    char message[MESSAGE_MAX];
    if (!systemd->notify_length) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (sendto(systemd->notify_fd, message, strlen(message), MSG_NOSIGNAL,
               (const struct sockaddr *)&systemd->notify, systemd->notify_length) < 0)
        log_event(LOG_ERROR, "the service manager cannot be told \"%.20s\": %s", message,
                  strerror(errno));
}

/* ---- both */

enum status systemd_open(struct systemd *systemd, struct failure *failure) {
    *systemd = (struct systemd){ .sockets = { -1, -1 }, .notify_fd = -1 };
    enum status status = take_sockets(&systemd->sockets, failure);
    if (!status) status = find_notify(systemd, failure);
    if (!status) status = find_watchdog(systemd, failure);
    static const char *const variables[] = { "LISTEN_FDS",    "LISTEN_PID",    "LISTEN_FDNAMES",
                                             "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID" };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
    return status;
}
