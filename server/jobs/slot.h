// SPDX-License-Identifier: Apache-2.0
/* slot.h - shared memory that holds a job, its upload and its answer.
 *
 * One memfd holds all slots; the front and each worker map it once. A second memfd, sealed against
 * writes, holds what all slots have in common. The front also has a private job for each slot,
 * which no worker can reach (job.h).
 *
 * Every slot spans enough addresses for the largest upload and answer, but few of its pages exist.
 * The first `hot` bytes stay allocated: base_bytes at first, and as many as a larger job was
 * expected to need once the slot has served that job. Memory behind them is allocated page by page
 * when it is written, and freed when the slot is given back. So a job that grows never moves. GPUs'
 * workers register the hot bytes with the driver. Slots that are not used for idle_ms are trimmed
 * to base_bytes, and earlier when hot_bytes_max leaves no room for a job.
 *
 * Used by:  server/request takes and gives back; dispatcher.c, worker.c and executor.c read and
 *           write; supervisor.c trims.
 * Owns:     a taken slot belongs to its request until slot_give. slots_destroy closes both memfds.
 * Fails:    slot_take returns -1 when no slot is free; slots_create and slots_open return NULL.
 * Threads:  any; the free lists exist in the front alone.
 * Limits:   counts and sizes are fixed by slots_create.
 */
#ifndef BURIN_SLOT_H
#define BURIN_SLOT_H

#include "server/api/timing_report.h"
#include "server/jobs/job.h"

#include <stddef.h>
#include <stdint.h>

enum { SLOT_PAGE = 4096 };

/* Rounds up to whole pages. */
static inline uint64_t slot_paged(uint64_t bytes) {
    return (bytes + SLOT_PAGE - 1) / SLOT_PAGE * SLOT_PAGE;
}

enum { SLOT_ALIGN = 64 };

/* Rounds up to an offset where a further result may begin. */
static inline uint64_t slot_aligned(uint64_t bytes) {
    return (bytes + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
}

struct slot_options {
    int count;
    size_t base_bytes;    /* of each slot, allocated at start */
    size_t hot_bytes_max; /* of all slots together, beyond base_bytes */
    long idle_ms;         /* a slot that is not used for this long may be trimmed */
    size_t span_bytes;    /* of a slot: upload and answer together */
    const void *preamble; /* copied for the workers: the configuration; for a sandbox, the texts
                             of its operators follow */
    size_t preamble_bytes;
};

struct slots;

/* The owner of a slot's job. One that goes away before `completed` calls supervisor_cancel(). */
struct job_owner {
    /* The job has returned, with its answer or its failure. Called once for each submitted job, on
     * the thread that reads its completion pipe. */
    void (*completed)(struct job_owner *owner);
};

/* Descriptors of both memfds. */
struct slots_files {
    int head, memory;
};

/* STATUS_BAD_PARAM if the slots exceed the process's limit of a file's length (`ulimit -f`) or,
 * with SPARE_BYTES for all else, of its addresses (`ulimit -v`). The failure says which keys to
 * lower, and by how much. */
enum status slots_check_limit(const struct slot_options *options, size_t spare_bytes,
                              struct failure *failure);

struct slots *slots_create(const struct slot_options *options, struct failure *failure);
/* Maps the same memory in a worker. FILES: the descriptors of slots_files, inherited; the slots own
 * these from now on, even if this fails. */
struct slots *slots_open(struct slots_files files, struct failure *failure);
void slots_destroy(struct slots *slots);

struct slots_files slots_files(const struct slots *slots);
const void *slots_preamble(const struct slots *slots);
size_t slots_preamble_bytes(const struct slots *slots);
/* Counter of lost log lines of all workers; atomic. */
uint64_t *slots_log_dropped(const struct slots *slots);
int slots_count(const struct slots *slots);
int slots_in_use(const struct slots *slots);

/* Takes a free slot and zeroes its job: one whose hot bytes hold EXPECTED bytes of upload and
 * answer, else one that grows to that, else any. OWNER must last until slot_give, or until the job
 * has completed. */
int slot_take(struct slots *slots, size_t expected, struct job_owner *owner);
struct job_owner *slot_owner(const struct slots *slots, int slot);
/* Frees the slot and its memory beyond the hot bytes. A thread does so for a large slot, which
 * takes some milliseconds; without a thread, the caller waits. */
void slot_give(struct slots *slots, int slot);

/* Returns the private job in the process that created the slots, the shared job elsewhere. */
struct job *slot_job(const struct slots *slots, int slot);
/* Returns the job in shared memory: the worker may change any of it at any time. */
struct job *slot_shared_job(const struct slots *slots, int slot);
/* Returns the front's own copy of a job's values, if these are REPORT_VALUES_MAX bytes or fewer. */
char *slot_short_values(const struct slots *slots, int slot);
uint8_t *slot_bytes(const struct slots *slots, int slot);
size_t slot_span(const struct slots *slots);
/* In the front: bytes that stay allocated, whole pages. The slot's job has them too. */
size_t slot_hot(const struct slots *slots, int slot);
size_t slots_base(const struct slots *slots);  /* the least of slot_hot */
size_t slots_grown(const struct slots *slots); /* hot bytes of all slots beyond slots_base */

/* Takes a free slot whose hot bytes beyond slots_base may be freed; -1: there is none. Once no
 * worker has them registered, slots_trim_end frees them, which takes 0.3 ms a MB, and the slot.
 * SPARE: takes one only where a job has lacked room. */
int slots_trim_begin(struct slots *slots, int64_t now_ns, bool spare);
void slots_trim_end(struct slots *slots, int slot);

#endif
