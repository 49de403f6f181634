// SPDX-License-Identifier: Apache-2.0
/* How it works. The variables are read once, before any file is opened, since the sockets are
 * descriptors 3 and up. A wrong variable is refused with advice: a daemon that ignored it would
 * fail later, because its address is in use. A message is one datagram. Its socket is opened early,
 * since the sandbox allows no new one. */
#include "server/systemd.h"

#include "pipeline/param.h"
#include "pipeline/timing.h"
#include "server/log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
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

static enum status check_pid(const char *text, struct failure *failure) {
    long pid = 0;
    if (!text)
        return fail(failure, STATUS_BAD_PARAM,
                    "LISTEN_FDS is set and LISTEN_PID is not: set it to burin's process id, or "
                    "unset LISTEN_FDS");
    if (param_integer(text, &pid) && pid == getpid()) return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM,
                "LISTEN_PID is \"%.20s\" and burin is process %d: its sockets are for a different "
                "program. Start burin by `exec`, not as the child of a script, or unset "
                "LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES",
                text, (int)getpid());
}

static enum status take(struct front_sockets *sockets, const char *name, int fd,
                        struct failure *failure) {
    int *place = strcmp(name, names[0]) == 0   ? &sockets->http
                 : strcmp(name, names[1]) == 0 ? &sockets->admin
                                               : NULL;
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

/* NOTIFY_SOCKET is a path, or a name in Linux' abstract namespace with @ in place of its first
 * byte.
 */
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
    return fail(failure, STATUS_NO_MEMORY, "no socket for messages to the service manager: %s",
                strerror(errno));
}

/* A WATCHDOG_PID of a different process means that the watchdog is not for this one. */
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
        log_event(LOG_ERROR, "service_manager_unreached",
                  "the service manager did not receive \"%.20s\": %s", message, strerror(errno));
}

/* ---- all of them */

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

/* ---- the watchdog */

struct watchdog {
    const struct systemd *systemd;
    bool (*is_alive)(void *context, int timeout_ms);
    void *context;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop; /* under the lock */
};

/* Returns true if the thread must end. */
static bool sleep_until(struct watchdog *watchdog, int64_t end_ns) {
    const struct timespec end = { .tv_sec = end_ns / 1000000000, .tv_nsec = end_ns % 1000000000 };
    pthread_mutex_lock(&watchdog->lock);
    while (!watchdog->stop && pthread_cond_timedwait(&watchdog->wake, &watchdog->lock, &end) == 0)
        continue;
    const bool stop = watchdog->stop;
    pthread_mutex_unlock(&watchdog->lock);
    return stop;
}

static void *watch(void *argument) {
    struct watchdog *watchdog = argument;
    const int64_t every_ns = watchdog->systemd->watchdog_ns / 2;
    const int timeout_ms = (int)(every_ns / 2 / 1000000);
    bool was_alive = true;
    int64_t next;
    pthread_setname_np(pthread_self(), "watchdog");
    do {
        next = clock_ns() + every_ns;
        const bool alive = watchdog->is_alive(watchdog->context, timeout_ms);
        if (alive)
            systemd_notify(watchdog->systemd, "WATCHDOG=1");
        else if (was_alive)
            log_event(LOG_ERROR, "no_progress",
                      "a thread that serves requests makes no progress: no WATCHDOG=1 "
                      "is sent until it does");
        was_alive = alive;
    } while (!sleep_until(watchdog, next));
    return NULL;
}

static void release(struct watchdog *watchdog) {
    pthread_mutex_destroy(&watchdog->lock);
    pthread_cond_destroy(&watchdog->wake);
    free(watchdog);
}

struct watchdog *systemd_watchdog_start(const struct systemd *systemd,
                                        bool (*is_alive)(void *context, int timeout_ms),
                                        void *context) {
    struct watchdog *watchdog = systemd->watchdog_ns ? calloc(1, sizeof *watchdog) : NULL;
    pthread_condattr_t monotonic;
    if (!systemd->watchdog_ns) return NULL;
    if (watchdog) {
        watchdog->systemd = systemd;
        watchdog->is_alive = is_alive;
        watchdog->context = context;
        pthread_condattr_init(&monotonic);
        pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
        pthread_cond_init(&watchdog->wake, &monotonic);
        pthread_condattr_destroy(&monotonic);
        pthread_mutex_init(&watchdog->lock, NULL);
        if (pthread_create(&watchdog->thread, NULL, watch, watchdog) == 0) return watchdog;
        release(watchdog);
    }
    log_event(LOG_ERROR, "watchdog_failed", "the watchdog's thread could not be started");
    return NULL;
}

void systemd_watchdog_stop(struct watchdog *watchdog) {
    if (!watchdog) return;
    pthread_mutex_lock(&watchdog->lock);
    watchdog->stop = true;
    pthread_cond_signal(&watchdog->wake);
    pthread_mutex_unlock(&watchdog->lock);
    pthread_join(watchdog->thread, NULL);
    release(watchdog);
}
