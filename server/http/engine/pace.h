// SPDX-License-Identifier: Apache-2.0
/* pace.h - how fast a client has moved lately: a body's bytes that came, or an answer's that were
 * acknowledged.
 *
 * The average since the start would excuse one who sent much at first and then stands still.
 *
 * Used by:  eviction.c.
 * Threads:  the deadlines' thread.
 * Limits:   looks over half a window to a whole one, or back to the start if that is less.
 */
#ifndef BURIN_PACE_H
#define BURIN_PACE_H

#include <stdint.h>

struct pace {
    int64_t older_ns, older; /* where the part that counts begins: a time, and the count then */
    int64_t newer_ns, newer; /* where it will begin next */
    int64_t last, moved_ns;  /* the last count, and when it was first seen */
};

/* At START_NS the count was FIRST. */
static inline void pace_begin(struct pace *pace, int64_t start_ns, int64_t first) {
    *pace = (struct pace){ start_ns, first, start_ns, first, first, start_ns };
}

static inline void pace_note(struct pace *pace, int64_t now_ns, int64_t count, int64_t window_ns) {
    if (count != pace->last) pace->moved_ns = now_ns;
    pace->last = count;
    if (now_ns - pace->newer_ns < window_ns / 2) return;
    pace->older_ns = pace->newer_ns;
    pace->older = pace->newer;
    pace->newer_ns = now_ns;
    pace->newer = count;
}

/* Bytes a second. */
static inline double pace_rate(const struct pace *pace, int64_t now_ns) {
    const int64_t ns = now_ns - pace->older_ns;
    return ns > 0 ? (double)(pace->last - pace->older) * 1e9 / (double)ns : 0;
}

#endif
