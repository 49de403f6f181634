// SPDX-License-Identifier: Apache-2.0
#include "server/jobs/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* Pause after a failed read, so that a caller's loop does not spin. */
enum { ERROR_MS = 1 };

bool channel_open(int ends[2]) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return false;
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

bool channel_is_read(int end) {
    int unread; /* bytes, with the system's overhead */
    return ioctl(end, SIOCOUTQ, &unread) == 0 && unread == 0;
}

bool channel_send(int end, const struct message *message) {
    ssize_t sent;
    do sent = send(end, message, sizeof *message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof *message;
}

static int take_one(int end, struct message *message, int flags) {
    ssize_t got;
    /* If the peer died with unread messages, the first read reports a reset; the peer's own
     * messages are still there. */
    do got = recv(end, message, sizeof *message, flags);
    while (got < 0 && (errno == EINTR || errno == ECONNRESET));
    if (got == (ssize_t)sizeof *message) return 1;
    if (got >= 0) return got ? -1 : 0; /* no message is empty: 0 is the end */
    if (errno != EAGAIN && errno != EWOULDBLOCK) poll(NULL, 0, ERROR_MS);
    return -1;
}

int channel_take(int end, struct message *messages, int count, int wait_ms) {
    /* A message wakes all polling lanes; only the first finds it. */
    if (wait_ms > 0) poll(&(struct pollfd){ .fd = end, .events = POLLIN }, 1, wait_ms);
    int taken = take_one(end, messages, wait_ms < 0 ? 0 : MSG_DONTWAIT);
    if (taken <= 0) return taken;
    while (taken < count && take_one(end, messages + taken, MSG_DONTWAIT) == 1) taken++;
    return taken;
}

bool channel_sleep(int end, int ms) {
    /* Without events, poll reports only a closed end: messages are left to the lanes. */
    const int events = poll(&(struct pollfd){ .fd = end }, 1, ms);
    return events == 0 || (events < 0 && errno == EINTR);
}
