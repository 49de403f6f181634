// SPDX-License-Identifier: Apache-2.0
/* nvml.h - a GPU's load, memory and energy, from the driver's management library.
 *
 * Used by:  server/worker/gpu_sampler.c.
 * Owns:     the library's handle, until nvml_close().
 * Fails:    nvml_open returns NULL where there is no such library, or the library lacks this GPU.
 * Threads:  one at a time; a call takes milliseconds, and longer when the driver is in trouble.
 * Source:   the NVML API reference of NVIDIA, whose few types and prototypes nvml.c declares.
 *
 * The library comes with the driver and is opened at run time. A GPU is found by its place on the
 * PCI bus, since NVML ignores CUDA_VISIBLE_DEVICES and counts in another order.
 */
#ifndef BURIN_NVML_H
#define BURIN_NVML_H

#include "pipeline/gauges.h"

#define NVML_LIBRARY "libnvidia-ml.so.1"

struct nvml;

/* BUS: as in struct device_info. */
struct nvml *nvml_open(const char *library, const char *bus);
void nvml_close(struct nvml *nvml); /* may be NULL */

/* Sets those gauges that this GPU and this driver support. */
void nvml_read(const struct nvml *nvml, struct gauges *gauges);

#endif
