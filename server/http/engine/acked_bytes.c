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

void acked_bytes_begin(struct acked_bytes *uptake, int64_t start_ns, int64_t first) {
    *uptake = (struct acked_bytes){ start_ns, first, first, start_ns };
}

int64_t acked_bytes_deadline(struct acked_bytes *uptake, int fd, int64_t now_ns, long ms,
                             long rate_bytes) {
    const int64_t mark = acked_bytes_count(fd);
    if (mark > uptake->mark) {
        uptake->moved_ns = now_ns;
        uptake->mark = mark;
    }
    const int64_t still = uptake->moved_ns + ms * MS_NS;
    const double taken = (double)(uptake->mark - uptake->first);
    const double allowed_ns = taken / (double)rate_bytes * 1e9;
    /* Whoever stands still is given up by then in any case: no number here can grow too large. */
    if (allowed_ns >= (double)(still - uptake->start_ns)) return still;
    const int64_t least = ms * MS_NS;
    return uptake->start_ns + ((int64_t)allowed_ns > least ? (int64_t)allowed_ns : least);
}
