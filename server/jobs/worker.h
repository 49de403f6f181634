// SPDX-License-Identifier: Apache-2.0
/* worker.h - the other end: a process that owns one device and runs jobs on its lanes.
 *
 * Threads:  one a lane, each waiting on the channel, and one for the heartbeat; on a GPU also
 *           codec_threads that decode and encode what a batch brings, and the sampler.
 * Ends:     0 when the front closes the channel; 70 when the device failed in a way that only a new
 *           process recovers from. Jobs under way are then the front's to run again.
 */
#ifndef BURIN_WORKER_H
#define BURIN_WORKER_H

#include "config/config.h"
#include "pipeline/device.h"
#include "server/jobs/slot.h"

enum { WORKER_DEVICE_FAILED = 70 };

int worker_run(struct slots *slots, int channel, const struct config *config,
               const struct device_driver *driver, int index);

#endif
