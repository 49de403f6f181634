// SPDX-License-Identifier: Apache-2.0
/* deadline_time.h - arithmetic of deadlines: CLOCK_MONOTONIC in nanoseconds.
 *
 * Used by:  deadline.c, deadline_thread.c, acked_bytes.c.
 * Limits:   a deadline lies at most a day ahead; NO_DEADLINE is later than any. The low three bits
 *           of NO_DEADLINE are free: deadline.c keeps the phase there.
 */
#ifndef BURIN_DEADLINE_TIME_H
#define BURIN_DEADLINE_TIME_H

#include <stdint.h>

#define MS_NS       INT64_C(1000000)
#define LONGEST_NS  (INT64_C(86400) * 1000 * MS_NS)
#define NO_DEADLINE (INT64_MAX & ~INT64_C(7))

/* MS of 0: no deadline. */
static inline int64_t deadline_after(int64_t now, long ms) {
    return ms > 0 ? now + ms * MS_NS : NO_DEADLINE;
}

/* max(MS, BYTES / RATE) after START. */
static inline int64_t deadline_of_bytes(int64_t start, long ms, int64_t bytes, long rate_bytes) {
    if (ms <= 0) return NO_DEADLINE;
    double at_rate = rate_bytes > 0 ? (double)bytes / (double)rate_bytes * 1e9 : 0;
    int64_t ns = at_rate < (double)LONGEST_NS ? (int64_t)at_rate : LONGEST_NS;
    return start + (ns > ms * MS_NS ? ns : ms * MS_NS);
}

#endif
