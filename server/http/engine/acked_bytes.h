// SPDX-License-Identifier: Apache-2.0
/* uptake.h - how fast a client takes a long answer, as the kernel knows it: by what has been
 * acknowledged, for the library tells nothing of what it sends.
 *
 * Used by:  watch.c: the mark from the thread that begins the answer, the rest from the watcher's.
 * Owns:     nothing; the descriptor is open while it is asked.
 * Limits:   TCP alone. What lies in the client's own buffer counts as taken.
 * Source:   tcp_info of linux/tcp.h, tcpi_bytes_acked (RFC 4898).
 */
#ifndef BURIN_ACKED_BYTES_H
#define BURIN_ACKED_BYTES_H

#include <stdint.h>

struct acked_bytes {
    int64_t start_ns;       /* of the answer; CLOCK_MONOTONIC */
    int64_t first;          /* the mark at the start */
    int64_t mark, moved_ns; /* the last mark, and since when it stands */
};

/* Bytes that the client has acknowledged since it connected; -1: no TCP socket. */
int64_t acked_bytes_count(int fd);

/* An answer began at START_NS; FIRST was the mark then. */
void acked_bytes_begin(struct acked_bytes *uptake, int64_t start_ns, int64_t first);

/* A look at FD at NOW_NS: when the answer is to be given up unless more is taken: MS after the last
 * byte that was, and no later than what has been taken allows at RATE_BYTES a second, or MS. */
int64_t acked_bytes_deadline(struct acked_bytes *uptake, int fd, int64_t now_ns, long ms,
                             long rate_bytes);

#endif
