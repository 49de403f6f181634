// SPDX-License-Identifier: Apache-2.0
#include "server/http/engine/acked_bytes.h"

#include "server/http/engine/deadline_time.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

int64_t acked_bytes_count(int fd) {
    struct tcp_info info;
    socklen_t length = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0 ||
        length < offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked)
        return -1;
    return (int64_t)info.tcpi_bytes_acked;
}

void acked_bytes_begin(struct acked_bytes *acked, int64_t start_ns, int64_t first) {
    *acked = (struct acked_bytes){ start_ns, first, first, start_ns };
}

int64_t acked_bytes_deadline(struct acked_bytes *acked, int fd, int64_t now_ns, long ms,
                             long rate_bytes) {
    const int64_t count = acked_bytes_count(fd);
    if (count > acked->last) {
        acked->moved_ns = now_ns;
        acked->last = count;
    }
    const int64_t stalled = acked->moved_ns + ms * MS_NS;
    const double bytes = (double)(acked->last - acked->first);
    const double allowed_ns = bytes / (double)rate_bytes * 1e9;
    /* A client that stands still is cut off by then in any case: no number here can overflow. */
    if (allowed_ns >= (double)(stalled - acked->start_ns)) return stalled;
    const int64_t least = ms * MS_NS;
    return acked->start_ns + ((int64_t)allowed_ns > least ? (int64_t)allowed_ns : least);
}
