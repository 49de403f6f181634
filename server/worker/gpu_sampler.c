// SPDX-License-Identifier: Apache-2.0
#include "server/worker/gpu_sampler.h"

#include "cuda/nvml.h"
#include "server/jobs/channel.h"

/* Counts all of a busy lane's staging as used: no other lane can use the rest of it. */
static void read_staging(const struct gpu_sampler_options *options, struct gauges *gauges) {
    int64_t bytes[2] = { 0, 0 }; /* staging of idle lanes, of busy ones */
    for (int i = 0; i < options->lane_count; i++) {
        const bool busy = __atomic_load_n(&options->busy[i], __ATOMIC_RELAXED);
        bytes[busy] += (int64_t)__atomic_load_n(&options->lanes[i]->pinned_bytes, __ATOMIC_RELAXED);
    }
    gauges_set(gauges, GAUGE_PINNED_FREE, bytes[0]);
    gauges_set(gauges, GAUGE_PINNED_USED, bytes[1]);
}

static void *gpu_sampler_main(void *argument) {
    const struct gpu_sampler_options *options = argument;
    struct device_info facts;
    struct failure ignored;
    struct message message;
    struct nvml *nvml = options->driver->describe(options->index, &facts, &ignored) == STATUS_OK
                            ? nvml_open(options->nvml_path, facts.bus)
                            : NULL;
    do {
        message = (struct message){ .kind = CHANNEL_GAUGES };
        if (nvml) nvml_read(nvml, &message.gauges);
        read_staging(options, &message.gauges);
    } while (channel_send(options->channel, &message) &&
             channel_sleep(options->channel, options->every_ms));
    nvml_close(nvml);
    return NULL;
}

void gpu_sampler_start(struct gpu_sampler *sampler) {
    sampler->started =
        pthread_create(&sampler->thread, NULL, gpu_sampler_main, &sampler->options) == 0;
}

void gpu_sampler_join(struct gpu_sampler *sampler) {
    if (sampler->started) pthread_join(sampler->thread, NULL);
    sampler->started = false;
}
