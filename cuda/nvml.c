// SPDX-License-Identifier: Apache-2.0
#include "cuda/nvml.h"

#include "pipeline/shared_library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* ---- the part of NVML that is used, as declared by its library; every call returns 0 on
 * success */

struct nvml_device;

struct nvml_utilization {
    unsigned int gpu, memory; /* percent */
};

struct nvml_memory {
    unsigned long long total, free, used; /* bytes */
};

struct nvml {
    void *object; /* from dlopen */
    struct nvml_device *device;
    int (*init)(void);
    int (*shutdown)(void);
    int (*find)(const char *bus, struct nvml_device **device);
    /* NULL where the library is too old */
    int (*utilization)(struct nvml_device *device, struct nvml_utilization *rates);
    int (*memory)(struct nvml_device *device, struct nvml_memory *memory);
    int (*energy)(struct nvml_device *device, unsigned long long *millijoules);
};

/* ---- open and close */

static void find_symbols(struct nvml *nvml) {
    const struct shared_symbol symbols[] = {
        { "nvmlInit_v2", &nvml->init },
        { "nvmlShutdown", &nvml->shutdown },
        { "nvmlDeviceGetHandleByPciBusId_v2", &nvml->find },
        { "nvmlDeviceGetUtilizationRates", &nvml->utilization },
        { "nvmlDeviceGetMemoryInfo", &nvml->memory },
        { "nvmlDeviceGetTotalEnergyConsumption", &nvml->energy },
    };
    shared_library_find(nvml->object, symbols, sizeof symbols / sizeof *symbols);
}

static bool begin(struct nvml *nvml, const char *bus) {
    if (!nvml->init || !nvml->shutdown || !nvml->find || nvml->init()) return false;
    if (nvml->find(bus, &nvml->device) == 0) return true;
    nvml->shutdown();
    return false;
}

struct nvml *nvml_open(const char *library, const char *bus) {
    struct nvml found = { .object = shared_library_open(&library, 1) };
    if (!found.object) return NULL;
    find_symbols(&found);
    struct nvml *nvml = malloc(sizeof *nvml);
    if (!nvml || !begin(&found, bus)) {
        free(nvml);
        dlclose(found.object);
        return NULL;
    }
    *nvml = found;
    return nvml;
}

void nvml_close(struct nvml *nvml) {
    if (!nvml) return;
    nvml->shutdown();
    dlclose(nvml->object);
    free(nvml);
}

/* ---- questions */

void nvml_read(const struct nvml *nvml, struct gauges *gauges) {
    struct nvml_utilization rates;
    struct nvml_memory memory;
    unsigned long long millijoules;
    if (nvml->utilization && nvml->utilization(nvml->device, &rates) == 0)
        gauges_set(gauges, GAUGE_UTILIZATION, rates.gpu);
    if (nvml->memory && nvml->memory(nvml->device, &memory) == 0) {
        gauges_set(gauges, GAUGE_MEMORY_USED, (int64_t)memory.used);
        gauges_set(gauges, GAUGE_MEMORY_TOTAL, (int64_t)memory.total);
    }
    if (nvml->energy && nvml->energy(nvml->device, &millijoules) == 0)
        gauges_set(gauges, GAUGE_ENERGY, (int64_t)millijoules);
}
