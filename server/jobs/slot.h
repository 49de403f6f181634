// SPDX-License-Identifier: Apache-2.0
/* slot.h - shared memory that holds a job, its upload and its answer.
 *
 * A memfd, mapped once by the front and once by each worker. What is the same for all slots stands
 * in another one, which nobody can write to. The front has a job of its own for each slot, which no
 * worker can reach: a copy of that goes to the worker, and an answer comes back once it is checked
 * (answer.h). Every slot spans enough addresses for the largest upload and the largest answer, but
 * only the first `hot` bytes of its class are allocated at start and kept; what lies beyond is
 * allocated page by page when it is written, and freed when the slot is given back. So a job never
 * moves, whatever size it turns out to have. A worker maps the hot bytes of all slots at its own
 * start: they count in its VmRSS too, and are the same memory.
 *
 * Used by:  server/http takes and gives back; supervisor.c, worker.c and executor.c read and write.
 * Owns:     a taken slot belongs to its request until slot_give.
 * Fails:    slot_take returns -1 when no slot is free; slots_create and slots_open return NULL.
 * Threads:  any; the free lists are in the front alone.
 * Limits:   counts and sizes are fixed by slots_create.
 */
#ifndef BURIN_SLOT_H
#define BURIN_SLOT_H

#include "server/api/timing_report.h"
#include "server/jobs/job.h"

#include <stddef.h>
#include <stdint.h>

enum { SLOT_CLASSES = 4, SLOT_PAGE = 4096 };

/* The next border of a page. */
static inline uint64_t slot_paged(uint64_t bytes) {
    return (bytes + SLOT_PAGE - 1) / SLOT_PAGE * SLOT_PAGE;
}

enum { SLOT_ALIGN = 64 };

/* Where a further result may begin. */
static inline uint64_t slot_aligned(uint64_t bytes) {
    return (bytes + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
}

struct slot_class {
    int count;
    size_t hot_bytes;
};

struct slot_options {
    struct slot_class classes[SLOT_CLASSES]; /* small to large */
    size_t span_bytes;                       /* addresses a slot: upload and answer together */
    const void *preamble; /* copied for the workers as it is: the configuration, and for a
                             sandbox its operators' texts behind it */
    size_t preamble_bytes;
};

struct slots;

/* Whose job a slot holds: whoever waits for it learns by this call alone that the job has come
 * back, with its answer or its failure. The owner goes by supervisor_cancel(). */
struct job_owner {
    /* Called once for each submitted job, on the thread that reads its completion pipe. */
    void (*completed)(struct job_owner *owner);
};

/* Descriptors of both memfds. */
struct slots_files {
    int head, memory;
};

/* STATUS_BAD_PARAM where so many slots do not fit a limit that the process was given: of a file's
 * length (`ulimit -f`), or of addresses (`ulimit -v`), beside SPARE_BYTES for all else. The failure
 * says which keys to lower, and by how much. */
enum status slots_check_limit(const struct slot_options *options, size_t spare_bytes,
                              struct failure *failure);

struct slots *slots_create(const struct slot_options *options, struct failure *failure);
/* A worker's view of the same memory. FILES are those that slots_files returned, and the slots'
 * from now on, even where this fails. */
struct slots *slots_open(struct slots_files files, struct failure *failure);
void slots_destroy(struct slots *slots);

struct slots_files slots_files(const struct slots *slots);
const void *slots_preamble(const struct slots *slots);
size_t slots_preamble_bytes(const struct slots *slots);
/* Where workers count the lines of their logs that were lost; atomic. */
uint64_t *slots_log_dropped(const struct slots *slots);
int slots_count(const struct slots *slots);
int slots_in_use(const struct slots *slots);

/* A slot whose class fits EXPECTED bytes of upload and answer, or the next larger that is free; the
 * job is zeroed. OWNER must last until slot_give, or until the job has completed. */
int slot_take(struct slots *slots, size_t expected, struct job_owner *owner);
struct job_owner *slot_owner(const struct slots *slots, int slot);
/* A large one is free, and its memory the system's, some milliseconds later, while the caller goes
 * on; where no thread can be started for that, the caller does it. */
void slot_give(struct slots *slots, int slot);

/* Returns a private job in the process that created the slots, and the shared job elsewhere. */
struct job *slot_job(const struct slots *slots, int slot);
/* Returns the job in shared memory: the worker may change any of it at any time. */
struct job *slot_shared_job(const struct slots *slots, int slot);
/* Returns the front's own copy of a job's values; those beyond REPORT_VALUES_MAX have none. */
char *slot_short_values(const struct slots *slots, int slot);
uint8_t *slot_bytes(const struct slots *slots, int slot);
size_t slot_span(const struct slots *slots);
size_t slot_hot(const struct slots *slots, int slot); /* bytes of it that stay; whole pages */

#endif
