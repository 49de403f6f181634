// SPDX-License-Identifier: Apache-2.0
/* meter.h - a GPU worker's own thread that tells the front, now and then, how its device does.
 *
 * Apart from the lanes, because a call of the driver's management library takes milliseconds; where
 * it hangs, the messages cease and no job waits for it.
 * Used by:  worker.c; worker_handle.c reads the messages.
 * Ends:     when the front has gone.
 */
#ifndef BURIN_METER_H
#define BURIN_METER_H

#include "pipeline/device.h"

#include <pthread.h>

/* All borrowed until meter_join. */
struct meter_options {
    int channel;
    int every_ms;
    const char *nvml_path; /* of its library */
    const struct device_driver *driver;
    int index;
    struct lane *const *lanes;
    const int *busy; /* by lane: 1 while it carries a batch; atomic */
    int lane_count;
};

struct meter {
    struct meter_options options;
    pthread_t thread;
    bool started;
};

/* Where no thread can be had nothing is told, and the worker does without. */
void meter_start(struct meter *meter);
void meter_join(struct meter *meter); /* of one that was not started: nothing */

#endif
