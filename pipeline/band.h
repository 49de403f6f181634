// SPDX-License-Identifier: Apache-2.0
/* band.h - rows shared out among threads.
 *
 * Used by:  operators, with pool.h.
 * Threads:  any; no state.
 */
#ifndef BURIN_BAND_H
#define BURIN_BAND_H

#include <stdint.h>

/* Rows first..end-1 of band INDEX; the COUNT bands differ by at most one row. */
struct band {
    uint32_t first, end;
};

static inline struct band band_of(uint32_t height, int index, int count) {
    return (struct band){
        .first = (uint32_t)((uint64_t)height * (unsigned)index / (unsigned)count),
        .end = (uint32_t)((uint64_t)height * ((unsigned)index + 1) / (unsigned)count),
    };
}

/* Returns the number of bands: one a thread, at most MOST, each with at least one row. */
static inline int band_count(uint32_t height, int threads, int most) {
    if (threads < most) most = threads;
    return height < (uint32_t)most ? (int)height : most;
}

#endif
