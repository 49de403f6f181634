// SPDX-License-Identifier: Apache-2.0
/* prefetch.h - memory asked for ahead of time.
 *
 * A pass asks for memory PREFETCH_AHEAD bytes before it gets there, to read or to write it. The
 * hardware reads ahead too, but not past the end of a page of 4 KB: on images that no cache holds a
 * core of the Xeon took 1.05 to 1.4 times as long (tests/bench/results/histeq-cpu.txt,
 * edge-cpu.txt). Past the end of the image it does no harm: a prefetch never faults.
 *
 * Used by:  the row kernels, once a cache line that they read or write.
 */
#ifndef BURIN_PREFETCH_H
#define BURIN_PREFETCH_H

#include <stdint.h>

enum { PREFETCH_AHEAD = 2048 };

/* The line that holds BYTES[PREFETCH_AHEAD]; steps of at most 64 bytes leave none out. */
static inline void prefetch(const uint8_t *bytes) {
    __builtin_prefetch((const void *)((uintptr_t)bytes + PREFETCH_AHEAD));
}

#endif
