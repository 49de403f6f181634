// SPDX-License-Identifier: Apache-2.0
/* gpu_sampler.h - a GPU worker's thread that periodically sends readings of its device to the
 * front.
 *
 * A thread of its own, because a call of NVIDIA's management library takes milliseconds; if such a
 * call hangs, the readings stop and no job waits.
 *
 * Used by:  worker.c; worker_handle.c keeps the last reading for /metrics.
 * Owns:     its thread, from gpu_sampler_start to gpu_sampler_join.
 * Fails:    without a thread there are no readings.
 * Threads:  its own ends when the front closes the channel; join only after that.
 */
#ifndef BURIN_GPU_SAMPLER_H
#define BURIN_GPU_SAMPLER_H

#include "pipeline/device.h"

#include <pthread.h>

/* Pointers and the channel are borrowed until gpu_sampler_join. */
struct gpu_sampler_options {
    int channel;
    int every_ms;
    const char *nvml_path;
    const struct device_driver *driver;
    int index;
    struct lane *const *lanes;
    const int *busy; /* by lane: 1 while it runs a batch; atomic */
    int lane_count;
};

struct gpu_sampler {
    struct gpu_sampler_options options;
    pthread_t thread;
    bool started;
};

void gpu_sampler_start(struct gpu_sampler *sampler);
void gpu_sampler_join(struct gpu_sampler *sampler); /* does nothing if it was not started */

#endif
