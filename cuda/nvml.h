// SPDX-License-Identifier: Apache-2.0
/* nvml.h - a GPU's load, memory and energy, from the driver's management library.
 *
 * The library comes with the driver and is opened at run time. A GPU is found by its place on the
 * PCI bus, since NVML knows nothing of CUDA_VISIBLE_DEVICES and counts in another order.
 * Used by:  server/jobs/gpu_sampler.c.
 * Threads:  one at a time; a call takes milliseconds, and a driver in trouble may keep it longer.
 * Source:   the NVML API reference of NVIDIA, whose few types and prototypes nvml.c declares.
 */
#ifndef BURIN_NVML_H
#define BURIN_NVML_H

#include "pipeline/gauges.h"

#define NVML_LIBRARY "libnvidia-ml.so.1"

struct nvml;

/* BUS as in device_facts. NULL: there is no such library, or it knows no such GPU. */
struct nvml *nvml_open(const char *library, const char *bus);
void nvml_close(struct nvml *nvml); /* may be NULL */

/* Tells what this GPU and this driver support, and leaves the rest as it is. */
void nvml_read(const struct nvml *nvml, struct gauges *gauges);

#endif
