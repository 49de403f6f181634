// SPDX-License-Identifier: Apache-2.0
/* slot.h - shared memory that holds a job, its upload and its answer.
 *
 * One memfd, mapped once by the front and once by each worker. Every slot spans enough addresses
 * for the largest upload and the largest answer, but only the first `hot` bytes of its class are
 * touched at start and kept; what lies beyond is had page by page when written, and given back when
 * the slot is. So a job never moves, whatever size it turns out to have. A worker maps the hot
 * bytes of all slots at its own start: they count in its VmRSS too, and are the same memory. Owns:
 * a taken slot belongs to its request until slot_give. Fails:    slot_take returns -1 when no slot
 * is free. Threads:  any; the free lists are the front's alone.
 */
#ifndef BURIN_SLOT_H
#define BURIN_SLOT_H

#include "server/jobs/job.h"

#include <stddef.h>
#include <stdint.h>

enum { SLOT_CLASSES = 3 };

struct slot_class {
    int count;
    size_t hot_bytes;
};

struct slot_options {
    struct slot_class classes[SLOT_CLASSES]; /* small to large */
    size_t span_bytes;                       /* addresses a slot: upload and answer together */
    const void *preamble;                    /* handed to the workers as it is: the configuration */
    size_t preamble_bytes;
};

struct slots;

struct slots *slots_create(const struct slot_options *options, struct failure *failure);
/* A worker's view of the same memory; FD is as slots_fd told it. */
struct slots *slots_open(int fd, struct failure *failure);
void slots_destroy(struct slots *slots);

int slots_fd(const struct slots *slots);
const void *slots_preamble(const struct slots *slots);
int slots_count(const struct slots *slots);
int slots_in_use(const struct slots *slots);

/* A slot whose class fits EXPECTED bytes of upload and answer, or the next larger that is free; the
 * job is zeroed. OWNER is whoever it is for, remembered for slot_owner. */
int slot_take(struct slots *slots, size_t expected, void *owner);
void *slot_owner(const struct slots *slots, int slot);
void slot_give(struct slots *slots, int slot);

struct job *slot_job(const struct slots *slots, int slot);
uint8_t *slot_bytes(const struct slots *slots, int slot);
size_t slot_span(const struct slots *slots);

#endif
