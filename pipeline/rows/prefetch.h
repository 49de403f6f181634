// SPDX-License-Identifier: Apache-2.0
/* prefetch.h - requests memory ahead of its use.
 *
 * A pass requests memory PREFETCH_AHEAD bytes before it reads or writes it. The hardware reads
 * ahead too, but not past the end of a 4 KB page: without this a core of the Xeon took 1.05 to 1.4
 * times as long on images larger than the cache (tests/bench/results/histeq-cpu.txt, edge-cpu.txt).
 * A prefetch past the end of the image is harmless: it never faults.
 *
 * Used by:  the row kernels, once a cache line that they read or write.
 */
#ifndef BURIN_PREFETCH_H
#define BURIN_PREFETCH_H

#include <stdint.h>

enum { PREFETCH_AHEAD = 2048 };

/* Requests the line of BYTES[PREFETCH_AHEAD]; steps of at most 64 bytes omit none. */
static inline void prefetch(const uint8_t *bytes) {
    __builtin_prefetch((const void *)((uintptr_t)bytes + PREFETCH_AHEAD));
}

#endif
