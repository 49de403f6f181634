// SPDX-License-Identifier: Apache-2.0
/* cpu_memory.h - what a lane of the CPU has for its batches, and gives back.
 *
 * Used by:  device_cpu.c, a lane each; who is refused memory reclaims some.
 * Owns:     its areas, between reserve and empty, trim or release.
 * Fails:    cpu_memory_reserve, where there is no memory; nothing is held then.
 * Threads:  a lane's own, but cpu_memory_reclaim: any.
 * Limits:   beyond what it is told to keep at the most nothing stays after a batch. Lanes together
 *           hold the most that is set, and each what it may keep for small batches.
 */
#ifndef BURIN_CPU_MEMORY_H
#define BURIN_CPU_MEMORY_H

#include "pipeline/device.h"

#include <pthread.h>

enum { CPU_MEMORY_AREAS = 3 }; /* in, work, out */

struct area {
    uint8_t *bytes;
    size_t length;  /* mapped */
    size_t touched; /* perhaps: what lies beyond was never written */
    size_t used[2]; /* the most that a batch had in this window, and in the one before */
};

/* A small batch has no more than every lane may keep, and is nobody's hope of memory. */
enum cpu_phase { CPU_BETWEEN, CPU_RUNS_SMALL, CPU_RUNS_LARGE, CPU_WAITS };

struct cpu_memory {
    struct area area[CPU_MEMORY_AREAS];
    size_t keep_bytes[2]; /* of each area, at the least and at the most; whole pages */
    int64_t window_ns;    /* when this window began */
    struct cpu_memory *next;
    pthread_mutex_t lock; /* held by whoever changes areas of a lane that is between batches */
    enum cpu_phase phase; /* changed under `lock` by the lane alone, read by all; atomic */
    uint64_t ticket;      /* while it waits: who came before is before it; atomic */
    size_t claim;         /* bytes that count against the most of all; changed under the lock of
                            all, atomic */
};

/* Sets the most bytes that all lanes of this process may claim for large batches; 0: no bound. */
void cpu_memory_set_most(size_t bytes);

/* Keeps MOST bytes of each area while batches need so much, and LEAST however long none did. */
void cpu_memory_init(struct cpu_memory *memory, size_t least, size_t most);
void cpu_memory_release(struct cpu_memory *memory);

/* For a batch: what other lanes keep is taken from them where there is no more, and what large
 * batches have is waited for, as long as NEED's check allows. STATUS_TOO_LARGE: it needs more than
 * all lanes may have. STATUS_NO_MEMORY: the system refuses it. Else what the check said. */
enum status cpu_memory_reserve(struct cpu_memory *memory, const struct lane_need *need,
                               struct failure *failure);
/* Between batches: gives back a piece of what is beyond what is kept; false where there is none. */
bool cpu_memory_trim(struct cpu_memory *memory);
/* All of it. */
void cpu_memory_empty(struct cpu_memory *memory);

/* All that lanes keep between batches, and what is free of the heap, goes back to the system at
 * once: before somebody is refused memory. */
void cpu_memory_reclaim(void);

#endif
