// SPDX-License-Identifier: Apache-2.0
/* cpu_memory.h - the memory of a CPU lane: reserved for a batch, given back between batches.
 *
 * Used by:  device_cpu.c, one for each lane; callers that were refused memory reclaim some.
 * Owns:     its areas, from reserve until empty, trim or release.
 * Fails:    cpu_memory_reserve, where there is no memory; the lane then holds none.
 * Threads:  the lane's own; cpu_memory_reclaim: any.
 * Limits:   after a batch a lane keeps at most `keep_bytes[1]` an area. All lanes together hold the
 *           bound of cpu_memory_set_most, and each `keep_bytes[0]` an area for small batches.
 */
#ifndef BURIN_CPU_MEMORY_H
#define BURIN_CPU_MEMORY_H

#include "pipeline/device.h"

#include <pthread.h>

enum { CPU_MEMORY_AREAS = 3 }; /* in, work, out */

struct area {
    uint8_t *bytes;
    size_t length;  /* mapped */
    size_t touched; /* bytes that may have been written; none beyond were */
    size_t used[2]; /* the most that a batch used in this window, and in the one before */
};

/* A small batch uses no more than every lane may keep, so no other lane waits for it to end. */
enum cpu_phase { CPU_BETWEEN, CPU_RUNS_SMALL, CPU_RUNS_LARGE, CPU_WAITS };

struct cpu_memory {
    struct area area[CPU_MEMORY_AREAS];
    size_t keep_bytes[2]; /* lower and upper bound for each area; whole pages */
    int64_t window_ns;    /* when this window began */
    struct cpu_memory *next;
    pthread_mutex_t lock; /* guards the areas while the lane is between batches */
    enum cpu_phase phase; /* changed under `lock` by the lane alone, read by all; atomic */
    uint64_t ticket;      /* while it waits: lower tickets go first; atomic */
    size_t claim; /* bytes counted against the common bound; changed under the lock of all lanes;
                  atomic */
};

/* Sets the most bytes that all lanes of this process may claim together for large batches; 0: no
 * bound. */
void cpu_memory_set_most(size_t bytes);

/* An area keeps up to MOST bytes while batches use as much, and LEAST bytes in any case. */
void cpu_memory_init(struct cpu_memory *memory, size_t least, size_t most);
void cpu_memory_release(struct cpu_memory *memory);

/* Reserves memory for a batch. If memory is short, other lanes' idle memory is taken; then this
 * waits for running large batches while NEED's check returns STATUS_OK. STATUS_TOO_LARGE: more than
 * all lanes may have. STATUS_NO_MEMORY: the system refuses. Otherwise the status of the check. */
enum status cpu_memory_reserve(struct cpu_memory *memory, const struct lane_need *need,
                               struct failure *failure);
/* Between batches: gives back one piece beyond what is kept; false where there is none. */
bool cpu_memory_trim(struct cpu_memory *memory);
void cpu_memory_empty(struct cpu_memory *memory);

/* Gives back everything that lanes keep between batches, and the free part of the heap. Called
 * before a request for memory is refused. */
void cpu_memory_reclaim(void);

#endif
