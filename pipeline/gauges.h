// SPDX-License-Identifier: Apache-2.0
/* gauges.h - the values that a running GPU reports, and which of them it reported.
 *
 * A value that the device or its driver does not know is missing, never 0. The struct is plain data
 * of fixed size, because it travels in a message between two processes. All zero: no values.
 *
 * Used by:  the worker fills it from NVML; the front shows it in /metrics.
 * Threads:  one at a time.
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
    uint32_t known; /* bit g: values[g] is set */
    int64_t values[GAUGES];
};

static inline void gauges_set(struct gauges *gauges, enum gauge which, int64_t value) {
    gauges->values[which] = value;
    gauges->known |= 1u << which;
}

static inline bool gauges_has(const struct gauges *gauges, enum gauge which) {
    return gauges->known >> which & 1;
}

#endif
