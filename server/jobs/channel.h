// SPDX-License-Identifier: Apache-2.0
/* channel.h - small messages of fixed size between the front and one worker.
 *
 * A socket pair that keeps message borders. Several lanes of a worker may wait on it; each message
 * goes to one of them, so the socket is the worker's queue.
 *
 * Used by:  worker_handle.c and supervisor.c at the front's end; worker.c, heartbeat.c and
 *           gpu_sampler.c at the worker's; operators_worker.c at both, for its sandbox.
 * Owns:     nothing. The front closes its end in worker_handle_close, worker_handle_end or
 *           supervisor_stop, and the worker's end once the process runs; the worker's process
 *           keeps its end open until it exits.
 * Fails:    channel_take returns 0 when the other end is closed. A message that the system fails to
 *           send or receive is lost: sweep.h finds those of jobs, others are sent again anyway.
 * Threads:  any.
 */
#ifndef BURIN_CHANNEL_H
#define BURIN_CHANNEL_H

#include "pipeline/gauges.h"

#include <stdbool.h>
#include <stdint.h>

enum channel_kind {
    CHANNEL_READY = 1,   /* worker: its device is open; it takes `capacity` jobs at once */
    CHANNEL_RUN,         /* front: run the job of `slot` */
    CHANNEL_SELF_TEST,   /* front: run the self-test */
    CHANNEL_SELF_TESTED, /* worker: `ok`: the self-test's answer was right */
    CHANNEL_GAUGES,      /* worker of a GPU: readings of its device, every self_test_ms */
    CHANNEL_UNPIN,       /* front: unregister what the free `slot` has beyond slots_base; run_number
                            is the request's, seen before in a copy */
    CHANNEL_UNPINNED,    /* worker: done, with that run_number */
    CHANNEL_HEARTBEAT,   /* worker: its process runs, every HEARTBEAT_MS; once it is ready, with the
                            fields of READY */
};

struct message {
    uint32_t kind;
    int32_t slot;
    uint32_t run_number; /* RUN: job.run_number; a number seen before marks a copy */
    int32_t capacity;
    int32_t many; /* READY: jobs of `capacity` that must be abreast (job.h); 0: no difference */
    int32_t ok;
    int32_t lanes;   /* READY: jobs that run side by side */
    int32_t engines; /* READY: of its GPU, which decode HEVC for its jobs */
    int32_t thread;  /* READY, HEARTBEAT: kernel's id of the thread that sends heartbeats */
    union {
        char text[264]; /* READY: the device's name; SELF_TESTED: what went wrong */
        struct gauges gauges;
    };
};

/* Opens ENDS[0] for the front (never blocks) and ENDS[1] for the worker (blocks); both close on
 * exec. The caller owns both. */
bool channel_open(int ends[2]);

/* false when the other end is closed or, for the front, the socket's buffer is full. */
bool channel_send(int end, const struct message *message);

/* True if the other end has taken all messages; false if not, or unknown. */
bool channel_is_read(int end);

enum { CHANNEL_FOREVER = -1 };

/* Takes up to COUNT messages: waits WAIT_MS for the first, takes the rest only if they are there.
 * Returns their number; 0: the other end is closed; -1: none came in time, or the read failed. */
int channel_take(int end, struct message *messages, int count, int wait_ms);

/* Sleeps for MS and takes no message; false: the other end is closed. */
bool channel_sleep(int end, int ms);

#endif
