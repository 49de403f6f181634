// SPDX-License-Identifier: Apache-2.0
/* fetch.h - memory asked for ahead of time.
 *
 * A pass asks for memory FETCH_AHEAD bytes before it gets there, to read or to write it. The
 * hardware reads ahead too, but not past the end of a page of 4 KB: on images that no cache holds a
 * core of the Xeon took 1.05 to 1.4 times as long (tests/bench/results/histeq-cpu.txt,
 * edge-cpu.txt). Past the end of the image it does no harm: a prefetch never faults.
 */
#ifndef BURIN_FETCH_H
#define BURIN_FETCH_H

#include <stdint.h>

enum { FETCH_AHEAD = 2048 };

/* The line that holds BYTES[FETCH_AHEAD]; a pass that steps by at most 64 bytes leaves none out. */
static inline void fetch(const uint8_t *bytes) {
    __builtin_prefetch((const void *)((uintptr_t)bytes + FETCH_AHEAD));
}

#endif
