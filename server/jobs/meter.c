// SPDX-License-Identifier: Apache-2.0
#include "server/jobs/meter.h"

#include "cuda/nvml.h"
#include "server/jobs/channel.h"

/* A lane's staging is its own: while it carries a batch nobody else has the rest of it. */
static void read_staging(const struct meter_options *options, struct gauges *gauges) {
    int64_t bytes[2] = { 0, 0 }; /* of lanes that wait, and of those that carry */
    for (int i = 0; i < options->lane_count; i++) {
        const bool busy = __atomic_load_n(&options->busy[i], __ATOMIC_RELAXED);
        bytes[busy] += (int64_t)__atomic_load_n(&options->lanes[i]->pinned_bytes, __ATOMIC_RELAXED);
    }
    gauges_tell(gauges, GAUGE_PINNED_FREE, bytes[0]);
    gauges_tell(gauges, GAUGE_PINNED_USED, bytes[1]);
}

static bool tell(const struct meter_options *options, const struct nvml *nvml) {
    struct message message = { .kind = CHANNEL_GAUGES, .gauges = { .told = 0 } };
    if (nvml) nvml_read(nvml, &message.gauges);
    read_staging(options, &message.gauges);
    return channel_send(options->channel, &message);
}

static struct nvml *open_nvml(const struct meter_options *options) {
    struct device_info facts;
    struct failure ignored;
    return options->driver->describe(options->index, &facts, &ignored) == STATUS_OK
               ? nvml_open(options->nvml_path, facts.bus)
               : NULL;
}

static void *meter_main(void *argument) {
    const struct meter_options *options = argument;
    struct nvml *nvml = open_nvml(options);
    while (tell(options, nvml) && channel_rest(options->channel, options->every_ms)) continue;
    nvml_close(nvml);
    return NULL;
}

void meter_start(struct meter *meter) {
    meter->started = pthread_create(&meter->thread, NULL, meter_main, &meter->options) == 0;
}

void meter_join(struct meter *meter) {
    if (meter->started) pthread_join(meter->thread, NULL);
    meter->started = false;
}
