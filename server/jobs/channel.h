// SPDX-License-Identifier: Apache-2.0
/* channel.h - small fixed messages between the front and one worker.
 *
 * A socket pair that keeps message borders. Several lanes of a worker may wait on it at once: each
 * message wakes one of them, so the socket is the worker's own queue.
 * Fails:  channel_take returns 0 when the other end is gone.
 */
#ifndef BURIN_CHANNEL_H
#define BURIN_CHANNEL_H

#include "pipeline/gauges.h"

#include <stdbool.h>
#include <stdint.h>

enum channel_kind {
    CHANNEL_READY = 1, /* worker: device opened, lanes wait; `capacity` jobs may be under way */
    CHANNEL_RUN,       /* front: the job of `slot` */
    CHANNEL_PROBE,     /* front: run the known-answer job */
    CHANNEL_PROBED,    /* worker: `ok` tells whether the answer was right */
    CHANNEL_GAUGES,    /* worker of a GPU: how the device does, unasked */
    CHANNEL_PULSE,     /* worker: its process runs, unasked, every probe_ms */
};

struct message {
    uint32_t kind;
    int32_t slot;
    int32_t capacity;
    int32_t ok;
    union {
        char text[232]; /* READY: the device's name; PROBED: what went wrong */
        struct gauges gauges;
    };
};

/* ENDS[0] for the front (never blocks), ENDS[1] for the worker (blocks); both close on exec. */
bool channel_open(int ends[2]);

/* false when the other end is gone or, for the front, its line is full. */
bool channel_send(int end, const struct message *message);

enum { CHANNEL_FOREVER = -1 };

/* Up to COUNT messages: waits WAIT_MS for the first, takes the rest only if they are there. Returns
 * how many; 0 when the other end is gone; -1 when there was none in that time. */
int channel_take(int end, struct message *messages, int count, int wait_ms);

/* Lets MS pass and takes no message; false as soon as the other end is gone. */
bool channel_rest(int end, int ms);

#endif
