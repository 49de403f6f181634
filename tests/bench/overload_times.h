// SPDX-License-Identifier: Apache-2.0
/* overload_times.h - times, and what is asked of them: how many, median, 99th of a hundred, most.
 *
 * Used by:  overload.c, overload_probe.h.
 * Owns:     the list, until the program ends.
 */
#ifndef BURIN_OVERLOAD_TIMES_H
#define BURIN_OVERLOAD_TIMES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct times {
    int64_t *ns;
    size_t count, room;
};

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void times_add(struct times *times, int64_t ns) {
    if (times->count == times->room) {
        times->room = times->room ? 2 * times->room : 1 << 16;
        times->ns = realloc(times->ns, times->room * sizeof *times->ns);
        if (!times->ns) abort();
    }
    times->ns[times->count++] = ns;
}

static int times_ascending(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static double times_at(const struct times *times, double p) {
    return times->count ? (double)times->ns[(size_t)(p * (double)(times->count - 1))] / 1e6 : 0;
}

static void times_print(struct times *times, const char *name) {
    if (times->count) qsort(times->ns, times->count, sizeof *times->ns, times_ascending);
    printf("\"%s\": {\"count\": %zu, \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"max_ms\": %.3f}", name,
           times->count, times_at(times, 0.5), times_at(times, 0.99), times_at(times, 1));
}

#endif
