// SPDX-License-Identifier: Apache-2.0
/* pulse.h - a worker's own thread that tells the front, again and again, that the process runs.
 *
 * Apart from the lanes, which a long job keeps busy, and from the meter, which a driver may hold
 * up. It says nothing of the lanes: whether they move is read from their jobs. Used by:  worker.c;
 * worker_handle.c counts the messages. Ends:     when the front has gone.
 */
#ifndef BURIN_PULSE_H
#define BURIN_PULSE_H

#include <pthread.h>
#include <stdbool.h>

struct pulse {
    int channel; /* borrowed until pulse_join */
    int every_ms;
    pthread_t thread;
    bool started;
};

bool pulse_start(struct pulse *pulse); /* false: no thread can be had */
void pulse_join(struct pulse *pulse);  /* of one that was not started: nothing */

#endif
