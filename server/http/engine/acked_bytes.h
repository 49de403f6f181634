// SPDX-License-Identifier: Apache-2.0
/* acked_bytes.h - how fast a client receives a long answer: by the bytes that its kernel has
 * acknowledged, for the library does not report what it sends.
 *
 * Used by:  deadline.c (acked_bytes_count, when an answer begins) and deadline_thread.c (the rest,
 *           on its thread).
 * Owns:     nothing; the descriptor stays open while it is asked.
 * Limits:   TCP alone. Bytes in the client's receive buffer count as received.
 * Source:   tcp_info of linux/tcp.h, tcpi_bytes_acked (RFC 4898).
 */
#ifndef BURIN_ACKED_BYTES_H
#define BURIN_ACKED_BYTES_H

#include <stdint.h>

struct acked_bytes {
    int64_t start_ns;       /* of the answer; CLOCK_MONOTONIC */
    int64_t first;          /* the count at the start */
    int64_t last, moved_ns; /* the last count, and since when it has not moved */
};

/* Bytes that the client has acknowledged since it connected; -1: no TCP socket. */
int64_t acked_bytes_count(int fd);

/* An answer began at START_NS, when the count was FIRST. */
void acked_bytes_begin(struct acked_bytes *acked, int64_t start_ns, int64_t first);

/* Asks FD at NOW_NS. The deadline of the answer, unless the count moves again: MS after it last
 * moved, and no later than what was acknowledged allows at RATE_BYTES a second, or MS. */
int64_t acked_bytes_deadline(struct acked_bytes *acked, int fd, int64_t now_ns, long ms,
                             long rate_bytes);

#endif
