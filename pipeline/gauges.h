// SPDX-License-Identifier: Apache-2.0
/* gauges.h - what a GPU at work reports of itself, and which values it reported.
 *
 * A value that the device or its driver does not know is not told: it is never 0 for that. Plain
 * data of fixed size: it travels in a message between two processes. All zero: nothing told.
 *
 * Used by:  the worker fills it from NVML, the front shows it in /metrics.
 */
#ifndef BURIN_GAUGES_H
#define BURIN_GAUGES_H

#include <stdbool.h>
#include <stdint.h>

enum gauge {
    GAUGE_UTILIZATION,  /* percent of the driver's last sample period in which a kernel ran */
    GAUGE_MEMORY_USED,  /* bytes of the device, by all processes */
    GAUGE_MEMORY_TOTAL, /* bytes */
    GAUGE_ENERGY,       /* millijoules since the driver was loaded */
    GAUGE_PINNED_USED,  /* bytes of staging of the lanes that carry a batch */
    GAUGE_PINNED_FREE,  /* bytes of staging of the lanes that wait */
    GAUGES
};

struct gauges {
    uint32_t told; /* bit g: values[g] */
    int64_t values[GAUGES];
};

static inline void gauges_tell(struct gauges *gauges, enum gauge which, int64_t value) {
    gauges->values[which] = value;
    gauges->told |= 1u << which;
}

static inline bool gauges_told(const struct gauges *gauges, enum gauge which) {
    return gauges->told >> which & 1;
}

#endif
