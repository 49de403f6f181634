// SPDX-License-Identifier: Apache-2.0
/* channel.h - small messages of fixed size between the front and one worker.
 *
 * A socket pair that keeps message borders. Several lanes of a worker may wait on it at once: each
 * message wakes one of them, so the socket is the worker's own queue.
 *
 * Used by:  worker_handle.c and supervisor.c at the front's end; worker.c, heartbeat.c and
 *           gpu_sampler.c at the worker's; operators_worker.c, which is between two, at both.
 * Fails:    channel_take returns 0 when the other end is closed. A message that the system does not
 *           take, or not give, is lost: sweep.h finds those of jobs, others are sent again anyway.
 * Threads:  any.
 */
#ifndef BURIN_CHANNEL_H
#define BURIN_CHANNEL_H

#include "pipeline/gauges.h"

#include <stdbool.h>
#include <stdint.h>

enum channel_kind {
    CHANNEL_READY = 1,   /* worker: its device is open; `capacity` jobs may be under way */
    CHANNEL_RUN,         /* front: run the job of `slot` */
    CHANNEL_SELF_TEST,   /* front: run the self-test */
    CHANNEL_SELF_TESTED, /* worker: `ok` tells whether the answer was right */
    CHANNEL_GAUGES,      /* worker of a GPU: readings of its device, unasked, every self_test_ms */
    CHANNEL_HEARTBEAT,   /* worker: its process runs, unasked, every HEARTBEAT_MS; once it is ready
                            with all that READY tells */
};

struct message {
    uint32_t kind;
    int32_t slot;
    uint32_t run_number; /* RUN: job.run_number; one that came before is a copy */
    int32_t capacity;
    int32_t ok;
    int32_t lanes;  /* READY: that run jobs side by side */
    int32_t thread; /* READY, HEARTBEAT: the one that beats, by the kernel's number */
    union {
        char text[232]; /* READY: the device's name; SELF_TESTED: what went wrong */
        struct gauges gauges;
    };
};

/* ENDS[0] for the front (never blocks), ENDS[1] for the worker (blocks); both close on exec. */
bool channel_open(int ends[2]);

/* false when the other end is closed or, for the front, the socket's buffer is full. */
bool channel_send(int end, const struct message *message);

/* Whether the other end has taken all that was sent; false where that cannot be told. */
bool channel_is_read(int end);

enum { CHANNEL_FOREVER = -1 };

/* Up to COUNT messages: waits WAIT_MS for the first, takes the rest only if they are there. Returns
 * how many; 0 when the other end is closed; -1 when there was none in that time, or the system gave
 * none. */
int channel_take(int end, struct message *messages, int count, int wait_ms);

/* Sleeps for MS and takes no message; returns false as soon as the other end is closed. */
bool channel_sleep(int end, int ms);

#endif
